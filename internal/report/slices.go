package report

import (
	"cmp"
	"context"
	"iter"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// Slices holds the sums of the slices in a trace by group and, for machine learning traces, the utilisation of devices. Times
// are nanoseconds; points in time are on the trace's clock.
type Slices struct {
	Start  timeline.Nanos `json:"start_ns"` // of the trace
	End    timeline.Nanos `json:"end_ns"`
	Slices int64          `json:"slices"` // in all tables
	// Unfinished is the number of these slices that never end. They count, but take no time.
	Unfinished int64 `json:"unfinished"`
	// Others is the number of slices in groups named OthersGroup because there are too many groups.
	Others int64 `json:"others"`
	// UncountedWork is the number of device slices and steps that are in no row of Devices, Streams and Steps because there are
	// too many devices, streams or steps.
	UncountedWork int64 `json:"uncounted_work"`

	Job     *Job         `json:"job,omitempty"` // for traces of distributed training
	Groups  []SliceGroup `json:"-"`             // by kind, then by self time, most first
	Devices []Device     `json:"-"`             // by rank and number
	Streams []Stream     `json:"-"`             // by rank and number of the device
	Steps   []Step       `json:"-"`             // by rank, then in time order
	Gaps    *Gaps        `json:"-"`             // nil: not requested
}

// SliceKind is the table that a slice belongs to.
type SliceKind uint8

// The kinds of slices, in the order of their tables.
const (
	Kernels        SliceKind = iota + 1 // of a GPU or another device
	Copies                              // copies and fills of a device's memory
	Operators                           // of PyTorch
	ThreadSlices                        // all others on threads
	AsyncSlices                         // on tracks of their own: asynchronous operations, requests, objects
	StateSlices                         // states of threads, recorded or made from samples
	RecorderSlices                      // on threads, as recorded by a further input of a merge
)

var sliceKinds = [...]string{
	Kernels: "kernels", Copies: "copies", Operators: "operators", ThreadSlices: "slices", AsyncSlices: "async", StateSlices: "states",
	RecorderSlices: "recorders",
}

// String returns "kernels", "copies", "operators", "slices", "async", "states" or "recorders".
func (k SliceKind) String() string { return sliceKinds[k] }

// MarshalText returns String.
func (k SliceKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// SliceGroup summarizes slices that have something in common, such as their name.
type SliceGroup struct {
	Kind SliceKind `json:"table"`
	Name string    `json:"name"` // of the group: what its slices have in common
	// Owner is the thread or process of a group ByThread or ByProcess, or the other track that its slices are on; nil
	// for other groups.
	Owner *ThreadID `json:"-"`
	// Count is the number of slices; Unfinished is the number of these that never end and take no time.
	Count      int64 `json:"count"`
	Unfinished int64 `json:"unfinished"`

	Total timeline.Nanos `json:"total_ns"` // slices inside others of the group, on the same track, count once
	Self  timeline.Nanos `json:"self_ns"`  // without the slices directly inside, on the same track
	// CPU is the CPU time of the slices that Total counts; nil if no slice records it.
	CPU *timeline.Nanos `json:"cpu_ns"`

	// The lengths of individual slices. Percentiles are exact: at least that percentage of the slices are this long or shorter.
	Mean timeline.Nanos `json:"mean_ns"`
	P50  timeline.Nanos `json:"p50_ns"`
	P95  timeline.Nanos `json:"p95_ns"`
	P99  timeline.Nanos `json:"p99_ns"`
	Max  timeline.Nanos `json:"max_ns"`
	// MaxAt is when the longest slice begins, or the first of several; MaxOn is its thread, or else its process or the name
	// of its track.
	MaxAt *timeline.Nanos `json:"max_ts_ns"` // nil if no slice ends
	MaxOn *ThreadID       `json:"max_on"`

	Spread Histogram `json:"-"`

	Bytes int64 `json:"bytes,omitempty"` // moved by Copies
}

// OthersGroup is the name of a group of slices that have no group of their own because there are too many groups.
const OthersGroup = table.Others

// GroupSlices is what the slices of a group have in common.
type GroupSlices uint8

// The ways to group slices.
const (
	ByName     GroupSlices = iota
	ByCategory             // the categories as written in the input
	ByThread               // the thread, or else the owner of the slice's track
	ByProcess
	ByArgument // the value of SliceOptions.Argument
)

// SliceOptions controls the groups. The zero value groups all slices by name.
type SliceOptions struct {
	By GroupSlices
	// Argument is the name of the argument for ByArgument. Members of a dictionary follow a dot: "data.type". Slices without
	// it are in the group "".
	Argument string
	// Include reports whether a slice counts; nil: all do. Slices that do not count still reduce the self time of the slice
	// around them.
	Include func(*timeline.Item) bool
	// Length receives the length of each slice that has one, in the order of groups and lengths; nil: not needed.
	Length func(kind SliceKind, group string, length timeline.Nanos) error
	// Gaps requests the gaps of streams or, in traces without devices, of the threads that work most. If Threads is set, it also
	// requests the gaps of all threads with slices that Include accepts.
	Gaps, Threads bool
}

// CollectSlices totals the slices in a nested timeline, except the output of an earlier attribution and the marks of long tasks.
// If the lengths of slices exceed the timeline's memory budget, they are sorted on disk. The error is from temporary files,
// opts.Length or ctx.
func CollectSlices(ctx context.Context, tl *timeline.Timeline, opts SliceOptions) (*Slices, error) {
	c := newSliceCounter(tl, opts)
	defer c.lengths.Close()
	if err := tl.WalkSlices(ctx, func(timeline.TrackID) bool { return true }, timeline.Nested(tl, c.item)); err != nil {
		return nil, err
	}
	out, err := c.done(ctx)
	if err == nil && opts.Gaps {
		out.Gaps, err = collectGaps(ctx, c)
	}
	return out, err
}

// done returns the sums after the walk.
func (c *sliceCounter) done(ctx context.Context) (*Slices, error) {
	if err := c.quantiles(ctx); err != nil {
		return nil, err
	}
	tl, opts, totals := c.tl, c.opts, c.tl.Totals()
	c.out.Start, c.out.End = totals.Start, totals.End
	for i := range c.groups {
		c.out.Groups = append(c.out.Groups, c.groups[i].finish(tl))
	}
	slices.SortFunc(c.out.Groups, func(a, b SliceGroup) int {
		if opts.By == ByArgument && (a.Name == "") != (b.Name == "") && a.Kind == b.Kind {
			return strings.Compare(b.Name, a.Name) // those without the argument come last
		}
		return compareGroups(&a, &b)
	})
	c.devices.finish(&c.out)
	return &c.out, nil
}

func compareGroups(a, b *SliceGroup) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(b.Self, a.Self), cmp.Compare(b.Total, a.Total), cmp.Compare(b.Count, a.Count),
		cmp.Compare(a.Name, b.Name))
}

