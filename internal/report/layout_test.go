package report

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// firing is a firing of a layout probe.
type firing struct {
	at      timeline.Nanos
	thread  int
	end     bool
	context uint64
	phase   string
}

func (f *firing) key() layoutKey {
	return layoutKey{layoutContext{number: f.context}, f.phase}
}

// paired is a slice made from firings by rule D2, or an end without a start.
type paired struct {
	start, end timeline.Nanos
	firing     firing
	flag       string
	parent     int // index of the slice around it; -1: none
}

// pair applies rule D2 of probes.md 4 in the simplest way, to firings in order.
func pair(firings []firing) (slices, ends []paired) {
	open := map[int][]int{}
	for _, f := range firings {
		stack := open[f.thread]
		if !f.end {
			p := paired{start: f.at, firing: f, parent: -1}
			if len(stack) > 0 {
				p.parent = stack[len(stack)-1]
			}
			open[f.thread] = append(stack, len(slices))
			slices = append(slices, p)
			continue
		}
		i := len(stack) - 1
		for i >= 0 && slices[stack[i]].firing.key() != f.key() {
			i--
		}
		if i < 0 {
			ends = append(ends, paired{start: f.at, firing: f, flag: "end_without_start"})
			continue
		}
		for k := len(stack) - 1; k >= i; k-- {
			slices[stack[k]].end = f.at
			if k > i {
				slices[stack[k]].flag = "unbalanced"
			}
		}
		open[f.thread] = stack[:i]
	}
	for _, stack := range open {
		for _, i := range stack {
			slices[i].end, slices[i].flag = firings[len(firings)-1].at, "never_ended"
		}
	}
	return slices, ends
}

// probeArgs encodes the arguments of a probe slice or instant.
func probeArgs(b *timeline.Builder, name string, p *paired, function string) timeline.Args {
	e := b.Args()
	e.Reset()
	e.OwnKey([]byte(timeline.OwnProbe))
	e.String([]byte("trace_mozilla:" + name))
	e.Key([]byte("presctx"))
	e.Pointer(p.firing.context)
	e.Key([]byte("phase"))
	e.String([]byte(p.firing.phase))
	e.Key([]byte("func"))
	e.String([]byte(function))
	if p.flag != "" {
		e.OwnKey([]byte(timeline.OwnFlags))
		e.BeginArray()
		e.String([]byte(p.flag))
		e.EndArray()
	}
	return e.Args()
}

// probeTimeline builds the timeline of probe slices and ends.
func probeTimeline(t *testing.T, all, ends []paired) *timeline.Timeline {
	t.Helper()
	b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log)})
	process := b.Process(timeline.ProcessKey{Num: 1})
	type event struct {
		timeline.Event
		p    *paired
		name string
	}
	var events []event
	for i := range all {
		p := &all[i]
		events = append(events, event{timeline.Event{Kind: timeline.Slice, TS: p.start, Dur: p.end - p.start, InOrder: true}, p, "layout-start"})
	}
	for i := range ends {
		events = append(events, event{timeline.Event{Kind: timeline.Instant, TS: ends[i].start}, &ends[i], "layout-end"})
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.TS, b.TS) })
	for i, ev := range events {
		ev.Event.Event = uint32(i + 1)
		ev.Track = b.Thread(process, timeline.ThreadKey{Num: int64(2 + ev.p.firing.thread)})
		ev.Name, ev.Category = []byte("any name"), []byte("any category")
		ev.Args = probeArgs(b, ev.name, ev.p, "f")
		if err := b.Add(&ev.Event); err != nil {
			t.Fatal(err)
		}
	}
	tl, err := b.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tl.Close() })
	if err := tl.Nest(t.Context()); err != nil {
		t.Fatal(err)
	}
	return tl
}

