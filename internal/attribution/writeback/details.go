package writeback

import (
	"slices"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// details encodes the arguments of context slices, once for each context, type and state.
type details struct {
	a       *Additions
	o       *overlay
	enc     *timeline.ArgsEncoder
	costs   map[typedContext]contextCost
	indexes map[contextState]uint32 // index in overlay.args + 1
	size    int                     // bytes
}

// typedContext is a logical node used as a context of a type.
type typedContext struct {
	node attribution.NodeID
	typ  attribution.TypeID
}

// contextState is a context in one of its states.
type contextState struct {
	typedContext
	snapshot attribution.SnapshotID
}

// contextCost is the cost of a context on all threads.
type contextCost struct{ wall, cpu timeline.Nanos }

// maxDetails bounds the size of all details in bytes, including detailSize of overhead for each. Real traces have a few
// hundred kilobytes.
const (
	maxDetails = 16 << 20
	detailSize = 128
)

func (a *Additions) newDetails(o *overlay, enc *timeline.ArgsEncoder) (*details, error) {
	d := &details{a: a, o: o, enc: enc, costs: map[typedContext]contextCost{}, indexes: map[contextState]uint32{}}
	r := a.result
	return d, r.Costs.Cells.Each(func(c *attribution.Cell) {
		for _, id := range r.Sets.Lists.At(uint32(c.Set)) {
			if m := &r.Sets.Members[id]; m.Node != 0 {
				key := typedContext{r.Contexts.LogicalOf(m.Node), m.Type}
				sum := d.costs[key]
				d.costs[key] = contextCost{sum.wall + c.Wall, sum.cpu + c.Cpu}
			}
		}
	})
}

// indexOf returns 1 + the index in overlay.args of the details of an interval, or 0 if the details exceed the memory limit.
func (d *details) indexOf(i *attribution.Interval) uint32 {
	key := contextState{typedContext{d.a.result.Contexts.LogicalOf(i.Node), i.Type}, i.Snapshot}
	if at, ok := d.indexes[key]; ok {
		return at
	}
	if d.size >= d.a.result.Contexts.Limits.Of(maxDetails) {
		d.a.result.Timeline.Problems().Add(problem.ContextLimit, problem.NoPosition, "details of contexts")
		return 0
	}
	d.encode(key)
	args := slices.Clone(d.enc.Args())
	d.o.args = append(d.o.args, args)
	d.indexes[key] = uint32(len(d.o.args))
	d.size += len(args) + detailSize
	return d.indexes[key]
}

// encode encodes the arguments that viewers show for a context slice.
func (d *details) encode(key contextState) {
	r, enc := d.a.result, d.enc
	c, ts := r.Contexts, attribution.LastTime
	if key.snapshot != 0 {
		ts = c.Snapshots[key.snapshot].TS
	}
	enc.Reset()
	enc.Correlate(c.Nodes[key.node].Identity.String())
	text := func(name, v string) {
		if v != "" {
			enc.Key([]byte(name))
			enc.InternedString(v)
		}
	}
	text("type", c.Types[key.typ])
	text("id", c.Nodes[key.node].Identity.String())
	text("class", c.Class(key.node, ts))
	text("url", c.Url(key.node, ts))
	if parent := c.Parent(key.node, ts); parent != 0 {
		text("parent", c.Label(parent, ts))
	}
	if in, ok := r.InputOf(key.node); ok && in.Latency != timeline.NoTime {
		enc.Duration("latency", in.Latency)
	}
	if cost, ok := d.costs[key.typedContext]; ok {
		enc.Duration("self", cost.wall)
		if cost.cpu > 0 {
			enc.Duration("self_cpu", cost.cpu)
		}
	}
}