// sliceCounter totals the slices of a timeline by group.
type sliceCounter struct {
	tl   *timeline.Timeline
	opts SliceOptions
	out  Slices

	places  []slicePlace // by TrackID
	ids     map[groupKey]int32
	text    int // bytes of group names
	groups  []groupSum
	nested  map[nestedKey]int32 // how many slices of a group are open at a place
	lengths *extsort.Ranks
	devices *deviceCounter
	busy    []timeline.Nanos // by TrackID of threads: self time of their slices
}

// slicePlace describes a track: the kind of slices on it, if any, and the thread that it belongs to.
type slicePlace struct {
	kind  SliceKind // 0: its slices do not count
	owner timeline.TrackID
}

// groupKey identifies groups: by the id of an interned text or of a track, otherwise by text.
type groupKey struct {
	kind SliceKind
	id   uint32
	text string
}

// nestedKey is a group at a place where slices nest.
type nestedKey struct {
	track timeline.TrackID
	lane  uint32
	group int32
}

// groupSum is a group during the walk.
type groupSum struct {
	SliceGroup
	sumHigh, sumLow uint64 // of the lengths of its finished slices
	cpu             timeline.Nanos
	hasCPU          bool
	longestAt       timeline.Nanos
	longestOn       timeline.TrackID // the owner of the longest slice's track
}

