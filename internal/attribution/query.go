package attribution

import (
	"cmp"
	"errors"
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// Context is a context in effect.
type Context struct {
	Type       string
	ID         Identity   // zero if the candidates have no common ancestor
	Name       string     // its url, or class and id, or id
	Via        Via        // its source
	Hops       int        // number of flow arrows since its original source
	Candidates []Identity // the contexts to choose from, if there were several (attribution.md, rule 4)
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

// ContextsOfTask returns, for each type, the context with the most self time in a long task, or the first of several that tie.
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

// errAttached is returned by queries after Attach.
var errAttached = errors.New("the sets of the attribution were moved to the timeline")

// Of returns the set of a slice or instant, given its timeline.Item.Ordinal; equal sets have equal ids, and 0 is the empty
// set. It must not be called after Attach.
func (r *Result) Of(ordinal uint64) (SetID, error) {
	if r.EventSets == nil {
		return 0, errAttached
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

// Current returns, by type, the contexts in effect on a thread at ts, or none if the thread is idle. It needs
// Options.Intervals, scans all intervals, and must not be called after Attach.
func (r *Result) Current(thread timeline.TrackID, ts timeline.Nanos) (map[string]Identity, error) {
	if r.Intervals == nil {
		return nil, errors.New("the attribution has no intervals")
	}
	if r.EventSets == nil {
		return nil, errAttached
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

// LongTasks returns the outermost slices of threads that last 50 ms or more, at most 65,536.
func (r *Result) LongTasks() []LongTask { return slices.Clone(r.Costs.Tasks) }

// ByTypeName returns the entries of a set, sorted by type name.
func (r *Result) ByTypeName(set SetID) []memberID {
	list := slices.Clone(r.Sets.Lists.At(uint32(set)))
	slices.SortFunc(list, func(a, b memberID) int {
		return cmp.Compare(r.Contexts.Types[r.Sets.Members[a].Type], r.Contexts.Types[r.Sets.Members[b].Type])
	})
	return list
}

// SentInWindow reports whether a request was sent in the window by a selected thread.
func (r *Result) SentInWindow(q Request) bool {
	return q.Start != timeline.NoTime && r.Costs.window.has(q.Start) && (r.Costs.countsThread == nil || r.Costs.countsThread(q.Thread))
}

// IndexOfInput returns the index in Inputs of a context's input event, or false if there is none.
func (r *Result) IndexOfInput(node NodeID) (int, bool) {
	i, ok := r.inputIndex[node]
	return i, ok
}

// InputOf returns the input event of a context, or false if there is none.
func (r *Result) InputOf(node NodeID) (*Input, bool) {
	i, ok := r.inputIndex[node]
	if !ok {
		return nil, false
	}
	return &r.Inputs[i], true
}
