package merge

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// Traced holds the facts in a Chrome trace about the clocks of its pages. Two kinds of facts place the time origin of a page:
//
//   - Chrome also records the self-profiles of pages itself, as profiles with the source SelfProfiling. If all samples of one
//     are at the same distance from the self-profile's samples, that yields the time origin to within a few microseconds.
//   - navigationStart is the time origin of the page that was navigated to. This may be the self-profile's page if it is
//     among the profile's scripts, as a page with an inline script is, or if it has the same thread and origin as such a
//     page.
//
// Anything else, such as where a function of the profile runs in the trace, would be a guess, and may only confirm one of
// these places.
type Traced struct {
	profiles    []tracedProfile
	navigations []navigation
	start, end  Nanos // of the trace
	any         bool  // start and end are known
}

// tracedID identifies a profile in a trace.
type tracedID struct {
	pid int64
	id  string
}

// tracedProfile is a profile in a trace.
type tracedProfile struct {
	tracedID
	tid      int64
	selfMade bool // its source is SelfProfiling
	headed   bool // start is known from its head
	times    []Nanos
	slack    Nanos // the possible error of all times
	// otherClock is set if its start is on a different clock from the trace's times.
	otherClock bool
	mixed      bool // samples of other profiles of the thread may be among these

	start  Nanos // the startTime in its head
	pieces []tracedPiece
}

// tracedPiece is an event with samples.
type tracedPiece struct {
	ts     Nanos
	deltas []Nanos // the time of each sample since the one before
}

// navigation is a navigationStart.
type navigation struct {
	pid, tid int64
	ts       Nanos
	url      string
	inFrame  bool // the page is in a frame, not a tab's own
}

// Names and values that Chrome uses.
const (
	selfProfiling = "SelfProfiling"        // the source of profiles that pages make of themselves
	documentURL   = "documentLoaderURL"    // the address in a navigationStart
	isTab         = "isOutermostMainFrame" // absent in traces of old versions
)

// maxTracedSamples bounds the samples kept from a trace.
const maxTracedSamples = 1 << 24

// tracedReader gathers a Traced from the events of a trace.
//
// In Chrome's traces the pieces of V8 profiles are instants, whose arguments may be JSON text. In traces that weft wrote, the
// samples of a self-made profile are on the thread with its id or on the sampled thread itself. Their times are relative to
// the time of the head or, in traces from older versions, to the startTime in it, so all may be wrong by the difference.
type tracedReader struct {
	b       *timeline.Builder
	view    *timeline.Timeline // of b
	all     Traced
	byID    map[tracedID]int // index in all.profiles
	heads   []tracedHead
	samples map[threadKey][]Nanos
	kept    int              // samples and deltas
	sub     jsonscan.Scanner // for arguments that are JSON text
}

// tracedHead is the head of a self-made profile.
type tracedHead struct {
	profile int // in Traced.profiles
	thread  threadKey
	apart   Nanos // the distance between its time and the startTime in it
}

func newTracedReader(b *timeline.Builder) *tracedReader {
	return &tracedReader{b: b, view: b.View(), byID: map[tracedID]int{}, samples: map[threadKey][]Nanos{}}
}

// event gathers the facts in an event. Events at time 0 are metadata, and do not extend the trace.
func (r *tracedReader) event(ev *timeline.Event) {
	all := &r.all
	if ev.TS > 0 {
		end := ev.TS
		if ev.Kind == timeline.Slice {
			end = plus(end, max(ev.Dur, 0))
		}
		all.end = max(all.end, end)
		if !all.any || ev.TS < all.start {
			all.start, all.any = ev.TS, true
		}
	}
	switch {
	case ev.Kind == timeline.Sample:
		if process, thread, ok := r.b.IDs(ev.Track); ok && r.room(1) {
			key := threadKey{process, thread}
			r.samples[key] = append(r.samples[key], ev.TS)
		}
	case ev.Kind != timeline.Instant:
	case string(ev.Name) == "navigationStart":
		r.navigation(ev)
	case string(ev.Name) == "Profile" || string(ev.Name) == "ProfileChunk":
		r.piece(ev)
	}
}

// room reports whether n more times may be kept, and counts them. After the first refusal it refuses all, because the times of
// a profile with a gap would match nothing.
func (r *tracedReader) room(n int) bool {
	if r.kept+n > maxTracedSamples {
		r.kept = maxTracedSamples
		return false
	}
	r.kept += n
	return true
}

