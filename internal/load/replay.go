package load

import (
	"fmt"
	"io"
	"os"
	"slices"
)

// replayMemory is how much of an input is kept in memory while its format is not decided; the rest goes to a file.
const replayMemory = 4 << 20

const replayChunk = 64 << 10

// A replay lets the first part of an input be looked at before it is read: Peek returns it piece by piece and keeps
// it, Read then gives everything from the start. The key that tells a format may come after many megabytes of another
// member, so what does not fit in memory is kept in a temporary file.
type replay struct {
	src     io.Reader
	tempDir string
	limit   int // bytes to keep in memory

	mem    []byte // the first bytes of the input
	served int    // how much of mem Read has given
	file   *os.File
	inFile int64  // bytes after mem
	read   int64  // how much of the file Read has given
	buf    []byte // of what goes to the file
	err    error  // what src returned last; nil if there is more
}

func newReplay(src io.Reader, limit int, tempDir string) *replay {
	return &replay{src: src, limit: limit, tempDir: tempDir}
}

// Peek reads the next bytes of the input and keeps them for Read. They are valid until the next call. At the end of
// the input it returns io.EOF. It must not be called after Read.
func (r *replay) Peek() ([]byte, error) {
	if r.err != nil {
		return nil, r.err
	}
	// Full chunks, so that one Peek shows all that a decision by magic bytes needs.
	kept := len(r.mem)
	inMemory := kept+replayChunk <= r.limit && r.file == nil
	chunk := r.buf
	switch {
	case inMemory:
		r.mem = slices.Grow(r.mem, replayChunk)
		chunk = r.mem[kept : kept+replayChunk]
	case chunk == nil:
		r.buf = make([]byte, replayChunk)
		chunk = r.buf
	}
	n, err := io.ReadFull(r.src, chunk)
	if err == io.ErrUnexpectedEOF {
		err = io.EOF
	}
	r.err = err
	got := chunk[:n]
	if inMemory {
		r.mem = r.mem[:kept+n]
	} else if err := r.spill(got); err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, r.err
	}
	return got, nil
}

func (r *replay) spill(p []byte) error {
	if r.file == nil {
		f, err := os.CreateTemp(r.tempDir, "weft-input-*")
		if err != nil {
			return fmt.Errorf("temporary file: %w", err)
		}
		r.file = f
		// Where the system allows it, nothing is left however the program ends; elsewhere Close removes the file.
		os.Remove(f.Name())
	}
	n, err := r.file.Write(p)
	r.inFile += int64(n)
	if err != nil {
		r.err = fmt.Errorf("temporary file: %w", err)
		return r.err
	}
	return nil
}

// Read gives the input from its start, once.
func (r *replay) Read(p []byte) (int, error) {
	r.buf = nil
	if r.served < len(r.mem) {
		n := copy(p, r.mem[r.served:])
		if r.served += n; r.served == len(r.mem) {
			r.mem, r.served = nil, 0
		}
		return n, nil
	}
	if r.read < r.inFile {
		n, err := r.file.ReadAt(p[:min(int64(len(p)), r.inFile-r.read)], r.read)
		r.read += int64(n)
		if n > 0 {
			return n, nil
		}
		return 0, fmt.Errorf("temporary file: %w", err)
	}
	if r.err != nil {
		return 0, r.err
	}
	return r.src.Read(p)
}

// Close gives up the temporary file.
func (r *replay) Close() error {
	if r.file == nil {
		return nil
	}
	f := r.file
	r.file, r.inFile = nil, 0
	os.Remove(f.Name())
	return f.Close()
}
