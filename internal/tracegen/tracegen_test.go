package tracegen

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/weft-trace/weft/internal/recording"
)

// The committed trace equals the generator's output.
func TestPyTorchIsTheCommittedTrace(t *testing.T) {
	path := recording.Path(t, "traces/pytorch/pytorch-small.json")
	var got bytes.Buffer
	if err := WritePyTorch(&got, PyTorch{Seed: 1, Bytes: 300_000}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), recording.Read(t, path)) {
		t.Error("testdata/traces/pytorch/pytorch-small.json.gz differs from the output of go run ./internal/tracegen/pytorch")
	}
}

func TestPyTorchSize(t *testing.T) {
	for _, size := range []int64{1, 100_000, 2_000_000} {
		var got bytes.Buffer
		if err := WritePyTorch(&got, PyTorch{Seed: 2, Bytes: size}); err != nil {
			t.Fatal(err)
		}
		if !json.Valid(got.Bytes()) {
			t.Errorf("size %d: no valid JSON", size)
		}
		if n := int64(got.Len()); n < size || n > size+50_000 {
			t.Errorf("size %d: %d bytes", size, n)
		}
	}
}

func TestPyTorchReportsWriteErrors(t *testing.T) {
	broken := errors.New("broken")
	if err := WritePyTorch(failing{broken}, PyTorch{Bytes: 1 << 20}); !errors.Is(err, broken) {
		t.Errorf("error %v, want %v", err, broken)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestRandomTraces(t *testing.T) {
	for name, make := range map[string]func(uint64, int) Trace{"nested": Nested, "misnested": Misnested} {
		a, b := make(5, 300), make(5, 300)
		if !bytes.Equal(a.JSON, b.JSON) || !slices.Equal(a.Slices, b.Slices) {
			t.Errorf("%s: one seed generates two traces", name)
		}
		if !json.Valid(a.JSON) {
			t.Errorf("%s: no valid JSON", name)
		}
		if len(a.Slices) < 290 {
			t.Errorf("%s: only %d slices", name, len(a.Slices))
		}
	}
}
