package otlp

import (
	"math"
	"strconv"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// rows manages the tracks for the spans of a process or of one of its threads. A span nests only in its parent. If another span
// is open on a track, the new span goes to another track with the same name. All spans of a tree go to one block of tracks, which
// viewers show as a separate row. Rows are in order of first use.
type rows struct {
	b               *timeline.Builder
	process, parent timeline.TrackID
	description     string // description of the tracks
	blocks          []*block
	free            collections.Heap[int]     // free blocks
	busy            collections.Heap[running] // blocks in use
	open            map[spanKey]openSpan
	onThreads       map[processSpan]*rows // shared by all rows; nil unless the rows are for a thread
}

// processSpan is a span of a process.
type processSpan struct {
	process timeline.TrackID
	key     spanKey
}

// block is a set of tracks that viewers show as one.
type block struct {
	tracks *readers.Lanes[timeline.Nanos]
	spans  [][]openSpan   // by lane: open spans, outermost first, and some that have ended
	end    timeline.Nanos // end of the last span
}

// running is a block that is in use until the given time.
type running struct {
	until timeline.Nanos
	block int
}

// openSpan is a running span. The last of several with the same key counts.
type openSpan struct {
	key    spanKey
	number uint32
	end    timeline.Nanos // endless: none
	block  int
	lane   int
}

// endless is the end of a span without an end.
const endless timeline.Nanos = math.MaxInt64

// maxRows limits the number of rows that viewers show for a process or thread: later blocks share the last row.
const maxRows = 32

// newRows returns rows for the spans of a process or of one of its threads. The parameter onThreads contains the open spans on
// threads.
func newRows(b *timeline.Builder, process, parent timeline.TrackID, onThreads map[processSpan]*rows) *rows {
	r := &rows{b: b, process: process, parent: parent, open: map[spanKey]openSpan{}}
	r.free = collections.NewHeap(func(a, b *int) bool { return *a < *b })
	r.busy = collections.NewHeap(func(a, b *running) bool { return a.until < b.until || a.until == b.until && a.block < b.block })
	if process != parent {
		r.onThreads = onThreads
	}
	return r
}

// place returns the track for a span. The result nested reports whether the span nests directly in its parent's slice. Call place
// in order of start time.
func (r *rows) place(h *head, number uint32) (track timeline.TrackID, nested bool) {
	s := openSpan{key: h.key(), number: number, end: h.end, block: -1}
	if s.end == timeline.NoTime {
		s.end = endless
	}
	if p, ok := r.open[h.parentKey()]; ok && h.parent != 0 {
		b := r.blocks[p.block]
		r.close(b, p.lane, h.start)
		enclosing := b.spans[p.lane]
		if n := len(enclosing); n > 0 && enclosing[n-1].number == p.number && s.end <= p.end {
			track, s.block, s.lane, nested = b.tracks.Track(p.lane), p.block, p.lane, true
		} else if p.end > h.start {
			s.block = p.block
		}
	}
	if s.block < 0 {
		s.block = r.claimBlock(h.start)
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
	s.end = max(s.end, h.start+1) // nothing nests in a zero-length span
	b.end = max(b.end, s.end)
	b.spans[s.lane] = append(b.spans[s.lane], s)
	return track, nested
}

// claimBlock returns an unused block and marks it as used. On a thread it prefers the thread's own track, if nothing is
// open there, even if children that outlive their parents are open in other lanes.
func (r *rows) claimBlock(now timeline.Nanos) (block int) {
	for r.busy.Len() > 0 && r.busy.Top().until <= now {
		if run := r.busy.Pop(); r.blocks[run.block].end > now { // spans were added
			r.busy.Push(running{r.blocks[run.block].end, run.block})
		} else {
			r.free.Push(run.block)
		}
	}
	if r.parent != r.process && len(r.blocks) > 0 {
		first := r.blocks[0]
		if r.close(first, 0, now); len(first.spans[0]) == 0 && (r.free.Len() == 0 || *r.free.Top() != 0) {
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

// newBlock creates a block. On a thread, the first track of the first block is the thread's own.
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

// close removes the ended spans of a lane.
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

// holds reports whether the span with the given key is open during all of h.
func (r *rows) holds(key spanKey, h *head) bool {
	s, ok := r.open[key]
	return ok && s.end > h.start && h.end != timeline.NoTime && h.end <= s.end
}
