package flowbind

import (
	"cmp"
	"context"
	"errors"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

var refOrder = extsort.Order[timeline.FlowRef]{
	Compare: compareRefs,
	Key:     func(r *timeline.FlowRef) uint64 { return r.Ordinal },
}

func compareRefs(a, b *timeline.FlowRef) int {
	return cmp.Or(cmp.Compare(a.Ordinal, b.Ordinal), cmp.Compare(a.ID, b.ID))
}

// linker applies the rules to the ends with each key and writes the members of the resulting chains.
type linker struct {
	problems *problem.Log
	members  func(timeline.FlowRef) error
	visitor  Visitor
	steps    *stepWriter // may be nil
	total    int64       // number of arrows
	timeline *timeline.Timeline
	lastID   uint64
	err      error // from members

	key      Key
	state    state
	producer Slice  // set in every state except none
	sent     passed // where the flow leaves the producer
	start    end    // the end that started the flow
	arrows   int    // number of the flow's arrows so far

	// The chain under construction: a sequence of slices with one id, each the producer of the next. tail is the last slice of
	// the chain. The reference last is written only when it is known whether the chain ends there.
	chain bool
	tail  Slice
	last  timeline.FlowRef

	lastFirefox *end    // the last end in a Firefox flow
	tied        []Slice // members of a Firefox flow that start at the same time
	links       links   // state for a link key
}

// state is the state of the flow with a key (chrome-json.md 15).
type state uint8

const (
	none   state = iota // not started, or ended for good
	open                // has a producer
	closed              // ended; later ends belong to the same producer
)

// link links all ends and returns the number of arrows.
func (l *linker) link(ctx context.Context, ends *extsort.Sorter[end]) (int64, error) {
	var e end
	for n := 0; ; n++ {
		if n%(1<<14) == 0 && ctx.Err() != nil {
			return 0, ctx.Err()
		}
		ok, err := ends.Next(&e)
		if err != nil {
			return 0, err
		}
		if !ok {
			break
		}
		if e.Key != l.key {
			l.finish()
			l.key = e.Key
		}
		before := l.state
		switch e.Space {
		case timeline.FlowNative:
			l.native(&e)
		case timeline.FlowFirefox:
			l.firefox(&e)
		case timeline.FlowLink:
			l.linkEnd(&e)
			continue
		default:
			l.chrome(&e)
		}
		l.steps.step(&e, before)
		if l.err != nil {
			return 0, l.err
		}
	}
	l.finish()
	l.steps.flush(true)
	return l.total, errors.Join(l.err, l.steps.failed())
}

// chrome applies the rules for s, t, f and bind_id.
func (l *linker) chrome(e *end) {
	switch {
	case e.unbound:
		l.breakFlow()
	case e.role == timeline.FlowStart && l.state == open:
		l.count(problem.FlowDuplicateStart, e)
	case e.role == timeline.FlowStart:
		l.finish()
		l.begin(e)
	case l.state == none && e.role == timeline.FlowContinue:
		l.count(problem.FlowStepWithoutStart, e)
	case l.state == none:
		l.count(problem.FlowEndWithoutStart, e)
	case e.role == timeline.FlowContinue:
		l.arrow(e)
		l.producer, l.sent = e.slice, e.passed()
	default:
		if l.state == closed && l.arrow(e) {
			l.count(problem.FlowFanOut, e)
		} else if l.state == open {
			l.arrow(e)
		}
		l.state = closed
	}
}

// breakFlow processes a start or step outside all slices. No flow can start there, but the start or step separates a flow that
// has ended from later ends with the same id, which must not become further ends of that flow.
func (l *linker) breakFlow() {
	if l.state == closed {
		l.finish()
	}
}

// native applies the rules for Perfetto's flow_ids and terminating_flow_ids.
func (l *linker) native(e *end) {
	switch {
	case l.state == none && e.role == timeline.FlowEnd:
		l.count(problem.FlowEndWithoutStart, e)
	case l.state == none:
		l.begin(e)
	case e.role == timeline.FlowEnd:
		l.arrow(e)
		l.state = closed
		l.finish()
	default:
		l.arrow(e)
		l.producer, l.sent = e.slice, e.passed()
	}
}

// passed holds the time and order in which a flow passes a slice, as in timeline.FlowRef.
type passed struct {
	after      timeline.Nanos
	event, nth uint32
}

func (e *end) passed() passed { return passed{e.ts - e.slice.TS, e.event, e.nth} }

// member returns a member of the chain under construction.
func (l *linker) member(s *Slice, previous uint64, p passed) timeline.FlowRef {
	return timeline.FlowRef{Ordinal: s.Ordinal, ID: l.lastID, Previous: previous, After: p.after, Event: p.event, Nth: p.nth}
}

func (l *linker) begin(e *end) {
	l.state, l.producer, l.sent, l.start, l.arrows = open, e.slice, e.passed(), *e, 0
	l.visitor.Begin(e.Key, e.ts, &e.slice)
}

// finish ends the flow with the current key.
func (l *linker) finish() {
	if l.key.Space == timeline.FlowLink {
		l.finishLink()
		return
	}
	if l.key.Space == timeline.FlowFirefox {
		if l.state == open {
			l.visitor.End(false)
		}
		l.finishFirefox()
		return
	}
	if l.state == open && l.arrows == 0 {
		l.count(problem.FlowUnfinished, &l.start)
		if l.key.Space == timeline.FlowNative { // its only member keeps the id, as in Firefox flows
			l.lastID++
			l.write(l.member(&l.producer, timeline.NoOrdinal, l.sent))
		}
	}
	if l.state != none {
		l.visitor.End(l.state == closed)
	}
	l.endChain()
	l.state = none
}

func (l *linker) endChain() {
	if l.chain {
		l.last.Terminating = true
		l.write(l.last)
	}
	l.chain = false
}

// arrow draws an arrow from the producer to the slice of e. It returns false if both are the same slice.
func (l *linker) arrow(e *end) bool {
	from, to := l.producer, e.slice
	if from.Ordinal == to.Ordinal {
		l.count(problem.FlowSelf, e)
		return false
	}
	l.arrows++
	l.visitor.Follow(e.ts, &e.slice, from.Ordinal)
	if l.across(&from, e) {
		return true
	}
	l.total++
	switch {
	case backwards(&from, &to):
		// Perfetto processes the earlier slice first, so it draws the arrow from the earlier slice to the later one.
		l.count(problem.FlowBackwards, e)
		l.beginChain(&to, e.passed())
		ref := l.member(&from, to.Ordinal, l.sent)
		ref.Terminating, ref.Backwards = true, true
		l.write(ref)
	case from.TS == to.TS:
		// Walk reverses such an arrow if flows form a cycle. A separate chain prevents Walk from also reversing the other arrows.
		l.beginChain(&from, l.sent)
		ref := l.member(&to, from.Ordinal, e.passed())
		ref.Terminating = true
		l.write(ref)
	default:
		if l.chain && l.tail == from {
			l.write(l.last)
		} else {
			// This is the first arrow of the flow, or a further arrow from the same producer: with a shared id, A→B and A→C would
			// become A→B→C.
			l.beginChain(&from, l.sent)
		}
		l.chain, l.tail = true, to
		l.last = l.member(&to, from.Ordinal, e.passed())
	}
	return true
}

// across reports whether a flow leads to another machine, where viewers do not follow it, and counts such flows.
func (l *linker) across(from *Slice, e *end) bool {
	if l.timeline.Machine(from.Track) == l.timeline.Machine(e.slice.Track) {
		return false
	}
	l.count(problem.FlowAcrossMachines, e)
	return true
}

// beginChain ends the current chain and writes the first member of a new one.
func (l *linker) beginChain(first *Slice, sent passed) {
	l.endChain()
	l.lastID++
	l.write(l.member(first, timeline.NoOrdinal, sent))
}

// backwards reports whether the arrow leads to a slice that starts earlier, or that starts at the same time but precedes the
// producer in the output.
func backwards(from, to *Slice) bool {
	if from.TS != to.TS {
		return to.TS < from.TS
	}
	return from.Track == to.Track && from.Lane == to.Lane && to.Ordinal < from.Ordinal
}

func (l *linker) write(r timeline.FlowRef) {
	if l.err == nil {
		l.err = l.members(r)
	}
}

func (l *linker) count(k problem.Kind, e *end) { l.problems.Add(k, e.position(), "") }
