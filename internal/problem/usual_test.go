package problem_test

import (
	"testing"

	"github.com/weft-trace/weft/internal/problem"
)

// Problems that matter to users are never called usual, in any format.
func TestUsualIsNothingThatAnybodyMisses(t *testing.T) {
	missed := []problem.Kind{
		problem.ContainerDamaged, problem.JSONPartialEvent, problem.JSONMalformedEvent, problem.JSONTrailingData, problem.JSONUnterminated,
		problem.ProducerDataLoss, problem.PacketTruncated, problem.PacketMalformed, problem.PacketNotConverted, problem.Drops, problem.TracerError,
		problem.EventInvalidTimestamp, problem.MemoryDumpDetailDropped, problem.SystemTraceSkipped, problem.ProfileSampleUnknownNode,
	}
	for _, format := range []string{"chrome-json", "perfetto", "firefox", "cpuprofile", "jsprofile", "probes"} {
		for _, k := range missed {
			if what := problem.Usual(k.Name(), format); what != "" {
				t.Errorf("%s is usual in %s: %s", k, format, what)
			}
		}
	}
	for format, k := range map[string]problem.Kind{
		"chrome-json": problem.FlowEndWithoutStart, "perfetto": problem.EndWithoutBegin, "firefox": problem.MarkerIncomplete,
		"jsprofile": problem.TextRedecoded, "probes": problem.NeverEnded, "cpuprofile": problem.ProfileSamplesReordered,
	} {
		if problem.Usual(k.Name(), format) == "" {
			t.Errorf("%s is not usual in %s", k, format)
		}
	}
	if what := problem.Usual(problem.EndWithoutBegin.Name(), "chrome-json"); what != "" {
		t.Errorf("an end without begin is usual in JSON: %s", what)
	}
}
