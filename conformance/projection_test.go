package conformance

import (
	"errors"
	"fmt"
	"slices"

	pb "github.com/weft-trace/weft/gen/perfetto/protos"
)

// unfinished is the duration of a slice without an end.
const unfinished = -1

// slice is one slice or instant of a trace.
type slice struct {
	track    *track
	ts, dur  int64 // ns; dur is unfinished for a slice without end, 0 for an instant
	instant  bool
	name     string
	category string
	parent   *slice // the enclosing slice
	args     argList
	flows    []flowEnd

	complete bool // one event with a duration

	threadTS, threadEnd       int64
	hasThreadTS, hasThreadEnd bool
}

// flowEnd is a flow id on a slice.
type flowEnd struct {
	id          uint64
	terminating bool
}

// edge is one arrow of a flow.
type edge struct{ out, in *slice }

// value is one value of a counter.
type value struct {
	track *track
	ts    int64
	v     float64
}

// projection is a trace in the form of the tables.
type projection struct {
	tracks   map[uint64]*track
	slices   []*slice // in the order of their starts
	edges    []edge
	counters []value
}

// project reads a Perfetto trace written by weft. Anything that would be dropped, misread or ambiguous is an error.
func project(data []byte) (*projection, error) {
	packets, err := unpack(data)
	if err != nil {
		return nil, err
	}
	p := &projection{}
	if p.tracks, err = describe(packets); err != nil {
		return nil, err
	}
	all, err := events(packets)
	if err != nil {
		return nil, err
	}
	stacks := map[uint64][]*slice{}
	for i := range all {
		if err := p.add(&all[i], stacks); err != nil {
			return nil, fmt.Errorf("packet %d: %w", all[i].packet, err)
		}
	}
	p.edges, err = connect(p.slices)
	return p, err
}

// add adds one event.
func (p *projection) add(t *timed, stacks map[uint64][]*slice) error {
	uuid := t.track()
	home := p.tracks[uuid]
	if home == nil {
		return fmt.Errorf("event on track %d, which is not described", uuid)
	}
	if isCounter := t.event.GetType() == pb.TrackEvent_TYPE_COUNTER; isCounter != (home.counter != nil) {
		return fmt.Errorf("event of type %v on track %d", t.event.GetType(), uuid)
	}
	stack := stacks[uuid]
	for len(stack) > 0 && stack[len(stack)-1].complete && stack[len(stack)-1].ts+stack[len(stack)-1].dur <= t.ts {
		stack = stack[:len(stack)-1]
	}
	stacks[uuid] = stack
	switch {
	case t.starts():
		s, err := p.open(t, home)
		if err != nil {
			return err
		}
		if len(stack) > 0 {
			s.parent = stack[len(stack)-1]
		}
		if s.complete {
			if err := p.checkComplete(s); err != nil {
				return err
			}
		}
		p.slices = append(p.slices, s)
		if !s.instant {
			stacks[uuid] = append(stack, s)
		}
	case t.event.GetType() == pb.TrackEvent_TYPE_SLICE_END:
		if len(stack) == 0 || stack[len(stack)-1].complete {
			return fmt.Errorf("end on track %d, where no slice is open", uuid)
		}
		stacks[uuid] = stack[:len(stack)-1]
		return p.close(t, stack[len(stack)-1])
	case t.event.GetType() == pb.TrackEvent_TYPE_COUNTER:
		return p.count(t, home)
	default:
		return fmt.Errorf("event of type %v", t.event.GetType())
	}
	return nil
}

// starts reports whether an event is the start of a slice, a complete one, or an instant.
func (t *timed) starts() bool {
	kind := t.event.GetType()
	return kind == pb.TrackEvent_TYPE_SLICE_BEGIN || kind == pb.TrackEvent_TYPE_INSTANT || t.isComplete()
}

// isComplete reports whether an event is a complete slice (perfetto.md 6.6).
func (t *timed) isComplete() bool {
	return t.event.Type == nil && t.event.GetLegacyEvent().GetPhase() == 'X'
}

// checkComplete reports reasons for trace_processor to drop a complete event, or nest it differently from weft.
func (p *projection) checkComplete(s *slice) error {
	if s.dur <= 0 || s.track.kind != kindThread {
		return fmt.Errorf("a complete event of %d ns on a track of kind %v", s.dur, s.track.kind)
	}
	for around := s.parent; around != nil; around = around.parent {
		if around.complete {
			if around.ts+around.dur < s.ts+s.dur {
				return fmt.Errorf("a complete event ends at %d, after the one around it at %d", s.ts+s.dur, around.ts+around.dur)
			}
			return nil
		}
	}
	return nil
}

