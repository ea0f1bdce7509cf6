package merge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/merge"
	"github.com/weft-trace/weft/internal/timeline"
)

// If there are more links than may be kept, two inputs keep the same keys, whatever their order.
func TestManyLinks(t *testing.T) {
	const n, truth = 100_000, 7 * second
	client := input(t, "client", nothing, func(b *timeline.Builder) {
		for i := range timeline.Nanos(n) {
			link(b, fmt.Sprint("w3c:", i), timeline.LinkSend, i*1000, 0)
			link(b, fmt.Sprint("w3c:", i), timeline.LinkReceive, i*1000+900, 0)
		}
	})
	server := input(t, "server", nothing, func(b *timeline.Builder) {
		for i := timeline.Nanos(n) - 1; i >= 0; i-- {
			link(b, fmt.Sprint("w3c:", i), timeline.LinkServe, i*1000+300+truth, 300)
		}
	})
	p := solve(t, merge.Options{}, client, server).Inputs[1]
	if p.Low != -truth-300 || p.High != -truth+600 || p.Rule != merge.Causality {
		t.Errorf("%d to %d by %v", p.Low+truth, p.High+truth, p.Rule)
	}
}

// Times are recognized as relative to 1970 even if one event is at 0.
func TestStrayZero(t *testing.T) {
	since1970 := func(name string, stray bool) merge.Input {
		return input(t, name, nothing, func(b *timeline.Builder) {
			if stray {
				slice(b, 1, "stray", 0, 0)
			}
			for i := range timeline.Nanos(40) {
				slice(b, 1, "step", 1_790_000_000*second+i*1000, 500)
			}
		})
	}
	p := solve(t, merge.Options{}, since1970("a", false), since1970("b", true)).Inputs[1]
	if p.Rule != merge.WallClock || p.Span.From != 1_790_000_000*second {
		t.Errorf("by %v, from %d", p.Rule, p.Span.From)
	}
}

// An offset given for the input that becomes the reference has no effect, and the plan notes that.
func TestOffsetOfReference(t *testing.T) {
	in := func(name string) merge.Input {
		return input(t, name, wall, func(b *timeline.Builder) { slice(b, 1, "step", second, 5) })
	}
	plan := solve(t, merge.Options{Offsets: []merge.GivenOffset{{Input: 0, Offset: second}}}, in("a"), in("b"))
	if len(plan.Notes) == 0 || !strings.Contains(plan.Notes[0], "given for a has no effect") {
		t.Errorf("%q", plan.Notes)
	}
}
