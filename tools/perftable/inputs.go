package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/tracegen"
)

// recordings lists the candidates for the recorded main input, the largest first. The first is only in the optional
// folder shared.
var recordings = []string{
	"traces/chrome/chrome-devtools-long.json",
	"traces/chrome/chrome-memory-infra.json",
}

// input is a trace for measurements.
type input struct {
	name       string
	plain      string // path of the JSON
	packed     string // path of the same trace as .json.gz
	size       int64  // of plain
	packedSize int64
}

// mainInputs returns the largest available recording and a generated trace. It creates them on the first call.
func (b *bench) mainInputs() ([]input, error) {
	if b.inputs != nil {
		return b.inputs, nil
	}
	recorded, err := b.recordedInput()
	if err != nil {
		return nil, err
	}
	generated, err := b.generatedInput()
	if err != nil {
		return nil, err
	}
	b.inputs = []input{recorded, generated}
	return b.inputs, nil
}

func (b *bench) recordedInput() (input, error) {
	path, ok := b.recorded, b.recorded != ""
	for i := 0; !ok && i < len(recordings); i++ {
		path, ok = recording.Locate(recordings[i])
	}
	if !ok || !strings.HasSuffix(path, ".gz") {
		return input{}, errors.New("no packed recording in testdata or in a folder named shared")
	}
	in := input{name: recording.Name(path), packed: path, plain: b.path(strings.TrimSuffix(filepath.Base(path), ".gz"))}
	if _, err := b.run(b.child(0, "unpack", path, in.plain)); err != nil {
		return in, err
	}
	return in, in.measureSizes()
}

func (b *bench) generatedInput() (input, error) {
	path, err := b.trace(b.pytorch * megabyte)
	if err != nil {
		return input{}, err
	}
	in := input{name: fmt.Sprintf("PyTorch-like, %s", sizeText(b.pytorch*megabyte)), plain: path, packed: path + ".gz"}
	b.logf("  packing %s as gzip -9 does", in.name)
	if _, err := b.run(b.child(0, "gzip", in.plain, in.packed)); err != nil {
		return in, err
	}
	return in, in.measureSizes()
}

// measureSizes sets the sizes of the files.
func (in *input) measureSizes() (err error) {
	if in.size, err = fileSize(in.plain); err == nil {
		in.packedSize, err = fileSize(in.packed)
	}
	return err
}

// trace returns the path of a generated trace of a size in bytes. It generates each size once.
func (b *bench) trace(size int64) (path string, err error) {
	if path, ok := b.generated[size]; ok {
		return path, nil
	}
	path = b.path(fmt.Sprintf("pytorch-%d.json", size))
	b.logf("  generating a PyTorch-like trace of %s", sizeText(size))
	if err := b.generate(path, tracegen.PyTorch{Seed: 1, Bytes: size}); err != nil {
		return "", err
	}
	b.generated[size] = path
	return path, nil
}

func (b *bench) generate(path string, p tracegen.PyTorch) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(stoppable{b, f}, 256<<10)
	return errors.Join(tracegen.WritePyTorch(w, p), w.Flush(), f.Close())
}

// stoppable stops the writing of a large file when the bench is interrupted.
type stoppable struct {
	b *bench
	w io.Writer
}

func (s stoppable) Write(p []byte) (int, error) {
	if err := s.b.ctx.Err(); err != nil {
		return 0, err
	}
	return s.w.Write(p)
}

func fileSize(path string) (int64, error) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
