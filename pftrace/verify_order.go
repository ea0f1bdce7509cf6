package pftrace

import (
	"cmp"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/pfwire/message"
)

// orderKind is an event's role in nesting and flows. The kinds are in the order in which simultaneous events of a packet apply:
// flows belong to the slice that the packet begins, and flow ids come before terminating flow ids (perfetto.md 8).
type orderKind uint8

const (
	orderBegin orderKind = iota
	orderComplete
	orderEnd
	orderInstant
	orderFlow
	orderFlowEnd
)

// orderedEvent is the buffered part of an event.
type orderedEvent struct {
	time  int64
	end   int64 // of a complete event
	at    position
	flow  uint64
	track uint32 // index in verifyTracks.list
	seq   uint32 // index in verifyOrder.sequences
	kind  orderKind
}

func (e *orderedEvent) compare(o *orderedEvent) int {
	return cmp.Or(cmp.Compare(e.time, o.time), cmp.Compare(e.at.packet, o.at.packet), cmp.Compare(e.kind, o.kind))
}

// verifyOrder sorts events into the order in which Perfetto processes them: by time, then by position in the file (perfetto.md
// 6). It buffers events up to a limit and, when the buffer is full, releases the earlier half. A trace that is nearly in order is
// therefore checked exactly, whatever its length, and so is any trace that fits into the buffer.
type verifyOrder struct {
	limit     int
	buffered  []orderedEvent
	sorted    bool // buffered is in order
	disorder  bool // an event came out of order
	released  int64
	sequences []message.SequenceKey
	flows     map[machineID]struct{} // active flows
	noFlows   bool                   // flows are no longer checked, see loseOrder
}

func newVerifyOrder(limit int) verifyOrder {
	return verifyOrder{limit: limit, sorted: true, flows: make(map[machineID]struct{})}
}

func (o *verifyOrder) addSequence(key message.SequenceKey) uint32 {
	o.sequences = append(o.sequences, key)
	return uint32(len(o.sequences) - 1)
}

// hold buffers an event.
func (v *verifier) hold(e orderedEvent) {
	o := &v.order
	if e.time < o.released {
		v.found(ruleOrderUnchecked, "an event at %d after those up to %d were checked", e.time, o.released)
		v.loseOrder(e.track)
		return
	}
	if n := len(o.buffered); n > 0 && e.compare(&o.buffered[n-1]) < 0 {
		o.sorted, o.disorder = false, true
	}
	o.buffered = append(o.buffered, e)
	limit := o.limit
	if !o.disorder {
		limit = max(limit/4, 1) // in a time-ordered trace, nothing needs to be buffered
	}
	if len(o.buffered) >= limit {
		v.releaseOrdered(len(o.buffered) / 2)
	}
}

// loseOrder disables the checks that require a complete order: nesting on the track, and all flows.
func (v *verifier) loseOrder(track uint32) {
	v.tracks.list[track].orderLost = true
	v.order.noFlows = true
}

// releaseOrdered checks the buffered events in order, except the last keep events.
func (v *verifier) releaseOrdered(keep int) {
	o := &v.order
	if !o.sorted {
		slices.SortFunc(o.buffered, func(a, b orderedEvent) int { return a.compare(&b) })
		o.sorted = true
	}
	n := len(o.buffered) - keep
	for i := range o.buffered[:n] {
		v.inOrder(&o.buffered[i])
	}
	if n > 0 {
		o.released = o.buffered[n-1].time
		o.buffered = o.buffered[:copy(o.buffered, o.buffered[n:])]
	}
}

// maxSliceDepth is the maximum nesting depth of slices on a track (perfetto.md 6). Instants are slices of length 0: simultaneous
// instants nest in each other.
const maxSliceDepth = 512

// openSlice is a BEGIN whose END has not been reached yet, or a complete event that has not ended.
type openSlice struct {
	at    position
	seq   uint32
	end   int64 // of a complete event; untilEnd for a BEGIN
	least int64 // earliest end of this slice and the slices around it
}

// untilEnd is the end of a slice that an END event closes.
const untilEnd = math.MaxInt64

