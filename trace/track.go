package trace

import (
	"iter"
	"strings"

	"github.com/weft-trace/weft/timeline"
)

// TrackID identifies a track of its trace. The zero TrackID is the trace itself, the parent of all tracks that have no
// other.
type TrackID uint32

// TrackKind says what a track shows.
type TrackKind uint8

// The kinds of tracks.
const (
	TraceTrack   = TrackKind(timeline.RootTrack)    // the whole trace
	ProcessTrack = TrackKind(timeline.ProcessTrack) // a process
	ThreadTrack  = TrackKind(timeline.ThreadTrack)  // a thread
	NamedTrack   = TrackKind(timeline.NamedTrack)   // other slices and instants of its parent
	AsyncTrack   = TrackKind(timeline.AsyncTrack)   // the slices of one asynchronous id
	CounterTrack = TrackKind(timeline.CounterTrack) // the values of one counter
)

var trackKinds = [...]string{
	TraceTrack: "trace", ProcessTrack: "process", ThreadTrack: "thread", NamedTrack: "track", AsyncTrack: "async", CounterTrack: "counter",
}

// String returns "trace", "process", "thread", "track", "async" or "counter".
func (k TrackKind) String() string {
	if int(k) < len(trackKinds) {
		return trackKinds[k]
	}
	return "unknown"
}

// Track is a row of the trace: a process, a thread, a counter, or anything else that events are on.
type Track struct {
	ID     TrackID
	Parent TrackID
	Kind   TrackKind
	Name   string   // of the process, thread or counter, or of the track itself
	PID    int32    // of the process that the track is or belongs to; 0: none
	TID    int64    // of the thread that the track is or belongs to; 0: none
	Labels []string // ProcessTrack: what the recording says of the process, such as the titles of its pages
	Unit   string   // CounterTrack: of its values; "" if unknown

	process, thread string // names
	inThread        bool
}

// Path returns the names of the tracks from the process down to the track itself. Processes and threads without a name
// have the empty name.
func (t *Trace) Path(id TrackID) []string {
	var path []string
	for n := 0; id != 0 && n < maxTrackDepth; n++ {
		tr := t.Track(id)
		path = append(path, tr.Name)
		id = tr.Parent
	}
	for i, j := 0, len(path)-1; i < j; i, j = i+1, j-1 {
		path[i], path[j] = path[j], path[i]
	}
	return path
}

// maxTrackDepth bounds the way from a track to the root.
const maxTrackDepth = 100

// Track returns a track. The zero Track stands for ids that the trace does not have.
func (t *Trace) Track(id TrackID) Track {
	t.describeTracks()
	if int(id) >= len(t.tracks) {
		return Track{}
	}
	return t.tracks[id]
}

// Tracks returns the tracks that have events, or tracks with events below them.
func (t *Trace) Tracks() iter.Seq[Track] {
	return func(yield func(Track) bool) {
		t.describeTracks()
		for id := range t.tracks {
			if t.tl.Track(timeline.TrackID(id)).Used && !yield(t.tracks[id]) {
				return
			}
		}
	}
}

// describeTracks makes the table of tracks, which never changes afterwards.
func (t *Trace) describeTracks() {
	if t.tracks != nil {
		return
	}
	t.tracks = make([]Track, t.tl.TrackCount())
	for id := range t.tracks {
		tr := t.tl.Track(timeline.TrackID(id))
		out := Track{ID: TrackID(id), Parent: TrackID(tr.Parent), Kind: TrackKind(tr.Kind), Name: tr.Name, Labels: tr.Labels}
		if tr.Counter != nil {
			out.Unit = unitName(tr.Counter)
		}
		t.tracks[id] = out
	}
	for id := range t.tracks {
		t.findOwner(&t.tracks[id])
	}
}

// findOwner finds the process and thread that a track belongs to.
func (t *Trace) findOwner(tr *Track) {
	id := tr.ID
	for n := 0; id != 0 && n < maxTrackDepth; n++ {
		up := t.tl.Track(timeline.TrackID(id))
		switch up.Kind {
		case timeline.ThreadTrack:
			tr.TID, tr.thread, tr.inThread = up.TID, up.Name, true
		case timeline.ProcessTrack:
			tr.PID, tr.process = up.PID, up.Name
		}
		id = TrackID(up.Parent)
	}
}

// ProcessName returns the name of the process that the track is or belongs to; "" if there is none.
func (t Track) ProcessName() string { return t.process }

// ThreadName returns the name of the thread that the track is or belongs to; "" if there is none.
func (t Track) ThreadName() string { return t.thread }

var unitNames = [...]string{timeline.UnitNanos: "ns", timeline.UnitCount: "count", timeline.UnitBytes: "bytes"}

func unitName(k *timeline.CounterKey) string {
	if int(k.Unit) < len(unitNames) && unitNames[k.Unit] != "" {
		return unitNames[k.Unit]
	}
	return strings.TrimSpace(k.UnitName)
}
