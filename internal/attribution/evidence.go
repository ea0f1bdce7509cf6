package attribution

import (
	"cmp"
	"sort"

	"github.com/weft-trace/weft/internal/extsort"
)

// Evidence is one fact about contexts, which a provider extracts from a slice, instant or end event. Later passes do not
// read arguments.
type Evidence struct {
	ordinal uint64 // of the slice or instant
	kind    kind
	Type    TypeID
	Node    NodeID
	value   int64
}

type kind uint8

const (
	// ownContext: the arguments name a context of a type.
	ownContext kind = iota + 1
	// collects: the slice collects garbage. Its isolate is in found.isolates once all events have been read.
	collects
	// enters and leaves: an explicit event. destroys: the deletion of an object.
	enters
	leaves
	destroys
	// sends, handles, receives and finishes: an event of the request with the number Node. For receives and finishes, value
	// is the number of bytes.
	sends
	handles
	receives
	finishes
	// requested: the slice is a whole request with the number Node; value is the number of bytes, -1 if unknown.
	// unfinished: the same, but the request continues after the slice.
	requested
	unfinished
	// dispatches: an event is dispatched to its listeners. Type is its type, see inputs; value is the time of the event,
	// 0 if unknown.
	dispatches
	// inherited: an earlier attribution found a context on the thread that wrote an asynchronous slice, or an instant of a
	// process. value encodes source and hops, see inheritedVia.
	inherited
	// usedCPU: value is the CPU time of the slice in nanoseconds.
	usedCPU
	// Freed: value is the number of bytes that a garbage collection freed.
	Freed
	// hasStack: the event has the call stack of the script that caused it.
	hasStack
	// ownCategory: the arguments state the category of the slice; value is the category.
	ownCategory
	// noteTaken: the event's own arguments use note names; value has a bit for each taken index of NoteKeys.
	noteTaken
)

var evidenceOrder = extsort.Order[Evidence]{
	Compare: compareEvidence,
	Key:     func(e *Evidence) uint64 { return e.ordinal },
}

func compareEvidence(a, b *Evidence) int { return cmp.Compare(a.ordinal, b.ordinal) }

// Cursor yields values sorted by ordinal to a pass over the groups of a trace.
type Cursor[T any] struct {
	Next    func(*T) (bool, error)
	Ordinal func(*T) uint64
	ahead   T
	have    bool
	done    bool
	held    []T  // values of the requested ordinal; with keep, of the group so far
	keep    bool // ordinals of the group are requested out of order
}

// Group starts a group. inOrder promises that its ordinals are requested in ascending order.
func (c *Cursor[T]) Group(inOrder bool) { c.held, c.keep = c.held[:0], !inOrder }

// Of returns the values of an ordinal; they are valid until the next call. Ordinals must not decrease from group to group.
func (c *Cursor[T]) Of(ordinal uint64) ([]T, error) {
	if !c.keep {
		c.held = c.held[:0]
	}
	for !c.done {
		if !c.have {
			ok, err := c.Next(&c.ahead)
			if err != nil {
				return nil, err
			}
			if !ok {
				c.done = true
				break
			}
			c.have = true
		}
		at := c.Ordinal(&c.ahead)
		if at > ordinal {
			break
		}
		if at == ordinal || c.keep {
			c.held = append(c.held, c.ahead)
		}
		c.have = false
	}
	if !c.keep {
		return c.held, nil
	}
	first := sort.Search(len(c.held), func(i int) bool { return c.Ordinal(&c.held[i]) >= ordinal })
	end := sort.Search(len(c.held), func(i int) bool { return c.Ordinal(&c.held[i]) > ordinal })
	return c.held[first:end:end], nil
}

func evidenceOrdinal(e *Evidence) uint64 { return e.ordinal }

// isExplicit reports whether evidence changes the explicit contexts of a thread.
func (e *Evidence) isExplicit() bool {
	return e.kind == enters || e.kind == leaves || e.kind == destroys
}
