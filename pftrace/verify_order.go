package pftrace

import (
	"cmp"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/pfwire/message"
)

// orderKind is what an event means for nesting and flows. At one time and in one packet they count in this order: a
// packet's flows belong to the slice that it begins, and its flow ids come before its terminating ones
// (perfetto.md 8).
type orderKind uint8

const (
	orderBegin orderKind = iota
	orderComplete
	orderEnd
	orderInstant
	orderFlow
	orderFlowEnd
)

// orderedEvent is what is kept of an event until its turn.
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
	if c := cmp.Compare(e.time, o.time); c != 0 {
		return c
	}
	if c := cmp.Compare(e.at.packet, o.at.packet); c != 0 {
		return c
	}
	return cmp.Compare(e.kind, o.kind)
}

// verifyOrder brings events in the order in which Perfetto handles them: by time, then by place in the file
// (perfetto.md 6). It holds back as many as it may and releases the earlier half when it is full, so a trace that is
// nearly in order is checked exactly, whatever its length, and any trace is that fits.
type verifyOrder struct {
	limit     int
	held      []orderedEvent
	sorted    bool // held is in order
	disorder  bool // some event came out of order
	released  int64
	sequences []message.SequenceKey
	flows     map[machineID]struct{} // the active ones
	noFlows   bool                   // their order is lost
}

func newVerifyOrder(limit int) verifyOrder {
	return verifyOrder{limit: limit, sorted: true, flows: make(map[machineID]struct{})}
}

func (o *verifyOrder) addSequence(key message.SequenceKey) uint32 {
	o.sequences = append(o.sequences, key)
	return uint32(len(o.sequences) - 1)
}

// hold keeps an event until its turn.
func (v *verifier) hold(e orderedEvent) {
	o := &v.order
	if e.time < o.released {
		v.found(ruleOrderUnchecked, "an event at %d after those up to %d were checked", e.time, o.released)
		v.loseOrder(e.track)
		return
	}
	if n := len(o.held); n > 0 && e.compare(&o.held[n-1]) < 0 {
		o.sorted, o.disorder = false, true
	}
	o.held = append(o.held, e)
	limit := o.limit
	if !o.disorder {
		limit = max(limit/4, 1) // while all is in order, nothing needs to be held at all
	}
	if len(o.held) >= limit {
		v.releaseOrdered(len(o.held) / 2)
	}
}

// loseOrder gives up the checks that need a complete order: the track's and those for flows.
func (v *verifier) loseOrder(track uint32) {
	v.tracks.list[track].orderLost = true
	v.order.noFlows = true
}

// releaseOrdered checks the held events in order, all but the last keep of them.
func (v *verifier) releaseOrdered(keep int) {
	o := &v.order
	if !o.sorted {
		slices.SortFunc(o.held, func(a, b orderedEvent) int { return a.compare(&b) })
		o.sorted = true
	}
	n := len(o.held) - keep
	for i := range o.held[:n] {
		v.inOrder(&o.held[i])
	}
	if n > 0 {
		o.released = o.held[n-1].time
		o.held = o.held[:copy(o.held, o.held[n:])]
	}
}

// maxSliceDepth is the deepest nesting of slices on a track (perfetto.md 6). Instants are slices of length 0: of one
// time, they nest in each other.
const maxSliceDepth = 512

// openSlice is a BEGIN whose END has not come, or a complete event that has not ended.
type openSlice struct {
	at    position
	seq   uint32
	end   int64 // of a complete event; untilEnd of a BEGIN
	least int64 // of its end and the ends of the slices around it
}

// untilEnd is the end of a slice that an END closes.
const untilEnd = math.MaxInt64

// inOrder checks the nesting and the flows of one event.
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

// endComplete closes the complete events of a track that have ended before an event. With one of them Perfetto ends what is open inside of
// it, which is cut.
func (v *verifier) endComplete(t *verifyTrack, now int64) {
	for n := len(t.open); n > 0 && t.open[n-1].end <= now; n = len(t.open) {
		t.open = t.open[:n-1]
	}
	if t.leastEnd() >= now { // one that ends now, around a slice that is open, waits for the END of that
		return
	}
	i := slices.IndexFunc(t.open, func(s openSlice) bool { return s.end < now })
	cut := t.open[i+1]
	v.foundOn(ruleSliceOverlap, cut.at, v.order.sequences[cut.seq], "a slice of track %d is still open when the one around it ends, at %d ns", t.uuid, t.open[i].end)
	t.open = t.open[:i]
	v.endComplete(t, now)
}

// leastEnd returns when the first of the open slices ends.
func (t *verifyTrack) leastEnd() int64 {
	if len(t.open) == 0 {
		return untilEnd
	}
	return t.open[len(t.open)-1].least
}

// endInnermost closes the innermost slice that an END may close. It reports whether there is one.
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

// checkOverlap reports a complete event that ends after one around it.
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
