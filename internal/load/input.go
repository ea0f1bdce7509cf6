package load

import (
	"context"
	"io"

	"github.com/weft-trace/weft/internal/unpack"
)

// An input is one that is unpacked and whose format is known. It counts what is read of it.
type input struct {
	format   Format
	unpacked *unpack.Source
	plain    *replay
	n        int64 // bytes that were read
	failed   error // what unpacking it has failed with
}

// openInput unpacks an input and finds its format, unless from says which it is.
func openInput(ctx context.Context, src io.Reader, from Format, tempDir string) (*input, error) {
	unpacked, err := unpack.Open(ctx, src, tempDir)
	if err != nil {
		return nil, err
	}
	in := &input{format: from, unpacked: unpacked, plain: newReplay(unpacked, replayMemory, tempDir)}
	if from == FormatAuto {
		if in.format, err = detect(in.plain); err != nil {
			in.Close()
			return nil, err
		}
	}
	return in, nil
}

// Read reads what is unpacked.
func (in *input) Read(p []byte) (int, error) {
	n, err := in.plain.Read(p)
	in.n += int64(n)
	if err != nil && err != io.EOF {
		in.failed = err
	}
	return n, err
}

// Close frees what is held of the input. It does not close what it was opened from.
func (in *input) Close() {
	in.plain.Close()
	in.unpacked.Close()
}
