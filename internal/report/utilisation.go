package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/timeline"
)

// Utilisation is how busy threads were over time, and with which kinds of work. Times are nanoseconds; points in time are on the
// trace's clock.
type Utilisation struct {
	Start timeline.Nanos `json:"start_ns"` // of the first slice, or sample, on a thread
	End   timeline.Nanos `json:"end_ns"`   // of the last
	Step  timeline.Nanos `json:"step_ns"`  // the time is divided into steps of this length; the last may end after End
	// Kinds lists the kinds of work, as in attribution.md or according to By.
	Kinds   []string    `json:"kinds"`
	By      KindBasis   `json:"by"`
	Threads []ThreadUse `json:"threads"`      // busiest first, at most maxUsedThreads
	More    int         `json:"more_threads"` // busy threads that are not in Threads
}

// KindBasis is the meaning of the kinds of a Utilisation.
type KindBasis string

// The bases.
const (
	KindsOfWork    KindBasis = "work"     // script, layout, …: kinds that weft knows
	KindsOfInput   KindBasis = "category" // the top categories of the input, where weft knows almost none of the work
	KindsByName    KindBasis = "name"     // the slice names with the most time, where categories are missing too
	otherKind                = "other"    // everything else
	withoutKind              = "(none)"   // no category, or no name
	maxKinds                 = 8          // of KindsOfInput and KindsByName, without otherKind
	maxUsedThreads           = 12
	smallUse                 = 1000 // threads busy for less than the whole time divided by this are not shown
	useSteps                 = 240
)

// ThreadUse is the utilisation of a thread.
type ThreadUse struct {
	ThreadID
	Shows   string         `json:"shows,omitempty"`   // the url of the page or worker that it runs
	Sampled bool           `json:"sampled,omitempty"` // known from samples, not from slices
	Busy    timeline.Nanos `json:"busy_ns"`
	// CPU is the CPU time of the outermost slices that record it, and CPUOf is the length of these slices; CPU is nil if no slice
	// records it.
	CPU   *timeline.Nanos `json:"cpu_ns,omitempty"`
	CPUOf timeline.Nanos  `json:"cpu_of_ns,omitempty"`
	// ByKind holds the time spent on each of Utilisation.Kinds; Steps holds the same by step.
	ByKind []timeline.Nanos   `json:"by_kind_ns"`
	Steps  [][]timeline.Nanos `json:"steps_ns"` // by kind, then by step

	track timeline.TrackID
}

// openUse determines the kind that the time of a slice counts as while it is the innermost one.
type openUse struct {
	work     producers.Category
	category timeline.CategoryID
	name     timeline.NameID
}

// useCollector determines how busy threads were, in two walks: the first determines which threads to show for which period, and
// the second divides their time into steps.
type useCollector struct {
	busyThreads[openUse]
	reader *workReader
	probes bool // there may be probe slices
	err    error
	rows   []*ThreadUse // by TrackID: of the threads that are shown by their slices
	chart  *chartCollector
	out    Utilisation

	work       [producers.CategoryCount]timeline.Nanos // of all threads
	categories []timeline.Nanos                        // by CategoryID
	names      []timeline.Nanos                        // by NameID
	kinds      [3][]int                                // index in Utilisation.Kinds by producers.Category, CategoryID, NameID
}

func newUseCollector(tl *timeline.Timeline, selected *selection.Selection) *useCollector {
	c := &useCollector{
		busyThreads: newBusyThreads[openUse](tl, selected), reader: newWorkReader(tl, nil), probes: tl.MayHaveArg(timeline.OwnProbe),
		rows: make([]*ThreadUse, tl.TrackCount()), categories: make([]timeline.Nanos, tl.CategoryCount()+1), names: make([]timeline.Nanos, tl.NameCount()+1),
	}
	c.out = Utilisation{By: KindsOfWork, Kinds: []string{}, Threads: []ThreadUse{}}
	return c
}

// begin returns the kind of work of a slice that starts.
func (c *useCollector) begin(it *timeline.Item, open *timeline.OpenSlices[busySlice[openUse]]) openUse {
	s := openUse{category: it.CategoryID, name: it.NameID, work: c.workOf(it)}
	if n := open.Len(); n > 1 && s.work == producers.CategoryNone {
		s.work = open.At(n - 2).note.work
	}
	return s
}

