package chromejson

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// chain returns a trace with a dictionary in which each of n frames is the parent of the next, and an event for each
// frame.
func chain(n int) string {
	var b strings.Builder
	b.WriteString(`{"stackFrames":{"0":{"name":"f0"}`)
	for i := 1; i < n; i++ {
		fmt.Fprintf(&b, `,"%d":{"name":"f%d","parent":%d}`, i, i, i-1)
	}
	b.WriteString(`},"traceEvents":[`)
	for i := range n {
		fmt.Fprintf(&b, `{"ph":"i","ts":%d,"pid":1,"sf":%d},`, i, i)
	}
	b.WriteString(`{"ph":"i","ts":0,"pid":1,"stack":[` + strings.Repeat(`"f",`, timeline.MaxStackDepth) + `"lost"]}]}`)
	return b.String()
}

// A stack that is too deep keeps its innermost frames, and is counted. The stacks share their frames, so this test does
// not need gigabytes.
func TestDeepStacks(t *testing.T) {
	const n = timeline.MaxStackDepth + 3
	tl, log, err := suite.Load(t, strings.NewReader(chain(n)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got := log.Count(problem.StackLimit); got != 4 {
		t.Errorf("%d events have a stack that is cut, want 4", got)
	}
	for _, total := range log.Totals() {
		if total.Kind != problem.StackLimit {
			t.Errorf("%s was counted", total.Kind)
		} else if at := total.Cases[0].Position; at.Event != n {
			t.Errorf("the first case is %v", at)
		}
	}
	err = tl.Walk(context.Background(), func(it *timeline.Item) error {
		frames := tl.Callstack(it.Callstack)
		if leaf := tl.Frame(frames[len(frames)-1]).Function; it.Event < n && leaf != fmt.Sprintf("f%d", it.Event) {
			t.Errorf("event %d ends in %s", it.Event, leaf)
		}
		if want := int(min(it.Event+1, timeline.MaxStackDepth)); len(frames) != want {
			t.Errorf("event %d has %d frames, want %d", it.Event, len(frames), want)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
