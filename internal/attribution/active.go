package attribution

import (
	"slices"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// active holds the explicit contexts of a thread: for each type at most one active context, on top of a stack of
// suspended ones (attribution.md, rule 2). It is nil for threads without explicit events.
type active struct {
	stacks  []typeStack // sorted by type
	entered int         // number of contexts in all stacks
}

// typeStack holds the contexts of a type that have been entered but not left; the last one is active.
type typeStack struct {
	typ     TypeID
	entered []Entered
}

// Entered is a context and the event that entered it.
type Entered struct {
	Node  NodeID
	Began timeline.Nanos
	event uint32
}

// MaxEntered bounds the number of contexts that a thread has entered but not left. Beyond that, weft drops the oldest context of
// the type that is being entered or, if that type has none, of the type with the most contexts.
const MaxEntered = 1 << 10

// current returns the active context of a type, or nil if there is none.
func (a *active) current(typ TypeID) *Entered {
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

// enter makes a context the active one of its type. It returns false if it had to drop another context.
func (a *active) enter(typ TypeID, e Entered) bool {
	full := a.entered >= MaxEntered
	if full {
		a.dropOldest(typ)
	}
	s := a.stack(typ)
	s.entered = append(s.entered, e)
	a.entered++
	return !full
}

// dropOldest drops the oldest context of a type, or of the type with the most contexts if this type has none.
func (a *active) dropOldest(typ TypeID) {
	s := a.stack(typ)
	for i := range a.stacks {
		if other := &a.stacks[i]; len(s.entered) == 0 || s.typ != typ && len(other.entered) > len(s.entered) {
			s = other
		}
	}
	s.entered = slices.Delete(s.entered, 0, 1)
	a.entered--
}

// leaveOutcome is the result of a leave event.
type leaveOutcome uint8

const (
	leaveDone      leaveOutcome = iota
	leaveNotActive              // no context is active, or a different one is
	leaveSuspended              // the context is below the active one in the stack
)

// leave leaves a context if it is the active one of its type.
func (a *active) leave(c *Catalogue, typ TypeID, node NodeID) leaveOutcome {
	s := a.stack(typ)
	n := len(s.entered)
	if n > 0 && c.sameText(s.entered[n-1].Node, node) {
		s.entered = s.entered[:n-1]
		a.entered--
		return leaveDone
	}
	for i := range s.entered {
		if c.sameText(s.entered[i].Node, node) {
			return leaveSuspended
		}
	}
	return leaveNotActive
}

// destroy removes a context from all stacks, whether it is active or suspended.
func (a *active) destroy(c *Catalogue, node NodeID) {
	for i := range a.stacks {
		s := &a.stacks[i]
		n := len(s.entered)
		s.entered = slices.DeleteFunc(s.entered, func(e Entered) bool { return c.sameText(e.Node, node) })
		a.entered -= n - len(s.entered)
	}
}

// endSlice leaves the contexts that were entered inside a slice that ends, for producers that forget to leave them
// (attribution.md, rule 2). It reports whether there were any such contexts.
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

// apply applies an explicit event; log is nil if an earlier pass has already counted the problems.
func (a *active) apply(c *Catalogue, e *Evidence, o *explicitAt, log *problem.Log) {
	kind := problem.ContextLimit
	switch e.kind {
	case enters:
		if a.enter(e.Type, Entered{Node: e.Node, Began: o.TS, event: o.Event}) {
			return
		}
	case leaves:
		switch a.leave(c, e.Type, e.Node) {
		case leaveDone:
			return
		case leaveSuspended:
			kind = problem.LeaveStacked
		case leaveNotActive:
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

// appendInnermost appends the active context of each type.
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
