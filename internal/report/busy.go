package report

import (
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/timeline"
)

// busyThreads determines during a walk when threads were busy. A thread was busy when a slice with an end was open, unless the
// innermost such slice was a sleeping system call. Slices that overlap other slices of their thread are on lanes or, for streams,
// on tracks below the thread. Time with several open slices counts once. T is the type of the note kept for each open slice.
type busyThreads[T any] struct {
	tl       *timeline.Timeline
	selected *selection.Selection
	places   []timeline.TrackID // by TrackID: the thread that the track's slices belong to; 0: none
	threads  []*busyThread[T]   // by TrackID; nil: no slices
}

// busyThread is the state of a thread during the walk.
type busyThread[T any] struct {
	since       timeline.Nanos // the time of the previous event
	first, last timeline.Nanos
	busy        timeline.Nanos
	cpu         timeline.Nanos // CPU time of the outermost slices whose CPU time is known
	measured    timeline.Nanos // length of these slices
	lanes       []busyLane[T]
	slots       map[timeline.TrackLane]int // index in lanes
	open        collections.Heap[int]      // indexes of the busy lanes, and of some that are no longer busy
}

// busyLane is a track or lane of a thread.
type busyLane[T any] struct {
	busy, queued bool // queued: the lane is in busyThread.open
	innermost    T    // note on the innermost slice with an end, while busy
}

// busySlice is an open slice.
type busySlice[T any] struct {
	timed    bool // its own time counts; otherwise its time counts for the slice around it
	sleeps   bool
	cpuKnown bool  // the CPU time of this slice or of a slice around it is known
	depth    int32 // number of timed slices around it
	from     timeline.Nanos
	cpu      timeline.CPUTime // at its start; unset if the CPU time of a slice around it is known
	note     T
}

// sleepingCalls lists the system calls in which a thread mostly waits.
var sleepingCalls = []string{
	"accept", "accept4", "clock_nanosleep", "epoll_pwait", "epoll_pwait2", "epoll_wait", "futex", "io_getevents", "kevent", "nanosleep", "pause", "poll", "ppoll", "pselect6",
	"rt_sigsuspend", "rt_sigtimedwait", "select", "wait4", "waitid",
}

// sleeps reports whether a slice is a system call in which its thread waits.
func sleeps(it *timeline.Item) bool {
	return string(it.Category) == "syscall" && Sleeps(string(it.Name))
}

// Sleeps reports whether a thread mostly waits in the given system call.
func Sleeps(call string) bool {
	_, found := slices.BinarySearch(sleepingCalls, call)
	return found
}

func newBusyThreads[T any](tl *timeline.Timeline, selected *selection.Selection) busyThreads[T] {
	b := busyThreads[T]{tl: tl, selected: selected, places: make([]timeline.TrackID, tl.TrackCount()), threads: make([]*busyThread[T], tl.TrackCount())}
	for id := range timeline.TrackID(tl.TrackCount()) {
		switch parent, role := tl.TrackParent(id), tl.Role(id); {
		case !selected.Track(id):
		case tl.TrackKind(id) == timeline.ThreadTrack:
			b.places[id] = id
		case (role == timeline.RoleLane || role == timeline.RoleStream) && tl.TrackKind(parent) == timeline.ThreadTrack:
			b.places[id] = parent
		}
	}
	return b
}

// restart prepares for another walk, which adds to the times.
func (t *busyThread[T]) restart() {
	t.since, t.lanes, t.slots = 0, nil, map[timeline.TrackLane]int{}
	t.open = collections.NewHeap(func(a, b *int) bool { return *a < *b })
}

// lane returns the index of a lane. It adds the lane if it is new.
func (t *busyThread[T]) lane(at timeline.TrackLane) int {
	i, ok := t.slots[at]
	if !ok {
		i = len(t.lanes)
		t.slots[at] = i
		t.lanes = append(t.lanes, busyLane[T]{})
	}
	return i
}

// innermost returns the note on the innermost open slice of the first busy lane; nil if no lane is busy.
func (t *busyThread[T]) innermost() *T {
	for t.open.Len() > 0 {
		lane := &t.lanes[*t.open.Top()]
		if lane.busy {
			return &lane.innermost
		}
		t.open.Pop()
		lane.queued = false
	}
	return nil
}

