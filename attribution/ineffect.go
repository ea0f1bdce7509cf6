package attribution

import (
	"sort"

	"github.com/weft-trace/weft/internal/timeline"
)

// inEffect returns the contexts in effect on a thread inside one of its open slices, as far as the second pass knows them
// (attribution.md, The model): for each type the innermost entry or the explicit context, whichever began later. The result is
// valid until the next call.
func (p *propagation) inEffect(th *openThread, slice int) []begun {
	p.effect = p.effect[:0]
	var found typeSet
	for i := slice; i >= below(slice); i-- {
		s := &th.slices[i]
		if s.types.minus(&found) == (typeSet{}) {
			continue
		}
		for k := range s.own {
			b := &s.own[k]
			if b.via != ViaDescendants && !found.has(b.typ) {
				found.add(b.typ)
				p.effect = append(p.effect, *b)
				if e := th.active.of(b.typ); e != nil && explicitWins(e, b.via, s.ts) {
					p.effect[len(p.effect)-1] = begun{typ: b.typ, node: e.node, via: ViaExplicit}
				}
			}
		}
	}
	for i := range th.active.stacks {
		typ := th.active.stacks[i].typ
		if e := th.active.of(typ); e != nil && !found.has(typ) {
			p.effect = append(p.effect, begun{typ: typ, node: e.node, via: ViaExplicit})
		}
	}
	return p.effect
}

// ofType returns the entry of a type; nil if there is none.
func ofType(list []begun, typ TypeID) *begun {
	for i := range list {
		if list[i].typ == typ {
			return &list[i]
		}
	}
	return nil
}

// explicitWins decides between an explicit context and an entry of a slice that began at a time. The one that began later
// wins; when both began at one time, arguments and isolates win and everything else loses. What descendants say loses
// always.
func explicitWins(e *entered, via Via, began timeline.Nanos) bool {
	switch {
	case via == ViaDescendants:
		return true
	case e.began != began:
		return e.began > began
	}
	return via != ViaArgs && via != ViaIsolate
}

// effectOf returns the context of one type that is in effect inside an open slice, or outside of all with -1; false if
// there is none.
func (p *propagation) effectOf(th *openThread, slice int, typ TypeID) (begun, bool) {
	e := th.active.of(typ)
	for i := slice; i >= below(slice); i-- {
		b := th.slices[i].of(typ)
		if b == nil || b.via == ViaDescendants {
			continue
		}
		if e != nil && explicitWins(e, b.via, th.slices[i].ts) {
			break
		}
		return *b, true
	}
	if e != nil {
		return begun{typ: typ, node: e.node, via: ViaExplicit}, true
	}
	return begun{}, false
}

// async begins an asynchronous slice, or handles an instant of one (attribution.md, rule 5): it has the contexts of the
// thread that wrote it, then those of the asynchronous slice around it; what its arguments name comes before both.
func (p *propagation) async(o *timeline.Occurrence, list []evidence) error {
	track := p.asyncs[o.Track]
	track = p.closeAsyncs(track, o.TS)
	set := p.asyncSet(o, list, track)
	for i := range list {
		set = p.ofRequest(o, &list[i], set)
	}
	for i := range set {
		set[i].ordinal = o.Ordinal
		if err := p.out.Add(set[i]); err != nil {
			return err
		}
	}
	if o.Kind == timeline.OccursSlice && o.End != timeline.NoTime && o.End > o.TS && len(track) < maxSearch && p.hold(openSize+begunSize*len(set)) {
		track = append(track, openAsync{ordinal: o.Ordinal, end: o.End, set: set})
	}
	if len(track) == 0 {
		delete(p.asyncs, o.Track)
	} else {
		p.asyncs[o.Track] = track
	}
	return nil
}

func (p *propagation) asyncSet(o *timeline.Occurrence, list []evidence, around []openAsync) []begun {
	var set []begun
	for i := range list {
		if e := &list[i]; e.kind == ownContext && p.opts.has(ViaArgs) && ofType(set, e.typ) == nil {
			set = append(set, begun{typ: e.typ, node: e.node, via: ViaArgs})
		}
	}
	if !p.opts.has(ViaAsync) {
		return set
	}
	inherit := func(from []begun) {
		for _, b := range from {
			if b.node != 0 && ofType(set, b.typ) == nil {
				b.via = ViaAsync
				set = append(set, b)
			}
		}
	}
	if o.Thread != 0 {
		if th := p.threads[o.Thread]; th != nil {
			inherit(p.inEffect(th, th.innermost(o.TS)))
			if b, ok := p.provoker(th, th.innermost(o.TS)); ok {
				inherit([]begun{b})
			}
		}
	}
	for i := range list {
		if e := &list[i]; e.kind == inherited && ofType(set, e.typ) == nil {
			via, hops := inheritedVia(e.value)
			set = append(set, begun{typ: e.typ, node: e.node, via: via, hops: hops})
		}
	}
	if len(around) > 0 {
		inherit(around[len(around)-1].set)
	}
	return set
}

