package attribution

import (
	"cmp"
	"errors"
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// Context is a context in effect: of which type, who, and how that is known.
type Context struct {
	Type       string
	ID         Identity   // zero if the candidates have no common ancestor
	Name       string     // its url, or class and id, or id
	Via        Via        // how it came
	Hops       int        // ViaFlow, and what inherits it: the number of arrows
	Candidates []Identity // what applied at one level, if it was more than one
}

// Set returns the contexts of a set, by type.
func (r *Result) Set(set SetID) []Context {
	if int(set) >= r.Sets.Lists.Len() {
		return nil
	}
	var out []Context
	for _, id := range r.ByTypeName(set) {
		e := &r.Sets.Members[id]
		c := Context{Type: r.Contexts.Types[e.Type], Name: Unattributed, Via: e.Via, Hops: int(e.Hops)}
		if e.Node != 0 {
			c.ID, c.Name = r.Contexts.Nodes[e.Node].Identity, r.Contexts.LabelOf(e.Node, e.Snapshot)
		}
		for _, n := range r.Sets.Candidates.At(uint32(e.Candidates)) {
			c.Candidates = append(c.Candidates, r.Contexts.Nodes[n].Identity)
		}
		out = append(out, c)
	}
	return out
}

// taskContext is a context in a long task.
type taskContext struct {
	Type, Name string
	Self       timeline.Nanos // self time in the task
}

// ContextsOfTask returns, by type, the context with the most self time in a long task: of several with the same time the one
// that worked first.
func (r *Result) ContextsOfTask(t *LongTask) []taskContext {
	type key struct {
		typ  TypeID
		node NodeID
	}
	sums := map[key]timeline.Nanos{}
	var order []key
	for _, share := range t.Shares {
		for _, id := range r.Sets.Lists.At(uint32(share.Set)) {
			m := &r.Sets.Members[id]
			if m.Node == 0 {
				continue
			}
			k := key{m.Type, r.Contexts.LogicalOf(m.Node)}
			if _, ok := sums[k]; !ok {
				order = append(order, k)
			}
			sums[k] += share.Wall
		}
	}
	slices.SortStableFunc(order, func(a, b key) int {
		return cmp.Or(cmp.Compare(r.Contexts.Types[a.typ], r.Contexts.Types[b.typ]), cmp.Compare(sums[b], sums[a]))
	})
	order = slices.CompactFunc(order, func(a, b key) bool { return a.typ == b.typ })
	var out []taskContext
	for _, k := range order {
		if sums[k] > 0 {
			out = append(out, taskContext{r.Contexts.Types[k.typ], r.Contexts.Label(k.node, t.Start+t.Length), sums[k]})
		}
	}
	return out
}

// errTaken is the error of questions that a Result cannot answer any more.
var errTaken = errors.New("the sets of the attribution were handed to the timeline")

// Of returns the set of a slice or instant, by timeline.Item.Ordinal; equal sets have equal ids, and 0 is the empty one. It
// must not be called after Attach.
func (r *Result) Of(ordinal uint64) (SetID, error) {
	if r.EventSets == nil {
		return 0, errTaken
	}
	i, err := r.EventSets.Search(func(s *EventSet) bool { return s.Ordinal >= ordinal })
	if err != nil || i == r.EventSets.Len() {
		return 0, err
	}
	var s EventSet
	if _, err := r.EventSets.From(i).Next(&s); err != nil || s.Ordinal != ordinal {
		return 0, err
	}
	return s.Set, nil
}

// Current returns who is in effect on a thread at a time: one
// identity for each type, none where the thread is idle. It needs Options.Intervals, looks through all of them, and must not be called after Attach.
func (r *Result) Current(thread timeline.TrackID, ts timeline.Nanos) (map[string]Identity, error) {
	if r.Intervals == nil {
		return nil, errors.New("the attribution has no intervals")
	}
	if r.EventSets == nil {
		return nil, errTaken
	}
	if err := r.Intervals.Sorted.Rewind(); err != nil {
		return nil, err
	}
	found := map[string]Identity{}
	var i Interval
	for {
		ok, err := r.Intervals.Sorted.Next(&i)
		if err != nil {
			return nil, err
		}
		if !ok || i.From > ts {
			return found, r.Intervals.Sorted.Rewind()
		}
		if i.Thread == thread && ts < i.To {
			found[r.Contexts.Types[i.Type]] = r.Contexts.Nodes[i.Node].Identity
		}
	}
}

// LongTasks returns the slices of 50 ms or more that no other slice of their thread encloses, at most 65,536.
func (r *Result) LongTasks() []LongTask { return slices.Clone(r.Costs.Tasks) }

// ByTypeName returns the entries of a set in the order of their types' names.
func (r *Result) ByTypeName(set SetID) []memberID {
	list := slices.Clone(r.Sets.Lists.At(uint32(set)))
	slices.SortFunc(list, func(a, b memberID) int {
		return cmp.Compare(r.Contexts.Types[r.Sets.Members[a].Type], r.Contexts.Types[r.Sets.Members[b].Type])
	})
	return list
}

// SentInWindow reports whether a request counts.
func (r *Result) SentInWindow(q Request) bool {
	return q.Start != timeline.NoTime && r.Costs.window.has(q.Start) && (r.Costs.countsThread == nil || r.Costs.countsThread(q.Thread))
}

// IndexOfInput returns the place in Inputs of the input event that a context is.
func (r *Result) IndexOfInput(node NodeID) (int, bool) {
	i, ok := r.inputIndex[node]
	return i, ok
}

// InputOf returns the input event that a context is.
func (r *Result) InputOf(node NodeID) (*Input, bool) {
	i, ok := r.inputIndex[node]
	if !ok {
		return nil, false
	}
	return &r.Inputs[i], true
}