func collectLayout(t *testing.T, tl *timeline.Timeline, opts LayoutOptions) *Layout {
	t.Helper()
	l, err := CollectLayout(t.Context(), tl, opts)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

type threadAndKey struct {
	thread int
	key    layoutKey
}

// byHand computes the times of a mode moment by moment: each moment lasts a nanosecond, and times are in nanoseconds.
func byHand(mode TimeMode, firings []firing, all []paired) map[LayoutKey]int64 {
	times := map[LayoutKey]int64{}
	if mode == ByDTrace {
		starts := map[threadAndKey]timeline.Nanos{}
		for _, f := range firings {
			key := threadAndKey{f.thread, f.key()}
			if !f.end {
				starts[key] = f.at
			} else if starts[key] != 0 {
				times[f.key().public()] += int64(f.at-starts[key]) / 1000
				starts[key] = 0
			}
		}
		return times
	}
	for _, p := range all {
		times[p.firing.key().public()] += 0
	}
	last := firings[len(firings)-1].at
	for now := range last {
		innermost, seen := map[int]*paired{}, map[threadAndKey]bool{}
		for i := range all {
			p := &all[i]
			if p.start > now || p.end <= now {
				continue
			}
			innermost[p.firing.thread] = p // all are in the order in which they began
			if key := (threadAndKey{p.firing.thread, p.firing.key()}); mode == Inclusive && !seen[key] {
				seen[key] = true
				times[p.firing.key().public()]++
			}
		}
		for _, p := range innermost {
			if mode == Exclusive {
				times[p.firing.key().public()]++
			}
		}
	}
	for key := range times {
		times[key] /= 1000
	}
	return times
}

// For random firings on several threads, the reports match a plain reading of the rules. Times are far apart or close
// together, so that rounding matters, and no thread fires twice at the same time.
func TestLayoutOfRandomFirings(t *testing.T) {
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 13))
		var firings []firing
		at := timeline.Nanos(rng.IntN(2))
		for range 1 + rng.IntN(40) {
			firings = append(firings, firing{
				at: at, thread: rng.IntN(2), end: rng.IntN(2) == 0, context: []uint64{0, 16, 1 << 63}[rng.IntN(3)],
				phase: []string{"paint", "reflow", "frameCon", "7"}[rng.IntN(4)],
			})
			at += 1 + timeline.Nanos(rng.IntN(700))
		}
		all, ends := pair(firings)
		l := collectLayout(t, probeTimeline(t, all, ends), LayoutOptions{})
		for _, mode := range []TimeMode{ByDTrace, Exclusive, Inclusive} {
			got := map[LayoutKey]int64{}
			for _, row := range l.Times(mode) {
				got[row.LayoutKey] = row.Micros
			}
			if diff := gocmp.Diff(byHand(mode, firings, all), got); diff != "" {
				t.Fatalf("seed %d, mode %d (-want +got):\n%s%+v", seed, mode, diff, firings)
			}
		}
		checkPhases(t, seed, l, all, ends)
	}
}

// checkPhases compares counts, phases and nesting with the slices.
func checkPhases(t *testing.T, seed uint64, l *Layout, all, ends []paired) {
	t.Helper()
	counts, phases, nesting := map[LayoutKey]int64{}, map[LayoutKey]LayoutPhase{}, map[[2]string]int64{}
	unbalanced := int64(0)
	for _, p := range all {
		key := p.firing.key().public()
		counts[key]++
		if p.parent >= 0 {
			nesting[[2]string{all[p.parent].firing.phase, p.firing.phase}]++
		}
		if p.flag != "" {
			unbalanced++
			continue
		}
		row := phases[key]
		row.LayoutKey = key
		row.Count++
		row.Total += p.end - p.start
		row.Max = max(row.Max, p.end-p.start)
		row.Mean = row.Total / timeline.Nanos(row.Count)
		phases[key] = row
	}
	gotCounts, gotPhases, gotNesting := map[LayoutKey]int64{}, map[LayoutKey]LayoutPhase{}, map[[2]string]int64{}
	for _, row := range l.Counts() {
		gotCounts[row.LayoutKey] = row.Count
	}
	for _, row := range l.Phases() {
		gotPhases[row.LayoutKey] = row
	}
	for _, row := range l.Nesting() {
		gotNesting[[2]string{row.Outer, row.Inner}] = row.Count
	}
	if diff := gocmp.Diff(counts, gotCounts) + gocmp.Diff(phases, gotPhases) + gocmp.Diff(nesting, gotNesting); diff != "" {
		t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
	}
	if l.UnbalancedStarts != unbalanced || l.UnmatchedEnds != int64(len(ends)) || !l.Probes {
		t.Fatalf("seed %d: %d unbalanced starts and %d ends, want %d and %d", seed, l.UnbalancedStarts, l.UnmatchedEnds, unbalanced, len(ends))
	}
}

