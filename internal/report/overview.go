package report

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/attribution"
	costtables "github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// Overview describes a recording: its origin, its contents, and where its time went. Times are nanoseconds; points in time are on the
// trace's clock.
type Overview struct {
	Recording Recording `json:"recording"`

	Pages      []PageTime             `json:"pages"`      // those with a url; most busy time first, the browser's own last
	Processes  []ProcessTime          `json:"processes"`  // most busy time first
	Threads    []ThreadTime           `json:"threads"`    // most busy time first
	Categories []CategoryCount        `json:"categories"` // most events first
	Contexts   []costtables.TypeCount `json:"contexts"`   // by type, most contexts first
	HasPages   bool                   `json:"-"`          // some contexts are frames of pages, not only isolates
	Tasks      []OverviewTask         `json:"long_tasks"` // longest first

	Busy   [busySteps]timeline.Nanos `json:"-"`      // of all threads, in steps of equal length
	Inputs []OverviewInput           `json:"inputs"` // slowest first

	// Devices reports whether devices of machine learning, such as GPUs, worked.
	Devices bool `json:"devices"`
}

// PageTime is how long threads worked for a page and the frames in it.
type PageTime struct {
	URL  string         `json:"url"`
	Busy timeline.Nanos `json:"busy_ns"`
}

// ProcessTime is the total busy time of the threads of a process.
type ProcessTime struct {
	Process string           `json:"process"`
	PID     timeline.InputID `json:"pid"`
	Labels  []string         `json:"labels,omitempty"` // its labels in the input, such as tab titles
	Shows   string           `json:"shows,omitempty"`  // the url that its threads show
	Threads int              `json:"threads"`          // with events
	Busy    timeline.Nanos   `json:"busy_ns"`

	Recorded RecordedAs `json:"-"`
}

// ThreadTime is how long a thread was busy: with tasks and other slices, or according to its samples if it has no event loop
// tasks.
type ThreadTime struct {
	ThreadID
	Shows string         `json:"shows,omitempty"` // the url of the page or worker that it runs
	Busy  timeline.Nanos `json:"busy_ns"`
	// Samples is the number of its samples, which represent the time Sampled.
	Samples int64          `json:"samples,omitempty"`
	Sampled timeline.Nanos `json:"sampled_ns,omitempty"`

	track timeline.TrackID
}

// CategoryCount is the number of slices and instants of a category. An event with several categories counts for each.
type CategoryCount struct {
	Category string `json:"category"`
	Events   int64  `json:"events"`
}

// OverviewTask is the summary of a long task.
type OverviewTask struct {
	ThreadID
	Name     string         `json:"name,omitempty"` // of the most informative work in it
	Location string         `json:"location,omitempty"`
	Start    timeline.Nanos `json:"ts_ns"`
	Duration timeline.Nanos `json:"dur_ns"`
}

// OverviewInput is the summary of a slow input.
type OverviewInput struct {
	Kind    InputKind      `json:"kind"`
	Start   timeline.Nanos `json:"ts_ns"`
	Latency timeline.Nanos `json:"latency_ns"`
}

// CollectOverview summarizes the selected part of a nested timeline. It fails only if temporary files cannot be used or ctx is
// done.
func CollectOverview(ctx context.Context, tl *timeline.Timeline, attributed *attribution.Result, selected *selection.Selection) (*Overview, error) {
	c := &overviewCollector{tl: tl, attributed: attributed, selected: selected, tables: costtables.Of(attributed), busy: newBusyThreads[struct{}](tl, selected)}
	c.out = Overview{ // empty lists, not null
		Recording: recordingOf(tl), Pages: []PageTime{}, Processes: []ProcessTime{}, Threads: []ThreadTime{}, Categories: []CategoryCount{},
		Tasks: []OverviewTask{}, Inputs: []OverviewInput{},
	}
	for _, step := range []func(context.Context) error{c.walk, c.addThreads, c.addTasks, c.addInputs} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	c.out.Contexts, c.out.HasPages = c.tables.TypeCounts(), c.tables.HasPages()
	return &c.out, nil
}

type overviewCollector struct {
	tl         *timeline.Timeline
	attributed *attribution.Result
	tables     *costtables.Tables
	selected   *selection.Selection
	busy       busyThreads[struct{}]
	out        Overview
}

// busySteps is the number of steps of Overview.Busy.
const busySteps = 60

