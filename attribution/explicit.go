package attribution

import (
	"bytes"
	"iter"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// explicitEvents reads the events by which a producer says itself what contexts are: ( and ) enter and leave them, N, O
// and D are the lives and snapshots of the objects behind them (attribution.md, rules 2 and 3).
type explicitEvents struct {
	t  *timeline.Timeline
	id []byte
}

func newExplicitEvents(t *timeline.Timeline) *explicitEvents { return &explicitEvents{t: t} }

func (p *explicitEvents) see(c *collector, s *seen) error {
	switch s.place.role {
	case roleOther:
		if s.Kind == timeline.OccursInstant {
			return p.enterOrLeave(c, s)
		}
	case roleObjects:
		return p.object(c, s)
	}
	return nil
}

// eventID is what the reader of the input has kept of the identity of an event that has no place in Perfetto.
type eventID struct {
	phase   byte
	id      []byte // nil: none
	global  bool
	scope   string
	several bool // it has two kinds of id, or one without value
}

// identity reads the dictionary weft of an event.
func (p *explicitEvents) identity(s *seen) (out eventID) {
	out.scope = scopePointer
	for weft := range p.t.ArgList(s.Args) {
		if string(weft.Key) != "weft" || weft.Kind != timeline.ArgDict {
			continue
		}
		for a := range p.t.Members(weft) {
			switch string(a.Key) {
			case "ph":
				if ph := text(&a); len(ph) == 1 {
					out.phase = ph[0]
				}
			case "scope":
				if scope := text(&a); scope != nil {
					out.scope = string(scope)
				}
			case "id":
				out.several = out.several || out.id != nil
				out.id = appendNumber([]byte{}, &a)
			case "id2":
				p.secondID(&out, a)
			}
		}
	}
	return out
}

// secondID reads id2, which is a dictionary with local or global; anything else has no value.
func (p *explicitEvents) secondID(out *eventID, id2 timeline.Arg) {
	found := false
	if id2.Kind == timeline.ArgDict {
		for a := range p.t.Members(id2) {
			if name := string(a.Key); name == "local" || name == "global" {
				out.several = out.several || out.id != nil
				out.id, out.global, found = appendNumber([]byte{}, &a), name == "global", true
			}
		}
	}
	out.several = out.several || !found
}

// enterOrLeave reads ( and ).
func (p *explicitEvents) enterOrLeave(c *collector, s *seen) error {
	id := p.identity(s)
	if id.phase != '(' && id.phase != ')' || s.place.thread == 0 || s.Name == 0 {
		return nil
	}
	switch {
	case id.several:
		c.problems.Add(problem.ContextBadID, s.position(), s.name.name)
		return nil
	case id.id == nil:
		c.problems.Add(problem.ContextWithoutID, s.position(), s.name.name)
		return nil
	}
	pid := s.place.pid
	if id.global {
		pid = Global
	}
	node, typ := c.contexts.node(id.scope, id.id, pid), c.contexts.typeOf([]byte(s.name.name))
	if node == 0 || typ == 0 {
		return nil
	}
	c.found.explicit[s.place.thread] = true
	kind := leaves
	if id.phase == '(' {
		kind = enters
		c.contexts.nodes[node].context = true
		if _, ok := c.contexts.entered[node]; !ok && c.contexts.hasRoom(enteredSize) {
			c.contexts.entered[node] = enteredAs{c.contexts.types[typ], c.contexts.keep(p.category(s))}
		}
	}
	return c.add(evidence{ordinal: s.Ordinal, kind: kind, typ: typ, node: node})
}

// category returns the category of an event as the input has it; empty if it has none.
func (p *explicitEvents) category(s *seen) []byte {
	if s.Category == 0 {
		return nil
	}
	return p.t.Category(s.Category)
}

// object reads N, O and D. The class of the track is that of the object.
func (p *explicitEvents) object(c *collector, s *seen) error {
	own := p.identity(s)
	if own.several { // the ids are ambiguous
		c.problems.Add(problem.ContextBadID, s.position(), s.place.class)
		return nil
	}
	if own.id == nil {
		return nil
	}
	node := c.contexts.node(own.scope, own.id, s.place.pid)
	state := snapshot{node: node, ts: s.TS, event: s.Event, class: c.contexts.keep([]byte(s.place.class)), category: c.contexts.keep(p.category(s))}
	switch {
	case s.Deletion:
		state.change = deleted
		c.contexts.add(state)
		if node == 0 || s.Thread == 0 {
			return nil
		}
		return c.add(evidence{ordinal: s.Ordinal, kind: destroys, node: node})
	case s.Kind == timeline.OccursSlice:
		state.change = created
		c.contexts.add(state)
	case s.Kind == timeline.OccursInstant:
		state.change = changed
		p.snapshot(c, s, state)
	}
	return nil
}

// snapshot reads the members of a snapshot that concern contexts, and the snapshots of other objects in it.
func (p *explicitEvents) snapshot(c *collector, s *seen, state snapshot) {
	p.members(c, s, state, p.t.ArgList(s.Args), 0)
}

// maxNestedSnapshots bounds how deep snapshots hold each other.
const maxNestedSnapshots = 32

// members reads the members of a snapshot: url, references, and objects that are snapshots themselves.
func (p *explicitEvents) members(c *collector, s *seen, state snapshot, list iter.Seq[timeline.Arg], depth int) {
	for a := range list {
		if string(a.Key) == "url" {
			state.url = c.contexts.keep(text(&a))
		}
	}
	id := c.contexts.add(state)
	for a := range list {
		switch name := string(a.Key); name {
		case "parent", "sibling", "renderFrame", "frameTreeNode":
			if to, ok := p.reference(a, s.place.pid); ok {
				c.contexts.refer(id, to, name != "parent")
				continue
			}
		}
		p.nested(c, s, state, a, depth+1)
	}
}

// nested looks for snapshots inside a value: an object with the id "class/0x1" is one of object 0x1 of that class at the
// same time (attribution.md, rule 3). Lists are searched.
func (p *explicitEvents) nested(c *collector, s *seen, outer snapshot, a timeline.Arg, depth int) {
	if a.Kind != timeline.ArgDict && a.Kind != timeline.ArgArray || depth > maxNestedSnapshots || outer.node == 0 {
		return
	}
	class, id, category := p.nestedID(a)
	if id != nil {
		state := snapshot{ts: outer.ts, event: outer.event, change: changed, class: c.contexts.keep(class), category: outer.category}
		if category != nil {
			state.category = c.contexts.keep(category)
		}
		state.node = c.contexts.node(c.contexts.nodes[outer.node].Scope, id, c.contexts.nodes[outer.node].Process)
		p.members(c, s, state, p.t.Members(a), depth)
		return
	}
	for m := range p.t.Members(a) {
		p.nested(c, s, outer, m, depth+1)
	}
}

// nestedID returns class and id of a value that is the snapshot of an object; nil if it is none. base_type is the class
// under which the object is filed, cat its category if that is not the one of the object around it.
func (p *explicitEvents) nestedID(a timeline.Arg) (class, id, category []byte) {
	if a.Kind != timeline.ArgDict {
		return nil, nil, nil
	}
	var base []byte
	for m := range p.t.Members(a) {
		switch string(m.Key) {
		case "id":
			if i := bytes.LastIndexByte(text(&m), '/'); i > 0 && i+1 < len(m.Text()) {
				class, id = m.Text()[:i], m.Text()[i+1:]
			}
		case "base_type":
			base = text(&m)
		case "cat":
			category = text(&m)
		}
	}
	if base != nil {
		class = base
	}
	return class, id, category
}

// reference reads id_ref, pid_ref and scope of a reference, in both spellings (attribution.md, The model).
func (p *explicitEvents) reference(dict timeline.Arg, pid int64) (out reference, ok bool) {
	if dict.Kind != timeline.ArgDict {
		return out, false
	}
	out = reference{scope: scopePointer, process: pid}
	for a := range p.t.Members(dict) {
		switch string(a.Key) {
		case "id_ref", "idRef":
			p.id = appendNumber(p.id[:0], &a)
			out.id = string(p.id)
		case "pid_ref", "pidRef":
			p.id = appendNumber(p.id[:0], &a)
			if v, valid := parsePID(p.id); valid {
				out.process = v
			}
		case "scope":
			if scope := text(&a); scope != nil {
				out.scope = string(scope)
			}
		}
	}
	return out, out.id != ""
}
