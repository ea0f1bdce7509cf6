// Package merge finds how the clocks of several recordings relate and which of their processes are the same, and puts their
// events on one timeline. It parses no formats: readers report what they know (timeline.Observer), a Collector keeps the
// facts that relate an input to others (Clues), and Solve makes a Plan from the clues of all inputs, or returns an error that
// explains why it cannot. When the inputs are read again, a Stage adds their events to the timeline where the plan places
// them.
//
// docs/merge.md describes the rules R0 to R7. Each rule yields an interval that contains the offset; no rule guesses:
// an offset without support is an error, and so is a contradiction between two rules.
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

// ClockKind is the kind of clock that an input's times come from.
type ClockKind uint8

// The kinds of clocks.
const (
	ClockUnknown   ClockKind = iota // known only to the producer
	ClockMonotonic                  // relative to some moment, like the system's monotonic clock
	ClockBoottime                   // the same, but includes the time while the system was asleep
	ClockWall                       // relative to 1970
)

var clockNames = [...]string{"unknown", "MONOTONIC", "BOOTTIME", "REALTIME"}

// String returns the name of the system's clock.
func (k ClockKind) String() string { return clockNames[k] }

// Clues are the facts in an input that relate it to others.
type Clues struct {
	Clock  ClockKind
	Domain string // Chrome's name for the system's clock; "": unknown
	Host   string // "": unknown
	Rank   int64
	Ranked bool // Rank is known

	Start, End Nanos // the extent of its events
	Any        bool  // it has any events
	Step       Nanos // the resolution of its times; 0: unknown

	// Wall relates the wall clock to the times of the input; nil: unknown.
	Wall *Wall
	// ToMonotonic converts the input's times to the monotonic clock when added to them; valid if Monotonic is set.
	ToMonotonic Nanos
	Monotonic   bool // ToMonotonic is known

	// Samples are the sample times of a standalone .cpuprofile, sorted; Script are the times at which JavaScript ran.
	Samples, Script []Nanos
	CPUProfile      bool               // the input is a .cpuprofile
	Pages           []jsprofile.Times  // one for each JS self-profile
	Traced          *Traced            // the profiles and pages in a Chrome trace; nil: not requested
	Invocations     map[Thread][]Range // when scripts were called, by thread, sorted

	processes map[timeline.ProcessKey]bool
	threads   map[threadKey]uint64 // the number of slices and instants of each
	events    sampledEvents
	links     []linkClue
	syncs     []timeline.HostSync
	requests  map[string]string // link keys by request name
}

// Range is the period from From to To.
type Range struct{ From, To Nanos }

// threadKey identifies a thread by the Builder's keys.
type threadKey struct {
	process timeline.ProcessKey
	thread  timeline.ThreadKey
}

// Thread identifies a thread by the ids in an input.
type Thread struct{ PID, TID int64 }

// Wall relates the wall clock to an input's times: the clock is ahead of them by Low to High.
type Wall struct {
	Low, High Nanos
	By        string // such as "2 responses"
}

// Middle returns the most likely difference.
func (w *Wall) Middle() Nanos { return w.Low + (w.High-w.Low)/2 }

// linkClue is an event that carries a key.
type linkClue struct {
	key    uint64
	ts     Nanos
	latest Nanos // the latest possible ts: in coarse steps, the true time may be almost one step later
	end    Nanos // of LinkMeet
	issued Nanos
	role   timeline.LinkRole
}

// Limits on the clues from one input.
const (
	maxEvents      = 1 << 16 // and maxAllEvents for all inputs together
	maxAllEvents   = 1 << 20
	maxLinks       = 1 << 16 // and maxAllLinks for all inputs together
	maxAllLinks    = 1 << 19
	maxAnchors     = 1 << 12
	maxProcesses   = 1 << 12
	maxInvocations = 1 << 16 // for one thread, and maxAllInvocations for all threads of all inputs together
	maxRequests    = 1 << 16 // and maxAllLinks for all inputs together
	maxThreads     = 1 << 14 // and maxAllThreads for all inputs together

	maxAllThreads     = 1 << 18
	maxAllInvocations = 1 << 20
	maxTracks         = 1 << 20
)

