package report

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/weft-trace/weft/internal/attribution"
	costtables "github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/timeline"
)

// All contains all reports about a trace, cut to the rows that fit on a page. Parts without data are nil or empty. Times
// are nanoseconds; points in time are on the trace's clock.
type All struct {
	Recording Recording      `json:"recording"`
	Start     timeline.Nanos `json:"start_ns"` // of the trace
	End       timeline.Nanos `json:"end_ns"`
	Counts    EventCounts    `json:"counts"`
	// NotCounted lists the inputs of a merge whose slices or samples another input recorded in more detail.
	NotCounted []timeline.Recorder `json:"not_counted,omitempty"`

	Utilisation *Utilisation        `json:"utilisation,omitempty"`
	Chart       *Chart              `json:"-"` // for the threads in Utilisation
	Waterfall   *Waterfall          `json:"-"` // for Spans
	Costs       []*costtables.Table `json:"costs,omitempty"`
	StackTrees  []StackTree         `json:"stack_tree,omitempty"`
	Functions   []ThreadFunctions   `json:"functions,omitempty"` // for the threads in StackTrees that have samples
	Inputs      *AllInputs          `json:"inputs,omitempty"`
	Tasks       *AllTasks           `json:"long_tasks,omitempty"`
	Forced      *LayoutThrashing    `json:"forced_layout,omitempty"`
	GC          *GC                 `json:"gc,omitempty"`
	Slices      *AllSlices          `json:"slices,omitempty"` // see AllOptions
	FlowPairs   *FlowPairs          `json:"flow_pairs,omitempty"`
	Loads       *Loads              `json:"loads,omitempty"`
	Spans       *AllSpans           `json:"spans,omitempty"`
	Probes      *AllProbes          `json:"probes,omitempty"`
	Network     *Network            `json:"network,omitempty"`
	Heaps       []Heap              `json:"heaps,omitempty"` // largest first
	Screenshots []Screenshot        `json:"-"`               // in time order
}

// EventCounts counts the tracks and events in a trace.
type EventCounts struct {
	Processes int   `json:"processes"`
	Threads   int   `json:"threads"` // with events
	Slices    int64 `json:"slices"`
	Instants  int64 `json:"instants"`
	Counters  int64 `json:"counter_values"`
	Samples   int64 `json:"samples"`
	Flows     int64 `json:"flows"` // arrows
}

// ThreadFunctions lists the functions with the most self time on a thread.
type ThreadFunctions struct {
	ThreadID
	Functions []Function `json:"functions"`
	Count     int        `json:"function_count"`
}

// AllInputs extends Inputs with the list of interactions.
type AllInputs struct {
	*Inputs
	List []Interaction `json:"inputs"`
}

// AllTasks extends Tasks with the list of tasks.
type AllTasks struct {
	*Tasks
	List  []Task `json:"tasks"` // the longest, at most AllRows
	Count int    `json:"task_count"`
}

// AllSlices extends Slices with the lists that a page shows.
type AllSlices struct {
	*Slices
	Groups   []SliceGroup `json:"groups"` // the first AllRows of each kind
	Devices  []Device     `json:"devices"`
	Steps    []Step       `json:"steps"`
	Idle     []Idle       `json:"idle"`     // of device streams
	Arrivals []Arrival    `json:"arrivals"` // of several ranks at collectives
}

// CountOf returns how many groups of a kind there are, including unlisted ones.
func (s *AllSlices) CountOf(kind SliceKind) (n int) {
	for i := range s.Slices.Groups {
		if s.Slices.Groups[i].Kind == kind {
			n++
		}
	}
	return n
}

// AllSpans extends Spans with the first AllRows rows of each list.
type AllSpans struct {
	*Spans
	Operations []Operation    `json:"operations"`
	Failures   []SpanFailure  `json:"failures"`
	Calls      []ServiceCall  `json:"calls"`
	Path       []CriticalSpan `json:"path"` // the spans with the most time, in time order
	Longest    *SpanRow       `json:"longest,omitempty"`
	Slowest    []SpanRow      `json:"slowest_requests"`
	Services   int            `json:"services"`
}

