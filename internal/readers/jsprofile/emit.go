package jsprofile

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/url"
	"slices"
	"sort"
	"strings"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// writer adds profiles to a Builder.
type writer struct {
	ctx       context.Context
	b         *timeline.Builder
	log       *problem.Log
	opts      Options
	locations locationKeys
	index     uint32 // index of the event added last
	out       timeline.Event
}

// Samples describes the samples of profiles, whose weights are their durations.
var Samples = timeline.SampleDescription{Source: "js_self_profiling", Counter: "time (ns)", Unit: timeline.SampleUnitNanos}

// unknownProcess is the process name for profiles whose resources have no origin.
const unknownProcess = "JS self-profile"

// profiles adds all profiles, each as a thread, in order of start time.
func (w *writer) profiles(all []*profile) error {
	for _, p := range all {
		p.redecode(w.log)
	}
	w.placeInTime(all)
	w.b.DescribeSamples(Samples)
	for i, p := range all {
		process := p.process
		if process == 0 {
			process = w.b.Process(timeline.ProcessKey{Text: cmp.Or(p.pageOrigin(), unknownProcess)})
			w.b.SetProcessPosition(process, problem.Position{Event: -1, Offset: p.offset})
		}
		name := cmp.Or(w.opts.ThreadName, DefaultThreadName)
		if i > 0 {
			name = fmt.Sprintf("%s %d", name, i+1)
		}
		thread := w.b.Thread(process, timeline.ThreadKey{Text: name})
		if len(all) > 1 {
			w.b.SetSortIndex(thread, int32(i))
		}
		for k := range p.attributes {
			a := &p.attributes[k]
			if a.isInt {
				w.b.SetIntAttribute(a.name(i, len(all)), a.number)
			} else {
				w.b.SetAttribute(a.name(i, len(all)), a.text)
			}
		}
		if err := w.profile(p, thread); err != nil {
			return err
		}
		*p = profile{} // free the columns
	}
	return nil
}

// placeInTime sets the time origin of every profile and sorts the profiles by it.
func (w *writer) placeInTime(all []*profile) {
	for i, p := range all {
		p.origin = w.opts.originOf(p)
		if i < len(w.opts.Places) && w.opts.Places[i] != nil {
			p.place(w.opts.Places[i])
		}
	}
	last := timeline.Nanos(math.MaxInt64) // for profiles without an origin
	slices.SortStableFunc(all, func(a, b *profile) int {
		return cmp.Compare(*cmp.Or(a.origin, &last), *cmp.Or(b.origin, &last))
	})
	earliest := all[0].origin
	if earliest == nil {
		return
	}
	w.b.SetClocks(timeline.Clocks{Trace: timeline.ClockRealtime})
	for _, p := range all {
		// A profile without an origin starts when the earliest of the other profiles starts.
		if p.origin == nil {
			w.log.Add(problem.TimeOriginUnknown, problem.Position{Event: -1, Offset: p.offset}, "")
			p.origin = earliest
		}
	}
}

// originOf returns the time origin of a profile, or nil.
func (o *Options) originOf(p *profile) *timeline.Nanos {
	switch {
	case o.TimeOrigin != nil:
		return o.TimeOrigin
	case p.origin != nil:
		return p.origin
	}
	return p.started
}

// place assigns a profile to its process and shifts it.
func (p *profile) place(at *Place) {
	p.process = at.Process
	origin := timeline.Nanos(0)
	if p.origin != nil {
		origin = *p.origin
	}
	if shifted, ok := shift(origin, at.Shift); ok {
		p.origin = &shifted
	}
}

// pageOrigin returns the origin of the first resource with an origin (C12). Blobs belong to the origin in their
// address.
func (p *profile) pageOrigin() string {
	for _, resource := range p.resources.All() {
		u, err := url.Parse(strings.TrimPrefix(*resource, "blob:"))
		if err != nil || u.Host == "" || u.Scheme == "wasm" {
			continue
		}
		return u.Scheme + "://" + u.Host
	}
	return ""
}

// thread is the state of the writer while it adds one profile.
type thread struct {
	*writer
	p        *profile
	stacks   *stackTable
	track    timeline.TrackID
	interval timeline.Nanos
	end      *timeline.Nanos

	calls    calls
	activity activity
	markers  []timeline.FrameID // by state: the frame of a marker; 0: not interned yet

	name, category []byte // scratch
}

