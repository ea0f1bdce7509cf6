package report

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// Tasks lists the long tasks of a trace: periods in which a thread did not return to the other work that waited for it. Times are
// nanoseconds; points in time are on the trace's clock.
type Tasks struct {
	Start    timeline.Nanos `json:"start_ns"` // of the trace
	End      timeline.Nanos `json:"end_ns"`
	Min      timeline.Nanos `json:"min_ns"`      // the length from which a task counts as long
	Blocking timeline.Nanos `json:"blocking_ns"` // total of all long tasks
	// Uncounted is the number of long tasks that are not in Tasks because there are too many.
	Uncounted int64 `json:"uncounted"`

	Frames *Frames `json:"frames,omitempty"` // nil: the trace does not record frames

	Tasks []Task `json:"-"` // longest first

	unnamed []string // see Profiles.Notes
}

// TaskBasis is the source of a task.
type TaskBasis string

// The bases. A thread uses the first of these for which it has data.
const (
	LoopTasks     TaskBasis = "tasks"   // tasks of an event loop, as its program recorded them (timeline.LongTasks)
	SampledTasks  TaskBasis = "samples" // consecutive samples, none of them idle or, in Firefox, of category Other
	OutermostWork TaskBasis = "slices"  // outermost slices of the thread, except sleeping system calls; in traces without event loops
)

// Task is a long task.
type Task struct {
	ThreadID
	Basis    TaskBasis      `json:"basis"`
	Name     string         `json:"name,omitempty"` // of its slice
	Start    timeline.Nanos `json:"ts_ns"`
	Duration timeline.Nanos `json:"dur_ns"`
	Blocking timeline.Nanos `json:"blocking_ns"` // the time beyond timeline.LongTaskLength
	// CPU is the CPU time that the thread used; nil if unknown. Duration minus CPU is time spent waiting.
	CPU *timeline.Nanos `json:"cpu_ns"`

	Contexts []ContextTime `json:"contexts"` // that it worked for, by type, most time first
	Work
	Path  []PathStep `json:"path"`            // from the task inwards, always into the longest slice
	Split *TaskSplit `json:"split,omitempty"` // nil if nothing inside is known
}

// PathStep is a slice on the path of the longest slices.
type PathStep struct {
	Name     string         `json:"name"`
	Location string         `json:"location,omitempty"`
	Duration timeline.Nanos `json:"dur_ns"`
	Self     timeline.Nanos `json:"self_ns"`
	Parts    int64          `json:"parts"`      // number of slices directly inside
	Longest  timeline.Nanos `json:"longest_ns"` // length of the longest of these
}

// TaskSplit is a place at which a task could be divided into shorter ones.
type TaskSplit struct {
	PathStep
	// Inside means that the time is spent in the step itself and not in its parts: the step must be divided, rather
	// than its parts separated.
	Inside bool `json:"inside"`
}

// TaskOptions selects long tasks. The zero value selects all.
type TaskOptions struct {
	// Min is the length from which a task counts as long; 0: timeline.LongTaskLength.
	Min timeline.Nanos
	// Include reports whether a slice is selected: a task counts if it is selected or contains a selected slice; nil:
	// all tasks count.
	Include func(*timeline.Item) bool
	// Thread reports whether tasks on a thread count; nil: all do.
	Thread func(timeline.TrackID) bool
}

// Memory limits.
const (
	maxTasks = 1 << 12 // temporarily twice that
	maxPath  = 16      // steps of a path
)

// CollectTasks finds the long tasks in a nested timeline. They are the tasks of event loops; on threads without an event loop,
// sequences of samples none of which is idle; and, in traces without event loops, the outermost slices of other threads. The
// attribution determines the contexts that tasks worked for; if it is nil, these contexts are left out. CollectTasks fails only
// if temporary files cannot be used or ctx is done.
func CollectTasks(ctx context.Context, tl *timeline.Timeline, attributed *attribution.Result, opts TaskOptions) (*Tasks, error) {
	c, err := newTaskCollector(ctx, tl, attributed, opts)
	if err != nil {
		return nil, err
	}
	if hasSamples(tl) {
		profiles, err := Collect(ctx, tl, nil)
		if err != nil {
			return nil, err
		}
		c.addSampled(profiles)
	}
	if err := (&threadWork{tl: tl, reader: newWorkReader(tl, attributed), tasks: c}).walk(ctx); err != nil {
		return nil, err
	}
	out := c.done()
	out.Frames, err = c.findFrames(ctx)
	return out, err
}

