package main

import (
	"cmp"
	"context"
	"slices"
	"testing"

	"github.com/weft-trace/weft/internal/merge"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// The calls of a .cpuprofile that R1 placed coincide with scripts running in the trace, although they are made from its
// samples alone: all calls start while a script runs, and nearly all of their time is in scripts. The page works in microtasks:
// hardly any call lies in a FunctionCall.
func TestMergeCPUProfileLiesInInvocations(t *testing.T) {
	_, out := merged(t, recordingNamed(t, "chrome/chrome-with-selfprof-and-inspector.json"), recordingNamed(t, "cpuprofile/cdp-matching-trace.cpuprofile"))
	tl := timelineOf(t, out)
	var calls, microtasks, invocations []merge.Range
	err := tl.Walk(context.Background(), func(it *timeline.Item) error {
		track := tl.Track(it.Track)
		r := merge.Range{From: it.TS, To: it.TS + it.Dur}
		switch name := string(it.Name); {
		case it.Kind != timeline.ItemBegin:
		case track.Name == "JS samples (cdp-matching-trace)":
			calls = append(calls, r)
		case track.Kind == timeline.ThreadTrack && track.InputID.Num == 31591 && producers.ClassOf(it.Name).Invokes():
			if name == "RunMicrotasks" {
				microtasks = append(microtasks, r)
			}
			invocations = append(invocations, r)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	calls, invocations = outermost(calls), outermost(invocations)
	if len(calls) != 44 || total(calls) != 355_199_000 {
		t.Errorf("%d outermost calls of %d ns", len(calls), total(calls))
	}
	if len(microtasks) != 44 || total(microtasks) != 367_489_000 {
		t.Errorf("%d microtask checkpoints of %d ns", len(microtasks), total(microtasks))
	}
	begin, inside := 0, timeline.Nanos(0)
	for _, c := range calls {
		for _, in := range invocations {
			if in.From <= c.From && c.From <= in.To {
				begin++
			}
			inside += max(0, min(c.To, in.To)-max(c.From, in.From))
		}
	}
	if begin != len(calls) || inside != 352_961_000 { // 99.37 %
		t.Errorf("%d calls begin inside of %d invocations; %d ns lie inside", begin, len(invocations), inside)
	}
}

// outermost returns the ranges that are in no other range, in time order.
func outermost(all []merge.Range) (out []merge.Range) {
	slices.SortFunc(all, func(a, b merge.Range) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(b.To, a.To)) })
	for _, r := range all {
		if n := len(out); n == 0 || r.From >= out[n-1].To {
			out = append(out, r)
		}
	}
	return out
}

// total adds up the lengths of ranges.
func total(all []merge.Range) (sum timeline.Nanos) {
	for _, r := range all {
		sum += r.To - r.From
	}
	return sum
}
