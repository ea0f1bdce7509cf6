// Package merge finds how the clocks of several recordings relate, and which of their processes are the same, and puts their events on one
// timeline. It reads no format: readers report what they know (timeline.Observer), a Collector keeps the facts that relate an input to
// others (Clues), and Solve makes a Plan from the clues of all inputs, or an error that explains why there is none. When the inputs are read again, a
// Stage adds their events to the timeline where the plan places them.
//
// docs/merge.md describes the rules R0 to R7. Each gives an interval in which an offset lies, and none ever guesses: an offset
// that nothing supports is an error, and so are two rules that contradict each other.
//
// What does not live here: reading inputs (package load), flags and tables (cmd/weft).
package merge

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/readers/jsprofile"
	"github.com/weft-trace/weft/internal/timeline"
)

// Nanos is a time or a duration.
type Nanos = timeline.Nanos

// ClockKind is the origin of the times of an input.
type ClockKind uint8

// The kinds of clocks.
const (
	ClockUnknown   ClockKind = iota // unknown to all but the producer
	ClockMonotonic                  // since some moment, as the monotonic clock of the system
	ClockBoottime                   // the same, with the time that the system slept
	ClockWall                       // since 1970
)

var clockNames = [...]string{"unknown", "MONOTONIC", "BOOTTIME", "REALTIME"}

// String returns the name of the system's clock.
func (k ClockKind) String() string { return clockNames[k] }

// Clues are what an input reveals about its relation to others.
type Clues struct {
	Clock  ClockKind
	Domain string // Chrome's name for the clock of a system; "": unknown
	Host   string // "": unknown
	Rank   int64
	Ranked bool // Rank is known

	Start, End Nanos // of its events
	Any        bool  // it has events
	Step       Nanos // the resolution of its times; 0: unknown

	// Wall relates the wall clock to the times of the input; nil: unknown.
	Wall *Wall
	// ToMonotonic turns times of the input into times of the monotonic clock, if that is known.
	ToMonotonic Nanos
	Monotonic   bool // ToMonotonic is known

	// Samples are the times of a .cpuprofile alone, sorted; Script the ones at which JavaScript ran.
	Samples, Script []Nanos
	CPUProfile      bool               // they are of a .cpuprofile
	Pages           []jsprofile.Times  // of JS self-profiles
	Traced          *Traced            // the profiles and pages in a trace of Chrome; nil: not requested
	Invocations     map[Thread][]Range // when scripts were called, by thread, sorted

	processes map[timeline.ProcessKey]bool
	threads   map[threadKey]uint64 // slices and instants of each
	events    sampledEvents
	links     []linkClue
	syncs     []timeline.HostSync
	requests  map[string]string // keys of links by the name of a request
}

// Range is a time from From to To.
type Range struct{ From, To Nanos }

// threadKey is a thread by the keys of the Builder.
type threadKey struct {
	process timeline.ProcessKey
	thread  timeline.ThreadKey
}

// Thread is a thread as inputs have it.
type Thread struct{ PID, TID int64 }

// Wall relates the wall clock to the times of an input: it is later by between Low and High.
type Wall struct {
	Low, High Nanos
	By        string // "2 responses"
}

// Middle returns the most likely difference.
func (w *Wall) Middle() Nanos { return w.Low + (w.High-w.Low)/2 }

// linkClue is an event that carries a key.
type linkClue struct {
	key    uint64
	ts     Nanos
	latest Nanos // of ts: times that are counted in steps may be later by almost one
	end    Nanos // of LinkMeet
	issued Nanos
	role   timeline.LinkRole
}

// Limits for the clues of one input.
const (
	maxEvents      = 1 << 16 // and of all inputs together maxAllEvents
	maxAllEvents   = 1 << 20
	maxLinks       = 1 << 16 // and of all inputs together maxAllLinks
	maxAllLinks    = 1 << 19
	maxAnchors     = 1 << 12
	maxProcesses   = 1 << 12
	maxInvocations = 1 << 16 // of a thread, and of all threads of all inputs together maxAllInvocations
	maxRequests    = 1 << 16 // and of all inputs together maxAllLinks
	maxThreads     = 1 << 14 // and of all inputs together maxAllThreads

	maxAllThreads     = 1 << 18
	maxAllInvocations = 1 << 20
	maxTracks         = 1 << 20
)