// AllProbes groups probe slices by the values of their most useful argument, such as the text of a query or a path.
type AllProbes struct {
	Argument string       `json:"argument,omitempty"`
	Values   []SliceGroup `json:"values"` // the first AllRows
	Count    int          `json:"value_count"`
	// Errors holds the first AllRows rows about failed system calls; ErrorCount is the number of all rows.
	Errors     []SyscallError `json:"errors"`
	ErrorCount int            `json:"error_count"`
}

// AllRows is the maximum number of rows in each table of All.
const AllRows = 20

// AllOptions selects the contents of an All. The zero value selects the whole trace.
type AllOptions struct {
	Selected *selection.Selection // nil: the whole trace
	// Slices fills All.Slices for any trace. If it is not set, All.Slices is filled only for traces with devices and for traces
	// whose kinds of work weft does not know. For other traces, the other parts of an All are more useful than slice names.
	Slices bool
}

// CollectAll attributes a nested timeline according to rules and computes all reports on its selected part. Besides the
// attribution's passes, it walks all events once, the slices of threads once more, and, if there are inputs, the work that they
// caused. It fails only if temporary files cannot be used or ctx is done.
func CollectAll(ctx context.Context, tl *timeline.Timeline, rules attribution.Rules, opts AllOptions) (_ *All, err error) {
	c := allCollector{tl: tl, selected: opts.Selected, wantsSlices: opts.Slices}
	totals := tl.Totals()
	c.out = All{Recording: recordingOf(tl), Start: totals.Start, End: totals.End, Counts: eventCounts(tl), NotCounted: tl.NotCounted()}
	attribute := func(ctx context.Context) (err error) {
		if err := c.addFlows(ctx); err != nil {
			return err
		}
		c.attributed, err = attribution.Run(ctx, tl, rules)
		return err
	}
	err = c.both(ctx, attribute, c.firstWalk)
	if c.attributed != nil {
		defer func() { err = errors.Join(err, c.attributed.Close()) }()
	}
	if err != nil {
		return nil, err
	}
	if err := c.nameThreads(); err != nil {
		return nil, err
	}
	if err := c.both(ctx, c.findInputs, c.makeTrees); err != nil {
		return nil, err
	}
	if err := c.secondWalk(ctx); err != nil {
		return nil, err
	}
	return &c.out, c.addCosts()
}

type allCollector struct {
	tl         *timeline.Timeline
	attributed *attribution.Result
	selected   *selection.Selection
	out        All

	wantsSlices bool

	use      *useCollector
	loads    *loadCollector
	inputs   *inputCollector // nil: there are no inputs
	profiles *Profiles
	trees    []StackTree // from profiles
	shows    map[timeline.TrackID]string
}

