package otlp

import (
	"math"

	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// rows are the tracks of the spans of a process, or of one of its threads. A span lies below its parent only; where
// something else is open there, it has another track of the same name.
type rows struct {
	tracks *readers.Lanes[timeline.Nanos]
	spans  [][]openSpan // by lane: those that are open, the outermost first, and some that have ended
	open   map[spanKey]openSpan
}

// openSpan is a span that has begun. Of several with one key the last one counts.
type openSpan struct {
	key    spanKey
	number uint32
	end    timeline.Nanos // endless: it has none
	lane   int
}

// endless is the end of a span that has none.
const endless timeline.Nanos = math.MaxInt64

// spansSpec describes the tracks of spans.
var spansSpec = timeline.TrackSpec{Name: timeline.RoleSpans.String(), Role: timeline.RoleSpans}

// newRows returns the tracks of spans below a process or a thread; first are those that are there already, of a thread.
func newRows(b *timeline.Builder, parent timeline.TrackID, first ...timeline.TrackID) *rows {
	return &rows{tracks: readers.NewLanes[timeline.Nanos](b, parent, spansSpec, first...), open: map[spanKey]openSpan{}}
}

// place returns the track of a span. If the slice of its parent is the one around it, nested is true. Spans come in the order of their starts.
func (r *rows) place(h *head, number uint32) (track timeline.TrackID, nested bool) {
	s := openSpan{key: h.key(), number: number, end: h.end}
	if s.end == timeline.NoTime {
		s.end = endless
	}
	if p, ok := r.open[h.parentKey()]; ok && h.parent != 0 {
		r.close(p.lane, h.start)
		around := r.spans[p.lane]
		if n := len(around); n > 0 && around[n-1].number == p.number && s.end <= p.end {
			track, s.lane, nested = r.tracks.Track(p.lane), p.lane, true
		}
	}
	if !nested {
		track, s.lane = r.tracks.Take(h.start, max(s.end, h.start+1))
		for s.lane >= len(r.spans) {
			r.spans = append(r.spans, nil)
		}
		r.close(s.lane, h.start)
	}
	if s.end > h.start && s.key.isValid() {
		r.open[s.key] = s
	}
	s.end = max(s.end, h.start+1) // what starts with a span without length is not below it
	r.spans[s.lane] = append(r.spans[s.lane], s)
	return track, nested
}

// close forgets the spans of a lane that have ended.
func (r *rows) close(lane int, now timeline.Nanos) {
	spans := r.spans[lane]
	for n := len(spans); n > 0 && spans[n-1].end <= now; n = len(spans) {
		if s := &spans[n-1]; r.open[s.key].number == s.number {
			delete(r.open, s.key)
		}
		spans = spans[:n-1]
	}
	r.spans[lane] = spans
}
