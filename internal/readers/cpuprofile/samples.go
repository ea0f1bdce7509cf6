package cpuprofile

import (
	"context"

	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// Samples describes the samples that AddSamples adds: Perfetto recognizes V8's profiles by this source. Perfetto's
// viewer shows the name of the weight, not the unit.
var Samples = timeline.SampleDescription{Source: "legacy_v8", Counter: "time (ns)", Unit: timeline.SampleUnitNanos}

// AddSamples adds all samples with the stacks that V8 recorded. The weight of a sample is the time to the next one. A
// garbage collection goes on top of the stack of the sample before it.
func (t *Thread) AddSamples(ctx context.Context, b *timeline.Builder) error {
	p := t.Profile
	stacks := &stackCache{
		p: p, b: b, known: make([]bool, p.NodeCount()), stacks: make([]timeline.CallstackID, p.NodeCount()),
		frames: make([]timeline.FrameID, p.FunctionCount()),
	}
	stacks.known[0] = true // the root is not a frame
	var below timeline.CallstackID
	out := timeline.Event{Kind: timeline.Sample, Track: t.Track, Value: timeline.Int(1)}
	if t.CountSamples {
		out.Name = []byte("samples") // name of the counter
	}
	samples := p.Samples()
	for i := range p.Len() {
		if i%cancelEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		n := samples.Recorded(i)
		if n == p.Collector {
			out.Callstack = b.PushFrame(below, stacks.frame(n))
		} else {
			below = stacks.stack(n)
			out.Callstack = below
		}
		var ok bool
		if out.TS, ok = t.time(samples.Time(i)); !ok {
			continue
		}
		if !t.CountSamples {
			out.Value = timeline.Int(int64(samples.Weight(i)))
		}
		if err := t.add(b, &out); err != nil {
			return err
		}
	}
	return samples.Err()
}

// stackCache interns the stacks of nodes.
type stackCache struct {
	p      *v8profile.Profile
	b      *timeline.Builder
	known  []bool
	stacks []timeline.CallstackID
	frames []timeline.FrameID // by function; 0: not interned yet
	path   []v8profile.NodeIndex
}

// stack returns the stack of a node.
func (c *stackCache) stack(n v8profile.NodeIndex) timeline.CallstackID {
	c.path = c.path[:0]
	for ; !c.known[n]; n = c.p.Node(n).Parent {
		c.path = append(c.path, n)
	}
	stack := c.stacks[n]
	for i := len(c.path) - 1; i >= 0; i-- {
		n = c.path[i]
		stack = c.b.PushFrame(stack, c.frame(n))
		c.stacks[n], c.known[n] = stack, true
	}
	return stack
}

// frame returns the frame of a node.
func (c *stackCache) frame(n v8profile.NodeIndex) timeline.FrameID {
	f := c.p.Node(n).Function
	if c.frames[f] == 0 {
		fn := c.p.Function(f)
		c.frames[f] = c.b.Frame(timeline.Frame{
			Function: functionName(fn), File: fn.URL, Line: int64(fn.Line) + 1, Column: int64(fn.Column) + 1,
		})
	}
	return c.frames[f]
}
