package otlp

import (
	"math"
	"strconv"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// rows are the tracks of the spans of a process, or of one of its threads. A span lies below its parent only; where
// something else is open there, it has another track of the same name. All spans of a tree are in one block of tracks, which viewers show as a
// row of its own, in the order in which the blocks were first needed.
type rows struct {
	b               *timeline.Builder
	process, parent timeline.TrackID
	description     string // of the tracks
	blocks          []*block
	free            collections.Heap[int]     // blocks
	busy            collections.Heap[running] // blocks, and a time until which they are not free
	open            map[spanKey]openSpan
	onThreads       map[processSpan]*rows // of all rows; nil: these are of no thread
}

// processSpan is a span of a process.
type processSpan struct {
	process timeline.TrackID
	key     spanKey
}

// block is a set of tracks that viewers show as one.
type block struct {
	tracks *readers.Lanes[timeline.Nanos]
	spans  [][]openSpan   // by lane: those that are open, the outermost first, and some that have ended
	end    timeline.Nanos // of all its spans
}

// running is a block that is not free before a time.
type running struct {
	until timeline.Nanos
	block int
}

// openSpan is a span that has begun. Of several with one key the last one counts.
type openSpan struct {
	key    spanKey
	number uint32
	end    timeline.Nanos // endless: it has none
	block  int
	lane   int
}

// endless is the end of a span that has none.
const endless timeline.Nanos = math.MaxInt64

// maxRows bounds how many rows viewers show of the spans of one process or thread: later blocks share the last one.
const maxRows = 32

// newRows returns the tracks of spans below a process, or below a thread of a process: onThreads has the open spans of threads then.
func newRows(b *timeline.Builder, process, parent timeline.TrackID, onThreads map[processSpan]*rows) *rows {
	r := &rows{b: b, process: process, parent: parent, open: map[spanKey]openSpan{}}
	r.free = collections.NewHeap(func(a, b *int) bool { return *a < *b })
	r.busy = collections.NewHeap(func(a, b *running) bool { return a.until < b.until || a.until == b.until && a.block < b.block })
	if process != parent {
		r.onThreads = onThreads
	}
	return r
}

// place returns the track of a span. If the slice of its parent is the one around it, nested is true. Spans come in the order of their starts.
func (r *rows) place(h *head, number uint32) (track timeline.TrackID, nested bool) {
	s := openSpan{key: h.key(), number: number, end: h.end, block: -1}
	if s.end == timeline.NoTime {
		s.end = endless
	}
	if p, ok := r.open[h.parentKey()]; ok && h.parent != 0 {
		b := r.blocks[p.block]
		r.close(b, p.lane, h.start)
		around := b.spans[p.lane]
		if n := len(around); n > 0 && around[n-1].number == p.number && s.end <= p.end {
			track, s.block, s.lane, nested = b.tracks.Track(p.lane), p.block, p.lane, true
		} else if p.end > h.start {
			s.block = p.block
		}
	}
	if s.block < 0 {
		s.block = r.take(h.start)
	}
	b := r.blocks[s.block]
	if !nested {
		track, s.lane = b.tracks.Take(h.start, max(s.end, h.start+1))
		for s.lane >= len(b.spans) {
			b.spans = append(b.spans, nil)
		}
		r.close(b, s.lane, h.start)
	}
	if s.end > h.start && s.key.isValid() {
		r.open[s.key] = s
		if r.onThreads != nil {
			r.onThreads[processSpan{r.process, s.key}] = r
		}
	}
	s.end = max(s.end, h.start+1) // what starts with a span without length is not below it
	b.end = max(b.end, s.end)
	b.spans[s.lane] = append(b.spans[s.lane], s)
	return track, nested
}

// take returns a block in which no span is open, and takes it. The thread itself is taken if nothing is open on it, even where children that
// outlive their parents are open beside it.
func (r *rows) take(now timeline.Nanos) (block int) {
	for r.busy.Len() > 0 && r.busy.Top().until <= now {
		if is := r.busy.Pop(); r.blocks[is.block].end > now { // spans were added
			r.busy.Push(running{r.blocks[is.block].end, is.block})
		} else {
			r.free.Push(is.block)
		}
	}
	if r.parent != r.process && len(r.blocks) > 0 {
		own := r.blocks[0]
		if r.close(own, 0, now); len(own.spans[0]) == 0 && (r.free.Len() == 0 || *r.free.Top() != 0) {
			return 0
		}
	}
	block = len(r.blocks)
	if r.free.Len() > 0 {
		block = r.free.Pop()
	} else {
		r.blocks = append(r.blocks, r.newBlock(block))
	}
	r.busy.Push(running{now + 1, block})
	return block
}

// newBlock makes a block. The first track of the first one below a thread is the thread's own.
func (r *rows) newBlock(number int) *block {
	spec := timeline.TrackSpec{
		Name: timeline.RoleSpans.String(), Description: r.description, Role: timeline.RoleSpans,
		Merge: timeline.MergeByKey, MergeKey: strconv.Itoa(min(number, maxRows-1) + 1),
	}
	var first []timeline.TrackID
	if number == 0 && r.parent != r.process {
		first = append(first, r.parent)
	}
	return &block{tracks: readers.NewLanes[timeline.Nanos](r.b, r.parent, spec, first...)}
}

// close forgets the spans of a lane that have ended.
func (r *rows) close(b *block, lane int, now timeline.Nanos) {
	spans := b.spans[lane]
	for n := len(spans); n > 0 && spans[n-1].end <= now; n = len(spans) {
		if s := &spans[n-1]; r.open[s.key].number == s.number {
			delete(r.open, s.key)
			if at := (processSpan{r.process, s.key}); r.onThreads[at] == r {
				delete(r.onThreads, at)
			}
		}
		spans = spans[:n-1]
	}
	b.spans[lane] = spans
}

// holds reports whether a span is open when another starts, and until that ends.
func (r *rows) holds(key spanKey, h *head) bool {
	s, ok := r.open[key]
	return ok && s.end > h.start && h.end != timeline.NoTime && h.end <= s.end
}
