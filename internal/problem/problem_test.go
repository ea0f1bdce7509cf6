package problem_test

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/problem"
)

func TestLogCountsEveryProblemAndKeepsTheFirstCases(t *testing.T) {
	var log problem.Log
	for event := range int64(7) {
		log.Add(problem.EndWithoutBegin, problem.Position{Event: event, Offset: 10 * event}, "E")
	}
	log.AddN(problem.JSONTrailingData, 100, problem.NoPosition, "")
	log.AddN(problem.FlowFanOut, 0, problem.NoPosition, "")

	totals := log.Totals()
	if len(totals) != 2 {
		t.Fatalf("%d kinds were counted, want 2: %v", len(totals), totals)
	}
	ends := totals[0]
	if ends.Kind != problem.EndWithoutBegin || ends.Count != 7 || len(ends.Cases) != 5 {
		t.Errorf("got %v, want 7 of end_without_begin with 5 cases", ends)
	}
	if got, want := ends.Cases[4].Position.String(), "event 4 (byte 40)"; got != want {
		t.Errorf("the fifth case is at %q, want %q", got, want)
	}
	if got := log.Lost(); got != 107 {
		t.Errorf("Lost() = %d, want 107", got)
	}
}

// Counts from an input do not overflow.
func TestCountsDoNotOverflow(t *testing.T) {
	var log, other problem.Log
	log.AddN(problem.Drops, 1<<63, problem.NoPosition, "")
	log.AddN(problem.Drops, 1<<63, problem.NoPosition, "")
	log.Add(problem.BadLine, problem.NoPosition, "")
	other.AddN(problem.Drops, 1<<63, problem.NoPosition, "")
	log.Merge(&other)
	if n, lost := log.Count(problem.Drops), log.Lost(); n != math.MaxUint64 || lost != math.MaxUint64 {
		t.Errorf("%d drops, %d lost; want the largest number", n, lost)
	}
}

func TestTotalsPutTheSeverestFirst(t *testing.T) {
	var log problem.Log
	for _, kind := range []problem.Kind{problem.JSONEmptyEvent, problem.PidRemapped, problem.FlowSelf, problem.AsyncMissingID} {
		log.Add(kind, problem.NoPosition, "")
	}
	var got []string
	for _, total := range log.Totals() {
		got = append(got, total.Kind.Name())
	}
	want := "async_missing_id flow_self pid_remapped json_empty_event"
	if strings.Join(got, " ") != want {
		t.Errorf("got %v, want %s", got, want)
	}
}

func TestMergeAddsCountsAndKeepsTheOrderOfCases(t *testing.T) {
	var first, second problem.Log
	first.Add(problem.FlowSelf, problem.Position{Event: 1, Offset: -1}, "")
	second.AddN(problem.FlowSelf, 3, problem.Position{Event: 2, Offset: -1}, "")
	second.Add(problem.PidRemapped, problem.NoPosition, "")
	first.Merge(&second)

	if got := first.Count(problem.FlowSelf); got != 4 {
		t.Errorf("Count = %d, want 4", got)
	}
	if got := first.Count(problem.PidRemapped); got != 1 {
		t.Errorf("Count = %d, want 1", got)
	}
	cases := first.Totals()[0].Cases
	if len(cases) != 2 || cases[0].Position.Event != 1 || cases[1].Position.Event != 2 {
		t.Errorf("the cases are %v, want those of events 1 and 2", cases)
	}
}

func TestLongDetailIsCutBetweenCharacters(t *testing.T) {
	var log problem.Log
	log.Add(problem.EventUnknownPhase, problem.NoPosition, "x"+strings.Repeat("é", 1000))
	detail := log.Totals()[0].Cases[0].Detail
	if !utf8.ValidString(detail) || len(detail) > 200 || len(detail) < 190 {
		t.Errorf("the detail has %d bytes, valid: %v", len(detail), utf8.ValidString(detail))
	}
}