// both runs two independent functions. They run concurrently unless parts of the trace are selected: a selection caches results
// and is not safe for concurrent use.
func (c *allCollector) both(ctx context.Context, first, second func(context.Context) error) error {
	if c.selected != nil {
		if err := first(ctx); err != nil {
			return err
		}
		return second(ctx)
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	run := func(do func(context.Context) error) {
		if err := do(ctx); err != nil {
			fail(err)
		}
	}
	var others sync.WaitGroup
	others.Go(func() { run(second) })
	run(first)
	others.Wait()
	return context.Cause(ctx)
}

// eventCounts counts the tracks and events in a trace.
func eventCounts(tl *timeline.Timeline) EventCounts {
	t := tl.Totals()
	n := EventCounts{Slices: t.ShownSlices(), Instants: t.InputInstants(), Counters: t.CounterValues, Samples: t.Samples, Flows: t.Flows}
	for id := range timeline.TrackID(tl.TrackCount()) {
		switch tr := tl.Track(id); {
		case !tr.Used:
		case tr.Kind == timeline.ProcessTrack:
			n.Processes++
		case tr.Kind == timeline.ThreadTrack:
			n.Threads++
		}
	}
	return n
}

// firstWalk walks all events: it collects samples and determines which threads were busy. The walk also completes the list of
// data problems.
func (c *allCollector) firstWalk(ctx context.Context) error {
	reader := newReader(c.tl, c.selected)
	c.use = newUseCollector(c.tl, c.selected)
	c.loads = newLoadCollector(c.tl, c.selected)
	resources := newResourceCollector(c.tl, c.selected)
	passes := []func(*timeline.Item) error{timeline.Nested(c.tl, reader.item), timeline.Nested(c.tl, c.use.find), c.loads.item, resources.item}
	if c.tl.MayHaveArg("URI") {
		passes = append(passes, timeline.Nested(c.tl, resources.marker))
	}
	if err := c.tl.WalkLate(ctx, inTurn(passes)); err != nil {
		return err
	}
	c.profiles, c.out.Loads = reader.finish(), c.loads.done()
	c.use.choose(c.profiles)
	resources.add(&c.out)
	return nil
}

// findInputs determines when inputs were handled.
func (c *allCollector) findInputs(ctx context.Context) error {
	if len(c.attributed.Inputs) == 0 {
		return nil
	}
	opts := InputOptions{
		Kinds:   slices.DeleteFunc(InputKinds(), func(k InputKind) bool { return k == OtherInput }),
		Details: AllRows, DetailKind: InputKind.Usual,
	}
	if c.selected != nil {
		opts.Include, opts.Thread = c.selected.Overlaps, c.selected.Track
	}
	c.inputs = newInputCollector(c.tl, c.attributed, opts)
	if err := c.inputs.findAll(ctx); err != nil {
		return err
	}
	c.inputs.join()
	return nil
}

// makeTrees builds the stack trees from samples.
func (c *allCollector) makeTrees(ctx context.Context) (err error) {
	c.trees, err = c.profiles.stackTrees(ctx)
	return err
}

// include returns a filter for the slices to count; nil: all count.
func (c *allCollector) include() func(*timeline.Item) bool {
	if c.selected == nil {
		return nil
	}
	return c.selected.Item
}

// inTurn passes each item of a walk to several functions in turn.
func inTurn(passes []func(*timeline.Item) error) func(*timeline.Item) error {
	return func(it *timeline.Item) error {
		for _, pass := range passes {
			if err := pass(it); err != nil {
				return err
			}
		}
		return nil
	}
}

// nameThreads determines from the attribution which URL each thread shows.
func (c *allCollector) nameThreads() error {
	times, err := urlTimes(c.attributed)
	if err != nil {
		return err
	}
	scripts := map[timeline.TrackID]bool{}
	for _, t := range c.profiles.Threads {
		scripts[t.track] = t.runsScript()
	}
	c.shows = threadsShow(times, func(id timeline.TrackID) bool { return scripts[id] })
	for _, t := range c.profiles.Threads {
		t.shows = c.shows[t.track]
	}
	return nil
}

// secondWalk collects tasks, the work for inputs, how busy threads were over time, slice trees if there are no stacks, and
// slices by name if they matter.
func (c *allCollector) secondWalk(ctx context.Context) error {
	tasks, err := c.newTasks(ctx)
	if err != nil {
		return err
	}
	work := &threadWork{tl: c.tl, reader: newWorkReader(c.tl, c.attributed), tasks: tasks}
	if c.inputs != nil && c.inputs.needsDetail() {
		work.inputs = c.inputs
	}
	passes := []func(*timeline.Item) error{timeline.Nested(c.tl, work.item), timeline.Nested(c.tl, c.use.divide)}
	wanted := func(id timeline.TrackID) bool {
		return c.use.places[id] != 0 || c.tl.TrackKind(id) == timeline.ThreadTrack
	}
	var ofSlices *sliceTrees
	if len(c.trees) == 0 {
		ofSlices = newSliceTrees(c.tl, c.use)
		passes = append(passes, timeline.Nested(c.tl, ofSlices.item))
	}
	var groups, values *sliceCounter
	var spans *spanCollector
	var calls *syscallCollector
	if c.slicesMatter() {
		groups = newSliceCounter(c.tl, SliceOptions{Include: c.include()})
		defer groups.lengths.Close()
		passes, wanted = append(passes, timeline.Nested(c.tl, groups.item)), everyTrack
	}
	if c.addProbes() {
		calls = newSyscallCollector(c.tl, c.include())
		passes, wanted = append(passes, calls.item), everyTrack
	}
	if c.out.Probes != nil && c.out.Probes.Argument != "" {
		values = newSliceCounter(c.tl, SliceOptions{Include: c.include(), By: ByArgument, Argument: c.out.Probes.Argument})
		defer values.lengths.Close()
		passes, wanted = append(passes, timeline.Nested(c.tl, values.item)), everyTrack
	}
	if c.tl.MayHaveArg("span_id") || c.tl.MayHaveArg("startedDateTime") {
		spans = newSpanCollector(c.tl, SpanOptions{Include: c.include(), Path: true, Loaded: c.out.Loads.end()})
		spans.waterfall = newWaterfallCollector(maxWaterfall)
		defer spans.lengths.Close()
		passes, wanted = append(passes, timeline.Nested(c.tl, spans.item)), everyTrack
	}
	if err := c.tl.WalkSlices(ctx, wanted, inTurn(passes)); err != nil {
		return err
	}
	if err := c.addGroups(ctx, groups, values, spans); err != nil {
		return err
	}
	if calls != nil {
		errors := calls.done()
		c.out.Probes.Errors, c.out.Probes.ErrorCount = cut(errors, AllRows), len(errors)
	}
	c.addUse(ofSlices)
	c.addTasks(tasks.done())
	c.addInputs()
	return c.addProfiles()
}

// addGroups adds the results of the second walk's counters.
func (c *allCollector) addGroups(ctx context.Context, groups, values *sliceCounter, spans *spanCollector) error {
	if groups != nil {
		all, err := groups.done(ctx)
		if err == nil && len(all.Devices) > 0 {
			all.Gaps, err = collectGaps(ctx, groups)
		}
		if err != nil {
			return err
		}
		c.addSlices(all)
	}
	if values != nil {
		all, err := values.done(ctx)
		if err != nil {
			return err
		}
		for i := range all.Groups {
			if g := &all.Groups[i]; g.Name != "" {
				c.out.Probes.Values = append(c.out.Probes.Values, *g)
			}
		}
		slices.SortStableFunc(c.out.Probes.Values, func(a, b SliceGroup) int { return cmp.Compare(b.Total, a.Total) })
		c.out.Probes.Count = len(c.out.Probes.Values)
		c.out.Probes.Values = cut(c.out.Probes.Values, AllRows)
	}
	if spans == nil {
		return nil
	}
	all, err := spans.done(ctx)
	if err == nil && all.Spans > 0 {
		c.addSpans(all)
		c.out.Waterfall = spans.waterfall.done()
	}
	return err
}

// addSpans adds the spans and the first rows of their lists.
func (c *allCollector) addSpans(s *Spans) {
	services := map[string]bool{}
	for i := range s.Operations {
		services[s.Operations[i].Service] = true
	}
	path := slices.Clone(s.Path)
	slices.SortStableFunc(path, func(a, b CriticalSpan) int { return cmp.Compare(b.Duration, a.Duration) })
	path = cut(path, AllRows)
	slices.SortStableFunc(path, func(a, b CriticalSpan) int { return cmp.Compare(a.Start, b.Start) })
	c.out.Spans = &AllSpans{
		Spans: s, Operations: cut(s.Operations, AllRows), Failures: cut(s.Failures, AllRows), Calls: cut(s.Calls, AllRows), Path: path, Longest: s.Longest, Slowest: s.Slowest,
		Services: len(services),
	}
}

// probeTexts lists the arguments that describe probe slices best, in order of preference.
var probeTexts = []string{"query", "sql", "statement", "path", "filename", "url"}

// addProbes reports whether there are probe slices, and prepares their part of the report.
func (c *allCollector) addProbes() bool {
	if !c.tl.MayHaveArg(timeline.OwnProbe) {
		return false
	}
	c.out.Probes = &AllProbes{Values: []SliceGroup{}, Errors: []SyscallError{}}
	if i := slices.IndexFunc(probeTexts, c.tl.MayHaveArg); i >= 0 {
		c.out.Probes.Argument = probeTexts[i]
	}
	return true
}

// newTasks returns a collector of long tasks, including tasks on sampled threads.
func (c *allCollector) newTasks(ctx context.Context) (*taskCollector, error) {
	opts := TaskOptions{Include: c.include()}
	if c.selected != nil {
		opts.Thread = c.selected.Track
	}
	tasks, err := newTaskCollector(ctx, c.tl, c.attributed, opts)
	if err != nil || !hasSamples(c.tl) {
		return tasks, err
	}
	profiles := c.profiles
	if c.selected != nil { // a selected task counts in full
		if profiles, err = Collect(ctx, c.tl, nil); err != nil {
			return nil, err
		}
	}
	tasks.addSampled(profiles)
	return tasks, nil
}

// addUse adds the utilisation of threads, and the stack trees, or slice trees if there are no stacks.
func (c *allCollector) addUse(ofSlices *sliceTrees) {
	c.use.sortTrees(c.trees)
	if use := c.use.done(c.shows); len(use.Threads) > 0 {
		c.out.Utilisation, c.out.Chart = use, c.use.chart.done()
	}
	if c.out.StackTrees = c.trees; ofSlices != nil {
		c.out.StackTrees = ofSlices.done()
	}
}

func (c *allCollector) addInputs() {
	if c.inputs != nil {
		in := c.inputs.done()
		c.out.Inputs = &AllInputs{in, in.Inputs}
	}
}

// slicesMatter reports whether slices by name were requested or contain information that no other part has. If no threads were
// busy, the slices are on tracks of their own, like spans and requests.
func (c *allCollector) slicesMatter() bool {
	if c.wantsSlices || c.use.out.By != KindsOfWork || len(c.use.out.Threads) == 0 {
		return true
	}
	for id := range c.tl.CategoryCount() {
		switch string(c.tl.Category(timeline.CategoryID(id + 1))) {
		case producers.Kernel, producers.GPUMemcpy, producers.GPUMemset:
			return true
		}
	}
	return false
}

// addTasks adds the longest tasks.
func (c *allCollector) addTasks(t *Tasks) {
	if len(t.Tasks) > 0 {
		c.out.Tasks = &AllTasks{t, t.Tasks[:min(len(t.Tasks), AllRows)], len(t.Tasks) + int(t.Uncounted)}
	}
}

// addSlices adds the slices, with the first rows of their lists.
func (c *allCollector) addSlices(s *Slices) {
	if len(s.Groups) == 0 {
		return
	}
	all := &AllSlices{Slices: s, Groups: []SliceGroup{}, Devices: s.Devices, Steps: cut(s.Steps, AllRows), Idle: []Idle{}, Arrivals: []Arrival{}}
	if s.Gaps != nil {
		all.Idle, all.Arrivals = cut(s.Gaps.Idle, AllRows), cut(s.Gaps.Arrivals, AllRows)
	}
	for i, n := 0, 0; i < len(s.Groups); i++ {
		if n++; i > 0 && s.Groups[i].Kind != s.Groups[i-1].Kind {
			n = 1
		}
		if n <= AllRows {
			all.Groups = append(all.Groups, s.Groups[i])
		}
	}
	c.out.Slices = all
}

// addProfiles adds functions, garbage collections, and forced style and layout, which come from samples or slices.
func (c *allCollector) addProfiles() error {
	opts := Options{Top: AllRows}
	if forced := c.profiles.LayoutThrashing(opts); len(forced.Threads) > 0 {
		c.out.Forced = forced
	}
	gc, err := c.profiles.GC(opts)
	if err != nil {
		return err
	}
	gc.Threads = slices.DeleteFunc(gc.Threads, func(t ThreadGC) bool { return t.Samples == 0 && t.Time == 0 })
	if len(gc.Threads) > 0 {
		c.out.GC = gc
	}
	for i := range c.out.StackTrees {
		tree := &c.out.StackTrees[i]
		if tree.From != TreeOfSamples {
			continue
		}
		for _, t := range c.profiles.Threads {
			if t.ThreadID == tree.ThreadID {
				functions := c.profiles.functionsOf(t, t.busy())
				c.out.Functions = append(c.out.Functions, ThreadFunctions{t.ThreadID, cut(functions, opts.Top), len(functions)})
				break
			}
		}
	}
	return nil
}

// addCosts adds the most useful cost tables: for pages, scripts and entities if the trace has them, otherwise for its first two
// context types, otherwise for threads.
func (c *allCollector) addCosts() error {
	tables := costtables.Of(c.attributed)
	types := tables.Types()
	var chosen []string
	for _, typ := range []string{tables.DerivedName(costtables.TypePage), "Script", tables.DerivedName(costtables.TypeEntity)} {
		if slices.Contains(types, typ) && (typ != tables.DerivedName(costtables.TypePage) || tables.HasPages()) {
			chosen = append(chosen, typ)
		}
	}
	if len(chosen) == 0 {
		chosen = types[:min(len(types), 2)]
	}
	if len(chosen) == 0 {
		chosen = []string{tables.DerivedName(costtables.TypeThread)}
	}
	for _, typ := range chosen {
		t, err := tables.Table(costtables.TableOptions{Type: typ, Limit: AllRows})
		if err != nil {
			return err
		}
		if t.Busy > 0 {
			c.out.Costs = append(c.out.Costs, t)
		}
	}
	return nil
}

// addFlows adds the pairs of threads that flows connect.
func (c *allCollector) addFlows(ctx context.Context) error {
	if c.tl.Totals().Flows == 0 {
		return nil
	}
	var wanted func(from, to timeline.TrackID, at timeline.Nanos) bool
	if c.selected != nil {
		wanted = func(from, to timeline.TrackID, at timeline.Nanos) bool {
			return c.selected.Overlaps(at, 0) && (c.selected.Track(from) || c.selected.Track(to))
		}
	}
	pairs, err := CollectFlowPairs(ctx, c.tl, wanted)
	if err != nil {
		return err
	}
	if pairs.Arrows > 0 {
		c.out.FlowPairs = pairs
	}
	return nil
}

// GCTime returns how long the garbage collector ran, and the total that this time is part of: the busy time if slices record
// collections, otherwise the sampled time.
func (a *All) GCTime() (time, of timeline.Nanos, bySlices bool) {
	if u := a.Utilisation; u != nil && u.By == KindsOfWork {
		if kind := slices.Index(u.Kinds, "gc"); kind >= 0 {
			for i := range u.Threads {
				sum(&time, u.Threads[i].ByKind[kind])
				sum(&of, u.Threads[i].Busy)
			}
			return time, of, true
		}
	}
	if a.GC != nil {
		for i := range a.GC.Threads {
			sum(&time, a.GC.Threads[i].Time)
			sum(&of, a.GC.Threads[i].Covered)
		}
	}
	return time, of, false
}