// openSum is a slice that has not ended.
type openSum struct {
	group     int32 // -1: it does not count
	timed     bool  // the input records its end
	outermost bool  // among its group's slices at this place
	ts, dur   timeline.Nanos
	inside    timeline.Nanos // in slices directly inside
	cpu       timeline.CPUTime
	step      int32 // index of its Step plus one
}

func newSliceCounter(tl *timeline.Timeline, opts SliceOptions) *sliceCounter {
	c := &sliceCounter{
		tl: tl, opts: opts, ids: map[groupKey]int32{}, nested: map[nestedKey]int32{}, places: make([]slicePlace, tl.TrackCount()), busy: make([]timeline.Nanos, tl.TrackCount()),
		lengths: extsort.NewRanks(tl.Memory()/8, tl.TempDir()), devices: newDeviceCounter(tl),
	}
	for id := range c.places {
		c.places[id] = placeOfSlices(tl, timeline.TrackID(id))
	}
	return c
}

// placeOfSlices returns the kind of slices on a track, and the owner of the track.
func placeOfSlices(tl *timeline.Timeline, id timeline.TrackID) slicePlace {
	p := slicePlace{kind: AsyncSlices, owner: ownerOf(tl, id)}
	if tl.TrackKind(id) == timeline.ThreadTrack {
		p.kind = ThreadSlices
	}
	switch tl.Role(id) {
	case timeline.RoleContexts, timeline.RoleCatalogue, timeline.RoleLongTasks:
		p.kind = 0
	case timeline.RoleThreadState, timeline.RoleV8States, timeline.RolePageStates, timeline.RoleCategories, timeline.RoleSamplePages, timeline.RolePaused:
		p.kind = StateSlices
	case timeline.RoleInput:
		p.kind = RecorderSlices
	case timeline.RoleLane, timeline.RoleStream, timeline.RoleCalls, timeline.RoleJSTracer:
		if tl.TrackKind(p.owner) == timeline.ThreadTrack {
			p.kind = ThreadSlices
		}
	}
	return p
}

// ownerOf returns the thread that a track is or is below, or else the process, or else the track itself.
func ownerOf(tl *timeline.Timeline, id timeline.TrackID) timeline.TrackID {
	owner := id
	for up := id; up != 0; up = tl.TrackParent(up) {
		switch tl.TrackKind(up) {
		case timeline.ThreadTrack:
			return up
		case timeline.ProcessTrack:
			owner = up
		}
	}
	return owner
}

// item handles an item of the timeline; open holds the slices around it.
func (c *sliceCounter) item(it *timeline.Item, open *timeline.OpenSlices[openSum]) error {
	switch it.Kind {
	case timeline.ItemBegin:
		return c.begin(it, open.Innermost())
	case timeline.ItemEnd:
		if o := open.Innermost(); o != nil {
			var around *openSum
			if n := open.Len(); n > 1 {
				around = open.At(n - 2)
			}
			return c.end(it, o, around)
		}
	}
	return nil
}

