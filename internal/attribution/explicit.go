package attribution

import (
	"bytes"
	"iter"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// explicitEvents reads the events that declare contexts: ( and ) enter and leave them; N, O and D are creations, snapshots and
// deletions of the contexts' objects (attribution.md, rules 2 and 3).
type explicitEvents struct {
	t  *timeline.Timeline
	id []byte
}

func newExplicitEvents(t *timeline.Timeline) *explicitEvents { return &explicitEvents{t: t} }

func (p *explicitEvents) observe(c *collecting, s *event) error {
	switch s.track.Place {
	case placeOther:
		if s.Kind == timeline.ItemInstant {
			return p.enterOrLeave(c, s)
		}
	case placeObjects:
		return p.object(c, s)
	}
	return nil
}

// eventID is the identity of an event, from the arguments in which the reader keeps the fields that Perfetto cannot represent.
type eventID struct {
	phase   byte
	id      []byte // nil: none
	global  bool
	scope   string
	several bool // two kinds of id, or an id without a value
}

// identity reads the identity of an event from its "weft" argument.
func (p *explicitEvents) identity(s *event) (out eventID) {
	out.scope = scopePointer
	for weft := range p.t.ArgList(s.Args) {
		if string(weft.Key) != timeline.OwnArgs || weft.Kind != timeline.ArgDict {
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

// secondID reads id2, which must be a dictionary with local or global.
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

// enterOrLeave adds the evidence from ( and ) events.
func (p *explicitEvents) enterOrLeave(c *collecting, s *event) error {
	id := p.identity(s)
	if id.phase != '(' && id.phase != ')' || s.track.Thread == 0 || s.NameID == 0 {
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
	pid := s.track.pid
	if id.global {
		pid = Global
	}
	node, typ := c.node(id.scope, id.id, pid, s.track.idSpace), c.contexts.TypeOf([]byte(s.name.name))
	if node == 0 || typ == 0 {
		return nil
	}
	c.found.Explicit[s.track.Thread] = true
	kind := leaves
	if id.phase == '(' {
		kind = enters
		c.contexts.Nodes[node].Context = true
		if _, ok := c.contexts.Entered[node]; !ok && c.contexts.reserve(enteredSize) {
			c.contexts.Entered[node] = enteredAs{Type: c.contexts.Types[typ], Category: c.contexts.Keep(p.category(s))}
		}
	}
	return c.add(Evidence{ordinal: s.Ordinal, kind: kind, Type: typ, Node: node})
}

// category returns the event's category in the input, or nil if there is none.
func (p *explicitEvents) category(s *event) []byte {
	if s.CategoryID == 0 {
		return nil
	}
	return p.t.Category(s.CategoryID)
}

// object reads N, O and D events. Their track has the object's class.
func (p *explicitEvents) object(c *collecting, s *event) error {
	own := p.identity(s)
	if own.several { // the ids are ambiguous
		c.problems.Add(problem.ContextBadID, s.position(), s.track.class)
		return nil
	}
	if own.id == nil {
		return nil
	}
	node := c.node(own.scope, own.id, s.track.pid, s.track.idSpace)
	state := Snapshot{Node: node, TS: s.TS, Event: s.Event, Class: c.contexts.Keep([]byte(s.track.class)), Category: c.contexts.Keep(p.category(s))}
	switch {
	case s.Deletion:
		state.change = deleted
		c.contexts.addState(state)
		if node == 0 || s.Thread == 0 {
			return nil
		}
		return c.add(Evidence{ordinal: s.Ordinal, kind: destroys, Node: node})
	case s.Kind == timeline.ItemBegin:
		state.change = created
		c.contexts.addState(state)
	case s.Kind == timeline.ItemInstant:
		state.change = changed
		p.members(c, s, state, p.t.ArgList(s.Args), 0)
	}
	return nil
}

// maxNestedSnapshots bounds the depth of snapshots inside snapshots.
const maxNestedSnapshots = 32

// members reads the members of a snapshot: url, references, and snapshots of other objects.
func (p *explicitEvents) members(c *collecting, s *event, state Snapshot, list iter.Seq[timeline.Arg], depth int) {
	for a := range list {
		if string(a.Key) == "url" {
			state.Url = c.contexts.Keep(text(&a))
		}
	}
	id := c.contexts.addState(state)
	for a := range list {
		switch name := string(a.Key); name {
		case "parent", "sibling", "renderFrame", "frameTreeNode":
			if to, ok := p.reference(c, a, s.track); ok {
				c.contexts.refer(id, to, name != "parent")
				continue
			}
		}
		p.nested(c, s, state, a, depth+1)
	}
}

// nested searches a value for snapshots: a dictionary with the id "class/0x1" is a snapshot of object 0x1 of that class at the
// same time (attribution.md, rule 3).
func (p *explicitEvents) nested(c *collecting, s *event, outer Snapshot, a timeline.Arg, depth int) {
	if a.Kind != timeline.ArgDict && a.Kind != timeline.ArgArray || depth > maxNestedSnapshots || outer.Node == 0 {
		return
	}
	class, id, category := p.nestedID(a)
	if id != nil {
		state := Snapshot{TS: outer.TS, Event: outer.Event, change: changed, Class: c.contexts.Keep(class), Category: outer.Category}
		if category != nil {
			state.Category = c.contexts.Keep(category)
		}
		state.Node = c.node(c.contexts.Nodes[outer.Node].Scope, id, c.contexts.Nodes[outer.Node].Process, s.track.idSpace)
		p.members(c, s, state, p.t.Members(a), depth)
		return
	}
	for m := range p.t.Members(a) {
		p.nested(c, s, outer, m, depth+1)
	}
}

// nestedID returns the class, id and category of a value that is a snapshot of an object, or nil for other values. The member
// base_type overrides the class in the id; cat is the category if it differs from the enclosing object's.
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

// reference reads id_ref, pid_ref and scope of a reference, in either spelling (attribution.md, The model).
func (p *explicitEvents) reference(c *collecting, dict timeline.Arg, from *track) (out reference, ok bool) {
	if dict.Kind != timeline.ArgDict {
		return out, false
	}
	out = reference{Scope: scopePointer, process: from.pid, IDSpace: from.idSpace}
	for a := range p.t.Members(dict) {
		switch string(a.Key) {
		case "id_ref", "idRef":
			p.id = appendNumber(p.id[:0], &a)
			out.Id = string(p.id)
		case "pid_ref", "pidRef":
			p.id = appendNumber(p.id[:0], &a)
			if v, valid := parsePID(p.id); valid {
				out.process = c.pidOf(from.idSpace, v)
			}
		case "scope":
			if scope := text(&a); scope != nil {
				out.Scope = string(scope)
			}
		}
	}
	return out, out.Id != ""
}
