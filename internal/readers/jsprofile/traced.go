package jsprofile

import (
	"context"
	"iter"
	"math"
	"strings"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/timeline"
)

// V8ProfileThread is how the names of threads begin that hold the samples of a V8 profile beside those of its thread. Its
// id follows.
const V8ProfileThread = "V8 profile "

// CluesOf returns the clues of a trace that was read into a timeline and nested: a Perfetto trace of Chrome, or one that
// weft made of a Chrome JSON trace. The error is that of Walk.
//
// In the first the pieces of V8 profiles are instants, as in Chrome JSON traces, whose data may be JSON text. In the
// second the samples of a self-made profile are those of the thread with its id, or of the sampled thread itself. They
// count from the time of the head or from the startTime in it, and nothing says from which, so that all may be wrong by the
// difference.
func CluesOf(ctx context.Context, tl *timeline.Timeline) (*Clues, error) {
	r := &tracedReader{
		clueReader: clueReader{clues: &Clues{byID: map[tracedID]int{}}},
		tl:         tl, sampled: map[timeline.TrackID][]timeline.Nanos{},
	}
	for id := range timeline.TrackID(tl.TrackCount()) {
		if tl.TrackKind(id) == timeline.ThreadTrack && strings.HasPrefix(tl.Track(id).Name, V8ProfileThread) {
			r.sampled[id] = nil
		}
	}
	if err := tl.Walk(ctx, r.item); err != nil {
		return nil, err
	}
	r.addSampled()
	return r.clues, nil
}

// tracedReader reads the items of a timeline, as far as they are clues.
type tracedReader struct {
	clueReader // for data that is JSON text
	tl         *timeline.Timeline
	heads      []tracedHead
	sampled    map[timeline.TrackID][]timeline.Nanos // the samples of threads that may be those of a self-profile
}

// tracedHead is the head of a self-made profile.
type tracedHead struct {
	profile int // in Clues.profiles
	id      string
	thread  timeline.TrackID
	apart   timeline.Nanos // of its time and the startTime in it
}

// item looks at one item.
func (r *tracedReader) item(it *timeline.Item) error {
	all := r.clues
	if it.TS > 0 {
		if !all.any {
			all.start, all.any = it.TS, true
		}
		all.end = it.TS
	}
	switch {
	case it.Kind == timeline.ItemSample:
		if times, ok := r.sampled[it.Track]; ok {
			r.sampled[it.Track] = append(times, it.TS)
		}
	case it.Kind != timeline.ItemInstant:
	case string(it.Name) == "navigationStart":
		r.navigation(it)
	case string(it.Name) == "Profile" || string(it.Name) == "ProfileChunk":
		r.piece(it)
	}
	return nil
}

// threadOf returns the thread that a track belongs to.
func (r *tracedReader) threadOf(id timeline.TrackID) timeline.TrackID {
	for id != 0 && r.tl.TrackKind(id) != timeline.ThreadTrack {
		id = r.tl.TrackParent(id)
	}
	return id
}

// pidOf returns the pid of a thread's process as the input has it; 0 if that is not a number.
func (r *tracedReader) pidOf(thread *timeline.Track) int64 {
	process := r.tl.Track(thread.Parent)
	return process.InputID.Num
}

