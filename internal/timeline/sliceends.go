package timeline

import "context"

// SliceEnd holds the data from a slice's end event.
type SliceEnd struct {
	Ordinal    uint64  // of the slice
	ThreadTime CPUTime // of the thread at the end
	Args       Args    // valid during the call
}

// HasSliceEnds reports whether SliceEnds may call its function at all.
func (t *Timeline) HasSliceEnds() bool { return t.endings }

// SliceEnds calls fn, in time order, for every end event that is paired with a start and has arguments or a CPU time. The CPU
// time of a complete slice is known at its start: Head.ThreadDuration. It requires Nest.
func (t *Timeline) SliceEnds(ctx context.Context, fn func(*SliceEnd) error) error {
	if !t.endings {
		return nil
	}
	s := sliceEnds{t: t, fn: fn, open: map[uint32]uint64{}}
	return t.groups(ctx, false, s.group)
}

// sliceEnds finds the starts that belong to end events.
type sliceEnds struct {
	t       *Timeline
	fn      func(*SliceEnd) error
	open    map[uint32]uint64 // ordinals of open paired begins, by event
	ordinal uint64
	end     SliceEnd
}

func (s *sliceEnds) group(g *group) error {
	// A zero-length slice ends before its start in the group's order.
	for i := range g.len() {
		if r := g.at(i); r.Kind() == Begin && r.dur != NoTime && r.flags&flagClosed == 0 {
			s.open[r.event] = s.ordinal + uint64(i)
		}
	}
	for i := range g.len() {
		r := g.at(i)
		if r.Kind() != End {
			continue
		}
		ordinal, found := s.open[r.BeginEvent()]
		if !found {
			continue
		}
		delete(s.open, r.BeginEvent())
		if err := s.found(r, ordinal); err != nil {
			return err
		}
	}
	s.ordinal += uint64(g.len())
	return nil
}

// found passes an end to fn, unless it has neither arguments nor a CPU time.
func (s *sliceEnds) found(r *record, ordinal uint64) error {
	at, _ := r.threadTimes()
	s.end = SliceEnd{Ordinal: ordinal, ThreadTime: at}
	if r.flags&flagArgs != 0 {
		b, err := s.t.store.payload(r.payload)
		if err != nil {
			return err
		}
		s.end.Args = decodePayload(b, r.flags).args
	}
	if len(s.end.Args) == 0 && at == (CPUTime{}) {
		return nil
	}
	return s.fn(&s.end)
}
