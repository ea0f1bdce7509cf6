package attribution

import (
	"slices"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// active is the state of a thread with explicit contexts: at most one active context of a type, and a stack of those
// that it covers (attribution.md, rule 2). Threads without such events have none.
type active struct {
	stacks  []typeStack // sorted by type
	entered int         // in all stacks
}

// typeStack are the contexts of a type that were entered and not left; the last one is active.
type typeStack struct {
	typ     TypeID
	entered []Entered
}

// Entered is a context that was entered.
type Entered struct {
	Node  NodeID
	Began timeline.Nanos
	event uint32
}

// MaxEntered bounds the contexts of a thread that are entered and not left; beyond it the first one of the type is
// forgotten, or of the type that has most.
const MaxEntered = 1 << 10

// of returns the active context of a type; nil if there is none.
func (a *active) of(typ TypeID) *Entered {
	if a == nil {
		return nil
	}
	for i := range a.stacks {
		if s := &a.stacks[i]; s.typ == typ && len(s.entered) > 0 {
			return &s.entered[len(s.entered)-1]
		}
	}
	return nil
}

func (a *active) stack(typ TypeID) *typeStack {
	i, ok := slices.BinarySearchFunc(a.stacks, typ, func(s typeStack, typ TypeID) int { return int(s.typ) - int(typ) })
	if !ok {
		a.stacks = slices.Insert(a.stacks, i, typeStack{typ: typ})
	}
	return &a.stacks[i]
}

// enter makes a context the active one of its type, and reports whether there was room without forgetting another one.
func (a *active) enter(typ TypeID, e Entered) bool {
	full := a.entered >= MaxEntered
	if full {
		a.forget(typ)
	}
	s := a.stack(typ)
	s.entered = append(s.entered, e)
	a.entered++
	return !full
}

// forget forgets the context of a type that was entered first, or, if the type has no context, the first of the type with the most.
func (a *active) forget(typ TypeID) {
	s := a.stack(typ)
	for i := range a.stacks {
		if other := &a.stacks[i]; len(s.entered) == 0 || s.typ != typ && len(other.entered) > len(s.entered) {
			s = other
		}
	}
	s.entered = slices.Delete(s.entered, 0, 1)
	a.entered--
}

// leaving is what a leave does.
type leaving uint8

const (
	left        leaving = iota
	notActive           // another context is active, or none
	leftStacked         // the context is covered by another one
)

// leave leaves a context if it is the active one of its type.
func (a *active) leave(c *Catalogue, typ TypeID, node NodeID) leaving {
	s := a.stack(typ)
	n := len(s.entered)
	if n > 0 && c.sameText(s.entered[n-1].Node, node) {
		s.entered = s.entered[:n-1]
		a.entered--
		return left
	}
	for i := range s.entered {
		if c.sameText(s.entered[i].Node, node) {
			return leftStacked
		}
	}
	return notActive
}

// destroy removes a context from all stacks, then leaves it under every type of which it is the active one.
func (a *active) destroy(c *Catalogue, node NodeID) {
	for i := range a.stacks {
		s := &a.stacks[i]
		n := len(s.entered)
		if n == 0 {
			continue
		}
		top := s.entered[n-1]
		kept := slices.DeleteFunc(s.entered[:n-1], func(e Entered) bool { return c.sameText(e.Node, node) })
		if !c.sameText(top.Node, node) {
			kept = append(kept, top)
		}
		a.entered -= n - len(kept)
		s.entered = kept
	}
}

// endSlice leaves what was entered inside a slice that ends, for producers that forget to (attribution.md, rule 2), and reports
// whether there was anything.
func (a *active) endSlice(start, end timeline.Nanos, event uint32) (changed bool) {
	for i := range a.stacks {
		s := &a.stacks[i]
		n := len(s.entered)
		s.entered = slices.DeleteFunc(s.entered, func(e Entered) bool {
			return e.Began < end && (e.Began > start || e.Began == start && e.event > event)
		})
		a.entered -= n - len(s.entered)
		changed = changed || len(s.entered) < n
	}
	return changed
}

// apply carries out an explicit event. The log is nil where its problems were counted before.
func (a *active) apply(c *Catalogue, e *Evidence, o *explicitAt, log *problem.Log) {
	kind := problem.ContextLimit
	switch e.kind {
	case enters:
		if a.enter(e.Type, Entered{Node: e.Node, Began: o.TS, event: o.Event}) {
			return
		}
	case leaves:
		switch a.leave(c, e.Type, e.Node) {
		case left:
			return
		case leftStacked:
			kind = problem.LeaveStacked
		case notActive:
			kind = problem.LeaveWithoutActive
		}
	case destroys:
		a.destroy(c, e.Node)
		return
	}
	if log == nil {
		return
	}
	at, name := problem.Position{Event: int64(o.Event), Offset: o.offset}, c.Nodes[e.Node].Identity.String()
	if kind == problem.LeaveStacked {
		log.Add(problem.LeaveWithoutActive, at, name)
	}
	log.Add(kind, at, name)
}

// appendInnermost appends the active contexts of all types.
func (a *active) appendInnermost(innermost []Explicit) []Explicit {
	for i := range a.stacks {
		if e := a.stacks[i].entered; len(e) > 0 {
			innermost = append(innermost, Explicit{a.stacks[i].typ, e[len(e)-1]})
		}
	}
	return innermost
}

// Explicit is the active explicit context of a type.
type Explicit struct {
	Type TypeID
	Entered
}
