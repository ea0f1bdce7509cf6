package timeline

import "context"

// Record is a record of a nested timeline, for binding flows. It refers to the stored record itself and is valid during the call
// that receives it.
type Record struct {
	*record
	Ordinal uint64 // index of the record in the order of Walk and Scan
}

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

// End returns the end of a slice or instant, or NoTime if it never ends.
func (r *record) End() Nanos {
	end, ok := r.end()
	if !ok {
		return NoTime
	}
	return end
}

// Scan calls fn for the slices, instants, end events and flow steps of every timestamp. Within a timestamp, records that start
// nothing come first, then the starts of each track in order (chrome-json.md 8). If all flows bind by time (FlowV1), only the
// records of threads and the flow steps are included. Records from Extend are omitted, because flows belong to the input's
// events. It requires Nest.
func (t *Timeline) Scan(ctx context.Context, fn func(group []Record) error) error {
	s := scanner{t: t, fn: fn}
	return t.groups(ctx, false, s.group)
}

// scanner passes the records of a nested timeline to fn.
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
		case r.Kind() == FlowStep:
		case !r.starts() && r.Kind() != End, r.flags&flagDerived != 0, threads && !s.t.BindsFlows(r.track):
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
