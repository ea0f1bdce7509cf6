package firefox

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readertest"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/tracetext"
)

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
	tl, err := readertest.Read(tb, timeline.Options{Problems: log, Memory: budget}, func(b *timeline.Builder) error {
		return Read(context.Background(), r, b, opts)
	})
	return tl, log, err
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

// dumpTracks writes the names of processes and threads, facts about threads, the units of counters, frames with files, pages and
// attributes.
func dumpTracks(out *strings.Builder, tl *timeline.Timeline) {
	for id := range timeline.TrackID(tl.TrackCount()) {
		tr := tl.Track(id)
		switch {
		case !tr.Used:
		case tr.Kind == timeline.ProcessTrack, tr.Kind == timeline.ThreadTrack:
			fmt.Fprintf(out, "track %s: %s", tracetext.Path(tl, id), tr.Name)
			if tr.Assigned {
				fmt.Fprintf(out, ", shown as %q", tr.Title())
			}
			if len(tr.Labels) > 0 {
				fmt.Fprintf(out, " %q", tr.Labels)
			}
			out.WriteByte('\n')
			for _, f := range tr.Facts {
				fmt.Fprintf(out, "fact %s %v: %s in %d samples from %d to %d\n", tracetext.Path(tl, id), f.Kind, f.Value(), f.Samples, f.Start, f.End)
			}
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
	for _, p := range tl.Pages() {
		fmt.Fprintf(out, "page %+v\n", p)
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

// suite are the cases, which are read through windows of all sizes.
var suite = readertest.Suite[Options]{
	Options: caseOptions,
	Dump:    dump,
	Ways:    []func(*Options){window(16), window(100), window(4096)},
}

func window(size int) func(*Options) { return func(opts *Options) { opts.window = size } }

// caseOptions reads the options in the comment of a case.
func caseOptions(_ testing.TB, c *readertest.Case) (opts Options) {
	for option, value := range c.Options() {
		switch option {
		case "js-calls":
			opts.JSCalls = true
		case "offset-ns":
			opts.Offset = 1_000_000_000
		case "args":
			opts.KeepArg = func(key []byte) bool { return string(key) == value }
		}
	}
	return opts
}

// TestCases compares what is read from the inputs in testdata with what is expected.
func TestCases(t *testing.T) { suite.Run(t) }

// TestEveryProblemHasACase holds that each problem that belongs to this format is raised by a case.
func TestEveryProblemHasACase(t *testing.T) {
	raised := readertest.Raised(t, func(c *readertest.Case) *problem.Log {
		_, log, _ := read(t, memory, strings.NewReader(c.Input), caseOptions(t, c))
		return log
	})
	own := []problem.Kind{
		problem.FirefoxNewerVersion, problem.FirefoxValueInvalid, problem.FirefoxIndexInvalid, problem.FirefoxColumnShort,
		problem.ArgumentValuesSkipped, problem.MarkerFieldMismatch, problem.MarkerIncomplete, problem.MarkerOverlapMoved,
		problem.PageUnknown, problem.ScreenshotInvalid, problem.ScreenshotNotJPEG,
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