// data yields the members of an event's data argument; if that is JSON text, it calls text for each member instead.
func (r *tracedReader) data(ev *timeline.Event, text func(key []byte)) iter.Seq[timeline.Arg] {
	return func(yield func(timeline.Arg) bool) {
		for arg := range r.view.ArgList(ev.Args) {
			if string(arg.Key) != "data" {
				continue
			}
			switch arg.Kind {
			case timeline.ArgDict:
				r.view.Members(arg)(yield)
				return
			case timeline.ArgString, timeline.ArgJSON:
				r.sub.Reset(arg.Text())
				if kind, _ := r.sub.Value(); kind != jsonscan.Object {
					return
				}
				for key, ok := r.sub.Key(); ok; key, ok = r.sub.Key() {
					text(key)
				}
			}
		}
	}
}

// navigation adds a navigation, unless it has no address, as for the empty page of a new frame.
func (r *tracedReader) navigation(ev *timeline.Event) {
	process, thread, _ := r.b.IDs(ev.Track)
	n := navigation{pid: process.Num, tid: thread.Num, ts: ev.TS}
	for arg := range r.data(ev, func(key []byte) { r.navigationMember(&n, key) }) {
		switch {
		case string(arg.Key) == documentURL && arg.Kind == timeline.ArgString:
			n.url = string(arg.Text())
		case string(arg.Key) == isTab && arg.Kind == timeline.ArgBool:
			n.inFrame = !arg.Bool()
		}
	}
	if n.url != "" {
		r.all.navigations = append(r.all.navigations, n)
	}
}

// navigationMember reads a member of a navigation's data from JSON text.
func (r *tracedReader) navigationMember(n *navigation, key []byte) {
	switch string(key) {
	case documentURL:
		if kind, text := r.sub.Scalar(); kind == jsonscan.String {
			n.url = string(text)
		}
	case isTab:
		kind, _ := r.sub.Scalar()
		n.inFrame = kind == jsonscan.False
	default:
		r.sub.Skip()
	}
}

// sameClock is how far the startTime of a profile may be from the time of its head: they are read one after the other. If one
// of the clocks stops while the system sleeps, they are farther apart.
const sameClock = 10_000_000

// piece reads the head of a profile, or a chunk of its samples.
func (r *tracedReader) piece(ev *timeline.Event) {
	process, thread, _ := r.b.IDs(ev.Track)
	id := tracedID{process.Num, r.idOf(ev)}
	at, ok := r.byID[id]
	if !ok {
		at = len(r.all.profiles)
		r.byID[id] = at
		r.all.profiles = append(r.all.profiles, tracedProfile{tracedID: id, tid: thread.Num})
	}
	p := &r.all.profiles[at]
	isHead := string(ev.Name) == "Profile"
	if isHead {
		p.tid = thread.Num // chunks come from the thread that writes them
	}
	piece := tracedPiece{ts: ev.TS}
	for arg := range r.data(ev, func(key []byte) { r.profileMember(p, &piece, key, isHead) }) {
		switch {
		case string(arg.Key) == "source" && arg.Kind == timeline.ArgString:
			p.selfMade = string(arg.Text()) == selfProfiling
		case string(arg.Key) == "startTime" && isHead:
			p.start, p.headed = micros(&arg), true
		case string(arg.Key) == "timeDeltas" && arg.Kind == timeline.ArgArray:
			for delta := range r.view.Members(arg) {
				piece.deltas = append(piece.deltas, micros(&delta))
			}
		}
	}
	if len(piece.deltas) > 0 && r.room(len(piece.deltas)) {
		p.pieces = append(p.pieces, piece)
	}
	if isHead && p.selfMade {
		apart := abs(minus(max(p.start, 0), ev.TS))
		p.otherClock = apart > sameClock
		r.heads = append(r.heads, tracedHead{at, threadKey{process, thread}, apart})
	}
}

// profileMember reads a member of a piece's data from JSON text.
func (r *tracedReader) profileMember(p *tracedProfile, piece *tracedPiece, key []byte, isHead bool) {
	switch {
	case string(key) == "source":
		_, text := r.sub.Scalar()
		p.selfMade = string(text) == selfProfiling
	case string(key) == "startTime" && isHead:
		p.start, p.headed = r.decimal(), true
	case string(key) == "timeDeltas":
		if kind, _ := r.sub.Value(); kind != jsonscan.Array {
			return
		}
		for r.sub.Elem() {
			piece.deltas = append(piece.deltas, r.decimal())
		}
	default:
		r.sub.Skip()
	}
}

