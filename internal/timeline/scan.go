package timeline

import "context"

// Record is a record of a nested timeline, as flows are bound by: the compact form itself, valid during the call that gets it.
type Record struct {
	*record
	Ordinal uint64 // number of the record in the order of Walk and Scan
}

// Kind is Slice or Begin of a slice, Instant, End of the end event of a slice, or FlowStep.
func (r *record) Kind() Kind { return r.kind }

// Event returns the index of the event in the input.
func (r *record) Event() uint32 { return r.event }

// Offset returns the byte offset of the event in the input.
func (r *record) Offset() int64 { return r.offset }

// Track returns the track of the record.
func (r *record) Track() TrackID { return r.track }

// TS returns the time of the record.
func (r *record) TS() Nanos { return r.ts }

// Lane returns the lane of a slice or instant.
func (r *record) Lane() uint32 { return r.lane }

// End returns when a slice or instant ends, NoTime if it never does.
func (r *record) End() Nanos {
	end, ok := r.end()
	if !ok {
		return NoTime
	}
	return end
}

// BeginEvent returns of an End the index of the event that began the slice.
func (r *record) BeginEvent() uint32 { return uint32(r.b) }

// Space returns the space of a FlowStep.
func (r *record) Space() FlowSpace { return r.flow.space() }

// Role returns the role of a FlowStep.
func (r *record) Role() FlowRole { return r.flow.role() }

// FlowID returns the id of a FlowStep; text says that it is a hash of a text.
func (r *record) FlowID() (id uint64, text bool) { return uint64(r.a), r.flags&flagTextID != 0 }

// FlowName returns the name and the category of a FlowStep as numbers to be compared.
func (r *record) FlowName() (name, category uint32) { return uint32(r.name), uint32(r.category) }

// Fallback returns where a FlowStep shows if it binds to nothing.
func (r *record) Fallback() (track TrackID, lane uint32) { return TrackID(r.lane), uint32(r.b) }

// Binding returns the binding of a FlowStep.
func (r *record) Binding() FlowBinding {
	switch r.flags & (flagNext | flagCarrier) {
	case flagNext | flagCarrier:
		return BindNothing
	case flagNext:
		return BindNext
	case flagCarrier:
		return BindCarrier
	}
	return BindEnclosing
}

// After is FlowEvent.After.
func (r Record) After() Nanos {
	if r.flow.space() != FlowNative {
		return 0
	}
	return Nanos(r.b)
}

// Scan calls fn for the slices, instants, end events and flow steps of every timestamp. Within a timestamp, what starts nothing
// comes first, then the starts of each track in their order (chrome-json.md 8). Where all flows bind by
// time (FlowV1), there are only the records of threads, and flow steps. What Extend added is left out: flows belong to what the
// input has. Nest comes first.
func (t *Timeline) Scan(ctx context.Context, fn func(group []Record) error) error {
	s := scanner{t: t, fn: fn}
	n := 0
	return t.groups(false, func(g *group) error {
		if n++; n%(1<<12) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		return s.group(g)
	})
}

// scanner hands out the records of a nested timeline.
type scanner struct {
	t       *Timeline
	fn      func(group []Record) error // may be nil
	out     []Record
	ordinal uint64
}

func (s *scanner) group(g *group) error {
	if s.fn == nil {
		return nil
	}
	s.out = s.out[:0]
	threads := !s.t.spaces[FlowV2] && !s.t.spaces[FlowNative] && !s.t.spaces[FlowFirefox] && !s.t.spaces[FlowLink]
	for i := range g.len() {
		r := g.at(i)
		switch {
		case r.kind == FlowStep:
		case !r.starts() && r.kind != End, r.flags&flagDerived != 0, threads && !s.t.BindsFlows(r.track):
			continue
		}
		s.out = append(s.out, Record{r, s.ordinal + uint64(i)})
	}
	s.ordinal += uint64(g.len())
	if len(s.out) == 0 {
		return nil
	}
	return s.fn(s.out)
}
