package otlp

import (
	"math"

	"github.com/weft-trace/weft/internal/minheap"
	"github.com/weft-trace/weft/internal/timeline"
)

// rows are the tracks of the spans of a process, or of one of its threads. A span lies below its parent only; where
// something else is open there, it has another track of the same name, which viewers show as one.
type rows struct {
	b      *timeline.Builder
	parent timeline.TrackID
	tracks []row
	busy   minheap.Heap[busyRow]
	free   minheap.Heap[int]
	open   map[spanKey]openSpan
}

// row is a track with the spans that are open on it, the outermost first.
type row struct {
	track timeline.TrackID
	spans []openSpan
}

// openSpan is a span that has begun. Of several with one key the last one counts.
type openSpan struct {
	key    spanKey
	number uint32
	end    timeline.Nanos // endless: it has none
	row    int
}

// busyRow is a row and the end of its outermost span.
type busyRow struct {
	end timeline.Nanos
	row int
}

// endless is the end of a span that has none.
const endless timeline.Nanos = math.MaxInt64

// spansTrack is the name of the tracks of spans.
const spansTrack = "Spans"

// newRows returns the tracks of spans below a process or a thread. first is the track that is there already, of a thread; 0: none.
func newRows(b *timeline.Builder, parent, first timeline.TrackID) *rows {
	r := &rows{b: b, parent: parent, open: map[spanKey]openSpan{}}
	r.busy = minheap.New(func(a, b *busyRow) bool { return a.end < b.end || a.end == b.end && a.row < b.row })
	r.free = minheap.New(func(a, b *int) bool { return *a < *b })
	if first != 0 {
		r.tracks = append(r.tracks, row{track: first})
		r.free.Push(0)
	}
	return r
}

// place returns the track of a span. If the slice of its parent is the one around it, nested is true, and parent is the number of the
// parent. Spans come in the order of their starts.
func (r *rows) place(h *head, number uint32) (track timeline.TrackID, parent uint32, nested bool) {
	r.release(h.start)
	s := openSpan{key: h.key(), number: number, end: h.end}
	if s.end == timeline.NoTime {
		s.end = endless
	}
	if p, ok := r.open[h.parentKey()]; ok && h.parent != 0 {
		on := &r.tracks[p.row]
		r.closeSpans(on, h.start)
		if n := len(on.spans); n > 0 && on.spans[n-1].number == p.number && s.end <= p.end {
			s.row, parent, nested = p.row, p.number, true
		}
	}
	if !nested {
		s.row = r.take(s.end)
	}
	on := &r.tracks[s.row]
	if s.end > h.start {
		on.spans = append(on.spans, s)
		if s.key.isValid() {
			r.open[s.key] = s
		}
	}
	return on.track, parent, nested
}

// take returns a row on which nothing is open.
func (r *rows) take(end timeline.Nanos) int {
	i := len(r.tracks)
	if r.free.Len() > 0 {
		i = r.free.Pop()
	} else {
		r.tracks = append(r.tracks, row{track: r.b.NewTrack(r.parent, timeline.TrackSpec{Name: spansTrack})})
	}
	r.busy.Push(busyRow{end, i})
	return i
}

// release frees the rows whose outermost spans have ended.
func (r *rows) release(now timeline.Nanos) {
	for r.busy.Len() > 0 && r.busy.Top().end <= now {
		i := r.busy.Pop().row
		r.closeSpans(&r.tracks[i], now)
		r.free.Push(i)
	}
}

// closeSpans forgets the spans on a row that have ended.
func (r *rows) closeSpans(on *row, now timeline.Nanos) {
	for n := len(on.spans); n > 0 && on.spans[n-1].end <= now; n = len(on.spans) {
		s := &on.spans[n-1]
		if r.open[s.key].number == s.number {
			delete(r.open, s.key)
		}
		on.spans = on.spans[:n-1]
	}
}