// A Collector gathers the clues of an input while it is read.
type Collector struct {
	b       *timeline.Builder
	links   func(ev *timeline.Event) []string // nil: there are none
	opts    CollectOptions
	clues   *Clues
	anchors []timeline.Anchor
	more    int // anchors beyond maxAnchors
	tracks  []trackInfo
	open    map[timeline.TrackID]*openCalls
	traced  *tracedReader       // nil: not requested
	waiting map[string]linkClue // requests whose keys are not known yet

	linkMask    uint64 // of the keys of links that are kept: these bits are 0
	invocations int    // of all threads

	seen, atZero int   // events, and events at 0
	afterZero    Nanos // the first time of the others
}

// CollectOptions say what to gather.
type CollectOptions struct {
	Inputs   int    // how many there are: each gets its share of what is kept in memory
	Job      *Job   // nil: events have only the links that their reader finds
	Linked   []bool // see Job.Watch
	Flows    bool   // ids of flows connect inputs
	Profiles bool   // there are profiles that the input may place
}

// trackInfo are the facts about a track.
type trackInfo struct {
	known, isThread bool
	hash            uint64 // of its pid and tid
	events          uint64 // slices and instants
	thread          Thread
}

// openCalls are the open slices of a thread.
type openCalls struct {
	calls []bool // by slice: it calls a script
	depth int    // how many of them do
	since Nanos
}

// NewCollector returns a Collector, and the Builder for the reader of the input, which it observes.
func NewCollector(opts CollectOptions, of timeline.Options) (*Collector, *timeline.Builder) {
	c := &Collector{
		opts: opts, clues: &Clues{processes: map[timeline.ProcessKey]bool{}, requests: map[string]string{}},
		open: map[timeline.TrackID]*openCalls{}, waiting: map[string]linkClue{},
	}
	c.clues.events.limit = min(maxEvents, max(maxAllEvents/max(opts.Inputs, 1), 512))
	of.Observer = c
	c.b = timeline.NewBuilder(of)
	if opts.Job != nil {
		c.links = opts.Job.Watch(c.b.View(), opts.Linked)
	}
	if opts.Profiles {
		c.clues.Invocations = map[Thread][]Range{}
		c.traced = newTracedReader(c.b)
	}
	return c, c.b
}

// Host records the host of the input.
func (c *Collector) Host(name string) { c.clues.Host = cmp.Or(c.clues.Host, name) }

// ClockDomain records the clock of the times of the input.
func (c *Collector) ClockDomain(name string) { c.clues.Domain = name }

// Rank records the rank of the input.
func (c *Collector) Rank(n int64) { c.clues.Rank, c.clues.Ranked = n, true }

// Step records the resolution of a time.
func (c *Collector) Step(n Nanos) {
	if c.clues.Step == 0 || n < c.clues.Step {
		c.clues.Step = n
	}
}

// Anchor records the wall clock at a time of the input.
func (c *Collector) Anchor(a *timeline.Anchor) {
	if len(c.anchors) == maxAnchors {
		c.more++
		return
	}
	c.anchors = append(c.anchors, *a)
}

// HostSync records a comparison of the clocks of two hosts.
func (c *Collector) HostSync(s *timeline.HostSync) {
	if len(c.clues.syncs) < maxAnchors {
		c.clues.syncs = append(c.clues.syncs, *s)
	}
}

// Flow records an end of a flow.
func (c *Collector) Flow(f *timeline.FlowEvent) error {
	if !c.opts.Flows {
		return nil
	}
	h := newHash().number(uint64(f.Space))
	if f.IDText != nil {
		h = h.bytes(f.IDText)
	} else {
		h = h.number(f.ID)
	}
	if f.Space == timeline.FlowV1 {
		h = h.bytes(f.Name).bytes(f.Category)
	}
	role := timeline.LinkMember
	switch f.Role {
	case timeline.FlowStart:
		role = timeline.LinkSend
	case timeline.FlowEnd:
		role = timeline.LinkReceive
	}
	if f.Space == timeline.FlowV2 || f.Space == timeline.FlowV1 {
		c.link(linkClue{key: uint64(h), ts: f.TS, latest: f.TS, role: role})
	}
	return nil
}

