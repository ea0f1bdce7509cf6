package timeline_test

import (
	"slices"
	"strconv"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// A reserved stack gets its frames after the events that use it. Only stacks that events use are in the output.
func TestReservedCallstacks(t *testing.T) {
	b, log := newBuilder()
	main, f := b.Frame(timeline.Frame{Function: "main"}), b.Frame(timeline.Frame{Function: "f"})
	known, unknown, idle := b.ReserveCallstack(), b.ReserveCallstack(), b.ReserveCallstack()
	thread := b.Thread(b.Process(timeline.ProcessKey{Num: 1}), timeline.ThreadKey{Num: 1})
	for i, stack := range []timeline.CallstackID{known, known, unknown} {
		ev := timeline.Event{
			Kind: timeline.Instant, Track: thread, Event: uint32(5 + i), Offset: 77, TS: timeline.Nanos(i),
			Callstack: stack,
		}
		if err := b.Add(&ev); err != nil {
			t.Fatal(err)
		}
	}
	if n, at := b.CallstackUses(known); n != 2 || at != (problem.Position{Event: 5, Offset: 77}) {
		t.Errorf("%d uses, the first at %v", n, at)
	}
	two := b.Callstack([]timeline.FrameID{main, f})
	b.SetCallstack(known, two)
	b.SetCallstack(idle, b.PushFrame(two, main))
	tl := finish(t, b)
	if got := slices.Collect(tl.Callstacks()); !slices.Equal(got, []timeline.CallstackID{two}) {
		t.Errorf("stacks %v are used, not %d", got, two)
	}
	var stacks []timeline.CallstackID
	if err := tl.Walk(t.Context(), func(it *timeline.Item) error {
		stacks = append(stacks, it.Callstack)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(stacks, []timeline.CallstackID{two, two, 0}) {
		t.Errorf("events have the stacks %v", stacks)
	}
	if len(log.Totals()) > 0 {
		t.Errorf("problems: %v", log.Totals())
	}
}

// The size of the output is limited however deep stacks are, and truncated stacks are counted.
func TestCallstackLimits(t *testing.T) {
	b, log := newBuilder()
	const n = 1 << 24 / timeline.MaxStackDepth * 2
	var stack timeline.CallstackID
	for i := range n {
		stack = b.PushFrame(stack, b.Frame(timeline.Frame{Function: strconv.Itoa(i)}))
		ev := timeline.Event{
			Kind: timeline.Instant, TS: 1, Callstack: stack,
		}
		if err := b.Add(&ev); err != nil {
			t.Fatal(err)
		}
	}
	tl := finish(t, b)
	if got := len(tl.Callstack(stack)); got != 64 {
		t.Errorf("the last stack has %d frames, not 64", got)
	}
	if log.Count(problem.StackLimit) != n-timeline.MaxStackDepth {
		t.Errorf("%d stacks are truncated", log.Count(problem.StackLimit))
	}
}

// AppendFrame creates a new stack even if PushFrame has already created a stack with the same frames.
func TestAppendFrame(t *testing.T) {
	b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log)})
	f, g := b.Frame(timeline.Frame{Function: "f"}), b.Frame(timeline.Frame{Function: "g"})
	pushed := b.Callstack([]timeline.FrameID{f, g})
	first := b.AppendFrame(b.AppendFrame(0, f), g)
	second := b.AppendFrame(b.PushFrame(0, f), g)
	if first == pushed || second == pushed || first == second {
		t.Errorf("the stacks %d, %d and %d are not different", pushed, first, second)
	}
	if b.AppendFrame(first, 0) != first {
		t.Error("no frame makes another stack")
	}
	tl, err := b.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	for _, id := range []timeline.CallstackID{pushed, first, second} {
		if got := tl.Callstack(id); !slices.Equal(got, []timeline.FrameID{f, g}) {
			t.Errorf("stack %d: %v", id, got)
		}
	}
}
