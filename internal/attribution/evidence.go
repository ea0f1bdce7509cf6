package attribution

import (
	"cmp"
	"sort"

	"github.com/weft-trace/weft/internal/extsort"
)

// Evidence is what one slice, instant or end event says about contexts. A provider finds it once; the passes that follow
// do not look at arguments again.
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
	// collects: the slice collects garbage; the node is the isolate, set when all isolates are known.
	collects
	// Enters and leaves: an explicit event. destroys: the deletion of an object.
	enters
	leaves
	destroys
	// sends, handles and finishes: a request; value is its number. receives: node is the number, value the bytes.
	sends
	handles
	receives
	finishes
	// requested: a slice is a whole request, of which node is the number; value are the bytes, -1 if they are not known.
	// unfinished: likewise, and its end is not the end of the request.
	requested
	unfinished
	// dispatches: an event is dispatched to its listeners; typ is its type, see inputs, and
	// value the time at which it happened, 0 if the event does not say so.
	dispatches
	// inherited: an earlier attribution found a context on the thread that wrote an asynchronous slice, or an instant of a
	// process; value is how it came there and the hops, see inheritedVia.
	inherited
	// usedCPU: value is the CPU time of the slice in nanoseconds.
	usedCPU
	// freed: value is the number of bytes that a garbage collection freed.
	Freed
	// hasStack: a call stack says who asked for it.
	hasStack
	// ownCategory: the arguments say what kind of work the slice is. value is the Category.
	ownCategory
	// noteTaken: the event has arguments of its own that are named as notes are; value has a bit for each of noteKeys.
	noteTaken
)

var evidenceOrder = extsort.Order[Evidence]{
	Compare: compareEvidence,
	Key:     func(e *Evidence) uint64 { return e.ordinal },
}

func compareEvidence(a, b *Evidence) int { return cmp.Compare(a.ordinal, b.ordinal) }

// Cursor yields values sorted by ordinal to a pass that goes through the groups of a trace in order.
type Cursor[T any] struct {
	Next    func(*T) (bool, error)
	Ordinal func(*T) uint64
	ahead   T
	have    bool
	done    bool
	held    []T  // of the ordinal that was asked for; with keep, of the group up to the latest
	keep    bool // ordinals of the group do not come in their order
}

// Group begins a group, whose ordinals come in their order or not.
func (c *Cursor[T]) Group(inOrder bool) { c.held, c.keep = c.held[:0], !inOrder }

// Of returns the values of an ordinal; they are valid until the next call. From group to group ordinals must not decrease.
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

// isExplicit reports whether evidence changes what is entered on a thread.
func (e *Evidence) isExplicit() bool {
	return e.kind == enters || e.kind == leaves || e.kind == destroys
}
