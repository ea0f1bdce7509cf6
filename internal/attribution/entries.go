package attribution

import (
	"github.com/weft-trace/weft/internal/timeline"
)

// inEffect returns the contexts in effect inside an open slice of a thread, as far as the second pass has found them
// (attribution.md, The model). For each type, this is the innermost entry or the explicit context, whichever began later. The
// result is valid until the next call.
func (p *propagating) inEffect(th *openThread, slice int) []entry {
	p.effect = p.effect[:0]
	var found TypeSet
	for i := slice; i >= searchEnd(slice); i-- {
		s := th.slices.At(i)
		if s.types.minus(&found) == (TypeSet{}) {
			continue
		}
		for k := range s.own {
			b := &s.own[k]
			if b.Via != ViaDescendants && !found.Has(b.Type) {
				found.Add(b.Type)
				p.effect = append(p.effect, *b)
				if e := th.active.current(b.Type); e != nil && explicitWins(e, b.Via, s.ts) {
					p.effect[len(p.effect)-1] = entry{Type: b.Type, Node: e.Node, Via: ViaExplicit}
				}
			}
		}
	}
	for i := range th.active.stacks {
		typ := th.active.stacks[i].typ
		if e := th.active.current(typ); e != nil && !found.Has(typ) {
			p.effect = append(p.effect, entry{Type: typ, Node: e.Node, Via: ViaExplicit})
		}
	}
	return p.effect
}

// ofType returns the entry of a type, or nil if there is none.
func ofType(list []entry, typ TypeID) *entry {
	for i := range list {
		if list[i].Type == typ {
			return &list[i]
		}
	}
	return nil
}

// explicitWins decides between an explicit context and an entry of a slice that began at the given time. The later one wins.
// If both began at the same time, the entry wins only if it comes from arguments or an isolate. Entries from descendants
// always lose.
func explicitWins(e *Entered, via Via, began timeline.Nanos) bool {
	switch {
	case via == ViaDescendants:
		return true
	case e.Began != began:
		return e.Began > began
	}
	return via != ViaArgs && via != ViaIsolate
}

// effectOf returns the context of one type that is in effect inside an open slice, or outside all slices if the index is -1.
// It returns false if there is none.
func (p *propagating) effectOf(th *openThread, slice int, typ TypeID) (entry, bool) {
	e := th.active.current(typ)
	for i := slice; i >= searchEnd(slice); i-- {
		b := th.slices.At(i).of(typ)
		if b == nil || b.Via == ViaDescendants {
			continue
		}
		if e != nil && explicitWins(e, b.Via, th.slices.At(i).ts) {
			break
		}
		return *b, true
	}
	if e != nil {
		return entry{Type: typ, Node: e.Node, Via: ViaExplicit}, true
	}
	return entry{}, false
}

// async handles the start of an asynchronous slice, or an instant on a track of asynchronous slices (attribution.md, rule 5).
// Contexts named by arguments come first, then the contexts of the thread that wrote the event, then those in the enclosing
// asynchronous slice.
func (p *propagating) async(o *timeline.Head, list []Evidence) error {
	track := p.asyncs[o.Track]
	p.closeAsyncs(&track, o.TS)
	set := p.asyncSet(o, list, track.Innermost())
	for i := range list {
		set = p.ofRequest(o, &list[i], set)
	}
	for i := range set {
		set[i].ordinal = o.Ordinal
		if err := p.out.Add(set[i]); err != nil {
			return err
		}
	}
	if o.Kind == timeline.ItemBegin && o.End != timeline.NoTime && o.End > o.TS && track.Len() < maxSearch && p.reserve(openSize+entrySize*len(set)) {
		*track.Push(o.End) = openAsync{o.Ordinal, set}
	}
	if track.Len() == 0 {
		delete(p.asyncs, o.Track)
	} else {
		p.asyncs[o.Track] = track
	}
	return nil
}

func (p *propagating) asyncSet(o *timeline.Head, list []Evidence, enclosing *openAsync) []entry {
	var set []entry
	for i := range list {
		if e := &list[i]; e.kind == ownContext && p.opts.has(ViaArgs) && ofType(set, e.Type) == nil {
			set = append(set, entry{Type: e.Type, Node: e.Node, Via: ViaArgs})
		}
	}
	if !p.opts.has(ViaAsync) {
		return set
	}
	inherit := func(from []entry) {
		for _, b := range from {
			if b.Node != 0 && ofType(set, b.Type) == nil {
				b.Via = ViaAsync
				set = append(set, b)
			}
		}
	}
	if o.Thread != 0 {
		if th := p.threads[o.Thread]; th != nil {
			inherit(p.inEffect(th, th.slices.Find(o.TS)))
			if b, ok := p.provoker(th, th.slices.Find(o.TS)); ok {
				inherit([]entry{b})
			}
		}
	}
	for i := range list {
		if e := &list[i]; e.kind == inherited && ofType(set, e.Type) == nil {
			via, hops := inheritedVia(e.value)
			set = append(set, entry{Type: e.Type, Node: e.Node, Via: via, hops: hops})
		}
	}
	if enclosing != nil {
		inherit(enclosing.set)
	}
	return set
}

