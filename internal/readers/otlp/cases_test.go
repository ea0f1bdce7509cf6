package otlp

import (
	"fmt"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readertest"
	"github.com/weft-trace/weft/internal/timeline"
)

// suite are the cases, which are read through windows of all sizes, and sorted on disk.
var suite = readertest.Suite[Options]{
	Read:    Read,
	Prepare: func(o *Options, log *problem.Log, dir string) { o.Problems, o.TempDir = log, dir },
	Option: func(o *Options, name, value string) (err error) {
		switch name {
		case "args":
			o.Args = timeline.OnlyArgs(value)
		case "offset-ns":
			_, err = fmt.Sscan(value, &o.Offset)
		}
		return err
	},
	Ways: []func(*Options){func(o *Options) { o.window = 16 }, func(o *Options) { o.window = 100 }, func(o *Options) { o.spool = 1 }},
	Raises: []problem.Kind{
		problem.OTLPSignalSkipped, problem.OTLPValueInvalid, problem.SpanIDInvalid, problem.SpanIDDuplicate, problem.SpanWithoutStart,
		problem.SpanEndsBeforeStart, problem.SpanEventWithoutTime, problem.SpanParentUnknown, problem.SpanParentCycle,
		problem.SpanLinkUnknown, problem.AttributeDuplicate,
		// Of other groups, raised by this reader as well:
		problem.EventInvalidTimestamp, problem.EventNegativeTimestamp, problem.EventUnknownMember, problem.ProducerDataLoss,
		problem.ArgDepthLimit, problem.FlowBackwards, problem.BeginWithoutEnd, problem.JSONNotAnEvent, problem.JSONUnterminated,
	},
}

// TestCases compares what is read from the inputs in testdata with what is expected.
func TestCases(t *testing.T) { suite.Run(t) }
