package attribution

import (
	"slices"

	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// carried is the state of an open flow: the contexts that it propagates (attribution.md, rule 6).
type carried struct {
	set     []entry
	visited []uint64 // ordinals of the slices that the flow has passed through
}

// maxVisited bounds carried.visited, which keeps the latest slices.
const maxVisited = 256

// flowStep handles a step of a flow in a slice: first the contexts of the flow become entries of the slice, then the flow
// picks up the contexts in effect there.
func (p *propagating) flowStep(s *flowbind.Step) error {
	f := p.flows[s.Flow]
	switch {
	case f == nil && s.Last:
		f = &carried{}
	case f == nil:
		if !p.reserve(flowSize) {
			return nil
		}
		f = &carried{}
		p.flows[s.Flow] = f
	case s.Last:
		p.held -= flowSize + entrySize*len(f.set) + visitedSize*len(f.visited)
		delete(p.flows, s.Flow)
	}
	var th *openThread
	if tr := &p.found.tracks[s.Track]; tr.Place == PlaceThread {
		th = p.thread(tr.Thread)
		if err := p.closeBefore(th, s.At); err != nil {
			return err
		}
	}
	if s.In && len(f.set) > 0 {
		for i := range f.set {
			f.set[i].hops = min(f.set[i].hops+1, maxHops+1) // how far the limit is exceeded does not matter
		}
		if slices.Contains(f.visited, s.Ordinal) {
			p.count(problem.FlowReturned, s)
		} else if err := p.deliver(th, s, f); err != nil {
			return err
		}
	}
	if s.Last {
		return nil
	}
	if len(f.visited) < maxVisited && p.reserve(visitedSize) {
		f.visited = append(f.visited, s.Ordinal)
	} else if n := len(f.visited); n > 0 {
		copy(f.visited, f.visited[1:])
		f.visited[n-1] = s.Ordinal
	}
	if s.Out {
		p.pickUp(th, s, f)
	}
	return nil
}

// closeBefore ends the slices of a thread that end at or before ts, unless that has already been done.
func (p *propagating) closeBefore(th *openThread, ts timeline.Nanos) error {
	if th.endedAt == ts {
		return nil
	}
	return p.closeUntil(th, ts)
}

func (p *propagating) count(k problem.Kind, s *flowbind.Step) {
	p.problems.Add(k, problem.Position{Event: int64(s.Event), Offset: -1}, "")
}

// deliver adds the contexts of a flow to a slice as entries.
func (p *propagating) deliver(th *openThread, s *flowbind.Step, f *carried) error {
	at := th.find(s.Ordinal)
	for _, b := range f.set {
		if b.hops > maxHops {
			p.count(problem.FlowHopLimit, s)
			continue
		}
		b.ordinal, b.Via = s.Ordinal, ViaFlow
		switch {
		case at >= 0:
			p.enter(th, at, b)
		case s.Ordinal > p.last && th != nil:
			if p.reserve(entrySize) {
				p.pending[s.Ordinal] = append(p.pending[s.Ordinal], b)
			}
		default: // an instant or an asynchronous slice
			if err := p.out.Add(b); err != nil {
				return err
			}
		}
	}
	return nil
}

// find returns the index of the open slice with an ordinal, or -1 if there is none.
func (th *openThread) find(ordinal uint64) int {
	if th == nil {
		return -1
	}
	last := th.slices.Len() - 1
	for i := last; i >= searchEnd(last); i-- {
		if th.slices.At(i).ordinal == ordinal {
			return i
		}
	}
	return -1
}

// enter adds a context from a flow to an open slice as an entry.
func (p *propagating) enter(th *openThread, at int, b entry) {
	s := th.slices.At(at)
	if e := th.active.current(b.Type); e != nil && e.Began == s.ts {
		return
	}
	if own := s.of(b.Type); own != nil {
		switch own.Via {
		case ViaFlow:
			*own = mergeEntries(p.contexts, p.sets, own, &b, s.ts)
		case viaRequest:
			*own = b
		}
		return
	}
	outer, ok := p.effectOf(th, at-1, b.Type)
	if ok && outer.Node != 0 && !p.contexts.isAncestor(p.contexts.LogicalOf(outer.Node), p.contexts.LogicalOf(b.Node), s.ts) {
		p.problems.Add(problem.FlowConflict, problem.Position{Event: int64(s.event), Offset: -1}, "")
		switch p.opts.FlowConflict {
		case KeepActive:
			return
		case CommonAncestor:
			b = mergeEntries(p.contexts, p.sets, &entry{ordinal: b.ordinal, Type: b.Type, Node: outer.Node, Via: ViaFlow, hops: b.hops}, &b, s.ts)
		}
	}
	s.add(b)
}

// mergeEntries returns the entry for work that two contexts cause (attribution.md, rule 4): their common ancestor, or no context.
func mergeEntries(c *Catalogue, s *Sets, a, b *entry, ts timeline.Nanos) entry {
	if a.Node != 0 && c.LogicalOf(a.Node) == c.LogicalOf(b.Node) {
		return *a
	}
	out := *a
	out.hops = max(a.hops, b.hops)
	list := []NodeID{a.Node}
	if a.candidates != 0 {
		list = slices.Clone(s.Candidates.At(uint32(a.candidates)))
	}
	if !slices.Contains(list, b.Node) {
		list = append(list, b.Node)
	}
	out.candidates = s.Intern(list)
	if a.Node != 0 {
		out.Node = c.commonAncestor(c.LogicalOf(a.Node), c.LogicalOf(b.Node), ts)
	}
	return out
}

// pickUp adds the contexts in effect at a step of a flow to the flow. They replace the flow's earlier contexts of the same types.
func (p *propagating) pickUp(th *openThread, s *flowbind.Step, f *carried) {
	for _, b := range p.setOf(th, s) {
		if !p.travels(&b) {
			continue
		}
		if old := ofType(f.set, b.Type); old != nil {
			*old = b
		} else if p.reserve(entrySize) {
			f.set = append(f.set, b)
		}
	}
}

// setOf returns the contexts in effect in the slice that a flow passes through.
func (p *propagating) setOf(th *openThread, s *flowbind.Step) []entry {
	if th == nil {
		track := p.asyncs[s.Track]
		for i := range track.Len() {
			if o := track.At(i); o.ordinal == s.Ordinal {
				return o.set
			}
		}
		return nil
	}
	if at := th.find(s.Ordinal); at >= 0 {
		return p.inEffect(th, at)
	}
	if set, ok := th.endedSet(s.Ordinal); ok && th.endedAt == s.At {
		return set
	}
	return p.ofInstant(s.Ordinal, p.inEffect(th, th.slices.Find(s.At)))
}

// ofInstant returns the contexts of an instant: those that it names, and for other types those in effect around it.
func (p *propagating) ofInstant(ordinal uint64, effect []entry) []entry {
	for i := range p.instants {
		own := p.instants[i]
		if own.ordinal != ordinal {
			continue
		}
		if other := ofType(effect, own.Type); other != nil {
			*other = own
		} else {
			effect = append(effect, own)
		}
	}
	p.effect = effect
	return effect
}
