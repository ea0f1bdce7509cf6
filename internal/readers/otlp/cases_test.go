package otlp

import (
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readertest"
)

// suite are the cases, which are read through windows of all sizes, and sorted on disk.
var suite = readertest.Spooled(Read,
	problem.OTLPSignalSkipped, problem.OTLPValueInvalid, problem.SpanIDInvalid, problem.SpanIDDuplicate, problem.SpanWithoutStart,
	problem.SpanEndsBeforeStart, problem.SpanEventWithoutTime, problem.SpanParentUnknown, problem.SpanParentCycle,
	problem.SpanLinkUnknown, problem.AttributeDuplicate,
	// Of other groups, raised by this reader as well:
	problem.EventInvalidTimestamp, problem.EventNegativeTimestamp, problem.EventUnknownMember, problem.ProducerDataLoss,
	problem.ArgDepthLimit, problem.FlowBackwards, problem.BeginWithoutEnd, problem.JSONNotAnEvent, problem.JSONUnterminated,
)

// TestCases compares what is read from the inputs in testdata with what is expected.
func TestCases(t *testing.T) { suite.Run(t) }