// Process finds no process: there is but one input.
func (c *Collector) Process(timeline.ProcessKey) (id timeline.TrackID, ok bool) { return 0, false }

// SampleThread returns the thread itself.
func (c *Collector) SampleThread(thread timeline.TrackID) timeline.TrackID { return thread }

// Machine returns the machine itself.
func (c *Collector) Machine(machine uint32, _ string) uint32 { return machine }

// Link records an event that carries a key, or a request whose key comes later.
func (c *Collector) Link(l *timeline.Link) error {
	if l.To == timeline.LinkToLinked || l.To == timeline.LinkToParent {
		return nil // at any time: the span of a document's load starts before the server's span, which is its parent
	}
	late := max(l.Step-1, 0)
	clue := linkClue{ts: l.TS, latest: plus(l.TS, late), role: l.Role, issued: l.Issued}
	if l.Key == "" {
		if len(c.waiting) < c.share(maxRequests, maxAllLinks) {
			c.waiting[l.Request] = clue
		}
		return nil
	}
	clue.key = uint64(newHash().bytes([]byte(l.Key)))
	if l.Role == timeline.LinkCall {
		clue.role = timeline.LinkSend
		if l.Dur != timeline.NoTime {
			end := plus(l.TS, l.Dur)
			c.link(linkClue{key: clue.key, ts: end, latest: plus(end, late), role: timeline.LinkReceive})
		}
	}
	c.link(clue)
	if request, ok := c.waiting[l.LinkedBy]; ok && l.LinkedBy != "" {
		request.key = clue.key
		c.link(request)
		c.clues.requests[l.LinkedBy] = l.Key
	}
	return nil
}

// share returns how many clues of a kind an input keeps: at most most, and all inputs together at most all.
func (c *Collector) share(most, all int) int {
	return min(most, max(all/max(c.opts.Inputs, 1), 512))
}

// link keeps a link if its key is in the sample. The sample does not depend on the input, so that inputs with many links keep the same keys.
func (c *Collector) link(l linkClue) {
	if mixed(l.key)&c.linkMask != 0 {
		return
	}
	c.clues.links = append(c.clues.links, l)
	if limit := c.share(maxLinks, maxAllLinks); len(c.clues.links) > limit {
		c.thinLinks(limit)
	}
}

// mixed spreads the bits of a hash for sampling keys.
func mixed(key uint64) uint64 { return key ^ key>>32 }

// thinLinks reduces the number of links: first links of keys that too many events have, then every second key.
func (c *Collector) thinLinks(limit int) {
	count := make(map[uint64]int, limit/2)
	c.clues.links = slices.DeleteFunc(c.clues.links, func(l linkClue) bool {
		count[l.key]++
		return count[l.key] > maxLinked+1
	})
	for len(c.clues.links) > limit/4*3 && c.linkMask != 1<<32-1 {
		c.linkMask = c.linkMask<<1 | 1
		c.clues.links = slices.DeleteFunc(c.clues.links, func(l linkClue) bool { return mixed(l.key)&c.linkMask != 0 })
	}
	c.clues.links = c.clues.links[:min(len(c.clues.links), limit)]
}

