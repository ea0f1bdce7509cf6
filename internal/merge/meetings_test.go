package merge_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/merge"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// attends returns an input that enters collectives at the given times, and leaves each 10 µs later.
func attends(name string, at map[string]timeline.Nanos) merge.Input {
	job := &merge.Job{Links: []string{"id"}}
	c, b := merge.NewCollector(merge.CollectOptions{Inputs: 2, Job: job, Linked: make([]bool, 1)}, timeline.Options{Problems: new(problem.Log)})
	defer b.Close()
	for id, ts := range at {
		args := b.Args()
		args.Reset()
		args.Key([]byte("id"))
		args.String([]byte(id))
		thread := b.Thread(b.Process(timeline.ProcessKey{Num: 1}), timeline.ThreadKey{Num: 1})
		err := b.Add(&timeline.Event{Kind: timeline.Slice, Track: thread, TS: ts, Dur: 10_000, Name: []byte("allreduce"), Args: args.Args()})
		if err != nil {
			panic(err)
		}
	}
	return merge.Input{Name: name, Clues: c.Finish(nothing)}
}

// Two inputs meet the reference at one time, but each other at another, so no offsets fit. The error names both sides, and only
// the later of the two inputs is left out. The relations of the other inputs still count.
func TestImpossibleMeeting(t *testing.T) {
	const ms = timeline.Nanos(1e6)
	in := []merge.Input{
		attends("r", map[string]timeline.Nanos{"1": ms, "4": 2 * ms, "5": 3 * ms}),
		attends("a", map[string]timeline.Nanos{"1": 51 * ms, "2": 54 * ms}),
		attends("b", map[string]timeline.Nanos{"2": 94 * ms}), // through a
		attends("d", map[string]timeline.Nanos{"4": 2 * ms, "6": 5 * ms}),
		attends("e", map[string]timeline.Nanos{"5": 3 * ms, "6": 8 * ms}),
	}
	_, err := merge.Solve(in, merge.Options{})
	contradiction, ok := errors.AsType[*merge.ContradictionError](err)
	if !ok || contradiction.A != "d" || contradiction.B != "e" {
		t.Fatal(err)
	}
	for _, side := range []string{"−20 µs to 20 µs by causality (1 collective)", "−3.01 ms to −2.99 ms by causality (1 collective)"} {
		if !strings.Contains(err.Error(), side) {
			t.Errorf("%v: without %q", err, side)
		}
	}

	plan, err := merge.Solve(in, merge.Options{KeepGoing: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ offset, uncertainty timeline.Nanos }{{}, {-50 * ms, 10_000}, {-90 * ms, 20_000}, {0, 10_000}} {
		p := plan.Inputs[i]
		if p.LeftOut != nil || p.Offset != want.offset || p.Uncertainty() != want.uncertainty || i > 0 && p.Rule != merge.Causality {
			t.Errorf("%s: %+v", in[i].Name, p)
		}
	}
	if plan.Inputs[4].LeftOut == nil {
		t.Errorf("e: %+v", plan.Inputs[4])
	}
}

// An input that is reached only through an impossible meeting is still placed before the contradiction is found, and the
// error is the contradiction.
func TestBehindImpossibleMeeting(t *testing.T) {
	_, err := merge.Solve([]merge.Input{
		attends("r", map[string]timeline.Nanos{"1": 1e6, "2": 2e6}),
		attends("a", map[string]timeline.Nanos{"1": 1e6, "3": 3e6}),
		attends("b", map[string]timeline.Nanos{"2": 2e6, "3": 6e6, "4": 7e6}),
		attends("c", map[string]timeline.Nanos{"4": 7e6}),
	}, merge.Options{})
	if c, ok := errors.AsType[*merge.ContradictionError](err); !ok || c.A != "a" || c.B != "b" {
		t.Error(err)
	}
}

// If the meetings of two inputs other than the reference contradict each other, a note reports that their clocks drift.
func TestMeetingsDrift(t *testing.T) {
	plan := solve(t, merge.Options{},
		attends("r", map[string]timeline.Nanos{"1": 1e6, "2": 1e6}),
		attends("a", map[string]timeline.Nanos{"1": 1e6, "3": 3e6, "4": 9e6}),
		attends("b", map[string]timeline.Nanos{"2": 1e6, "3": 3e6, "4": 10e6}))
	if notes := fmt.Sprint(plan.Notes); !strings.Contains(notes, "drift: the clocks of a and b") {
		t.Error(notes)
	}
}