// workOf returns the kind of work of a slice by itself.
func (c *useCollector) workOf(it *timeline.Item) producers.Category {
	if timeline.IsCall(it.Category) || string(it.Category) == "js" {
		return producers.CategoryScript
	}
	if _, work := c.reader.nameOf(&it.Head, it.Name); work != producers.CategoryNone || !c.probes {
		return work
	}
	if err := it.ReadArgs(); err != nil && c.err == nil {
		c.err = err
	}
	return attribution.CategoryOfProbe(c.tl, it.Args)
}

// find handles an item of the first walk.
func (c *useCollector) find(it *timeline.Item, open *timeline.OpenSlices[busySlice[openUse]]) error {
	c.item(it, open, c.begin, func(t *busyThread[openUse], _ timeline.TrackID, s *openUse, from, to timeline.Nanos) {
		t.add(from, to)
		sum(&c.work[s.work], to-from)
		sum(&c.categories[s.category], to-from)
		sum(&c.names[s.name], to-from)
	})
	return c.err
}

// choose prepares the second walk: it determines which threads are shown for which period. Threads with samples but no event
// loop tasks are shown by their samples.
func (c *useCollector) choose(profiles *Profiles) {
	sampled := map[timeline.TrackID]*Thread{}
	for _, t := range profiles.Threads {
		if c.bySamples(t) {
			sampled[t.track] = t
			c.threads[t.track] = nil
		}
	}
	first, last := timeline.Nanos(math.MaxInt64), timeline.Nanos(math.MinInt64)
	var rows []ThreadUse
	for id := range timeline.TrackID(c.tl.TrackCount()) {
		row := ThreadUse{track: id, Sampled: sampled[id] != nil}
		if t := c.threads[id]; t != nil && t.busy > 0 {
			row.Busy, first, last = t.busy, min(first, t.first), max(last, t.last)
			if t.measured > 0 {
				row.CPU, row.CPUOf = new(t.cpu), t.measured
			}
		}
		if t := sampled[id]; t != nil {
			if from, to, ok := t.span(); ok {
				row.Busy, first, last = t.busyTime(), min(first, from), max(last, to)
			}
		}
		if row.Busy > 0 {
			row.ThreadID = threadID(c.tl, id)
			rows = append(rows, row)
		}
	}
	slices.SortStableFunc(rows, func(a, b ThreadUse) int { return cmp.Compare(b.Busy, a.Busy) })
	shown := min(len(rows), maxUsedThreads)
	for shown > 1 && rows[shown-1].Busy < (last-first)/smallUse {
		shown--
	}
	c.out.More = len(rows) - shown
	c.out.Threads = append(c.out.Threads, rows[:shown]...)
	if len(rows) == 0 {
		return
	}
	c.out.Start, c.out.End = first, last
	c.out.Step = (last-first)/useSteps + 1
	c.chooseKinds(sampled)
	c.chart = newChartCollector(c, maxChartSlices)
	for i := range c.out.Threads {
		row := &c.out.Threads[i]
		row.ByKind, row.Steps = make([]timeline.Nanos, len(c.out.Kinds)), make([][]timeline.Nanos, len(c.out.Kinds))
		for k := range row.Steps {
			row.Steps[k] = make([]timeline.Nanos, useSteps)
		}
		if t := sampled[row.track]; t != nil {
			c.addSamples(row, t)
			c.chart.addSamples(profiles, t)
		} else {
			c.rows[row.track] = row
			c.threads[row.track].restart()
		}
	}
}

// chooseKinds determines which kinds of work are distinguished: the kinds that weft knows, unless they cover less than a
// twentieth of the time. In that case, it chooses categories or names of slices.
func (c *useCollector) chooseKinds(sampled map[timeline.TrackID]*Thread) {
	known, all := timeline.Nanos(0), timeline.Nanos(0)
	for k, t := range c.work {
		if sum(&all, t); k != int(producers.CategoryNone) && k != int(producers.CategoryOther) {
			sum(&known, t)
		}
	}
	switch {
	case known > all/20 || all == 0:
		c.work[producers.CategoryNone], c.work[producers.CategoryOther] = 0, 0
		c.kinds[0] = c.largest(c.work[:], func(id int) string { return producers.Category(id).String() }, len(c.work))
	case all-c.categories[0] > all/2:
		c.out.By = KindsOfInput
		c.kinds[1] = c.largest(c.categories, func(id int) string { return string(c.tl.Category(timeline.CategoryID(id))) }, maxKinds)
	default:
		c.out.By = KindsByName
		c.kinds[2] = c.largest(c.names, func(id int) string { return string(c.tl.Name(timeline.NameID(id))) }, maxKinds)
	}
	for i := range c.out.Threads {
		if t := sampled[c.out.Threads[i].track]; t != nil {
			for _, kind := range t.states.kinds {
				if text := sampledKinds[kind]; text != "" {
					c.kind(text)
				}
			}
		}
	}
	other := c.kind(otherKind)
	for _, kinds := range c.kinds {
		for i := range kinds {
			if kinds[i] < 0 {
				kinds[i] = other
			}
		}
	}
}

