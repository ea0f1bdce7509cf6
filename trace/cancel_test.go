package trace_test

import (
	"context"
	"errors"
	"testing"

	"github.com/weft-trace/weft/trace"
)

// When the trace's context is done, a loop ends with the context's error: soon if the loop is already running, otherwise at its
// start.
func TestCancelledLoops(t *testing.T) {
	var b trace.Builder
	defer b.Close()
	track := b.Track(0, "")
	for i := range trace.Nanos(50_000) {
		if err := b.Add(trace.Event{Kind: trace.Instant, Track: track, Time: i}); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	tr, err := b.Finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	for _, most := range []int{10_000, 1} {
		n := 0
		for _, err = range tr.Events() {
			n++
			cancel()
		}
		if !errors.Is(err, context.Canceled) || n > most {
			t.Errorf("after %d events: %v", n, err)
		}
	}
}
