package profilecalls

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/v8profile"
)

// placedProfile has samples of f and of g, which f calls, 10 µs apart. The fourth sample of f has no position. The last sample is
// of h, which has no caller.
const placedProfile = `{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2,4]},
{"id":2,"callFrame":{"functionName":"f"},"children":[3]},{"id":3,"callFrame":{"functionName":"g"}},{"id":4,"callFrame":{"functionName":"h"}}],
"samples":[2,2,3,2,2,2,4],"timeDeltas":[10,10,10,10,10,10,10],"lines":[5,5,9,4,0,5,1],"columns":[1,1,2,7,0,2,1]}`

// callPlaces formats a call and the positions of its samples.
func callPlaces(p *v8profile.Profile, c *Call) string {
	line := fmt.Sprintf("%s %d+%d:", p.FunctionOf(c.Node).Name, c.TS/1000, c.Dur/1000)
	for _, at := range c.Positions {
		line += fmt.Sprintf(" %d:%d×%d", at.Line, at.Column, at.Samples)
	}
	return line
}

// TestLostPositions checks that positions of samples outside calls of their function are counted: here for the root, for a
// garbage collection and, in a trace, for the first sample of g.
func TestLostPositions(t *testing.T) {
	p := readAny(t, `{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2,4]},
{"id":2,"callFrame":{"functionName":"f"},"children":[3]},{"id":3,"callFrame":{"functionName":"g"}},{"id":4,"callFrame":{"functionName":"(garbage collector)"}}],
"samples":[2,3,2,4,1,1],"timeDeltas":[10,10,10,10,10,10],"lines":[5,9,5,7,3,0]}`)
	stats, err := Alone(p, 0, func(*AloneCall) error { return nil })
	if err != nil || stats != (AloneStats{LostPositions: 2}) {
		t.Errorf("alone: %+v, error %v", stats, err)
	}
	for mode, want := range map[Mode]int64{DevTools: 3, Refined: 2} {
		b := NewBuilder(NewFrames(p), mode, func(*Call) {})
		b.Event(&Event{TS: 0, End: 75_000, Class: producers.Invocation})
		b.Event(&Event{TS: 15_000, End: 25_000, Class: producers.OtherClass})
		if got, err := b.Finish(); err != nil || got.LostPositions != want {
			t.Errorf("mode %d: %d places lost, want %d; %v", mode, got.LostPositions, want, err)
		}
	}
}

// TestPositions checks that every sample with a position counts in the call of its innermost function, even if the DevTools rules
// drop the sample. The only exceptions are samples whose innermost function has no call.
func TestPositions(t *testing.T) {
	p := readAny(t, placedProfile)
	var alone []string
	if _, err := Alone(p, 0, func(c *AloneCall) error {
		alone = append(alone, callPlaces(p, &c.Call))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"f 10+60: 4:7×1 5:1×2 5:2×1", "g 30+10: 9:2×1", "h 70+10: 1:1×1"}, alone); diff != "" {
		t.Errorf("alone: -want +got:\n%s", diff)
	}

	// The samples from 25 to 65 µs are in Layout, below f; f ends with the enclosing event. With the refined rules it ends before the
	// last event, where the stack has h instead.
	events := []Event{
		{TS: 0, End: 75_000, Class: producers.Invocation},
		{TS: 25_000, End: 65_000, Class: producers.OtherClass},
		{TS: 66_000, End: 74_000, Class: producers.OtherClass},
	}
	for mode, want := range map[Mode]string{
		DevTools: "f 10+65: 4:7×1 5:1×2 5:2×1",
		Refined:  "f 10+56: 4:7×1 5:1×2 5:2×1, g 30+10: 9:2×1, h 70+4: 1:1×1",
	} {
		var got []string
		b := NewBuilder(NewFrames(p), mode, func(c *Call) { got = append(got, callPlaces(p, c)) })
		for i := range events {
			b.Event(&events[i])
		}
		if _, err := b.Finish(); err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("mode %d: %s, want %s", mode, text, want)
		}
	}
}
