package otlp

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readertest"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/tracetext"
)

// suite are the cases, which are read through windows of all sizes, and sorted on disk.
var suite = readertest.Suite[Options]{
	Options: caseOptions,
	Dump:    dump,
	Ways:    []func(*Options){func(o *Options) { o.window = 16 }, func(o *Options) { o.window = 100 }, func(o *Options) { o.spool = 1 }},
}

// caseOptions reads the options in the comment of a case.
func caseOptions(tb testing.TB, c *readertest.Case) (opts Options) {
	tb.Helper()
	for option, value := range c.Options() {
		switch option {
		case "args":
			opts.KeepArg = func(name []byte) bool { return value == string(name) }
		case "offset-ns":
			ns, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				tb.Fatal(err)
			}
			opts.Offset = timeline.Nanos(ns)
		}
	}
	return opts
}

// TestCases compares what is read from the inputs in testdata with what is expected.
func TestCases(t *testing.T) { suite.Run(t) }

// read reads spans into a resolved timeline.
func read(tb testing.TB, r io.Reader, opts Options) (*timeline.Timeline, *problem.Log, error) {
	tb.Helper()
	log := new(problem.Log)
	opts.Problems, opts.TempDir = log, tb.TempDir()
	b := timeline.NewBuilder(timeline.Options{Problems: log, TempDir: opts.TempDir})
	if err := Read(context.Background(), r, b, opts); err != nil {
		b.Close()
		return nil, log, err
	}
	tl, err := b.Finish(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { tl.Close() })
	if err := flowbind.NestAndResolve(context.Background(), tl); err != nil {
		tb.Fatal(err)
	}
	return tl, log, nil
}

// dump writes what is read from an input: slices and instants with the flows that lead to or from them, the names of processes and
// threads, the clock and problems.
func dump(tb testing.TB, r io.Reader, opts Options) string {
	tb.Helper()
	tl, log, err := read(tb, r, opts)
	if err != nil {
		return "error: " + err.Error() + "\n" + tracetext.Problems(log)
	}
	readertest.Verify(tb, tl)
	var out strings.Builder
	paths := tracetext.Paths(tl)
	err = tl.Walk(context.Background(), func(it *timeline.Item) error {
		switch it.Kind {
		case timeline.ItemBegin:
			length := "open"
			if it.Dur != timeline.NoTime {
				length = fmt.Sprint(int64(it.Dur))
			}
			fmt.Fprintf(&out, "%d+%s %s", it.TS, length, paths[it.Track])
		case timeline.ItemInstant:
			fmt.Fprintf(&out, "%d %s", it.TS, paths[it.Track])
		default:
			return nil
		}
		if it.Lane > 0 {
			fmt.Fprintf(&out, "~%d", it.Lane)
		}
		fmt.Fprintf(&out, " %q (%s)", it.Name, it.Category)
		for _, f := range it.Flows {
			arrow := "flow"
			if f.Terminating {
				arrow = "end"
			}
			fmt.Fprintf(&out, " %s=%d", arrow, f.ID)
		}
		fmt.Fprintf(&out, " %s\n", tracetext.ArgsText(tl, it.Args))
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	for id := range timeline.TrackID(tl.TrackCount()) {
		if tr := tl.Track(id); tr.Used && (tr.Kind == timeline.ProcessTrack || tr.Kind == timeline.ThreadTrack) {
			fmt.Fprintf(&out, "track %s: %s", paths[id], tr.Name)
			if len(tr.Labels) > 0 {
				fmt.Fprintf(&out, " %q", tr.Labels)
			}
			out.WriteByte('\n')
		}
	}
	fmt.Fprintf(&out, "clock %d\n", tl.Clocks().Trace)
	return out.String() + tracetext.Problems(log)
}

// TestEveryProblemHasACase holds that each problem that belongs to this format is raised by a case.
func TestEveryProblemHasACase(t *testing.T) {
	raised := readertest.Raised(t, func(c *readertest.Case) *problem.Log {
		_, log, _ := read(t, strings.NewReader(c.Input), caseOptions(t, c))
		return log
	})
	for _, k := range []problem.Kind{
		problem.OTLPSignalSkipped, problem.OTLPValueInvalid, problem.SpanIDInvalid, problem.SpanIDDuplicate, problem.SpanWithoutStart,
		problem.SpanEndsBeforeStart, problem.SpanEventWithoutTime, problem.SpanParentUnknown, problem.SpanParentCycle,
		problem.SpanLinkUnknown, problem.AttributeDuplicate,
		// Of other groups, raised by this reader as well:
		problem.EventInvalidTimestamp, problem.EventNegativeTimestamp, problem.EventUnknownMember, problem.ProducerDataLoss,
		problem.ArgDepthLimit, problem.FlowBackwards, problem.BeginWithoutEnd, problem.JSONNotAnEvent, problem.JSONUnterminated,
	} {
		if !raised[k] {
			t.Errorf("no case raises %s", k)
		}
	}
}
