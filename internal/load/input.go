package load

import (
	"context"
	"io"

	"github.com/weft-trace/weft/internal/inputs"
)

// An input is unpacked and has a known format. It counts the bytes that are read.
type input struct {
	format   Format
	unpacked *inputs.Source
	plain    *replay
	n        int64 // bytes read
	failed   error // error from unpacking
}

// openInput unpacks an input and, if from is FormatAuto, detects its format.
func openInput(ctx context.Context, src io.Reader, from Format, tempDir string) (*input, error) {
	unpacked, err := inputs.Unpack(ctx, src, tempDir)
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

// Read reads the unpacked input.
func (in *input) Read(p []byte) (int, error) {
	n, err := in.plain.Read(p)
	in.n += int64(n)
	if err != nil && err != io.EOF {
		in.failed = err
	}
	return n, err
}

// Close frees the input's buffers and removes its temporary files. It does not close the source.
func (in *input) Close() {
	in.plain.Close()
	in.unpacked.Close()
}