// kind returns the index of a kind in Utilisation.Kinds; it adds new kinds.
func (c *useCollector) kind(name string) int {
	if i := slices.Index(c.out.Kinds, name); i >= 0 {
		return i
	}
	c.out.Kinds = append(c.out.Kinds, name)
	return len(c.out.Kinds) - 1
}

// largest returns the kinds by id: for the ids that took the most time, at most limit, the index of their kind, and -1 for all
// other ids.
func (c *useCollector) largest(times []timeline.Nanos, name func(int) string, limit int) []int {
	ids, kinds := []int{}, make([]int, len(times))
	for id, t := range times {
		kinds[id] = -1
		if t > 0 {
			ids = append(ids, id)
		}
	}
	slices.SortStableFunc(ids, func(a, b int) int { return cmp.Compare(times[b], times[a]) })
	for _, id := range ids[:min(len(ids), limit)] {
		text := withoutKind
		if id != 0 {
			text = cmp.Or(name(id), withoutKind)
		}
		kinds[id] = c.kind(text)
	}
	return kinds
}

// sampledKinds maps kinds of states to kinds of work.
var sampledKinds = [...]string{
	scriptState: producers.CategoryScript.String(), styleState: producers.CategoryStyle.String(), layoutState: producers.CategoryLayout.String(),
	paintState: producers.CategoryPaint.String(), gcState: producers.CategoryGC.String(), idleState: "",
}

// addSamples divides the busy time of a sampled thread into steps.
func (c *useCollector) addSamples(row *ThreadUse, t *Thread) {
	for o := range t.within(t.busy()) {
		kind := c.kind(cmp.Or(sampledKinds[t.states.kind(o.state)], otherKind))
		c.addTime(row, kind, o.ts, o.end())
	}
}

// divide handles an item of the second walk.
func (c *useCollector) divide(it *timeline.Item, open *timeline.OpenSlices[busySlice[openUse]]) error {
	c.item(it, open, c.begin, func(_ *busyThread[openUse], thread timeline.TrackID, s *openUse, from, to timeline.Nanos) {
		if row := c.rows[thread]; row != nil {
			c.addTime(row, c.kindOf(s), from, to)
		}
	})
	if c.chart != nil {
		c.chart.item(it, open)
	}
	return c.err
}

// kindOf returns the index of the kind of work of a slice.
func (c *useCollector) kindOf(s *openUse) int {
	switch c.out.By {
	case KindsOfWork:
		return c.kinds[0][s.work]
	case KindsOfInput:
		return c.kinds[1][s.category]
	}
	return c.kinds[2][s.name]
}

// addTime adds time of one kind of work to the steps that it overlaps.
func (c *useCollector) addTime(row *ThreadUse, kind int, from, to timeline.Nanos) {
	sum(&row.ByKind[kind], to-from)
	for from < to {
		step := (from - c.out.Start) / c.out.Step
		end := from + min(to-from, c.out.Step-(from-c.out.Start)%c.out.Step)
		row.Steps[kind][step] += end - from
		from = end
	}
}

// sortTrees puts trees in the order of their threads.
func (c *useCollector) sortTrees(trees []StackTree) {
	rank := func(t *StackTree) int {
		if i := slices.IndexFunc(c.out.Threads, func(row ThreadUse) bool { return row.ThreadID == t.ThreadID }); i >= 0 {
			return i
		}
		return len(c.out.Threads)
	}
	slices.SortStableFunc(trees, func(a, b StackTree) int { return cmp.Compare(rank(&a), rank(&b)) })
}

// done returns the utilisation after both walks.
func (c *useCollector) done(shows map[timeline.TrackID]string) *Utilisation {
	for i := range c.out.Threads {
		c.out.Threads[i].Shows = shows[c.out.Threads[i].track]
	}
	return &c.out
}
