package firefox

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/weft-trace/weft/flow"
	"github.com/weft-trace/weft/internal/tracetext"
	"github.com/weft-trace/weft/problem"
	"github.com/weft-trace/weft/timeline"
)

var update = flag.Bool("update", false, "write the expected results of the cases in testdata")

// The budgets of timelines in tests: with the small one they spill to disk from the first event on.
const (
	memory      = 16 << 20
	smallMemory = 1
)

// read reads an input, resolves the timeline and returns it with the problems of all steps.
func read(tb testing.TB, budget int64, r io.Reader, opts Options) (*timeline.Timeline, *problem.Log, error) {
	tb.Helper()
	log := new(problem.Log)
	opts.Problems = log
	b := timeline.NewBuilder(timeline.Options{Problems: log, Memory: budget, TempDir: tb.TempDir()})
	if err := Read(context.Background(), r, b, opts); err != nil {
		b.Close()
		return nil, log, err
	}
	tl, err := b.Finish(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { tl.Close() })
	if err := flow.NestAndResolve(context.Background(), tl); err != nil {
		tb.Fatal(err)
	}
	return tl, log, nil
}

// dump writes what was read as text: events, what is known of tracks and of the trace, and problems.
func dump(tb testing.TB, r io.Reader, opts Options) string {
	tb.Helper()
	var out strings.Builder
	tl, log, err := read(tb, memory, r, opts)
	if err != nil {
		fmt.Fprintf(&out, "error: %v\n", err)
	} else {
		events, err := tracetext.Dump(context.Background(), tl)
		if err != nil {
			tb.Fatal(err)
		}
		out.WriteString(events)
		dumpTracks(&out, tl)
	}
	for _, total := range log.Totals() {
		fmt.Fprintf(&out, "problem %s %d:", total.Kind, total.Count)
		for _, c := range total.Cases {
			fmt.Fprintf(&out, " (%s)", strings.TrimSuffix(fmt.Sprintf("%v: %s", c.Position, c.Detail), ": "))
		}
		out.WriteByte('\n')
	}
	return out.String()
}

// dumpTracks writes the names of processes and threads, the units of counters, frames with files, and attributes.
func dumpTracks(out *strings.Builder, tl *timeline.Timeline) {
	for id := range timeline.TrackID(tl.TrackCount()) {
		tr := tl.Track(id)
		switch {
		case !tr.Used:
		case tr.Kind == timeline.ProcessTrack, tr.Kind == timeline.ThreadTrack:
			fmt.Fprintf(out, "track %s: %s", tracetext.Path(tl, id), tr.Name)
			if len(tr.Labels) > 0 {
				fmt.Fprintf(out, " %q", tr.Labels)
			}
			out.WriteByte('\n')
		case tr.Counter != nil:
			fmt.Fprintf(out, "counter %s: unit %d %q %q\n", tracetext.Path(tl, id), tr.Counter.Unit, tr.Counter.UnitName, tr.Counter.Description)
		}
	}
	for id := 1; id <= tl.FrameCount(); id++ {
		if f := tl.Frame(timeline.FrameID(id)); f.File != "" || f.Line > 0 {
			fmt.Fprintf(out, "frame %s: %s:%d:%d", f.Function, f.File, f.Line, f.Column)
			if f.Mapping != 0 {
				fmt.Fprintf(out, " at %#x of %v", f.Address, tl.Mapping(f.Mapping))
			}
			out.WriteByte('\n')
		}
	}
	for _, a := range tl.Attributes() {
		if a.IsInt {
			fmt.Fprintf(out, "attribute %s: %d\n", a.Key, a.Int)
		} else {
			fmt.Fprintf(out, "attribute %s: %s\n", a.Key, a.Text)
		}
	}
	fmt.Fprintf(out, "clock %d %v\n", tl.Clocks().Trace, tl.Clocks().Readings)
	if d := tl.SampleDescription(); d != (timeline.SampleDescription{Source: "gecko"}) {
		fmt.Fprintf(out, "samples %+v\n", d)
	}
}

// loadCase reads a case: options in its comment, the input, and what is expected.
func loadCase(t testing.TB, path string) (ar *txtar.Archive, input string, opts Options) {
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
		case "js-calls:":
			opts.JSCalls = true
		case "offset-ns:":
			opts.Offset = 1_000_000_000
		case "args:":
			opts.KeepArg = func(key []byte) bool { return string(key) == value }
		}
	}
	return ar, strings.TrimSuffix(string(ar.Files[0].Data), "\n"), opts
}

// TestCases compares what is read from the inputs in testdata with what is expected, through windows and readers of all
// sizes.
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
	}
}

// TestEveryProblemHasACase holds that each problem that belongs to this format is raised by a case.
func TestEveryProblemHasACase(t *testing.T) {
	raised := map[problem.Kind]bool{}
	paths, _ := filepath.Glob("testdata/*.txtar")
	for _, path := range paths {
		_, input, opts := loadCase(t, path)
		_, log, _ := read(t, memory, strings.NewReader(input), opts)
		for _, total := range log.Totals() {
			raised[total.Kind] = true
		}
	}
	own := []problem.Kind{
		problem.FirefoxNewerVersion, problem.FirefoxValueInvalid, problem.FirefoxIndexInvalid, problem.FirefoxColumnShort,
		problem.ArgumentValuesSkipped, problem.MarkerFieldMismatch, problem.MarkerIncomplete, problem.MarkerOverlapMoved,
		problem.PageUnknown, problem.ScreenshotOmitted,
		// Of other groups, raised by this reader as well:
		problem.JSONUnterminated, problem.JSONPartialEvent, problem.JSONTrailingData, problem.TopLevelMemberSkipped,
		problem.EventInvalidTimestamp, problem.EventNegativeTimestamp, problem.SliceNegativeDuration,
		problem.CounterInvalidValue, problem.PidRemapped,
	}
	for _, k := range own {
		if !raised[k] {
			t.Errorf("no case raises %s", k)
		}
	}
}