// A Collector gathers the clues of an input while it is read.
type Collector struct {
	b       *timeline.Builder
	links   func(ev *timeline.Event) []string // nil: no links from names and arguments
	opts    CollectOptions
	clues   *Clues
	anchors []timeline.Anchor
	more    int // anchors beyond maxAnchors
	tracks  []trackInfo
	open    map[timeline.TrackID]*openCalls
	traced  *tracedReader       // nil: not requested
	waiting map[string]linkClue // requests whose keys have not been read yet

	linkMask    uint64 // only links whose keys have none of these bits are kept
	invocations int    // number of invocations on all threads

	seen, atZero int   // number of events, and of events at 0
	afterZero    Nanos // the first time other than 0
}

// CollectOptions select what to gather.
type CollectOptions struct {
	Inputs   int    // number of inputs: each may keep an equal share of the clues in memory
	Job      *Job   // nil: only links that the reader finds
	Linked   []bool // see Job.Watch
	Flows    bool   // flow ids connect inputs
	Profiles bool   // there are profiles that this input may place
}

// trackInfo caches facts about a track.
type trackInfo struct {
	known, isThread bool
	hash            uint64 // of the pid and tid
	events          uint64 // slices and instants
	thread          Thread
}

// openCalls tracks the open slices of a thread.
type openCalls struct {
	calls []bool // by slice: whether it calls a script
	depth int    // how many of them call scripts
	since Nanos
}

// NewCollector returns a Collector, and the Builder that it observes, for the reader of the input.
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

// ClockDomain records Chrome's name for the input's clock.
func (c *Collector) ClockDomain(name string) { c.clues.Domain = name }

// Rank records the rank of the input.
func (c *Collector) Rank(n int64) { c.clues.Rank, c.clues.Ranked = n, true }

// Step records the resolution of a time; the finest one counts.
func (c *Collector) Step(n Nanos) {
	if c.clues.Step == 0 || n < c.clues.Step {
		c.clues.Step = n
	}
}

// Anchor records the wall clock's reading at a time in the input.
func (c *Collector) Anchor(a *timeline.Anchor) {
	if len(c.anchors) == maxAnchors {
		c.more++
		return
	}
	c.anchors = append(c.anchors, *a)
}

// HostSync records a comparison of two hosts' clocks.
func (c *Collector) HostSync(s *timeline.HostSync) {
	if len(c.clues.syncs) < maxAnchors {
		c.clues.syncs = append(c.clues.syncs, *s)
	}
}

// Flow records one end of a flow, if flow ids connect inputs.
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

// Process finds no process, because there is only one input.
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

// share returns how many clues of a kind one input may keep: an equal part of all, but at least 512 and at most most.
func (c *Collector) share(most, all int) int {
	return min(most, max(all/max(c.opts.Inputs, 1), 512))
}

// link keeps a link if its key is in the sample. All inputs sample by the same rule, so that inputs with many links keep the
// same keys.
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

// thinLinks reduces the number of links: it first drops surplus links of keys that too many events share, then half of the
// keys at a time.
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

// Event records the time of an event, its kind, the keys that it carries, and, if requested, script calls and profiles.
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

// track returns the facts about a track.
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

// invocation records the periods during which scripts run on a thread, from its slices.
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

// Finish returns the clues once the input has been read. clocks are the clocks that its reader has set.
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

// coarseStep is a resolution too coarse for most intervals between a request and its response.
const coarseStep Nanos = 1_000_000

// coarse reports whether the input's times are whole milliseconds, as in HTTP archives and from OpenTelemetry's JavaScript
// SDK.
func (c *Clues) coarse() bool { return c.Step >= coarseStep }

// countThreads counts the slices and instants of each thread.
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

// since1970 is Wall.By for inputs whose times are relative to 1970.
const since1970 = "times since 1970"

// strayZeros reports whether the events at 0 lack a real time: they are few, and precede the others by more than ten times
// the others' duration.
func (c *Collector) strayZeros() bool {
	return c.atZero > 0 && c.atZero <= c.seen/20 && c.afterZero/10 > c.clues.End-c.afterZero
}

// readingError bounds the time between two clock readings that count as simultaneous. Half as much has been observed.
const readingError Nanos = 1_000

// sinceEpoch is a time in the year 2001. Later times must be relative to 1970: no system has been up for that long.
const sinceEpoch = Nanos(1_000_000_000_000_000_000)

// joined joins overlapping ranges of a sorted list.
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

// wall combines the anchors into the median of the most precise ones, because an individual anchor may be far off.
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

// WithProcesses completes clues that were not made by a Collector.
func (c *Clues) WithProcesses() *Clues {
	c.processes = map[timeline.ProcessKey]bool{}
	return c
}
