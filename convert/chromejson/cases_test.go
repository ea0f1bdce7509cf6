package chromejson

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/weft-trace/weft/problem"
)

var update = flag.Bool("update", false, "write the expected results of the cases in testdata")

// loadCase reads a case: options in its comment, the input, and what is expected.
func loadCase(t *testing.T, path string) (ar *txtar.Archive, input string, opts Options) {
	t.Helper()
	ar, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(ar.Files) != 2 || ar.Files[0].Name != "input.json" || ar.Files[1].Name != "want" {
		t.Fatalf("%s: a case has the files input.json and want", path)
	}
	for line := range strings.Lines(string(ar.Comment)) {
		switch option, value, _ := strings.Cut(strings.TrimSpace(line), " "); option {
		case "args:":
			opts.Args = OnlyArgs(strings.Fields(value)...)
		case "offset-ns:":
			opts.Offset = 1_000_000_000
		}
	}
	// txtar ends every file with a new line, which no cut input has.
	return ar, strings.TrimSuffix(string(ar.Files[0].Data), "\n"), opts
}

// TestCases compares what is read from the inputs in testdata with what is expected, through windows and readers of all
// sizes, and in blocks of all sizes.
func TestCases(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			ar, input, opts := loadCase(t, path)
			got := dump(t, strings.NewReader(input), opts)
			if *update {
				ar.Files[1].Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(ar.Files[1].Data), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			sameThroughAnyWindow(t, []byte(input), opts, got)
		})
	}
}

func sameThroughAnyWindow(t *testing.T, input []byte, opts Options, want string) {
	t.Helper()
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"whole":    func(r io.Reader) io.Reader { return r },
		"one byte": iotest.OneByteReader,
		"data+EOF": iotest.DataErrReader,
	} {
		for _, opts.window = range []int{16, 100, 4096} {
			if diff := cmp.Diff(want, dump(t, wrap(bytes.NewReader(input)), opts)); diff != "" {
				t.Errorf("%s reads, window %d: -want +got:\n%s", name, opts.window, diff)
			}
		}
		opts.Workers = 3
		for _, opts.block = range []int{8, 60, 500} {
			if diff := cmp.Diff(want, dump(t, wrap(bytes.NewReader(input)), opts)); diff != "" {
				t.Errorf("%s reads, blocks of %d: -want +got:\n%s", name, opts.block, diff)
			}
		}
		opts.Workers = 0
	}
}

// largeInputs are the problems that only inputs raise that are too large for a file of testdata.
var largeInputs = map[problem.Kind]bool{
	problem.MetadataValueOmitted: true, // TestLargeMetadata
	problem.ArgDepthLimit:        true, // TestDeepArgs
	problem.StackLimit:           true, // TestDeepStacks
}

// raisedByReader reports whether a problem of spec chrome-json.md 18 is found by the reader, not by the passes behind it.
func raisedByReader(k problem.Kind) bool {
	switch k {
	case problem.CompleteWithoutDuration, problem.SliceNegativeDuration, problem.AsyncMissingID, problem.AsyncMissingPid,
		problem.FlowMissingID, problem.FlowWithoutDirection:
		return true
	case problem.PidRemapped:
		return false
	}
	if k > problem.ObjectEndWithoutBegin {
		return false // of other formats and passes
	}
	for _, group := range []string{"slice_", "async_", "flow_", "begin_", "end_", "container_"} {
		if strings.HasPrefix(k.Name(), group) {
			return false
		}
	}
	return true
}

// TestEveryProblemHasACase holds that each problem that the reader can raise is raised by a case.
func TestEveryProblemHasACase(t *testing.T) {
	raised := map[problem.Kind]bool{}
	paths, _ := filepath.Glob("testdata/*.txtar")
	for _, path := range paths {
		_, input, opts := loadCase(t, path)
		_, log, _ := read(t, strings.NewReader(input), opts)
		for _, total := range log.Totals() {
			raised[total.Kind] = true
		}
	}
	for _, k := range problem.Kinds() {
		if raisedByReader(k) && !raised[k] && !largeInputs[k] {
			t.Errorf("no case raises %s", k)
		}
	}
}