// Rows with equal values are sorted by context, as an unsigned number, and phase; texts come after numbers.
func TestOrderOfLayoutRows(t *testing.T) {
	l := &Layout{cells: map[layoutKey]*layoutCell{}}
	for _, key := range []layoutKey{
		{layoutContext{text: "A1", isText: true}, "paint"}, {layoutContext{number: 0xffff888104a3c000}, "reflow"}, {layoutContext{number: 16}, "reflow"},
		{layoutContext{number: 16}, "paint"}, {layoutContext{number: 16}, "frameCon"}, {layoutContext{number: 16}, "7"}, {layoutContext{number: 16}, "-1"},
		{layoutContext{number: 16}, "composite"},
	} {
		l.cells[key] = &layoutCell{intervals: 1, ended: 1}
	}
	var times, phases []string
	for _, row := range l.Times(ByDTrace) {
		times = append(times, row.Context+" "+row.Phase)
	}
	for _, row := range l.Phases() {
		phases = append(phases, row.Context+" "+row.Phase)
	}
	want := []string{"16 -1", "16 7", "16 composite", "16 frameCon", "16 paint", "16 reflow", "-131387266711552 reflow", "A1 paint"}
	if diff := gocmp.Diff(want, times); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
	want = []string{"16 paint", "16 reflow", "16 frameCon", "16 -1", "16 7", "16 composite", "-131387266711552 reflow", "A1 paint"}
	if diff := gocmp.Diff(want, phases); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
}

