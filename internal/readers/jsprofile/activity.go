package jsprofile

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// gcSource is the source of a collection's stack (C6).
type gcSource uint8

const (
	gcRecorded gcSource = iota
	gcPrevious
	gcNext
	gcNone
	numGCSources
)

// gcCounters are the names of the arguments that count collections, on the slices of the state track.
var gcCounters = [numGCSources]string{gcRecorded: "gc_own", gcPrevious: "gc_previous", gcNext: "gc_next", gcNone: "gc_none"}

// activity is the state track of a thread, with a slice for consecutive samples in the same state.
type activity struct {
	track   timeline.TrackID
	state   state
	start   timeline.Nanos
	end     timeline.Nanos
	offset  int64
	samples int64 // in the open slice; 0: no open slice
	sources [numGCSources]int64
}

// sample adds a sample to the open slice, or starts another slice.
func (a *activity) sample(t *thread, s *sample, length timeline.Nanos, source gcSource) error {
	if a.samples > 0 && (a.state != s.state || a.end != s.ts) {
		if err := a.finish(t); err != nil {
			return err
		}
	}
	if a.samples == 0 {
		a.state, a.start, a.offset = s.state, s.ts, s.offset
	}
	a.samples++
	a.end = s.ts + length
	if s.state == collecting {
		a.sources[source]++
	}
	return nil
}

// finish adds the open slice. It adds a Begin and an End rather than a Slice: among Slices with the same start,
// the longest comes first, but zero-length states must keep their position in the sequence.
func (a *activity) finish(t *thread) error {
	if a.samples == 0 {
		return nil
	}
	args := t.b.Args()
	args.Reset()
	beginWeft(args)
	args.Key([]byte("samples"))
	args.Int(a.samples)
	for source, n := range a.sources {
		if n > 0 {
			args.Key([]byte(gcCounters[source]))
			args.Int(n)
		}
	}
	args.EndDict()
	t.out = timeline.Event{
		Kind: timeline.Begin, Track: a.track, TS: a.start, Name: []byte(t.p.states.names[a.state]),
		Category: []byte(timeline.StateCategory), Args: args.Args(), Idle: a.state == idle,
	}
	if err := t.add(a.offset); err != nil {
		return err
	}
	t.out = timeline.Event{Kind: timeline.End, Track: a.track, TS: a.end}
	if err := t.add(a.offset); err != nil {
		return err
	}
	*a = activity{track: a.track}
	return nil
}

// spans adds the wrapper's intervals (long tasks, actions, views), each kind on a separate track below the thread. An
// interval without a duration becomes an instant, but a view lasts until the next view or the end of the profile.
func (t *thread) spans() error {
	origin, ok := t.opts.Offset, true
	if t.p.origin != nil {
		origin, ok = shift(*t.p.origin, origin)
	}
	t.measureViews(origin)
	for _, s := range t.p.spans.All() {
		at := problem.Position{Event: -1, Offset: s.offset}
		start, inRange := shift(s.start, origin)
		switch {
		case !inRange || !ok:
			t.log.Add(problem.EventInvalidTimestamp, at, "in "+s.track)
			continue
		case start < 0:
			t.log.Add(problem.EventNegativeTimestamp, at, "in "+s.track)
			continue
		}
		t.out = timeline.Event{Kind: timeline.Slice, Track: t.b.Child(t.track, s.track), TS: start, Dur: s.dur, Name: []byte(s.name), Args: s.args}
		if s.dur == timeline.NoTime {
			t.out.Kind = timeline.Instant
		}
		if err := t.add(s.offset); err != nil {
			return err
		}
	}
	return nil
}

// measureViews sets the missing durations of views.
func (t *thread) measureViews(origin timeline.Nanos) {
	var until *timeline.Nanos // relative to the origin
	if end, ok := shift(t.lastMoment(), -origin); ok {
		until = &end
	}
	var views []*span
	for _, s := range t.p.spans.All() {
		if s.track == viewsTrack {
			views = append(views, s)
		}
	}
	slices.SortStableFunc(views, func(a, b *span) int { return cmp.Compare(a.start, b.start) })
	for _, s := range slices.Backward(views) {
		if s.dur == timeline.NoTime && until != nil {
			if d, ok := shift(*until, -s.start); ok && d >= 0 {
				s.dur = d
			}
		}
		until = &s.start
	}
}

// lastMoment returns the end of the recording in trace time.
func (t *thread) lastMoment() timeline.Nanos {
	if t.end != nil {
		return *t.end
	}
	last := t.p.samples.Len() - 1
	if last < 0 {
		return timeline.NoTime
	}
	length, _ := t.length(last)
	return t.p.samples.At(last).ts + length
}