func (c *sliceCounter) begin(it *timeline.Item, o *openSum) error {
	place := &c.places[it.Track]
	*o = openSum{group: -1, ts: it.TS, dur: it.Dur, cpu: it.ThreadTime, timed: hasEnd(&it.Head)}
	if place.kind == 0 || c.opts.Include != nil && !c.opts.Include(it) {
		return nil
	}
	if err := it.ReadArgs(); err != nil {
		return err
	}
	kind, moved := place.kind, int64(0)
	if kind == ThreadSlices {
		kind, moved = c.devices.begin(it, place.owner, o)
	}
	o.group = c.groupOf(kind, it)
	g := &c.groups[o.group]
	g.Count++
	sum(&g.Bytes, moved)
	c.out.Slices++
	if g.Name == OthersGroup {
		c.out.Others++
	}
	if !o.timed {
		g.Unfinished++
		c.out.Unfinished++
		return nil
	}
	at := nestedKey{it.Track, it.Lane, o.group}
	o.outermost = c.nested[at] == 0
	c.nested[at]++
	if first := g.Count-g.Unfinished == 1; first || it.Dur > g.Max {
		g.Max, g.longestAt, g.longestOn = it.Dur, it.TS, place.owner
	}
	return nil
}

func (c *sliceCounter) end(it *timeline.Item, o, around *openSum) error {
	inside := o.inside
	if o.timed {
		inside = o.dur
	}
	if around != nil {
		sum(&around.inside, inside)
	}
	c.devices.end(it, o)
	if !o.timed || o.group < 0 {
		return nil
	}
	at := nestedKey{it.Track, it.Lane, o.group}
	if c.nested[at]--; c.nested[at] == 0 {
		delete(c.nested, at)
	}
	g := &c.groups[o.group]
	sum(&g.Self, o.dur-o.inside)
	if place := &c.places[it.Track]; place.kind == ThreadSlices {
		sum(&c.busy[place.owner], o.dur-o.inside)
	}
	var carry uint64
	g.sumLow, carry = bits.Add64(g.sumLow, uint64(o.dur), 0)
	g.sumHigh += carry
	if o.outermost {
		sum(&g.Total, o.dur)
		if from, ok := o.cpu.Nanos(); ok {
			if to, ok := it.ThreadTime.Nanos(); ok && to >= from {
				sum(&g.cpu, to-from)
				g.hasCPU = true
			}
		}
	}
	return c.lengths.Add(int64(o.group), int64(o.dur))
}

func (c *sliceCounter) groupOf(kind SliceKind, it *timeline.Item) int32 {
	key := groupKey{kind: kind}
	var text []byte
	switch c.opts.By {
	case ByName:
		key.id, text = uint32(it.NameID), it.Name
	case ByCategory:
		key.id, text = uint32(it.CategoryID), it.Category
	case ByThread:
		key.id = uint32(c.places[it.Track].owner)
	case ByProcess:
		key.id = uint32(c.processOf(it.Track))
	case ByArgument:
		text = c.argument(it)
	}
	if key.id == 0 {
		if id, ok := c.ids[groupKey{kind, 0, string(text)}]; ok { // without a copy of the text
			return id
		}
		key.text = string(text)
	} else if id, ok := c.ids[key]; ok {
		return id
	}
	return c.newGroup(key, text)
}

// newGroup adds a group, or returns the group OthersGroup if there are too many.
func (c *sliceCounter) newGroup(key groupKey, text []byte) int32 {
	name, owner := string(text), (*ThreadID)(nil)
	if c.opts.By == ByThread || c.opts.By == ByProcess {
		name = c.trackTitle(timeline.TrackID(key.id))
		id := threadID(c.tl, timeline.TrackID(key.id))
		owner = &id
	}
	if len(c.ids) >= maxRows || c.text+len(name) > maxRowText {
		key, name, owner = groupKey{key.kind, math.MaxUint32, ""}, OthersGroup, nil
		if id, ok := c.ids[key]; ok {
			return id
		}
	}
	c.text += len(name)
	id := int32(len(c.groups))
	c.groups = append(c.groups, groupSum{SliceGroup: SliceGroup{Kind: key.kind, Name: name, Owner: owner}})
	c.ids[key] = id
	return id
}