// item handles an item of the walk. The function note returns the note for a slice that starts. If the thread was busy, item
// passes the time since the thread's previous event to the function charge, with the note of the innermost slice with an end. The
// time belongs to that slice.
func (b *busyThreads[T]) item(it *timeline.Item, open *timeline.OpenSlices[busySlice[T]], note func(*timeline.Item, *timeline.OpenSlices[busySlice[T]]) T,
	charge func(t *busyThread[T], thread timeline.TrackID, slice *T, from, to timeline.Nanos),
) {
	thread := b.places[it.Track]
	if thread == 0 || it.Kind != timeline.ItemBegin && it.Kind != timeline.ItemEnd {
		return
	}
	t := b.threads[thread]
	if t == nil {
		t = &busyThread[T]{first: math.MaxInt64, last: math.MinInt64}
		t.restart()
		b.threads[thread] = t
	}
	if slice := t.innermost(); slice != nil {
		if from, to := b.selected.Clip(t.since, it.TS); from < to {
			charge(t, thread, slice, from, to)
		}
	}
	t.since = it.TS
	n := open.Len()
	if it.Kind == timeline.ItemBegin {
		*open.Innermost() = b.begin(it, open, note(it, open))
	} else {
		t.end(it, thread, open.Innermost())
		n-- // without the slice that ends
	}
	for n > 0 && !open.At(n-1).timed {
		n--
	}
	i := t.lane(timeline.TrackLane{Track: it.Track, Lane: it.Lane})
	lane := &t.lanes[i]
	if lane.busy = n > 0 && !open.At(n-1).sleeps; lane.busy {
		lane.innermost = open.At(n - 1).note
		if !lane.queued {
			lane.queued = true
			t.open.Push(i)
		}
	}
}

// begin returns the state of a slice that begins.
func (b *busyThreads[T]) begin(it *timeline.Item, open *timeline.OpenSlices[busySlice[T]], note T) busySlice[T] {
	s := busySlice[T]{timed: hasEnd(&it.Head) && b.selected.Item(it), sleeps: sleeps(it), from: it.TS, note: note}
	n := open.Len()
	if n > 1 {
		around := open.At(n - 2)
		if s.depth = around.depth; around.timed {
			s.depth++
		}
	}
	if n > 1 && open.At(n-2).cpuKnown {
		s.cpuKnown = true
	} else if _, tells := it.ThreadTime.Nanos(); tells && s.timed {
		if from, to := b.selected.Clip(it.TS, endOf(&it.Head)); from == it.TS && to == endOf(&it.Head) { // the CPU time of a part is unknown
			s.cpuKnown, s.cpu = true, it.ThreadTime
		}
	}
	return s
}

// end adds the CPU time of a slice that ends, if it is on the thread's own track: slices on lanes share the thread's CPU
// time.
func (t *busyThread[T]) end(it *timeline.Item, thread timeline.TrackID, s *busySlice[T]) {
	if s == nil || it.Track != thread || it.Lane > 0 {
		return
	}
	from, tells := s.cpu.Nanos()
	if to, ok := it.ThreadTime.Nanos(); tells && ok && to >= from {
		sum(&t.cpu, to-from)
		sum(&t.measured, it.TS-s.from)
	}
}

// add adds a period in which the thread was busy.
func (t *busyThread[T]) add(from, to timeline.Nanos) {
	t.first, t.last = min(t.first, from), max(t.last, to)
	sum(&t.busy, to-from)
}

// bySamples reports whether samples are the best evidence of when a thread was busy. They are not if the thread has slices and
// the trace has event loop tasks.
func (b *busyThreads[T]) bySamples(t *Thread) bool {
	return t != nil && len(t.observations) > 0 && (b.threads[t.track] == nil || !b.haveLoops())
}

// haveLoops reports whether the trace has event loop tasks.
func (b *busyThreads[T]) haveLoops() bool {
	for id := range timeline.TrackID(b.tl.TrackCount()) {
		if b.tl.TrackKind(id) == timeline.ThreadTrack && b.tl.HasLoopTasks(id) {
			return true
		}
	}
	return false
}
