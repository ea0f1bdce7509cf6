package report

import (
	"cmp"
	"context"
	"slices"
	"sort"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// Gaps lists the periods in which device streams, or threads, had nothing to do. Times are nanoseconds; points in time are on the
// trace's clock.
type Gaps struct {
	Gaps     []Gap     // longest first
	More     int64     // number of further gaps
	Quiet    int       // threads left out because they hardly work
	Idle     []Idle    // by stream
	Launches []Launch  // by stream
	Arrivals []Arrival // by rank and device, for devices with collectives

	collectives int64 // arrivals left out for lack of room
}

// Gap is the time between two slices of a stream or thread.
type Gap struct {
	ThreadID
	Rank     *int64         `json:"rank,omitempty"`   // as in Device
	Device   *int64         `json:"device,omitempty"` // nil for threads
	Start    timeline.Nanos `json:"ts_ns"`
	Duration timeline.Nanos `json:"dur_ns"`
	Cause    GapCause       `json:"cause"`
	EndedBy  string         `json:"ended_by"` // the slice that ends the gap
	// LaunchedBy is the thread that launched the slice that ends the gap, through a device runtime call or a flow arrow.
	// LaunchedAt is when the call began or the arrow left. Both are nil if unknown.
	LaunchedBy *ThreadID       `json:"launched_by"`
	LaunchedAt *timeline.Nanos `json:"launch_ts_ns"`
	// Meanwhile is the work of the launching thread during the gap; nil if unknown, and for gaps beyond the longest
	// MaxDetailed.
	Meanwhile *Work `json:"meanwhile"`

	on, launcher timeline.TrackID
	ends         timeline.Nanos // end of the slice that ends the gap
}

// GapCause is what a stream or thread waited for.
type GapCause string

// The causes. The work that ends the gap was launched during the gap, or was launched before it and waited for other
// work.
const (
	GapHost       GapCause = "host"       // the host launched the work only once the stream was idle
	GapCollective GapCause = "collective" // another stream of the device communicated
	GapKernel     GapCause = "kernel"     // another stream of the device computed
	GapCopy       GapCause = "copy"       // another stream of the device copied
	GapThread     GapCause = "thread"     // another thread handed over the work only once the thread was idle
	GapOther      GapCause = "other"      // the work was launched before the gap, and nothing else ran on the device
	GapUnknown    GapCause = "unknown"    // the launch of the work is unknown
)

// gapCauses lists the causes for streams, in the order of their columns.
var gapCauses = []GapCause{GapHost, GapCollective, GapKernel, GapCopy, GapOther, GapUnknown}

// Idle is how long a stream waited, by cause.
type Idle struct {
	ThreadID
	Rank   *int64                      `json:"rank,omitempty"`
	Device int64                       `json:"device"`
	Gaps   int64                       `json:"gaps"`
	Time   timeline.Nanos              `json:"idle_ns"` // between its first and its last work
	By     map[GapCause]timeline.Nanos `json:"by_cause"`
}

// Launch is how long work on a stream waited after the start of the host call that launched it. Queue is the number of slices
// of the stream that had been launched earlier and had not begun.
type Launch struct {
	ThreadID
	Rank     *int64          `json:"rank,omitempty"`
	Device   int64           `json:"device"`
	Launches int64           `json:"launches"` // slices whose launching call is known
	DelayP50 timeline.Nanos  `json:"delay_p50_ns"`
	DelayP95 timeline.Nanos  `json:"delay_p95_ns"`
	DelayMax timeline.Nanos  `json:"delay_max_ns"`
	MaxAt    *timeline.Nanos `json:"delay_max_ts_ns"` // when the work with the longest delay was launched
	QueueP50 int64           `json:"queue_p50"`
	QueueP95 int64           `json:"queue_p95"`
	QueueMax int64           `json:"queue_max"`
}

// Arrival summarizes when a device reached the collectives that it shares with other devices. Devices share a collective if, for
// some n, it is the n-th collective with its name on each of them.
type Arrival struct {
	Rank        *int64           `json:"rank,omitempty"`
	Device      int64            `json:"device"`
	Process     string           `json:"process"`
	PID         timeline.InputID `json:"pid"`
	Collectives int64            `json:"collectives"`
	Last        int64            `json:"last"`      // collectives that it reached last
	Waited      timeline.Nanos   `json:"waited_ns"` // total time spent waiting for the last device
	HeldUp      timeline.Nanos   `json:"held_ns"`   // total time from the second-to-last arrival until its own, over the collectives in Last
}

// Limits, mostly on memory.
const (
	maxGaps     = 1 << 12
	maxLaunches = 1 << 16 // the latest calls, whose work may still come
	maxQueue    = 1 << 12
	maxArrivals = 1 << 18 // of devices at collectives
	quietPart   = 10      // a thread is quiet if it works for less than the time of the busiest one divided by this
)

// gapCollector finds gaps. It walks the trace after a sliceCounter, and reuses the devices of the sliceCounter.
type gapCollector struct {
	c       *sliceCounter
	args    *timeline.ArgSelection
	out     Gaps
	threads map[timeline.TrackID]*gapThread // threads and streams whose gaps count
	queues  []*gapThread                    // of streams, in the order of the devices
	devices map[*deviceWork]*[workKinds]timeline.Nanos
	gaps    collections.Heap[Gap] // the shortest on top
	delays  *extsort.Ranks        // by stream: delays, then queue lengths

	launches map[launchKey]launch
	recent   []launchKey // a ring
	launched int         // number of calls up to now

	rounds   map[roundKey]int // how many collectives of a name a device has reached
	meetings map[meetingKey][]meeting
	met      int
}

// gapThread is a thread or stream whose gaps count.
type gapThread struct {
	any    bool
	until  timeline.Nanos // end of its work up to now
	stream *streamWork    // nil: a thread
	index  int64          // of a stream in queues
	idle   Idle
	launch Launch
	starts []timeline.Nanos // of its latest slices
}

type launchKey struct {
	input       string
	correlation int64
}

type launch struct {
	thread timeline.TrackID
	at     timeline.Nanos
	n      int
}

type roundKey struct {
	on   *deviceWork
	name string
}

type meetingKey struct {
	name string
	n    int
}

type meeting struct {
	on *deviceWork
	at timeline.Nanos
}

// collectGaps finds the gaps of streams, of the busiest threads in traces without devices, or of the requested threads.
func collectGaps(ctx context.Context, c *sliceCounter) (*Gaps, error) {
	g := &gapCollector{
		c: c, threads: map[timeline.TrackID]*gapThread{}, devices: map[*deviceWork]*[workKinds]timeline.Nanos{},
		gaps:   collections.NewHeap(func(a, b *Gap) bool { return compareGaps(a, b) > 0 }),
		delays: extsort.NewRanks(c.tl.Memory()/16, c.tl.TempDir()), launches: map[launchKey]launch{}, rounds: map[roundKey]int{}, meetings: map[meetingKey][]meeting{},
	}
	defer g.delays.Close()
	g.args = c.tl.SelectArgs(func(name string) bool { return name == "correlation" })
	g.choose()
	if err := c.tl.WalkSlices(ctx, func(id timeline.TrackID) bool { return c.places[id].kind == ThreadSlices }, g.item); err != nil {
		return nil, err
	}
	for g.gaps.Len() > 0 {
		g.out.Gaps = append(g.out.Gaps, g.gaps.Pop())
	}
	slices.Reverse(g.out.Gaps)
	if err := g.quantiles(ctx); err != nil {
		return nil, err
	}
	g.arrivals()
	if err := g.findSenders(ctx); err != nil {
		return nil, err
	}
	if err := g.findMeanwhile(ctx); err != nil {
		return nil, err
	}
	for i := range g.out.Gaps {
		gap := &g.out.Gaps[i]
		gap.ThreadID = threadID(c.tl, gap.on)
		if gap.launcher != 0 {
			by := threadID(c.tl, gap.launcher)
			gap.LaunchedBy = &by
		}
	}
	return &g.out, nil
}

func compareGaps(a, b *Gap) int {
	return cmp.Or(cmp.Compare(b.Duration, a.Duration), cmp.Compare(a.Start, b.Start), cmp.Compare(a.on, b.on))
}

// choose selects the threads and streams whose gaps count.
func (g *gapCollector) choose() {
	for _, s := range g.c.devices.streams {
		t := &gapThread{stream: s, index: int64(len(g.queues))}
		t.idle = Idle{ThreadID: s.ThreadID, Rank: s.Rank, Device: s.Device, By: map[GapCause]timeline.Nanos{}}
		t.launch = Launch{ThreadID: s.ThreadID, Rank: s.Rank, Device: s.Device}
		g.threads[s.track] = t
		g.queues = append(g.queues, t)
		g.devices[s.on] = &[workKinds]timeline.Nanos{}
	}
	if len(g.queues) > 0 && !g.c.opts.Threads {
		return
	}
	most := slices.Max(g.c.busy)
	for id, busy := range g.c.busy {
		switch id := timeline.TrackID(id); {
		case busy == 0 || g.threads[id] != nil || g.c.tl.TrackKind(id) != timeline.ThreadTrack:
		case busy >= most/quietPart || g.c.opts.Threads:
			g.threads[id] = &gapThread{}
		default:
			g.out.Quiet++
		}
	}
}

func (g *gapCollector) item(it *timeline.Item) error {
	if it.Kind != timeline.ItemBegin || !hasEnd(&it.Head) {
		return nil
	}
	thread := g.c.places[it.Track].owner
	if producers.IsRuntimeCall(it.Category) {
		if err := g.call(it, thread); err != nil {
			return err
		}
	}
	t := g.threads[thread]
	if t == nil || sleeps(it) || t.stream != nil && !isDeviceWork(it.Category) || g.c.opts.Include != nil && !g.c.opts.Include(it) {
		return nil
	}
	if t.stream == nil {
		g.gap(it, t, thread, launch{}, GapUnknown)
		return nil
	}
	return g.work(it, t, thread)
}

// call handles a host call that may launch work.
func (g *gapCollector) call(it *timeline.Item, thread timeline.TrackID) error {
	key, ok, err := g.correlation(it, thread)
	if err != nil || !ok {
		return err
	}
	l := launch{thread, it.TS, g.launched}
	if len(g.recent) < maxLaunches {
		g.recent = append(g.recent, key)
	} else {
		oldest := &g.recent[g.launched%maxLaunches]
		if g.launches[*oldest].n == g.launched-maxLaunches {
			delete(g.launches, *oldest)
		}
		*oldest = key
	}
	g.launches[key] = l
	g.launched++
	return nil
}

// correlation returns the key that a call shares with the work that it launches.
func (g *gapCollector) correlation(it *timeline.Item, thread timeline.TrackID) (key launchKey, ok bool, err error) {
	if err := it.ReadArgs(); err != nil {
		return key, false, err
	}
	for arg := range g.args.List(it.Args) {
		if arg.Kind == timeline.ArgInt && string(arg.Key) == "correlation" {
			process := g.c.tl.Track(g.c.tl.TrackParent(thread))
			return launchKey{process.Input, arg.Int()}, true, nil
		}
	}
	return key, false, nil
}

// work handles a slice of work on a stream.
func (g *gapCollector) work(it *timeline.Item, t *gapThread, thread timeline.TrackID) error {
	key, ok, err := g.correlation(it, thread)
	if err != nil {
		return err
	}
	l, known := g.launches[key] // it stays in the map: one call may launch a graph of work
	if known = known && ok; !known {
		l = launch{}
	}
	until, what := g.devices[t.stream.on], workOf(it)
	if what == communicating {
		g.meet(t.stream.on, it)
	}
	cause := GapUnknown
	switch {
	case !known:
	case l.at >= t.until:
		cause = GapHost
	case until[communicating] > t.until:
		cause = GapCollective
	case until[computing] > t.until:
		cause = GapKernel
	case until[copying] > t.until:
		cause = GapCopy
	default:
		cause = GapOther
	}
	if from := t.until; g.gap(it, t, thread, l, cause) {
		t.idle.Gaps++
		sum(&t.idle.Time, it.TS-from)
		by := t.idle.By[cause]
		sum(&by, it.TS-from)
		t.idle.By[cause] = by
	}
	until[what] = max(until[what], endOf(&it.Head))
	if known {
		err = g.wait(it, t, l.at)
	}
	if t.starts = append(t.starts, it.TS); len(t.starts) == 2*maxQueue {
		t.starts = append(t.starts[:0], t.starts[maxQueue:]...)
	}
	return err
}

// wait records the delay of work that was launched at the given time, and the length of the queue before this work.
func (g *gapCollector) wait(it *timeline.Item, t *gapThread, at timeline.Nanos) error {
	delay := max(it.TS-at, 0)
	if t.launch.Launches++; t.launch.Launches == 1 || delay > t.launch.DelayMax {
		t.launch.DelayMax, t.launch.MaxAt = delay, &at
	}
	queue := int64(len(t.starts) - sort.Search(len(t.starts), func(i int) bool { return t.starts[i] > at }))
	t.launch.QueueMax = max(t.launch.QueueMax, queue)
	if err := g.delays.Add(2*t.index, int64(delay)); err != nil {
		return err
	}
	return g.delays.Add(2*t.index+1, queue)
}

// gap handles a slice, and reports whether the thread had nothing to do just before the slice.
func (g *gapCollector) gap(it *timeline.Item, t *gapThread, thread timeline.TrackID, by launch, cause GapCause) (found bool) {
	if found = t.any && it.TS > t.until; found {
		gap := Gap{Start: t.until, Duration: it.TS - t.until, Cause: cause, on: thread, launcher: by.thread, ends: endOf(&it.Head)}
		if g.gaps.Len() == maxGaps {
			g.out.More++
		}
		if g.gaps.Len() < maxGaps || compareGaps(&gap, g.gaps.Top()) < 0 {
			if t.stream != nil {
				gap.Rank, gap.Device = t.stream.Rank, &t.stream.Device
			}
			if gap.EndedBy = string(it.Name); by.thread != 0 {
				gap.LaunchedAt = &by.at
			}
			if g.gaps.Len() == maxGaps {
				g.gaps.Pop()
			}
			g.gaps.Push(gap)
		}
	}
	if !t.any {
		t.any, t.until = true, it.TS
	}
	t.until = max(t.until, endOf(&it.Head))
	return found
}

// quantiles computes the quantiles of delays and queues, and adds all streams to the results.
func (g *gapCollector) quantiles(ctx context.Context) error {
	err := g.delays.Each(ctx, func(id, i, number int64) error {
		l, ignored := &g.queues[id/2].launch, timeline.Nanos(0)
		if id%2 == 0 {
			atRank(i, l.Launches, timeline.Nanos(number), &l.DelayP50, &l.DelayP95, &ignored)
			return nil
		}
		p50, p95 := timeline.Nanos(l.QueueP50), timeline.Nanos(l.QueueP95)
		atRank(i, l.Launches, timeline.Nanos(number), &p50, &p95, &ignored)
		l.QueueP50, l.QueueP95 = int64(p50), int64(p95)
		return nil
	})
	for _, t := range g.queues {
		g.out.Idle = append(g.out.Idle, t.idle)
		g.out.Launches = append(g.out.Launches, t.launch)
	}
	return err
}

// meet records that a device reaches a collective.
func (g *gapCollector) meet(on *deviceWork, it *timeline.Item) {
	if g.met == maxArrivals {
		g.out.collectives++
		return
	}
	g.met++
	round := roundKey{on, string(it.Name)}
	key := meetingKey{round.name, g.rounds[round]}
	g.rounds[round]++
	g.meetings[key] = append(g.meetings[key], meeting{on, it.TS})
}

// arrivals totals, for each device, how often it reached a collective last and how long devices waited. The meetings at a
// collective are in time order.
func (g *gapCollector) arrivals() {
	byDevice := map[*deviceWork]*Arrival{}
	for _, d := range g.c.devices.devices {
		byDevice[d] = &Arrival{Rank: d.Rank, Device: d.Device.Device, Process: d.Process, PID: d.PID}
	}
	for _, list := range g.meetings {
		n := len(list)
		if n < 2 {
			continue
		}
		last := list[n-1]
		for _, m := range list {
			a := byDevice[m.on]
			a.Collectives++
			sum(&a.Waited, last.at-m.at)
		}
		if late := last.at - list[n-2].at; late > 0 {
			byDevice[last.on].Last++
			sum(&byDevice[last.on].HeldUp, late)
		}
	}
	for _, d := range g.c.devices.devices {
		if a := byDevice[d]; a.Collectives > 0 {
			g.out.Arrivals = append(g.out.Arrivals, *a)
		}
	}
}

// findSenders determines which threads handed over the work that ends the gaps of threads. For each gap, it is the thread that
// the first arrow from another thread into this work comes from.
func (g *gapCollector) findSenders(ctx context.Context) error {
	byThread := map[timeline.TrackID][]*Gap{}
	for i := range g.out.Gaps {
		if gap := &g.out.Gaps[i]; g.threads[gap.on].stream == nil {
			byThread[gap.on] = append(byThread[gap.on], gap)
		}
	}
	if len(byThread) == 0 {
		return nil
	}
	for _, list := range byThread {
		slices.SortFunc(list, func(a, b *Gap) int { return cmp.Compare(a.Start, b.Start) })
	}
	first := map[*Gap]timeline.Nanos{}
	return flowbind.Visit(ctx, g.c.tl, &arrows{tl: g.c.tl, arrow: func(from, to flowMember) {
		list := byThread[to.thread]
		i := sort.Search(len(list), func(i int) bool { return list[i].Start+list[i].Duration > to.at }) - 1
		if i < 0 || from.thread == to.thread || to.at > list[i].ends {
			return
		}
		gap := list[i]
		if at, found := first[gap]; found && at <= to.at {
			return
		}
		first[gap], gap.launcher, gap.LaunchedAt = to.at, from.thread, &from.at
		if gap.Cause = GapOther; from.at >= gap.Start {
			gap.Cause = GapThread
		}
	}})
}

// findMeanwhile determines what launching threads did in the longest gaps.
func (g *gapCollector) findMeanwhile(ctx context.Context) error {
	m := meanwhile{threads: map[timeline.TrackID]*launcherWork{}}
	for i := range g.out.Gaps[:min(len(g.out.Gaps), MaxDetailed)] {
		if gap := &g.out.Gaps[i]; gap.launcher != 0 && g.c.tl.TrackKind(gap.launcher) == timeline.ThreadTrack {
			t := m.threads[gap.launcher]
			if t == nil {
				t = &launcherWork{}
				m.threads[gap.launcher] = t
			}
			if t.overlap(gap) < maxOverlap {
				t.windows = append(t.windows, gapWindow{gap, newWorkTally()})
			}
		}
	}
	for _, t := range m.threads {
		slices.SortFunc(t.windows, func(a, b gapWindow) int { return cmp.Or(cmp.Compare(a.Start, b.Start), compareGaps(a.Gap, b.Gap)) })
	}
	if err := g.c.tl.WalkSlices(ctx, func(id timeline.TrackID) bool { return m.threads[id] != nil }, timeline.Nested(g.c.tl, m.item)); err != nil {
		return err
	}
	for _, t := range m.threads {
		for _, w := range t.windows {
			work := w.tally.work()
			w.Meanwhile = &work
		}
	}
	return nil
}

// meanwhile totals the work that threads did during gaps.
type meanwhile struct {
	threads map[timeline.TrackID]*launcherWork
}

type launcherWork struct {
	windows []gapWindow // by start
	done    int         // the windows before this index are over
	since   timeline.Nanos
}

type gapWindow struct {
	*Gap
	tally workTally
}

// maxOverlap bounds the number of overlapping gaps for which the work of one thread is added up.
const maxOverlap = 16

// overlap returns how many of the windows overlap a gap.
func (t *launcherWork) overlap(gap *Gap) (n int) {
	for _, w := range t.windows {
		if w.Start < gap.Start+gap.Duration && gap.Start < w.Start+w.Duration {
			n++
		}
	}
	return n
}

// item handles an item of the walk; open holds the names of the open slices.
func (m *meanwhile) item(it *timeline.Item, open *timeline.OpenSlices[string]) error {
	t := m.threads[it.Track]
	if t == nil || it.Lane > 0 || it.Kind != timeline.ItemBegin && it.Kind != timeline.ItemEnd || t.done == len(t.windows) {
		return nil
	}
	n := open.Len()
	if it.Kind == timeline.ItemBegin {
		*open.Innermost() = string(it.Name)
		n--
	}
	if n > 0 {
		t.add(*open.At(n - 1), it.TS)
	}
	t.since = it.TS
	for t.done < len(t.windows) && t.windows[t.done].Start+t.windows[t.done].Duration <= t.since {
		t.done++
	}
	return nil
}

// add adds the time since the previous event to the windows that overlap it.
func (t *launcherWork) add(name string, now timeline.Nanos) {
	for i := t.done; i < len(t.windows) && t.windows[i].Start < now; i++ {
		w := &t.windows[i]
		if from, to := max(t.since, w.Start), min(now, w.Start+w.Duration); from < to {
			w.tally.add(partKey{name: name}, to-from, 1, false)
		}
	}
}