// processOf returns the process that a track is below, or else the owner of the track.
func (c *sliceCounter) processOf(id timeline.TrackID) timeline.TrackID {
	owner := c.places[id].owner
	if c.tl.TrackKind(owner) == timeline.ThreadTrack && c.tl.TrackKind(c.tl.TrackParent(owner)) == timeline.ProcessTrack {
		return c.tl.TrackParent(owner)
	}
	return owner
}

// trackTitle names a thread with its process, a process, or another track.
func (c *sliceCounter) trackTitle(id timeline.TrackID) string {
	tr := c.tl.Track(id)
	if tr.Kind == timeline.ThreadTrack {
		process := c.tl.Track(tr.Parent)
		return tr.Title() + " of " + process.Title()
	}
	return tr.Title()
}

// threadID returns the ids of the thread or process that owns a track.
func threadID(tl *timeline.Timeline, owner timeline.TrackID) ThreadID {
	tr := tl.Track(owner)
	switch tr.Kind {
	case timeline.ThreadTrack:
		process := tl.Track(tr.Parent)
		return ThreadID{process.FullName(), process.InputID, tr.FullName(), tr.InputID, recordedTrack(&process)}
	case timeline.ProcessTrack:
		return ThreadID{Process: tr.FullName(), PID: tr.InputID, TID: noNumber, Recorded: recordedTrack(&tr)}
	}
	return ThreadID{Thread: tr.Name, PID: noNumber, TID: noNumber}
}

// noNumber is the id of a process or thread without a number.
var noNumber = timeline.InputID{Text: " "}

// quantiles computes the percentiles and histograms of all groups, and passes each length to SliceOptions.Length.
func (c *sliceCounter) quantiles(ctx context.Context) error {
	return c.lengths.Each(ctx, func(group, i, length int64) error {
		g := &c.groups[group]
		atRank(i, g.Count-g.Unfinished, timeline.Nanos(length), &g.P50, &g.P95, &g.P99)
		g.Spread.Add(timeline.Nanos(length))
		if c.opts.Length != nil {
			return c.opts.Length(g.Kind, g.Name, timeline.Nanos(length))
		}
		return nil
	})
}

// atRank stores a length in each percentile whose rank is i. The length is the i-th of n sorted lengths.
func atRank(i, n int64, length timeline.Nanos, p50, p95, p99 *timeline.Nanos) {
	if i == extsort.Percentile(n, 50) {
		*p50 = length
	}
	if i == extsort.Percentile(n, 95) {
		*p95 = length
	}
	if i == extsort.Percentile(n, 99) {
		*p99 = length
	}
}

// argument returns the argument that slices are grouped by, as text.
func (c *sliceCounter) argument(it *timeline.Item) []byte {
	if arg, ok := findArg(c.tl, c.tl.ArgList(it.Args), c.opts.Argument); ok {
		return arg.AppendText(nil)
	}
	return nil
}

// findArg returns the argument with a name, in which members of a dictionary follow a dot.
func findArg(tl *timeline.Timeline, args iter.Seq[timeline.Arg], name string) (found timeline.Arg, ok bool) {
	for arg := range args {
		rest, isPrefix := strings.CutPrefix(name, string(arg.Key))
		switch {
		case !isPrefix:
		case rest == "":
			return arg, true
		case rest[0] == '.' && arg.Kind == timeline.ArgDict:
			if found, ok = findArg(tl, tl.Members(arg), rest[1:]); ok {
				return found, true
			}
		}
	}
	return found, false
}

func (g *groupSum) finish(tl *timeline.Timeline) SliceGroup {
	if n := uint64(g.Count - g.Unfinished); n > 0 {
		mean, _ := bits.Div64(g.sumHigh, g.sumLow, n)
		on := threadID(tl, g.longestOn)
		g.Mean, g.MaxAt, g.MaxOn = timeline.Nanos(mean), &g.longestAt, &on
	}
	if g.hasCPU {
		g.CPU = &g.cpu
	}
	return g.SliceGroup
}
