package timeline

import "context"

// StepKind says what a Step is.
type StepKind uint8

// The kinds of steps.
const (
	StepStart StepKind = iota + 1 // a slice or an instant starts
	StepEnd                       // the input's end event of a slice
	StepFlow                      // one end of a flow, not yet bound
)

// Step is one record of a nested timeline, as a pass sees it that binds things to slices.
type Step struct {
	Kind    StepKind
	Ordinal uint64 // number of the record in the order of Walk and Scan
	Event   uint32 // index of the event in the input
	Offset  int64
	Track   TrackID
	Lane    uint32
	TS      Nanos

	// StepStart.
	End      Nanos // NoTime if it never ends
	Complete bool  // the input gave the slice as one event with its duration
	Instant  bool

	// StepEnd.
	BeginEvent uint32 // index of the event that began the slice

	// Timeline.Extend: Name, and the id under which a sampler recorded the stack of the thread, 0 if none.
	TraceID uint64

	// StepFlow.
	Space    FlowSpace
	Role     FlowRole
	Binding  FlowBinding
	ID       uint64
	TextID   bool    // ID is a hash of a text
	Name     uint32  // compared as a number
	Category uint32  // compared as a number
	Fallback TrackID // where the step shows if it binds to nothing, on Lane
}

// Scan calls fn for the steps of every timestamp. The slice is valid during the call. Within a timestamp, steps that
// start nothing come first, then the starts of each track in their order (chrome-json.md 8). Where all flows bind by
// time (FlowV1), there are only the steps of threads. What Extend added is left out: flows belong to what the input
// has. Nest comes first.
func (t *Timeline) Scan(ctx context.Context, fn func(steps []Step) error) error {
	s := scanner{t: t, fn: fn}
	n := 0
	return t.store.groups(false, func(g *group) error {
		if n++; n%(1<<12) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		return s.group(g)
	})
}

// scanner makes steps of nested records.
type scanner struct {
	t       *Timeline
	fn      func(steps []Step) error // may be nil
	steps   []Step
	ordinal uint64
}

func (s *scanner) group(g *group) error {
	if s.fn == nil {
		return nil
	}
	s.steps = s.steps[:0]
	threads := !s.t.spaces[FlowV2] && !s.t.spaces[FlowNative] && !s.t.spaces[FlowFirefox]
	for i := range g.len() {
		r := g.at(i)
		if r.flags&flagDerived != 0 || threads && r.kind != flowStep && s.t.table.tracks[r.track].kind != ThreadTrack {
			continue
		}
		if step, ok := stepOf(r); ok {
			step.Ordinal = s.ordinal + uint64(i)
			s.steps = append(s.steps, step)
		}
	}
	s.ordinal += uint64(g.len())
	if len(s.steps) == 0 {
		return nil
	}
	return s.fn(s.steps)
}

func stepOf(r *record) (s Step, ok bool) {
	s = Step{Event: r.event, Offset: r.offset, Track: r.track, Lane: r.lane, TS: r.ts}
	switch r.kind {
	case Slice, Begin, Instant:
		s.Kind, s.Complete, s.Instant = StepStart, r.kind == Slice, r.kind == Instant
		end, ends := r.end()
		if s.End = end; !ends {
			s.End = NoTime
		}
	case End:
		s.Kind, s.BeginEvent = StepEnd, uint32(r.b)
	case flowStep:
		s.Kind, s.Space, s.Role, s.ID = StepFlow, r.flow.space(), r.flow.role(), uint64(r.a)
		s.TextID = r.flags&flagTextID != 0
		s.Name, s.Category, s.Fallback = uint32(r.name), uint32(r.category), TrackID(r.lane)
		s.Lane = uint32(r.b)
		switch {
		case r.flags&flagNext != 0 && r.flags&flagCarrier != 0:
			s.Binding = BindNothing
		case r.flags&flagNext != 0:
			s.Binding = BindNext
		case r.flags&flagCarrier != 0:
			s.Binding = BindCarrier
		default:
			s.Binding = BindEnclosing
		}
	default:
		return s, false
	}
	return s, true
}