// provoker returns the frame that provoked the garbage collection in which an open slice lies, as the third pass has it of
// slices (attribution.md, rule 9); false if there is none.
func (p *propagation) provoker(th *openThread, slice int) (begun, bool) {
	if th.collections == 0 {
		return begun{}, false
	}
	for i := slice; i >= below(slice); i-- {
		if th.slices[i].collector {
			b, ok := p.effectOf(th, i-1, TypeFrame)
			b.typ = TypeTrigger
			return b, ok && b.node != 0 && p.contexts.nodes[b.node].Scope != ScopeIsolate
		}
	}
	return begun{}, false
}

// innermost returns the index of the innermost slice that is open at a time, -1 if there is none.
func (th *openThread) innermost(ts timeline.Nanos) int {
	// No slice ends after the one around it.
	return sort.Search(len(th.slices), func(i int) bool { return th.slices[i].end <= ts }) - 1
}

// request handles an event of a request (attribution.md, rule 7); e is of the list of what is evident about it.
func (p *propagation) request(o *timeline.Occurrence, thread timeline.TrackID, list []evidence, e *evidence) {
	r := &p.found.requests.list[e.node]
	switch e.kind {
	case sends:
		if r.Start != timeline.NoTime {
			return // it was redirected, and keeps the contexts for which it was made
		}
		r.Start, r.thread = o.TS, thread
		var set []begun
		for i := range list {
			if own := &list[i]; own.kind == ownContext && p.opts.has(ViaArgs) && ofType(set, own.typ) == nil {
				set = append(set, begun{typ: own.typ, node: own.node, via: ViaArgs})
			}
		}
		if th := p.threads[thread]; th != nil {
			for _, b := range p.inEffect(th, th.innermost(o.TS)) {
				if p.travels(&b) && ofType(set, b.typ) == nil {
					set = append(set, b)
				}
			}
		}
		if p.hold(begunSize * len(set)) {
			r.begun = set
		}
	case receives:
		r.fromData = int64(sum(timeline.Nanos(r.fromData), timeline.Nanos(e.value)))
	case finishes:
		r.End = o.TS
		if e.value > 0 {
			r.Bytes = e.value
		}
	}
}

// ofRequest handles an asynchronous slice that is a request or is about one (attribution.md, rule 7), and returns its set: what
// it has already, then what the request has. The first slice of a request says for whom that is; later ones are those of
// other processes.
func (p *propagation) ofRequest(o *timeline.Occurrence, e *evidence, set []begun) []begun {
	if e.kind != requested && e.kind != unfinished && e.kind != handles {
		return set
	}
	r := &p.found.requests.list[e.node]
	if e.kind != handles {
		if r.Start == timeline.NoTime {
			r.Start, r.thread = o.TS, o.Thread
			for i := range set {
				if p.travels(&set[i]) && p.hold(begunSize) {
					r.begun = append(r.begun, set[i])
				}
			}
		}
		if e.kind == requested {
			r.End = max(r.End, o.End) // NoTime is less than any time
		}
		r.Bytes = max(r.Bytes, e.value)
	}
	if !p.opts.has(ViaRequest) {
		return set
	}
	for _, b := range r.begun {
		if ofType(set, b.typ) == nil {
			b.via = ViaRequest
			set = append(set, b)
		}
	}
	return set
}

// handle gives a slice that handles a request the contexts of that, for the types of which nothing is in effect.
func (p *propagation) handle(th *openThread, s *openSlice, request int) {
	for _, b := range p.found.requests.list[request].begun {
		if s.of(b.typ) != nil {
			continue
		}
		if _, ok := p.effectOf(th, len(th.slices)-2, b.typ); ok {
			continue
		}
		b.ordinal, b.via = s.ordinal, ViaRequest
		s.add(b)
	}
}

// travels reports whether a context may be handed on to other work: isolates collect for many, and what is unattributed
// is nobody's.
func (p *propagation) travels(b *begun) bool {
	return b.node != 0 && b.via != ViaIsolate && b.typ != TypeTrigger && p.contexts.nodes[b.node].Scope != ScopeIsolate
}