// Event records an event.
func (c *Collector) Event(ev *timeline.Event) error {
	all := c.clues
	end := ev.TS
	if ev.Kind == timeline.Slice {
		end += max(ev.Dur, 0)
	}
	if !all.Any || ev.TS < all.Start {
		all.Start = ev.TS
	}
	if !all.Any || end > all.End {
		all.End = end
	}
	all.Any = true
	if c.seen++; ev.TS == 0 {
		c.atZero++
	} else if c.afterZero == 0 || ev.TS < c.afterZero {
		c.afterZero = ev.TS
	}
	if c.traced != nil {
		c.traced.event(ev)
	}
	info := c.track(ev.Track)
	if c.opts.Profiles && info.isThread {
		c.invocation(ev, info)
	}
	switch ev.Kind {
	case timeline.Slice, timeline.Begin, timeline.Instant:
	default:
		return nil
	}
	info.events++
	if info.isThread && info.hash != 0 && len(ev.Name) > 0 {
		all.events.add(uint64(hash(info.hash).bytes(ev.Name)), info.thread.PID, ev.TS)
	}
	if c.links != nil {
		for _, key := range c.links(ev) {
			role := timeline.LinkMember
			if isSync(key) {
				role = timeline.LinkSync
			}
			h := newHash().bytes([]byte(key))
			c.link(linkClue{key: uint64(h), ts: ev.TS, latest: ev.TS, role: role})
			if ev.Kind == timeline.Slice && isCollective(ev.Name, ev.Category) {
				c.link(linkClue{key: uint64(h.bytes(ev.Name)), ts: ev.TS, latest: ev.TS, end: end, role: timeline.LinkMeet})
			}
		}
	}
	return nil
}

// track returns what is known of a track.
func (c *Collector) track(id timeline.TrackID) *trackInfo {
	if int(id) >= len(c.tracks) {
		if int(id) >= maxTracks {
			return &trackInfo{}
		}
		c.tracks = append(c.tracks, make([]trackInfo, int(id)+1-len(c.tracks))...)
	}
	info := &c.tracks[id]
	if info.known {
		return info
	}
	info.known = true
	process, thread, ok := c.b.IDs(id)
	if !ok || !process.HasNumber() || process.Num == 0 && thread.Num == 0 {
		return info
	}
	if len(c.clues.processes) < maxProcesses {
		c.clues.processes[process] = true
	}
	info.isThread = c.b.IsThread(id)
	info.thread = Thread{process.Num, thread.Num}
	info.hash = uint64(newHash().number(uint64(process.Num)).number(uint64(thread.Num)))
	return info
}

// invocation records when scripts are called.
func (c *Collector) invocation(ev *timeline.Event, info *trackInfo) {
	switch ev.Kind {
	case timeline.Slice:
		if producers.ClassOf(ev.Name).Invokes() {
			c.called(info.thread, Range{ev.TS, ev.TS + ev.Dur})
		}
	case timeline.Begin:
		o := c.open[ev.Track]
		if o == nil {
			o = &openCalls{}
			c.open[ev.Track] = o
		}
		if len(o.calls) >= 1<<10 {
			return
		}
		calls := producers.ClassOf(ev.Name).Invokes()
		if calls {
			if o.depth++; o.depth == 1 {
				o.since = ev.TS
			}
		}
		o.calls = append(o.calls, calls)
	case timeline.End:
		o := c.open[ev.Track]
		if o == nil || len(o.calls) == 0 {
			return
		}
		last := len(o.calls) - 1
		if o.calls[last] {
			if o.depth--; o.depth == 0 {
				c.called(info.thread, Range{o.since, ev.TS})
			}
		}
		o.calls = o.calls[:last]
	}
}

func (c *Collector) called(thread Thread, r Range) {
	list := c.clues.Invocations[thread]
	if len(list) < maxInvocations && c.invocations < c.share(maxAllInvocations, maxAllInvocations) && r.To >= r.From {
		c.clues.Invocations[thread] = append(list, r)
		c.invocations++
	}
}