// done returns the tasks after the walk.
func (c *taskCollector) done() *Tasks {
	c.addMarked()
	totals := c.tl.Totals()
	c.out.Start, c.out.End = totals.Start, totals.End
	c.keepLongest()
	return &c.out
}

type taskCollector struct {
	tl    *timeline.Timeline
	opts  TaskOptions
	costs *attribution.Result // nil: the contexts of tasks are unknown
	out   Tasks
	bases []TaskBasis         // by TrackID; "": not a thread, or one without tasks
	loops []timeline.LongTask // tasks of event loops that count, in time order
	left  map[taskPlace]int   // index in loops of the tasks whose slices have not come yet

	profiles *Profiles // nil: no thread was sampled
	sampled  map[timeline.TrackID]*Thread
}

// taskPlace is where and when a task, or another slice of a thread, begins.
type taskPlace struct {
	thread timeline.TrackID
	ts     timeline.Nanos
}

// taskBuilder is a long task that has not ended.
type taskBuilder struct {
	tally    workTally
	selected bool // it is selected; see TaskOptions.Include
}

// heaviest is the path of the longest slices inside a slice.
type heaviest struct {
	path    []PathStep // below the slice
	parts   int64      // slices directly inside
	longest timeline.Nanos
}

func newTaskCollector(ctx context.Context, tl *timeline.Timeline, attributed *attribution.Result, opts TaskOptions) (*taskCollector, error) {
	c := &taskCollector{
		tl: tl, opts: opts, costs: attributed, bases: make([]TaskBasis, tl.TrackCount()), left: map[taskPlace]int{},
	}
	var others []timeline.TrackID
	anyLoop := false
	for id := range timeline.TrackID(tl.TrackCount()) {
		if tl.TrackKind(id) != timeline.ThreadTrack {
			continue
		}
		loop := tl.HasLoopTasks(id)
		anyLoop = anyLoop || loop
		switch {
		case opts.Thread != nil && !opts.Thread(id):
		case loop:
			c.bases[id] = LoopTasks
		default:
			others = append(others, id)
		}
	}
	if !anyLoop { // otherwise nothing waits for threads without a loop
		for _, id := range others {
			c.bases[id] = OutermostWork
		}
	}
	c.out.Min = cmp.Or(opts.Min, timeline.LongTaskLength)
	list, more, err := tl.LongTasks(ctx, c.out.Min)
	c.out.Uncounted = more
	for _, t := range list {
		if c.bases[t.Thread] == LoopTasks {
			c.left[taskPlace{t.Thread, t.TS}] = len(c.loops)
			c.loops = append(c.loops, t)
		}
	}
	return c, err
}

// hasSamples reports whether threads were sampled.
func hasSamples(tl *timeline.Timeline) bool {
	if tl.Totals().Samples > 0 {
		return true
	}
	for id := range timeline.TrackID(tl.TrackCount()) {
		if stateSources[tl.Role(id)] != "" {
			return true
		}
	}
	return false
}

// begin handles the start of a slice whose work is known. It reports whether the caller must compute its key.
func (c *taskCollector) begin(it *timeline.Item, around, s *openWork) bool {
	if s.task == nil && s.timed && it.Dur >= c.out.Min && c.startsTask(it, around) {
		s.task = &taskBuilder{tally: newWorkTally()}
		s.isTask = true
	}
	if s.task != nil {
		s.task.selected = s.task.selected || c.opts.Include == nil || c.opts.Include(it)
	}
	return s.task != nil
}

// startsTask reports whether a slice is a task.
func (c *taskCollector) startsTask(it *timeline.Item, around *openWork) bool {
	switch c.bases[it.Track] {
	case LoopTasks:
		place := taskPlace{it.Track, it.TS}
		i, ok := c.left[place]
		if !ok || c.loops[i].Dur != it.Dur {
			return false
		}
		delete(c.left, place)
	case OutermostWork:
		if around != nil || sleeps(it) {
			return false
		}
	default:
		return false
	}
	return true
}

