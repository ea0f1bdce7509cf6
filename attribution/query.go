package attribution

import (
	"errors"
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
)

// Context is a context in effect: of which type, who, and how that is known.
type Context struct {
	Type       string
	ID         Identity   // the zero Identity: nobody, because the candidates have no common ancestor
	Name       string     // how it is called: its url, else class and id, else its id
	Via        Via        // how it came
	Hops       int        // ViaFlow, and what inherits it: the number of arrows
	Candidates []Identity // what applied at one level, if it was more than one
}

// Set returns the contexts of a set, by type.
func (r *Result) Set(set SetID) []Context {
	if int(set) >= r.sets.sets.len() {
		return nil
	}
	var out []Context
	for _, id := range r.byTypeName(set) {
		e := &r.sets.entries[id]
		c := Context{Type: r.c.types[e.typ], Name: unattributed, Via: e.via, Hops: int(e.hops)}
		if e.node != 0 {
			c.ID, c.Name = r.c.nodes[e.node].Identity, r.c.labelOf(e.node, e.snapshot)
		}
		for _, n := range r.sets.lists.at(uint32(e.candidates)) {
			c.Candidates = append(c.Candidates, r.c.nodes[n].Identity)
		}
		out = append(out, c)
	}
	return out
}

// ContextsOf returns the contexts of a slice or instant, by type. It must not be called after Attach.
func (r *Result) ContextsOf(id trace.EventID) ([]Context, error) {
	if id == 0 {
		return nil, nil
	}
	set, err := r.Of(uint64(id) - 1)
	return r.Set(set), err
}

// errTaken is the error of questions that a Result cannot answer any more.
var errTaken = errors.New("the sets of the attribution were handed to the timeline")

// Of returns the set of a slice or instant, by timeline.Item.Ordinal; equal sets have equal ids, and 0 is the empty one. It
// must not be called after Attach.
func (r *Result) Of(ordinal uint64) (SetID, error) {
	if r.stamps == nil {
		return 0, errTaken
	}
	i, err := r.stamps.Search(func(s *stamp) bool { return s.ordinal >= ordinal })
	if err != nil || i == r.stamps.Len() {
		return 0, err
	}
	var s stamp
	if _, err := r.stamps.From(i).Next(&s); err != nil || s.ordinal != ordinal {
		return 0, err
	}
	return s.set, nil
}

// Current returns who is in effect on a thread at a time: one
// identity for each type, none where the thread is idle. It needs Options.Intervals, looks through all of them, and must not be called after Attach.
func (r *Result) Current(thread timeline.TrackID, ts timeline.Nanos) (map[string]Identity, error) {
	if r.shown == nil {
		return nil, errors.New("the attribution has no intervals")
	}
	if r.stamps == nil {
		return nil, errTaken
	}
	if err := r.shown.sorted.Rewind(); err != nil {
		return nil, err
	}
	found := map[string]Identity{}
	var i interval
	for {
		ok, err := r.shown.sorted.Next(&i)
		if err != nil {
			return nil, err
		}
		if !ok || i.from > ts {
			return found, r.shown.sorted.Rewind()
		}
		if i.thread == thread && ts < i.to {
			found[r.c.types[i.typ]] = r.c.nodes[i.node].Identity
		}
	}
}

// Requests returns the network requests of the trace, in the order in which their ids appear.
func (r *Result) Requests() []Request { return slices.Clone(r.requests) }

// Inputs returns the input events of the trace.
func (r *Result) Inputs() []Input { return slices.Clone(r.inputs) }

// LongTasks returns the slices of 50 ms or more that no other slice of their thread encloses, at most 65,536.
func (r *Result) LongTasks() []LongTask { return slices.Clone(r.costs.tasks) }
