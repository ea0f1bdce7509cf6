package load

import (
	"fmt"
	"io"
	"os"
	"slices"
)

// replayMemory is the part of an input that is kept in memory until the format is detected; the rest is written to a file.
const replayMemory = 4 << 20

const replayChunk = 64 << 10

// A replay lets detection examine the start of an input: Peek returns it piece by piece and keeps it, and Read then returns
// everything from the start. The deciding key may follow many megabytes of another member, so data that does not fit into memory
// goes to a temporary file.
type replay struct {
	src     io.Reader
	tempDir string
	limit   int // bytes to keep in memory

	mem    []byte // first bytes of the input
	served int    // number of bytes of mem that Read has returned
	file   *os.File
	inFile int64  // number of bytes after mem
	read   int64  // number of bytes of the file that Read has returned
	buf    []byte // chunk that is read before it goes to the file
	err    error  // last error from src
}

func newReplay(src io.Reader, limit int, tempDir string) *replay {
	return &replay{src: src, limit: limit, tempDir: tempDir}
}

// Peek reads the next bytes of the input and keeps them for Read. The bytes are valid until the next call. At the end of the
// input, Peek returns io.EOF. It must not be called after Read.
func (r *replay) Peek() ([]byte, error) {
	if r.err != nil {
		return nil, r.err
	}
	// Fill whole chunks, so that one Peek returns all magic bytes.
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
		// If the system allows it, remove the name now, so that no file remains even after a crash; otherwise, Close removes it.
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

// Read returns the input once, from its start.
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

// Close removes the temporary file.
func (r *replay) Close() error {
	if r.file == nil {
		return nil
	}
	f := r.file
	r.file, r.inFile = nil, 0
	os.Remove(f.Name())
	return f.Close()
}