// provoker returns the frame that triggered the garbage collection around an open slice, like costing.trigger
// (attribution.md, rule 9), or false if there is none.
func (p *propagating) provoker(th *openThread, slice int) (entry, bool) {
	if th.collections == 0 {
		return entry{}, false
	}
	for i := slice; i >= searchEnd(slice); i-- {
		if th.slices.At(i).collects {
			b, ok := p.effectOf(th, i-1, TypeFrame)
			b.Type = TypeTrigger
			return b, ok && b.Node != 0 && p.contexts.Nodes[b.Node].Scope != ScopeIsolate
		}
	}
	return entry{}, false
}

// sentRequest is a network request and the contexts for which it was sent.
type sentRequest struct {
	Start, End timeline.Nanos   // NoTime: not recorded
	Bytes      int64            // -1: unknown
	fromData   int64            // total size of the received chunks
	Thread     timeline.TrackID // sender; 0: unknown
	Entries    []entry
}

// request handles an event of a request (attribution.md, rule 7). list is all evidence of the event, e the part about the
// request.
func (p *propagating) request(o *timeline.Head, thread timeline.TrackID, list []Evidence, e *Evidence) {
	r := &p.requests[e.Node]
	switch e.kind {
	case sends:
		if r.Start != timeline.NoTime {
			return // a redirect: the request keeps its original contexts
		}
		r.Start, r.Thread = o.TS, thread
		var set []entry
		for i := range list {
			if own := &list[i]; own.kind == ownContext && p.opts.has(ViaArgs) && ofType(set, own.Type) == nil {
				set = append(set, entry{Type: own.Type, Node: own.Node, Via: ViaArgs})
			}
		}
		if th := p.threads[thread]; th != nil {
			for _, b := range p.inEffect(th, th.slices.Find(o.TS)) {
				if p.travels(&b) && ofType(set, b.Type) == nil {
					set = append(set, b)
				}
			}
		}
		if p.reserve(entrySize * len(set)) {
			r.Entries = set
		}
	case receives:
		r.fromData = int64(Add(timeline.Nanos(r.fromData), timeline.Nanos(e.value))) // saturates
	case finishes:
		r.End = o.TS
		if e.value > 0 {
			r.Bytes = e.value
		}
	}
}

// ofRequest handles an asynchronous slice that is a request or belongs to one (attribution.md, rule 7). It returns the given set,
// extended with the contexts of the request. The first slice of a request determines the request's contexts; later slices come
// from other processes.
func (p *propagating) ofRequest(o *timeline.Head, e *Evidence, set []entry) []entry {
	if e.kind != requested && e.kind != unfinished && e.kind != handles {
		return set
	}
	r := &p.requests[e.Node]
	if e.kind != handles {
		if r.Start == timeline.NoTime {
			r.Start, r.Thread = o.TS, o.Thread
			for i := range set {
				if p.travels(&set[i]) && p.reserve(entrySize) {
					r.Entries = append(r.Entries, set[i])
				}
			}
		}
		if e.kind == requested {
			r.End = max(r.End, o.End) // NoTime is less than any time
		}
		r.Bytes = max(r.Bytes, e.value)
	}
	if !p.opts.has(viaRequest) {
		return set
	}
	for _, b := range r.Entries {
		if ofType(set, b.Type) == nil {
			b.Via = viaRequest
			set = append(set, b)
		}
	}
	return set
}

// handle adds the contexts of a request to a slice that handles the request, for types without a context in effect.
func (p *propagating) handle(th *openThread, s *openSlice, request int) {
	for _, b := range p.requests[request].Entries {
		if s.of(b.Type) != nil {
			continue
		}
		if _, ok := p.effectOf(th, th.slices.Len()-2, b.Type); ok {
			continue
		}
		b.ordinal, b.Via = s.ordinal, viaRequest
		s.add(b)
	}
}

// travels reports whether a context may propagate to other work. Isolates may not: they collect garbage for many contexts.
func (p *propagating) travels(b *entry) bool {
	return b.Node != 0 && b.Via != ViaIsolate && b.Type != TypeTrigger && p.contexts.Nodes[b.Node].Scope != ScopeIsolate
}
