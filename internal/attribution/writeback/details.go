package writeback

import (
	"slices"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// details are the arguments of the slices of contexts. They are encoded once for each context, type and state.
type details struct {
	a     *Additions
	o     *overlay
	enc   *timeline.ArgsEncoder
	costs map[contextOf]contextCost
	known map[shownContext]uint32 // index in overlay.args, from 1 on
	held  int
}

// contextOf is a context, by its logical node, as one of a type.
type contextOf struct {
	node attribution.NodeID
	typ  attribution.TypeID
}

// shownContext is a context in a state.
type shownContext struct {
	contextOf
	snapshot attribution.SnapshotID
}

// contextCost is what a context cost, on all threads.
type contextCost struct{ wall, cpu timeline.Nanos }

// maxDetails bounds the bytes of the details that are held, including the overhead of each. Real traces have some
// hundred kilobytes of them.
const (
	maxDetails = 16 << 20
	detailSize = 128
)

func (a *Additions) newDetails(o *overlay, enc *timeline.ArgsEncoder) (*details, error) {
	d := &details{a: a, o: o, enc: enc, costs: map[contextOf]contextCost{}, known: map[shownContext]uint32{}}
	r := a.result
	return d, r.Costs.Cells.Each(func(c *attribution.Cell) {
		for _, id := range r.Sets.Lists.At(uint32(c.Set)) {
			if m := &r.Sets.Members[id]; m.Node != 0 {
				key := contextOf{r.Contexts.LogicalOf(m.Node), m.Type}
				was := d.costs[key]
				d.costs[key] = contextCost{was.wall + c.Wall, was.cpu + c.Cpu}
			}
		}
	})
}

// of returns the index of the details of an interval in overlay.args, from 1 on; 0 if there is no room for them.
func (d *details) of(i *attribution.Interval) uint32 {
	key := shownContext{contextOf{d.a.result.Contexts.LogicalOf(i.Node), i.Type}, i.Snapshot}
	at, ok := d.known[key]
	if ok {
		return at
	}
	if d.held >= d.a.result.Contexts.Room.Of(maxDetails) {
		d.a.result.Timeline.Problems().Add(problem.ContextLimit, problem.NoPosition, "details of contexts")
		return 0
	}
	d.encode(key)
	args := slices.Clone(d.enc.Args())
	d.o.args = append(d.o.args, args)
	at = uint32(len(d.o.args))
	d.known[key] = at
	d.held += len(args) + detailSize
	return at
}

// encode encodes what a click on a slice of a context shows.
func (d *details) encode(key shownContext) {
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
	if spent, ok := d.costs[key.contextOf]; ok {
		enc.Duration("self", spent.wall)
		if spent.cpu > 0 {
			enc.Duration("self_cpu", spent.cpu)
		}
	}
}