// inOrder checks one event's nesting and flows.
func (v *verifier) inOrder(e *orderedEvent) {
	t := &v.tracks.list[e.track]
	seq := v.order.sequences[e.seq]
	switch e.kind {
	case orderFlow, orderFlowEnd:
		v.flowInOrder(e, seq)
		return
	}
	if t.orderLost {
		return
	}
	v.endComplete(t, e.time)
	deep := len(t.open) + t.tooDeep
	if e.kind != orderInstant || e.time != t.instantAt {
		t.instants, t.instantAt = 0, e.time
	}
	switch e.kind {
	case orderBegin, orderComplete:
		end := int64(untilEnd)
		if e.kind == orderComplete {
			end = e.end
			v.checkOverlap(e, t)
		}
		switch {
		case deep < maxSliceDepth:
			t.open = append(t.open, openSlice{e.at, e.seq, end, min(end, t.leastEnd())})
		default:
			v.foundOn(ruleSliceDepth, e.at, seq, "%d slices are open on track %d", deep, t.uuid)
			if end == untilEnd {
				t.tooDeep++
			}
		}
	case orderInstant:
		switch {
		case deep+t.instants < maxSliceDepth:
			t.instants++
		case t.instants == 0:
			v.foundOn(ruleSliceDepth, e.at, seq, "%d slices are open on track %d", deep, t.uuid)
		default:
			v.foundOn(ruleSliceDepth, e.at, seq, "%d slices are open on track %d, which has %d instants at %d ns", deep, t.uuid, t.instants, e.time)
		}
	case orderEnd:
		switch {
		case t.tooDeep > 0:
			t.tooDeep--
		case v.endInnermost(e, t):
		default:
			v.foundOn(ruleEndWithoutBegin, e.at, seq, "track %d at %d ns", t.uuid, e.time)
		}
	}
}

// endComplete closes the complete events on a track that end by now. Perfetto truncates slices that are still open inside a
// complete event when that event ends.
func (v *verifier) endComplete(t *verifyTrack, now int64) {
	for n := len(t.open); n > 0 && t.open[n-1].end <= now; n = len(t.open) {
		t.open = t.open[:n-1]
	}
	if t.leastEnd() >= now { // a complete event that ends now, around an open slice, waits for the END of that slice
		return
	}
	i := slices.IndexFunc(t.open, func(s openSlice) bool { return s.end < now })
	truncated := t.open[i+1]
	v.foundOn(ruleSliceOverlap, truncated.at, v.order.sequences[truncated.seq], "a slice of track %d is still open when the one around it ends, at %d ns", t.uuid, t.open[i].end)
	t.open = t.open[:i]
	v.endComplete(t, now)
}

// leastEnd returns the earliest end of the open slices.
func (t *verifyTrack) leastEnd() int64 {
	if len(t.open) == 0 {
		return untilEnd
	}
	return t.open[len(t.open)-1].least
}

// endInnermost closes the innermost slice that an END event can close, and reports whether there is one.
func (v *verifier) endInnermost(e *orderedEvent, t *verifyTrack) bool {
	for i := len(t.open) - 1; i >= 0; i-- {
		if t.open[i].end != untilEnd {
			continue
		}
		if i+1 < len(t.open) {
			v.foundOn(ruleSliceOverlap, e.at, v.order.sequences[e.seq], "a slice of track %d ends at %d ns, before one inside of it, at %d ns", t.uuid, e.time, t.open[i+1].end)
		}
		t.open = slices.Delete(t.open, i, i+1)
		for j := i; j < len(t.open); j++ {
			t.open[j].least = t.open[j].end
			if j > 0 {
				t.open[j].least = min(t.open[j].end, t.open[j-1].least)
			}
		}
		return true
	}
	return false
}

// checkOverlap reports a complete event that ends after a slice around it.
func (v *verifier) checkOverlap(e *orderedEvent, t *verifyTrack) {
	if least := t.leastEnd(); least < e.end {
		v.foundOn(ruleSliceOverlap, e.at, v.order.sequences[e.seq], "a slice of track %d ends at %d ns, after one around it, at %d ns", t.uuid, e.end, least)
	}
}

func (v *verifier) flowInOrder(e *orderedEvent, seq message.SequenceKey) {
	o := &v.order
	if o.noFlows {
		return
	}
	id := machineID{seq.Machine, e.flow}
	if e.kind == orderFlow {
		o.flows[id] = struct{}{}
		return
	}
	if _, active := o.flows[id]; !active {
		v.foundOn(ruleFlowInactive, e.at, seq, "flow %d at %d ns", e.flow, e.time)
		return
	}
	delete(o.flows, id)
}

// checkOpenSlices reports the slices that never end.
func (v *verifier) checkOpenSlices() {
	for i := range v.tracks.list {
		t := &v.tracks.list[i]
		if t.orderLost {
			continue
		}
		for _, s := range t.open {
			if s.end != untilEnd {
				continue
			}
			v.foundOn(ruleBeginWithoutEnd, s.at, v.order.sequences[s.seq], "track %d", t.uuid)
		}
	}
}