// members returns the members of the argument data of an item, and calls text instead if that is JSON text.
func (r *tracedReader) members(it *timeline.Item, text func(key []byte)) iter.Seq[timeline.Arg] {
	return func(yield func(timeline.Arg) bool) {
		for arg := range r.tl.ArgList(it.Args) {
			if string(arg.Key) != "data" {
				continue
			}
			switch arg.Kind {
			case timeline.ArgDict:
				r.tl.Members(arg)(yield)
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

func (r *tracedReader) navigation(it *timeline.Item) {
	tr := r.tl.Track(r.threadOf(it.Track))
	n := navigation{pid: r.pidOf(&tr), tid: tr.InputID.Num, ts: it.TS}
	for arg := range r.members(it, func(key []byte) { r.navigationMember(&n, key) }) {
		switch {
		case string(arg.Key) == documentURL && arg.Kind == timeline.ArgString:
			n.url = string(arg.Text())
		case string(arg.Key) == isTab && arg.Kind == timeline.ArgBool:
			n.inFrame = !arg.Bool()
		}
	}
	r.clues.navigate(&n)
}

// sameClock is how far the startTime of a profile may be from the time of its head: they are read one after the other. On
// clocks of which one stops while the system sleeps they are farther apart.
const sameClock = 10_000_000

// piece takes in the head of a profile, or a chunk of its samples.
func (r *tracedReader) piece(it *timeline.Item) {
	isHead := string(it.Name) == "Profile"
	thread := r.threadOf(it.Track)
	tr := r.tl.Track(thread)
	at := r.clues.profileOf(tracedID{r.pidOf(&tr), r.idOf(it)}, tr.InputID.Num)
	p := &r.clues.profiles[at]
	if isHead {
		p.tid = tr.InputID.Num
	}
	for arg := range r.members(it, func(key []byte) { r.profileMember(p, key, isHead) }) {
		switch {
		case string(arg.Key) == "source" && arg.Kind == timeline.ArgString:
			p.selfMade = string(arg.Text()) == selfProfiling
		case string(arg.Key) == "startTime" && isHead:
			p.now, p.headed = micros(&arg), true
		case string(arg.Key) == "timeDeltas" && arg.Kind == timeline.ArgArray:
			for delta := range r.tl.Members(arg) {
				p.advance(micros(&delta))
			}
		}
	}
	if !isHead || !p.selfMade {
		return
	}
	start := max(p.now, 0)
	apart := max(start-it.TS, it.TS-start)
	p.otherClock = apart > sameClock
	r.heads = append(r.heads, tracedHead{at, r.clues.profiles[at].id, thread, apart})
	if _, ok := r.sampled[thread]; !ok {
		r.sampled[thread] = nil
	}
}

// micros returns a number of microseconds as a time; 0 if it is not a number.
func micros(a *timeline.Arg) timeline.Nanos {
	n := timeline.Nanos(0)
	switch a.Kind {
	case timeline.ArgInt:
		n = timeline.Nanos(a.Int())
	case timeline.ArgUint:
		n = timeline.Nanos(min(a.Uint(), math.MaxInt64))
	}
	return min(max(n, -maxTime/1000), maxTime/1000) * 1000
}

// idOf returns the id of a piece, which weft's reader keeps beside the arguments.
func (r *tracedReader) idOf(it *timeline.Item) (id string) {
	for arg := range r.tl.ArgList(it.Args) {
		if string(arg.Key) != timeline.OwnArgs || arg.Kind != timeline.ArgDict {
			continue
		}
		for member := range r.tl.Members(arg) {
			if string(member.Key) == "id" && member.Kind == timeline.ArgString {
				id = string(member.Text())
			}
		}
	}
	return id
}

// addSampled takes the samples of threads for those of the self-made profiles without chunks: of the sampled thread, and of
// the one with the id of the profile. Several profiles of one thread have its samples once: from which of them they are
// does not change where they lie, but they may be wrong by the most of all.
func (r *tracedReader) addSampled() {
	type owner struct {
		pid  int64
		name string
	}
	owners := map[owner][]timeline.TrackID{}
	for id := range timeline.TrackID(r.tl.TrackCount()) {
		if len(r.sampled[id]) > 0 {
			tr := r.tl.Track(id)
			of := owner{r.pidOf(&tr), tr.Name}
			owners[of] = append(owners[of], id)
		}
	}
	added := map[timeline.TrackID]int{} // indexes in Clues.profiles
	for _, h := range r.heads {
		if p := &r.clues.profiles[h.profile]; len(p.times) > 0 || p.otherClock {
			continue
		}
		if len(r.sampled[h.thread]) > 0 {
			r.addThread(added, h, h.thread, true)
		}
		for _, id := range owners[owner{r.clues.profiles[h.profile].pid, V8ProfileThread + h.id}] {
			r.addThread(added, h, id, false)
			r.clues.profiles[h.profile].selfMade = false // it has samples: those that were added
		}
	}
}

// addThread takes the samples of a thread for those of a profile, which may be mixed with others.
func (r *tracedReader) addThread(added map[timeline.TrackID]int, h tracedHead, thread timeline.TrackID, mixed bool) {
	at, ok := added[thread]
	if !ok {
		at = len(r.clues.profiles)
		added[thread] = at
		p := r.clues.profiles[h.profile]
		p.times, p.selfMade, p.mixed = r.sampled[thread], true, mixed
		r.clues.profiles = append(r.clues.profiles, p)
	}
	p := &r.clues.profiles[at]
	p.slack = max(p.slack, h.apart)
}