func (w *writer) profile(p *profile, track timeline.TrackID) error {
	t := &thread{writer: w, p: p, stacks: newStackTable(p, w.b), track: track}
	t.checkTables()
	t.toTraceTime()
	t.interval = cmp.Or(w.opts.Interval, p.interval)
	if t.interval == 0 {
		t.interval = p.sampledInterval()
	}
	t.markers = make([]timeline.FrameID, len(p.states.names))
	states := timeline.TrackSpec{Name: timeline.RolePageStates.String(), Role: timeline.RolePageStates}
	if p.process == 0 { // otherwise the process is from another trace, which describes it
		states.Subject = p.pageOrigin()
	}
	t.activity.track = w.b.NewTrack(track, states)
	if err := t.samples(); err != nil {
		return err
	}
	return t.spans()
}

// checkTables counts missing lists, and frames with missing resources.
func (t *thread) checkTables() {
	p := t.p
	for _, list := range []struct {
		which lists
		name  string
	}{{haveResources, "resources"}, {haveFrames, "frames"}, {haveStacks, "stacks"}, {haveSamples, "samples"}} {
		if p.have&list.which == 0 {
			t.log.Add(problem.SelfProfileListMissing, problem.Position{Event: -1, Offset: p.offset}, list.name)
		}
	}
	for i, f := range p.frames.All() {
		if int(f.resource) >= p.resources.Len() && p.have&haveResources != 0 {
			t.log.Add(problem.SelfProfileFrameInvalid, problem.Position{Event: int64(i), Offset: -1}, "resourceId")
		}
	}
}

// toTraceTime converts the samples to trace time, drops samples out of range, and sorts the others (C1).
func (t *thread) toTraceTime() {
	p := t.p
	origin, ok := t.opts.Offset, true
	if p.origin != nil {
		origin, ok = shift(*p.origin, origin)
	}
	count, sorted, last := 0, true, timeline.Nanos(math.MinInt64)
	for i, s := range p.samples.All() {
		at := problem.Position{Event: int64(i), Offset: s.offset}
		if p.holes {
			at.Event = -1
		}
		var inRange bool
		if s.ts, inRange = shift(s.ts, origin); !inRange || !ok {
			t.log.Add(problem.EventInvalidTimestamp, at, "in samples")
			continue
		}
		if s.ts < 0 {
			t.log.Add(problem.EventNegativeTimestamp, at, "in samples")
			continue
		}
		if s.ts < last {
			sorted = false
			t.log.Add(problem.SamplesOutOfOrder, at, "")
		}
		last = s.ts
		*p.samples.At(count) = *s
		count++
	}
	p.samples.Truncate(count)
	if !sorted {
		sort.Sort(byTime{&p.samples})
	}
	end := t.opts.End
	if end == nil {
		end = p.end
	}
	if end != nil {
		if shifted, ok := shift(*end, origin); ok {
			t.end = &shifted
		}
	}
}

// byTime sorts samples by time, in place. Simultaneous samples keep the order of their offsets.
type byTime struct{ *collections.List[sample] }

func (s byTime) Less(i, j int) bool {
	a, b := s.At(i), s.At(j)
	return a.ts < b.ts || a.ts == b.ts && a.offset < b.offset
}

func (s byTime) Swap(i, j int) {
	a, b := s.At(i), s.At(j)
	*a, *b = *b, *a
}

// sampledInterval estimates the interval from the samples (C2).
func (p *profile) sampledInterval() timeline.Nanos {
	gaps := make([]timeline.Nanos, 0, p.samples.Len())
	for i := 1; i < p.samples.Len(); i++ {
		gaps = append(gaps, p.samples.At(i).ts-p.samples.At(i-1).ts)
	}
	if interval, ok := v8profile.SampleInterval(gaps); ok {
		return interval
	}
	return v8profile.DefaultInterval
}

// length returns the duration of sample i and the uncovered time after it (C3).
func (t *thread) length(i int) (length, gap timeline.Nanos) {
	ts := t.p.samples.At(i).ts
	switch {
	case i+1 < t.p.samples.Len():
		return v8profile.SampleLength(t.p.samples.At(i+1).ts-ts, t.interval)
	case t.end != nil:
		return max(*t.end-ts, 0), 0
	}
	return min(t.interval, maxTime), 0
}

// add adds w.out to the Builder as a separate event.
func (w *writer) add(offset int64) error {
	w.index++
	w.out.Event, w.out.Offset = w.index, offset
	return w.b.Add(&w.out)
}
