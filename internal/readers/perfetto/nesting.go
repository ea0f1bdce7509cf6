package perfetto

import (
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
)

// openSlices are the slices of a thread that have begun and not ended.
//
// weft writes the slices of a thread as they nest, in the order of time and on one sequence, and says of most ends nothing but when
// they are. Such an end is that of the slice that began last, and the reader gives it to that: the end is not an event of its own, which
// would take as much memory and as long to sort, pair and pass by as a begin. Where a thread has anything else, its ends are
// events, from there on. On other tracks they always are, because it counts which thread an end is from.
type openSlices struct {
	of    *pfwire.Sequence
	last  timeline.Nanos
	open  []timeline.Opened
	other bool // the track has something that weft does not write
}

// openSlices returns the open slices of the track of the current event, nil if that is not a thread that weft wrote.
func (r *reader) openSlices() *openSlices {
	if r.located != nil || !r.own.ofWeft {
		return nil
	}
	uuid, _ := r.eventUUID()
	t := r.tracks.find(uuid)
	if t == nil || t.kind != threadTrack {
		return nil
	}
	s := &t.slices
	if s.of == nil {
		s.of = r.seq
	}
	state := r.ev.Type != schema.TrackEvent_TypeSliceBegin && r.ev.Type != schema.TrackEvent_TypeSliceEnd
	named := r.out.Kind == timeline.End && len(r.out.Name)+len(r.out.Category) > 0
	if s.of != r.seq || r.ev.ts < s.last || state || named {
		s.other, s.open = true, nil
	}
	if s.other {
		return nil
	}
	s.last = r.ev.ts
	return s
}

// addSlice adds the begin or the end of a slice, or an instant, and looks for clues in it.
func (r *reader) addSlice(ev *timeline.Event) error {
	if err := r.addNested(ev); err != nil || r.clues == nil || ev.Kind == timeline.End {
		return err
	}
	return r.clues.Event(ev)
}

// addNested is addSlice without the clues.
func (r *reader) addNested(ev *timeline.Event) error {
	if ev.Kind == timeline.Instant {
		return r.b.Add(ev)
	}
	s := r.openSlices()
	if s == nil {
		return r.b.Add(ev)
	}
	if ev.Kind == timeline.Begin {
		o, err := r.b.AddOpened(ev)
		s.open = append(s.open, o)
		return err
	}
	if n := len(s.open); n > 0 {
		o := s.open[n-1]
		s.open = s.open[:n-1]
		if !r.ev.hasFlows() {
			if done, err := r.b.EndOpened(&o, ev); done || err != nil {
				return err
			}
		}
	}
	return r.b.Add(ev)
}

// findAsync finds the asynchronous track of the current event: weft writes the id on what no slice of the track encloses.
func (r *reader) findAsync(kind timeline.Kind) {
	if !r.own.ofWeft || kind == timeline.End {
		return
	}
	uuid, _ := r.eventUUID()
	if t := r.tracks.find(uuid); t != nil && t.async {
		r.ev.async = t
	}
}

// writer is where the events of a trace are from.
type writer struct {
	seq    *pfwire.Sequence // of the first one; nil: there was none
	others bool             // some are on another sequence, or weft did not write the first one
}

// follow looks at the sequence of an event.
func (w *writer) follow(r *reader) {
	if w.seq == nil {
		w.seq = r.seq
	}
	w.others = w.others || w.seq != r.seq || !r.own.ofWeft
}

// hasFlows reports whether the event is an end of flows.
func (e *trackEvent) hasFlows() bool {
	return len(e.Flows)+len(e.Terminating)+len(e.OldFlows)+len(e.OldTerminating) > 0 || e.HasLegacy && e.Legacy.HasBindID
}
