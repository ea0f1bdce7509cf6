package attribution

import (
	"cmp"
	"encoding/binary"
	"sort"

	"github.com/weft-trace/weft/internal/extsort"
)

// evidence is what one slice, instant or end event says about contexts. A provider finds it once; the passes that follow
// do not look at arguments again.
type evidence struct {
	ordinal uint64 // of the slice or instant
	kind    evidenceKind
	typ     TypeID
	node    NodeID
	value   int64
}

type evidenceKind uint8

const (
	// ownContext: the arguments name a context of a type.
	ownContext evidenceKind = iota + 1
	// collects: the slice collects garbage; the node is the isolate, set when all isolates are known.
	collects
	// enters and leaves: an explicit event. destroys: the deletion of an object.
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
	freed
	// hasStack: a call stack says who asked for it.
	hasStack
	// ownCategory: the arguments say what kind of work the slice is. value is the Category.
	ownCategory
	// noteTaken: the event has arguments of its own that are named as notes are; value has a bit for each of noteKeys.
	noteTaken
)

const evidenceSize = 23

var evidenceCodec = extsort.Codec[evidence]{
	Size: evidenceSize,
	Key:  func(e *evidence) uint64 { return e.ordinal },
	Put: func(b []byte, e *evidence) {
		le := binary.LittleEndian
		_ = b[22]
		le.PutUint64(b, e.ordinal)
		le.PutUint64(b[8:], uint64(e.value))
		le.PutUint32(b[16:], uint32(e.node))
		le.PutUint16(b[20:], uint16(e.typ))
		b[22] = byte(e.kind)
	},
	Get: func(b []byte, e *evidence) {
		le := binary.LittleEndian
		_ = b[22]
		*e = evidence{
			ordinal: le.Uint64(b), value: int64(le.Uint64(b[8:])), node: NodeID(le.Uint32(b[16:])),
			typ: TypeID(le.Uint16(b[20:])), kind: evidenceKind(b[22]),
		}
	},
}

func compareEvidence(a, b *evidence) int { return cmp.Compare(a.ordinal, b.ordinal) }

// cursor gives values that are sorted by ordinal to somebody who goes through the groups of a trace in their order.
type cursor[T any] struct {
	next    func(*T) (bool, error)
	ordinal func(*T) uint64
	ahead   T
	have    bool
	done    bool
	held    []T  // of the ordinal that was asked for; with keep, of the group up to the latest
	keep    bool // ordinals of the group do not come in their order
}

// group begins a group, whose ordinals come in their order or not.
func (c *cursor[T]) group(inOrder bool) { c.held, c.keep = c.held[:0], !inOrder }

// of returns the values of an ordinal; they are valid until the next call. From group to group ordinals must not decrease.
func (c *cursor[T]) of(ordinal uint64) ([]T, error) {
	if !c.keep {
		c.held = c.held[:0]
	}
	for !c.done {
		if !c.have {
			ok, err := c.next(&c.ahead)
			if err != nil {
				return nil, err
			}
			if !ok {
				c.done = true
				break
			}
			c.have = true
		}
		at := c.ordinal(&c.ahead)
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
	first := sort.Search(len(c.held), func(i int) bool { return c.ordinal(&c.held[i]) >= ordinal })
	end := sort.Search(len(c.held), func(i int) bool { return c.ordinal(&c.held[i]) > ordinal })
	return c.held[first:end:end], nil
}

func evidenceOrdinal(e *evidence) uint64 { return e.ordinal }