// Finish returns the clues after the input was read. clocks are the clocks that its reader has set.
func (c *Collector) Finish(clocks timeline.Clocks) *Clues {
	all := c.clues
	if all.Start == 0 && c.strayZeros() {
		all.Start = c.afterZero
	}
	switch clocks.Trace {
	case timeline.ClockRealtime:
		all.Clock = ClockWall
		all.Wall = &Wall{By: since1970}
	case timeline.ClockMonotonic:
		all.Clock, all.Monotonic = ClockMonotonic, true
	case timeline.ClockBoottime:
		all.Clock = ClockBoottime
	}
	if at, ok := clocks.Reading(clocks.Trace); ok {
		if wall, ok := clocks.Reading(timeline.ClockRealtime); ok && all.Wall == nil {
			all.Wall = &Wall{Low: wall - at - readingError, High: wall - at + readingError, By: "clock snapshots"}
		}
		if monotonic, ok := clocks.Reading(timeline.ClockMonotonic); ok {
			all.ToMonotonic, all.Monotonic = monotonic-at, true
		}
	}
	if all.Wall == nil {
		all.Wall = c.wall()
	}
	if all.Clock != ClockWall && all.Domain == "" && all.Start >= sinceEpoch {
		all.Clock, all.Wall, all.Monotonic = ClockWall, &Wall{By: since1970}, false
	}
	if w := all.Wall; all.coarse() && w != nil {
		w.Low, w.High = w.Low-all.Step, w.High+all.Step
	}
	for thread, list := range all.Invocations {
		slices.SortFunc(list, func(a, b Range) int { return cmp.Compare(a.From, b.From) })
		all.Invocations[thread] = joined(list)
	}
	all.events.sort()
	c.countThreads()
	if c.traced != nil {
		all.Traced = c.traced.finish()
	}
	return all
}

// coarseStep is a step of times that is longer than most of what lies between a request and its answer.
const coarseStep Nanos = 1_000_000

// coarse reports whether the times of the input count in whole milliseconds, as in HTTP archives and with OpenTelemetry's JavaScript
// SDK do.
func (c *Clues) coarse() bool { return c.Step >= coarseStep }

// countThreads sums up the slices and instants of threads.
func (c *Collector) countThreads() {
	c.clues.threads = map[threadKey]uint64{}
	for id := range c.tracks {
		n, track := c.tracks[id].events, timeline.TrackID(id)
		if n == 0 || !c.b.IsThread(track) {
			continue
		}
		process, thread, _ := c.b.IDs(track)
		key := threadKey{process, thread}
		if _, known := c.clues.threads[key]; known || len(c.clues.threads) < c.share(maxThreads, maxAllThreads) {
			c.clues.threads[key] += n
		}
	}
}

// since1970 is the source of the wall clock for times since 1970.
const since1970 = "times since 1970"

// strayZeros reports whether the events at 0 have no time: they are few, and long before the others, more than ten times as long as these take.
func (c *Collector) strayZeros() bool {
	return c.atZero > 0 && c.atZero <= c.seen/20 && c.afterZero/10 > c.clues.End-c.afterZero
}

// readingError bounds the time between readings of two clocks that count as simultaneous. Half of it was observed.
const readingError Nanos = 1_000

// sinceEpoch is a time after which times can only count from 1970: the year 2001. No system runs as long.
const sinceEpoch = Nanos(1_000_000_000_000_000_000)

// joined joins ranges, sorted, that overlap.
func joined(list []Range) []Range {
	out := list[:0]
	for _, r := range list {
		if n := len(out); n > 0 && r.From <= out[n-1].To {
			out[n-1].To = max(out[n-1].To, r.To)
			continue
		}
		out = append(out, r)
	}
	return out
}

// wall combines the anchors: the median of those that are equally good, because a single one may be off by more than all others.
func (c *Collector) wall() *Wall {
	if len(c.anchors) == 0 {
		return nil
	}
	best := slices.MinFunc(c.anchors, func(a, b timeline.Anchor) int { return cmp.Compare(a.High-a.Low, b.High-b.Low) })
	width := best.High - best.Low
	var middles []Nanos
	for i := range c.anchors {
		if a := &c.anchors[i]; a.High-a.Low == width {
			middles = append(middles, a.Wall-a.At+a.Low+width/2)
		}
	}
	slices.Sort(middles)
	middle := middles[(len(middles)-1)/2]
	w := &Wall{Low: middle - width/2, High: middle - width/2 + width, By: best.By}
	if n := len(middles) + c.more; n > 1 || best.Counted {
		w.By = plural(n, best.By)
	}
	return w
}

// WithProcesses completes clues that no Collector made.
func (c *Clues) WithProcesses() *Clues {
	c.processes = map[timeline.ProcessKey]bool{}
	return c
}