func (c *taskCollector) end(it *timeline.Item, around, s *openWork) {
	self, ok := s.selfTime(around)
	if !ok || s.task == nil {
		return
	}
	s.task.tally.add(s.key, self, 1, s.forced)
	s.task.tally.addSet(s.set, self)
	step := PathStep{Name: s.key.name, Location: s.key.location, Duration: s.dur, Self: self, Parts: s.below.parts, Longest: s.below.longest}
	if s.isTask {
		if s.task.selected {
			c.finish(it, s, step)
		}
		return
	}
	around.below.parts++
	if s.dur > around.below.longest {
		around.below.longest = s.dur
		path := append(around.below.path[:0], step)
		around.below.path = append(path, s.below.path[:min(len(s.below.path), maxPath-1)]...)
	}
}

// finish keeps a task that has ended.
func (c *taskCollector) finish(it *timeline.Item, s *openWork, step PathStep) {
	t := Task{
		ThreadID: threadID(c.tl, it.Track), Basis: c.bases[it.Track], Name: step.Name, Start: s.ts, Duration: s.dur, Work: s.task.tally.work(),
		Contexts: []ContextTime{}, Path: append([]PathStep{step}, s.below.path...),
	}
	if from, ok := s.cpu.Nanos(); ok {
		if to, ok := it.ThreadTime.Nanos(); ok && to >= from {
			used := to - from
			t.CPU = &used
		}
	}
	if s.below.parts == 0 {
		c.workOfSamples(&t, it.Track, s.ts, s.dur)
	}
	if c.costs != nil {
		t.Contexts = s.task.tally.contexts(c.costs)
	}
	t.Split = splitOf(t.Path, c.out.Min)
	c.add(t)
}

// add keeps a task; if there are too many, it keeps the longest.
func (c *taskCollector) add(t Task) {
	t.Blocking = max(t.Duration-timeline.LongTaskLength, 0)
	sum(&c.out.Blocking, t.Blocking)
	if c.out.Tasks = append(c.out.Tasks, t); len(c.out.Tasks) == 2*maxTasks {
		c.keepLongest()
	}
}

// keepLongest sorts the tasks, longest first, and keeps at most maxTasks.
func (c *taskCollector) keepLongest() {
	slices.SortStableFunc(c.out.Tasks, func(a, b Task) int {
		return cmp.Or(cmp.Compare(b.Duration, a.Duration), cmp.Compare(a.Start, b.Start))
	})
	if more := len(c.out.Tasks) - maxTasks; more > 0 {
		c.out.Uncounted += int64(more)
		clear(c.out.Tasks[maxTasks:])
		c.out.Tasks = c.out.Tasks[:maxTasks]
	}
}

// splitOf finds the place on a path where dividing the task would help most: it follows the longest slice while that
// takes most of the time, or is long by itself.
func splitOf(path []PathStep, long timeline.Nanos) *TaskSplit {
	if len(path) == 0 || path[0].Parts == 0 {
		return nil
	}
	i := 0
	for i+1 < len(path) && (path[i].Longest >= long || path[i].Longest > path[i].Duration/5*4) {
		i++
	}
	step := path[i]
	return &TaskSplit{PathStep: step, Inside: step.Self > step.Duration/2}
}

// Telling returns the name and location of the most informative part of a task: the innermost step of its path with an
// informative name that takes at least half of the task; otherwise the function or slice with an informative name and the most
// self time. Failing both, it returns the name of the task or, if the task has no name, the part with the most self time.
func (t *Task) Telling() (name, location string) {
	tells := func(name string) bool { // the name of the task itself is uninformative
		return name != "" && name != "(anonymous)" && !strings.HasPrefix(name, "0x") && (t.Basis != LoopTasks || name != t.Name)
	}
	for i := range t.Path {
		if p := &t.Path[i]; p.Duration >= t.Duration-t.Duration/2 && tells(p.Name) {
			name, location = p.Name, p.Location
		}
	}
	for i := 0; i < len(t.Parts) && name == ""; i++ {
		if p := &t.Parts[i]; tells(p.Name) {
			name, location = p.Name, p.Location
		}
	}
	if part := firstPart(&t.Work); name == "" && t.Name == "" && part != nil {
		name, location = part.Name, part.Location
	}
	return cmp.Or(name, t.Name), location
}

// addSampled adds the busy runs of threads without event loop tasks.
func (c *taskCollector) addSampled(p *Profiles) {
	c.out.unnamed = p.Notes()
	c.profiles, c.sampled = p, map[timeline.TrackID]*Thread{}
	for _, t := range p.Threads {
		c.sampled[t.track] = t
		if c.bases[t.track] == LoopTasks || len(t.runs) == 0 || c.opts.Thread != nil && !c.opts.Thread(t.track) {
			continue
		}
		c.bases[t.track] = SampledTasks
		for i := range t.runs {
			for _, part := range t.busyParts(&t.runs[i]) {
				if start := t.observations[part.first].ts; part.dur >= c.out.Min && c.includes(t.track, start, part.dur) {
					task := p.sampledTask(t, &part)
					task.Start, task.Duration = start, part.dur
					c.add(task)
				}
			}
		}
	}
}

