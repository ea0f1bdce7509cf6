package flow_test

import (
	"context"
	"errors"
	"testing"

	"github.com/weft-trace/weft/flow"
	"github.com/weft-trace/weft/trace"
)

// When the index's context is done, a loop ends with the context's error.
func TestCancelledLoops(t *testing.T) {
	var b trace.Builder
	defer b.Close()
	thread := b.Thread(b.Process(1, ""), 1, "")
	for i := range trace.FlowID(100) {
		at := trace.Nanos(i) * 10
		b.Add(trace.Event{Kind: trace.Slice, Track: thread, Time: at, Duration: 1, FlowsOut: []trace.FlowID{i}})
		b.Add(trace.Event{Kind: trace.Slice, Track: thread, Time: at + 5, Duration: 1, FlowsIn: []trace.FlowIn{{ID: i}}})
	}
	tr, err := b.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	index, err := flow.NewIndex(ctx, tr)
	if err != nil {
		t.Fatal(err)
	}
	defer index.Close()
	n := 0
	for _, err = range index.Flows("") {
		n++
		cancel()
	}
	if !errors.Is(err, context.Canceled) || n != 2 {
		t.Errorf("after %d flows: %v", n, err)
	}
}
