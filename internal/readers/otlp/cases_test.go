package otlp

import (
	"context"
	"io"
	"strings"
	"testing"

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

// caseOptions returns the options under which a case is read.
func caseOptions(tb testing.TB, c *readertest.Case) (opts Options) {
	tb.Helper()
	opts.KeepArg, opts.Offset = c.ArgsAndOffset(tb)
	return opts
}

// TestCases compares what is read from the inputs in testdata with what is expected.
func TestCases(t *testing.T) { suite.Run(t) }

// read reads spans into a resolved timeline.
func read(tb testing.TB, r io.Reader, opts Options) (*timeline.Timeline, *problem.Log, error) {
	tb.Helper()
	log := new(problem.Log)
	opts.Problems, opts.TempDir = log, tb.TempDir()
	tl, err := readertest.Read(tb, timeline.Options{Problems: log, TempDir: opts.TempDir}, func(b *timeline.Builder) error {
		return Read(context.Background(), r, b, opts)
	})
	return tl, log, err
}

// dump returns as text what is read from an input.
func dump(tb testing.TB, r io.Reader, opts Options) string {
	tb.Helper()
	tl, log, err := read(tb, r, opts)
	if err != nil {
		return "error: " + err.Error() + "\n" + tracetext.Problems(log)
	}
	return readertest.DumpRequests(tb, tl, log)
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