// open adds the slice of a begin event, a complete event or an instant.
func (p *projection) open(t *timed, home *track) (*slice, error) {
	s := &slice{track: home, ts: t.ts, dur: unfinished}
	if t.event.GetType() == pb.TrackEvent_TYPE_INSTANT {
		s.dur, s.instant = 0, true
	}
	var err error
	if s.name, err = t.name(); err != nil {
		return nil, err
	}
	if s.category, err = t.category(); err != nil {
		return nil, err
	}
	if s.threadTS, s.hasThreadTS, err = t.threadTime(p.tracks); err != nil {
		return nil, err
	}
	if l := t.event.GetLegacyEvent(); t.isComplete() {
		s.dur, s.complete = l.GetDurationUs()*1000, true
		s.threadEnd, s.hasThreadEnd = s.threadTS+l.GetThreadDurationUs()*1000, l.ThreadDurationUs != nil
		if s.hasThreadEnd != s.hasThreadTS {
			return nil, errors.New("a complete event with thread time at one end")
		}
	}
	return s, s.attach(t)
}

// close ends a slice. An end with a name or category would be a filter in trace_processor (perfetto.md 6).
func (p *projection) close(t *timed, s *slice) error {
	name, err := t.name()
	if err != nil {
		return err
	}
	category, err := t.category()
	if err != nil {
		return err
	}
	if name != "" || category != "" {
		return errors.New("end with a name or category")
	}
	if s.dur = t.ts - s.ts; s.parent != nil && s.parent.complete && s.parent.ts+s.parent.dur < t.ts {
		return errors.New("an end after that of the complete event around it")
	}
	if s.threadEnd, s.hasThreadEnd, err = t.threadTime(p.tracks); err != nil {
		return err
	}
	return s.attach(t)
}

// attach adds the arguments and flow ids of an event to a slice.
func (s *slice) attach(t *timed) error {
	if err := s.args.add(t); err != nil {
		return err
	}
	for _, id := range t.event.GetFlowIds() {
		s.flows = append(s.flows, flowEnd{id: id})
	}
	for _, id := range t.event.GetTerminatingFlowIds() {
		s.flows = append(s.flows, flowEnd{id: id, terminating: true})
	}
	return nil
}

// count adds the value of a counter.
func (p *projection) count(t *timed, home *track) error {
	v := value{track: home, ts: t.ts}
	switch t.event.GetCounterValueField().(type) {
	case *pb.TrackEvent_CounterValue:
		v.v = float64(t.event.GetCounterValue())
	case *pb.TrackEvent_DoubleCounterValue:
		v.v = t.event.GetDoubleCounterValue()
	default:
		return errors.New("counter event without value")
	}
	if home.counter.GetIsIncremental() || home.counter.GetUnitMultiplier() > 1 {
		return errors.New("incremental or scaled counter; weft writes neither for Chrome JSON")
	}
	p.counters = append(p.counters, v)
	return nil
}

// connect follows the flow ids through all slices in the order of their starts (perfetto.md 8).
func connect(all []*slice) ([]edge, error) {
	active := map[uint64]*slice{}
	var edges []edge
	for _, s := range all {
		seen := map[uint64]bool{}
		for _, end := range s.flows {
			if seen[end.id] {
				return nil, fmt.Errorf("slice %q at %d: flow id %d twice", s.name, s.ts, end.id)
			}
			seen[end.id] = true
			from := active[end.id]
			if from == nil && end.terminating {
				return nil, fmt.Errorf("slice %q at %d: flow id %d ends, but is not active", s.name, s.ts, end.id)
			}
			if from != nil {
				edges = append(edges, edge{from, s})
			}
			active[end.id] = s
			if end.terminating {
				delete(active, end.id)
			}
		}
	}
	return edges, nil
}

// depth returns the number of enclosing slices on the same track that have a duration other than 0.
func (s *slice) depth() int {
	depth := 0
	for p := s.parent; p != nil; p = p.parent {
		if p.dur != 0 {
			depth++
		}
	}
	return depth
}

// shown returns the slices with rows in the tables.
func (p *projection) shown() []*slice {
	return slices.DeleteFunc(slices.Clone(p.slices), func(s *slice) bool { return s.track.kind == kindLeftOut })
}