// addBusy adds a period in which a thread was busy to the steps of Overview.Busy.
func (c *overviewCollector) addBusy(from, to timeline.Nanos) {
	totals := c.tl.Totals()
	step := (totals.End-totals.Start)/busySteps + 1
	for at := max(from, totals.Start); at < to; {
		i := min((at-totals.Start)/step, busySteps-1)
		next := min(to, totals.Start+(i+1)*step)
		if i == busySteps-1 {
			next = to
		}
		sum(&c.out.Busy[i], next-at)
		at = next
	}
}

// addThreads determines how busy threads and processes were.
func (c *overviewCollector) addThreads(ctx context.Context) error {
	times, err := urlTimes(c.attributed)
	if err != nil {
		return err
	}
	if err := c.addPages(); err != nil {
		return err
	}
	sampled, err := c.sampledThreads(ctx)
	if err != nil {
		return err
	}
	shows := threadsShow(times, func(id timeline.TrackID) bool { return sampled[id] != nil && sampled[id].runsScript() })
	for id := range timeline.TrackID(c.tl.TrackCount()) {
		track := c.tl.Track(id)
		if track.Kind != timeline.ThreadTrack || !track.Used || !c.selected.Track(id) {
			continue
		}
		t := ThreadTime{ThreadID: threadID(c.tl, id), Shows: shows[id], track: id}
		if s := c.busy.threads[id]; s != nil {
			t.Busy = s.busy
		}
		if s := sampled[id]; s != nil {
			if c.busy.threads[id] == nil {
				for part := range s.busy() {
					from := s.observations[part.first].ts
					c.addBusy(from, from+part.dur)
				}
			}
			t.Samples, t.Sampled = s.sampled()
			if c.busy.bySamples(s) {
				t.Busy = s.busyTime()
			}
		}
		c.out.Threads = append(c.out.Threads, t)
	}
	slices.SortStableFunc(c.out.Threads, func(a, b ThreadTime) int { return cmp.Compare(b.Busy, a.Busy) })
	c.addProcesses()
	return nil
}

// sampledThreads returns the threads with samples, by track.
func (c *overviewCollector) sampledThreads(ctx context.Context) (map[timeline.TrackID]*Thread, error) {
	if !hasSamples(c.tl) {
		return nil, nil
	}
	profiles, err := Collect(ctx, c.tl, c.selected)
	if err != nil {
		return nil, err
	}
	threads := map[timeline.TrackID]*Thread{}
	for _, t := range profiles.Threads {
		threads[t.track] = t
	}
	return threads, nil
}

// sampled returns the number of samples of a thread, and the time that they represent.
func (t *Thread) sampled() (n int64, time timeline.Nanos) {
	for i := range t.observations {
		n += int64(t.observations[i].count)
		sum(&time, t.observations[i].dur)
	}
	return n, time
}

// busyTime returns the time in which a thread certainly worked.
func (t *Thread) busyTime() (busy timeline.Nanos) {
	for part := range t.busy() {
		sum(&busy, part.dur)
	}
	return busy
}

// addProcesses totals the busy times of threads by process. A process shows the url of the busiest of its threads that show one.
func (c *overviewCollector) addProcesses() {
	index := map[timeline.TrackID]int{}
	for i := range c.out.Threads {
		t := &c.out.Threads[i]
		id := c.tl.TrackParent(t.track)
		if c.tl.TrackKind(id) != timeline.ProcessTrack {
			continue
		}
		k, ok := index[id]
		if !ok {
			k = len(c.out.Processes)
			index[id] = k
			c.out.Processes = append(c.out.Processes, ProcessTime{Process: t.Process, PID: t.PID, Recorded: t.Recorded, Labels: c.tl.Track(id).Labels})
		}
		p := &c.out.Processes[k]
		p.Threads++
		if c.busy.threads[t.track] != nil || !c.busy.haveLoops() { // otherwise it is a profile of an unnamed thread
			sum(&p.Busy, t.Busy)
		}
		p.Shows = cmp.Or(p.Shows, t.Shows)
	}
	slices.SortStableFunc(c.out.Processes, func(a, b ProcessTime) int { return cmp.Compare(b.Busy, a.Busy) })
}

// addPages lists the pages that have urls, as in the cost table: the time of a page includes its frames.
func (c *overviewCollector) addPages() error {
	t, err := c.tables.Table(costtables.TableOptions{Type: c.tables.DerivedName(costtables.TypePage)})
	if err != nil {
		return err
	}
	index := map[string]int{}
	for i := range t.Rows {
		r := &t.Rows[i]
		if r.None || r.Self == 0 || !r.HasURL || !isURL(r.Name) {
			continue
		}
		k, ok := index[r.Name]
		if !ok {
			k = len(c.out.Pages)
			index[r.Name] = k
			c.out.Pages = append(c.out.Pages, PageTime{URL: r.Name})
		}
		sum(&c.out.Pages[k].Busy, r.Self)
	}
	slices.SortStableFunc(c.out.Pages, func(a, b PageTime) int {
		return cmp.Or(table.FalseFirst(IsOwnPage(a.URL), IsOwnPage(b.URL)), cmp.Compare(b.Busy, a.Busy), cmp.Compare(a.URL, b.URL))
	})
	return nil
}