// If an unmatched end and a start have the same time on a thread, the end is handled first: otherwise it would end the new start.
func TestUnmatchedEndBeforeStart(t *testing.T) {
	reflow := firing{context: 16, phase: "reflow"}
	all := []paired{
		{start: 1000, end: 3000, firing: reflow, flag: "unbalanced"},
		{start: 9000, end: 11000, firing: reflow},
	}
	l := collectLayout(t, probeTimeline(t, all, []paired{{start: 9000, firing: reflow, flag: "end_without_start"}}), LayoutOptions{})
	want := []LayoutTime{{LayoutKey{"16", "reflow"}, 10}} // 8 of the first interval, 2 of the second
	if diff := gocmp.Diff(want, l.Times(ByDTrace)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The number of rows is limited, and slices without a row are counted.
func TestLayoutRowsAreLimited(t *testing.T) {
	l := &Layout{cells: map[layoutKey]*layoutCell{}, counts: map[layoutCountKey]int64{}}
	for i := range uint64(maxRows + 10) {
		l.count(&layoutStart{key: layoutKey{layoutContext{number: i}, "paint"}})
	}
	l.count(&layoutStart{key: layoutKey{layoutContext{number: 5}, "paint"}})
	if len(l.counts) != maxRows || l.Uncounted != 10 {
		t.Errorf("%d rows, %d slices in none", len(l.counts), l.Uncounted)
	}
	long := &Layout{cells: map[layoutKey]*layoutCell{}, counts: map[layoutCountKey]int64{}}
	text := string(make([]byte, maxRowText/2))
	for _, name := range []string{"a", "b", "c"} {
		long.count(&layoutStart{key: layoutKey{phase: name}, function: text})
	}
	if len(long.counts) != 1 || long.Uncounted != 2 {
		t.Errorf("%d rows of long texts, %d slices in none", len(long.counts), long.Uncounted)
	}
}

// The number of pairs of phases is also limited, and slices without a pair are counted; known pairs still count slices.
func TestLayoutNestingIsLimited(t *testing.T) {
	l := &Layout{nesting: map[[2]string]int64{}}
	for i := range maxNestings + 10 {
		l.addNesting("paint", strconv.Itoa(i))
	}
	l.addNesting("paint", "5")
	if n := l.nesting[[2]string{"paint", "5"}]; len(l.nesting) != maxNestings || l.UncountedNesting != 10 || n != 2 {
		t.Errorf("%d pairs, one of %d slices; %d slices in none", len(l.nesting), n, l.UncountedNesting)
	}
}

// addSlice adds a slice with the arguments that args encodes, if args is not nil.
func (tr *trace) addSlice(track timeline.TrackID, name, category string, at, dur timeline.Nanos, args func(e *timeline.ArgsEncoder)) {
	tr.t.Helper()
	e := tr.b.Args()
	e.Reset()
	if args != nil {
		args(e)
	}
	kind := timeline.Slice
	if dur == timeline.NoTime {
		kind, dur = timeline.Begin, 0
	}
	tr.add(timeline.Event{Kind: kind, Track: track, TS: at, Dur: dur, Name: []byte(name), Category: []byte(category), Args: e.Args()})
}

func frameArg(dict, frame string) func(e *timeline.ArgsEncoder) {
	return func(e *timeline.ArgsEncoder) {
		e.Key([]byte(dict))
		e.BeginDict()
		e.Key([]byte("frame"))
		e.String([]byte(frame))
		e.EndDict()
	}
}

func markerArgs(window int64) func(e *timeline.ArgsEncoder) {
	return func(e *timeline.ArgsEncoder) {
		e.Key([]byte("innerWindowID"))
		e.Int(window)
		e.Key([]byte("type"))
		e.String([]byte("StackMarker"))
	}
}

// browserTrace returns a trace with Chrome events, Firefox markers, and slices that only look like these.
func browserTrace(t *testing.T) *timeline.Timeline {
	tr := newTrace(t, inNanos)
	styles := tr.b.Child(tr.thread, "any")
	const category = "blink,devtools.timeline"
	tr.addSlice(0, "Layout", category, 1000, 9000, frameArg("beginData", "F1"))
	tr.addSlice(0, "UpdateLayoutTree", category, 2000, 3000, frameArg("beginData", "F1"))
	tr.addSlice(styles, "Styles", "Layout", 4000, 8000, markerArgs(12)) // crosses Layout
	tr.addSlice(0, "Paint", "any", 20000, 1000, frameArg("data", "F1")) // no category, but a frame
	tr.addSlice(0, "PrePaint", category, 30000, 1000, frameArg("data", "F1"))
	tr.addSlice(0, "Paint", "game", 40000, 1000, nil)             // from another producer
	tr.addSlice(0, "Styles", "game", 41000, 1000, nil)            // the same
	tr.addSlice(0, "Layout", "v8.cpu_profiler", 42000, 1000, nil) // a function
	tr.addSlice(0, "Composite #3", "Graphics", 50000, 1000, markerArgs(12))
	tr.addSlice(0, "Composite #x", "Graphics", 51000, 1000, markerArgs(12))
	tr.addSlice(0, "Layout", category, 60000, timeline.NoTime, frameArg("beginData", "F2"))
	tr.addSlice(0, "Paint", category, 61000, 4000, frameArg("data", "F2"))
	other := tr.b.Thread(tr.b.Process(timeline.ProcessKey{Num: 9}), timeline.ThreadKey{Num: 9})
	tr.addSlice(other, "RunTask", "toplevel", 999_000, 1000, nil) // long after the last event of the thread
	return tr.nested()
}

func TestLayoutOfBrowsers(t *testing.T) {
	tl := browserTrace(t)
	l := collectLayout(t, tl, LayoutOptions{})
	var counts, times []string
	for _, row := range l.Counts() {
		counts = append(counts, fmt.Sprint(row))
	}
	for _, row := range l.Times(l.DefaultMode()) {
		times = append(times, fmt.Sprint(row))
	}
	want := []string{
		"{{12 frameCon} Styles 1}", "{{F1 frameCon} UpdateLayoutTree 1}", "{{F1 paint} Paint 1}", "{{F1 reflow} Layout 1}",
		"{{F2 paint} Paint 1}", "{{F2 reflow} Layout 1}",
	}
	if diff := gocmp.Diff(want, counts); diff != "" {
		t.Errorf("counts (-want +got):\n%s", diff)
	}
	// Styles is the last of three open slices to begin. The Layout that never ends lasts until the end of the Paint
	// inside it.
	want = []string{
		"{{F1 paint} 1}", "{{F2 reflow} 1}", "{{F1 frameCon} 2}", "{{F1 reflow} 1}", "{{F2 paint} 4}", "{{12 frameCon} 8}",
	}
	slices.Sort(want)
	slices.Sort(times)
	if diff := gocmp.Diff(want, times); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
	nesting := []LayoutNesting{{"reflow", "paint", 1}, {"reflow", "frameCon", 1}}
	if diff := gocmp.Diff(nesting, l.Nesting()); diff != "" {
		t.Errorf("nesting (-want +got):\n%s", diff)
	}
	if l.UnbalancedStarts != 1 || l.Probes {
		t.Errorf("%d unbalanced starts, probes: %v", l.UnbalancedStarts, l.Probes)
	}
}

func TestLayoutOptions(t *testing.T) {
	tl := browserTrace(t)
	count := func(opts LayoutOptions) map[string]int64 {
		phases := map[string]int64{}
		for _, row := range collectLayout(t, tl, opts).Counts() {
			phases[row.Phase+" "+row.Function] += row.Count
		}
		return phases
	}
	standard := count(LayoutOptions{})
	more := maps.Clone(standard)
	more["paint PrePaint"], more["paint Composite #3"] = 1, 1
	if diff := gocmp.Diff(more, count(LayoutOptions{Paint: PaintOptions()})); diff != "" {
		t.Errorf("more paint (-want +got):\n%s", diff)
	}
	own := map[string]int64{"x Paint": 3, "y Styles": 2}
	if diff := gocmp.Diff(own, count(LayoutOptions{Phases: map[string]string{"Paint": "x", "Styles": "y"}})); diff != "" {
		t.Errorf("own phases (-want +got):\n%s", diff)
	}
}