// addMarked adds the event loop tasks that are not slices of their thread but marks beside it, like some in Firefox: only
// samples show what they did.
func (c *taskCollector) addMarked() {
	for _, l := range c.loops {
		if _, ok := c.left[taskPlace{l.Thread, l.TS}]; !ok || !c.includes(l.Thread, l.TS, l.Dur) {
			continue
		}
		none := newWorkTally()
		task := Task{Contexts: []ContextTime{}, Path: []PathStep{}, Work: none.work()}
		c.workOfSamples(&task, l.Thread, l.TS, l.Dur)
		task.ThreadID, task.Basis, task.Start, task.Duration = threadID(c.tl, l.Thread), LoopTasks, l.TS, l.Dur
		c.add(task)
	}
}

// workOfSamples sets the work of a task from the samples of its thread, if there are any.
func (c *taskCollector) workOfSamples(task *Task, thread timeline.TrackID, start, length timeline.Nanos) {
	t := c.sampled[thread]
	if t == nil {
		return
	}
	at := func(ts timeline.Nanos) int {
		i, _ := slices.BinarySearchFunc(t.observations, ts, func(o observation, ts timeline.Nanos) int { return cmp.Compare(o.ts, ts) })
		return i
	}
	if during := (run{first: at(start), last: at(start + length)}); during.first < during.last {
		task.Work = c.profiles.sampledTask(t, &during).Work
	}
}

// includes reports whether a task without known slices counts.
func (c *taskCollector) includes(thread timeline.TrackID, start, length timeline.Nanos) bool {
	if c.opts.Include == nil {
		return true
	}
	return c.opts.Include(&timeline.Item{Head: timeline.Head{
		Kind: timeline.ItemBegin, Track: thread, TS: start, Dur: length, Ordinal: timeline.NoOrdinal,
	}})
}

// busyParts returns the parts of a busy run in which the thread certainly worked. Usually, that is the whole run. In Firefox,
// however, samples of waiting threads have the category Other, like many other samples, or the category that the thread always
// has. There, each part contains script, rendering or a garbage collection.
func (t *Thread) busyParts(r *run) (parts []run) {
	if t.Source != sourceFirefox {
		return []run{*r}
	}
	part, known := run{first: r.first, last: r.first}, false
	for i := r.first; i <= r.last; i++ {
		if i == r.last {
			if known {
				parts = append(parts, part)
			}
			break
		}
		o := &t.observations[i]
		if state := t.states.name(o.state); (state == "Other" || state == timeline.StateOther) && o.script == 0 {
			if known {
				parts = append(parts, part)
			}
			part, known = run{first: i + 1, last: i + 1}, false
			continue
		}
		part.last, part.dur = i+1, part.dur+o.dur
		known = known || t.states.class(o.state) < ClassOther
	}
	return parts
}

// sampledCategories maps kinds of states to kinds of work.
var sampledCategories = map[stateKind]producers.Category{
	gcState: producers.CategoryGC, styleState: producers.CategoryStyle, layoutState: producers.CategoryLayout,
}

// sampledTask makes a task from consecutive observations. It does not set the times of the task.
func (p *Profiles) sampledTask(t *Thread, r *run) Task {
	tally := newWorkTally()
	for _, o := range t.observations[r.first:r.last] {
		kind := t.states.kind(o.state)
		key := partKey{name: t.states.name(o.state), category: sampledCategories[kind]}
		if key.category == 0 && t.states.class(o.state) == ClassScript {
			key.category = producers.CategoryScript
		}
		if o.stack != 0 {
			f := p.stacks.frames[p.stacks.function(p.stacks.nodes[o.stack].frame, t.Source)]
			key.name, key.location = f.Function, f.Location()
		}
		tally.add(key, o.dur, int64(o.count), (kind == styleState || kind == layoutState) && o.script != 0)
	}
	return Task{
		ThreadID: t.ThreadID, Basis: SampledTasks, Work: tally.work(), Contexts: []ContextTime{}, Path: []PathStep{},
	}
}