// decimal reads a number of microseconds.
func (r *tracedReader) decimal() Nanos {
	_, text := r.sub.Scalar()
	n, _ := jsonscan.Decimal(text, 3)
	return inRange(float64(n), Nanos(n))
}

// micros converts an argument from microseconds to a time. It returns 0 if the argument is not a number.
func micros(a *timeline.Arg) Nanos {
	switch a.Kind {
	case timeline.ArgInt:
		return inRange(float64(a.Int())*1000, Nanos(a.Int())*1000)
	case timeline.ArgUint:
		return inRange(float64(a.Uint())*1000, Nanos(a.Uint())*1000)
	case timeline.ArgDouble:
		return inRange(a.Double()*1000, Nanos(math.Round(a.Double()*1000)))
	}
	return 0
}

// inRange returns exact, whose approximate value is n, clamped to half the longest time so that sums do not overflow.
func inRange(n float64, exact Nanos) Nanos {
	const most = maxNanos / 2
	switch {
	case n >= float64(most):
		return most
	case n <= -float64(most):
		return -most
	case math.IsNaN(n):
		return 0
	}
	return exact
}

// idOf returns the id of a piece, which readers store among the event's own arguments.
func (r *tracedReader) idOf(ev *timeline.Event) (id string) {
	for arg := range r.view.ArgList(ev.Args) {
		if string(arg.Key) != timeline.OwnArgs || arg.Kind != timeline.ArgDict {
			continue
		}
		for member := range r.view.Members(arg) {
			if string(member.Key) == "id" && member.Kind == timeline.ArgString {
				id = string(member.Text())
			}
		}
	}
	return id
}

// finish returns the facts once the input has been read.
func (r *tracedReader) finish() *Traced {
	for i := range r.all.profiles {
		p := &r.all.profiles[i]
		slices.SortStableFunc(p.pieces, func(a, b tracedPiece) int { return cmp.Compare(a.ts, b.ts) })
		now := p.start
		for _, piece := range p.pieces {
			for _, delta := range piece.deltas {
				now = plus(now, delta)
				p.times = append(p.times, now)
			}
		}
		slices.Sort(p.times)
		p.pieces = nil
	}
	r.addSampled()
	return &r.all
}

// addSampled assigns threads' samples to the self-made profiles without chunks: those on the sampled thread, and on the
// thread with the profile's id. Samples of a thread with several profiles are added once: which profile they belong to does
// not change where they lie, but their slack is the largest slack of these profiles.
func (r *tracedReader) addSampled() {
	owners := map[tracedID][]threadKey{} // by profile id
	for _, th := range r.b.Threads() {
		process, thread, _ := r.b.IDs(th.Track)
		key := threadKey{process, thread}
		id, ok := strings.CutPrefix(cmp.Or(th.Name, th.Key.Text), v8profile.ThreadName)
		if of := (tracedID{process.Num, id}); ok && len(r.samples[key]) > 0 {
			owners[of] = append(owners[of], key)
		}
	}
	added := map[threadKey]int{} // indexes in Traced.profiles, by thread
	for _, h := range r.heads {
		p := &r.all.profiles[h.profile]
		if len(p.times) > 0 || p.otherClock {
			continue
		}
		if len(r.samples[h.thread]) > 0 {
			r.addThread(added, h, h.thread, true)
		}
		for _, key := range owners[r.all.profiles[h.profile].tracedID] {
			r.addThread(added, h, key, false)
			r.all.profiles[h.profile].selfMade = false // it has samples: those that were added
		}
	}
}

// addThread assigns the samples of a thread to a profile; if mixed, samples of other profiles may be among them.
func (r *tracedReader) addThread(added map[threadKey]int, h tracedHead, thread threadKey, mixed bool) {
	at, ok := added[thread]
	if !ok {
		at = len(r.all.profiles)
		added[thread] = at
		p := r.all.profiles[h.profile]
		p.times, p.selfMade, p.mixed = r.samples[thread], true, mixed
		slices.Sort(p.times)
		r.all.profiles = append(r.all.profiles, p)
	}
	p := &r.all.profiles[at]
	p.slack = max(p.slack, h.apart)
}
