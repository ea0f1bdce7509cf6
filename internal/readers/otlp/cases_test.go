package otlp

import (
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readertest"
)

// suite runs the cases, with windows of several sizes and with sorting on disk.
var suite = readertest.Spooled(Read,
	problem.OTLPSignalSkipped, problem.OTLPValueInvalid, problem.SpanIDInvalid, problem.SpanIDDuplicate, problem.SpanWithoutStart,
	problem.SpanEndsBeforeStart, problem.SpanEventWithoutTime, problem.SpanParentUnknown, problem.SpanParentCycle,
	problem.SpanLinkUnknown, problem.AttributeDuplicate,
	// From other groups, also found by this reader:
	problem.EventInvalidTimestamp, problem.EventNegativeTimestamp, problem.EventUnknownMember, problem.ProducerDataLoss,
	problem.ArgDepthLimit, problem.FlowBackwards, problem.BeginWithoutEnd, problem.JSONNotAnEvent, problem.JSONUnterminated,
)

// TestCases compares the results of the inputs in testdata with the expected ones.
func TestCases(t *testing.T) { suite.Run(t) }