// IsOwnPage reports whether a page is part of the browser itself.
func IsOwnPage(url string) bool {
	scheme, _, _ := strings.Cut(url, "://")
	switch scheme {
	case "chrome", "chrome-untrusted", "chrome-extension", "devtools", "edge", "moz-extension", "resource", "about":
		return true
	}
	return false
}

// IsPage reports whether a url belongs to a document that is not part of the browser itself.
func IsPage(url string) bool { return isURL(url) && !IsOwnPage(url) }

// isURL reports whether the name of a page is the url of a document. about:blank does not count, because such pages are opened
// only to be filled by script.
func isURL(name string) bool { return strings.Contains(name, "://") }

// maxCategories bounds the counted categories.
const maxCategories = 1 << 12

// walk counts events by category, and determines when threads were busy.
func (c *overviewCollector) walk(ctx context.Context) error {
	lists := make([]int64, c.tl.CategoryCount()+1) // events by CategoryID, which is a list of categories in the input
	categories := c.selected.Filtered(c.tl, func(it *timeline.Item) error {
		if it.Kind == timeline.ItemBegin || it.Kind == timeline.ItemInstant {
			lists[it.CategoryID]++
		}
		return nil
	})
	note := func(*timeline.Item, *timeline.OpenSlices[busySlice[struct{}]]) (none struct{}) { return none }
	busy := timeline.Nested(c.tl, func(it *timeline.Item, open *timeline.OpenSlices[busySlice[struct{}]]) error {
		c.busy.item(it, open, note, func(t *busyThread[struct{}], _ timeline.TrackID, _ *struct{}, from, to timeline.Nanos) {
			t.add(from, to)
			c.addBusy(from, to)
		})
		return nil
	})
	if err := c.tl.Walk(ctx, inTurn([]func(*timeline.Item) error{categories, busy})); err != nil {
		return err
	}
	c.addCategories(lists)
	return nil
}

// addCategories lists the categories. lists holds the number of events for each list of categories.
func (c *overviewCollector) addCategories(lists []int64) {
	counts := map[string]int64{}
	for id, n := range lists[1:] {
		for name := range strings.SplitSeq(string(c.tl.Category(timeline.CategoryID(id+1))), ",") {
			name = strings.TrimSpace(name)
			if _, ok := counts[name]; n > 0 && name != "" && (ok || len(counts) < maxCategories) {
				counts[name] += n
			}
		}
	}
	c.out.Devices = counts[producers.Kernel]+counts[producers.GPUMemcpy]+counts[producers.GPUMemset] > 0
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		c.out.Categories = append(c.out.Categories, CategoryCount{name, counts[name]})
	}
	slices.SortStableFunc(c.out.Categories, func(a, b CategoryCount) int { return cmp.Compare(b.Events, a.Events) })
}

// addTasks lists the long tasks without their work.
func (c *overviewCollector) addTasks(ctx context.Context) error {
	opts := TaskOptions{}
	if c.selected != nil {
		opts.Include, opts.Thread = c.selected.Item, c.selected.Track
	}
	tasks, err := CollectTasks(ctx, c.tl, nil, opts)
	if err != nil {
		return err
	}
	for i := range tasks.Tasks {
		t := &tasks.Tasks[i]
		out := OverviewTask{ThreadID: t.ThreadID, Start: t.Start, Duration: t.Duration}
		out.Name, out.Location = t.Telling()
		c.out.Tasks = append(c.out.Tasks, out)
	}
	return nil
}

func (c *overviewCollector) addInputs(ctx context.Context) error {
	if len(c.attributed.Inputs) == 0 {
		return nil
	}
	opts := InputOptions{Brief: true}
	if c.selected != nil {
		opts.Include, opts.Thread = c.selected.Overlaps, c.selected.Track
	}
	inputs, err := CollectInputs(ctx, c.tl, c.attributed, opts)
	if err != nil {
		return err
	}
	for i := range inputs.Inputs {
		in := &inputs.Inputs[i]
		c.out.Inputs = append(c.out.Inputs, OverviewInput{in.Kind, in.Start, in.Latency})
	}
	return nil
}
