package report

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/timeline"
)

// opened reads a trace and returns its timeline.
func opened(t *testing.T, text string) *timeline.Timeline {
	t.Helper()
	tr, err := convert.Open(t.Context(), strings.NewReader(text), convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	})
	return timeline.Of(tr)
}

// chartOf makes the chart of a Chrome trace with at most limit slices.
func chartOf(t *testing.T, events string, limit int) (*Utilisation, *Chart) {
	t.Helper()
	tl := opened(t, events)
	use := newUseCollector(tl, nil)
	if err := tl.WalkLate(t.Context(), timeline.Nested(tl, use.find)); err != nil {
		t.Fatal(err)
	}
	use.choose(newReader(tl, nil).finish())
	use.chart.limit = limit
	if err := tl.WalkLate(t.Context(), timeline.Nested(tl, use.divide)); err != nil {
		t.Fatal(err)
	}
	return use.done(nil), use.chart.done()
}

// texts describes each row of a chart.
func (c *Chart) texts() (rows []string) {
	for _, row := range c.Rows {
		var b strings.Builder
		for _, s := range row.Slices {
			fmt.Fprintf(&b, "%d %s %d+%d cpu %d, ", s.Depth, c.Names[s.Name], s.Start, s.Duration, s.CPU)
		}
		short := timeline.Nanos(0)
		for _, s := range row.Short {
			short += s.Time
		}
		rows = append(rows, fmt.Sprintf("%sshort %d", b.String(), short))
	}
	return rows
}

// A chart contains the slices of threads at their depths, overlapping slices below these, and the time of short outermost slices.
func TestChart(t *testing.T) {
	u, c := chartOf(t, `[
		{"ph":"X","pid":1,"tid":1,"ts":0,"dur":80000,"tts":5000,"tdur":20000,"name":"outer"},
		{"ph":"X","pid":1,"tid":1,"ts":10000,"dur":30000,"name":"inner"},
		{"ph":"X","pid":1,"tid":1,"ts":10000,"dur":3,"name":"too short, inside"},
		{"ph":"X","pid":1,"tid":1,"ts":85000,"dur":2,"name":"too short"},
		{"ph":"X","pid":1,"tid":1,"ts":88000,"dur":3,"name":"too short"},
		{"ph":"X","pid":1,"tid":1,"ts":70000,"dur":30000,"name":"overlaps"},
		{"ph":"B","pid":1,"tid":1,"ts":99000,"name":"never ends"},
		{"ph":"X","pid":1,"tid":2,"cat":"syscall","ts":10000,"dur":20000,"name":"futex"},
		{"ph":"X","pid":1,"tid":2,"ts":50000,"dur":50000,"name":"outer"}]`, maxChartSlices)
	want := []string{
		"0 outer 0+80000000 cpu 20000000, 1 inner 10000000+30000000 cpu -1, 2 overlaps 70000000+30000000 cpu -1, short 5000",
		"0 futex 10000000+20000000 cpu -1, 0 outer 50000000+50000000 cpu -1, short 0",
	}
	if got := c.texts(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if c.Least != 25001 || len(c.Names) != 4 || c.Rows[1].Slices[0].Kind != len(u.Kinds) {
		t.Errorf("slices from %d on, names %q", c.Least, c.Names)
	}
}

// However many slices there are, a chart keeps only the longest, up to its limit. Short includes the time of all others.
func TestChartAdapts(t *testing.T) {
	var b strings.Builder
	const n = 3000
	for i := range n {
		fmt.Fprintf(&b, `,{"ph":"X","pid":1,"tid":1,"ts":%d,"dur":%d,"name":"f%d"},{"ph":"X","pid":1,"tid":1,"ts":%d,"dur":%d,"name":"in"}`, i*1000, 500+i%400, i, i*1000, 100+i%300)
	}
	events := "[" + b.String()[1:] + "]"
	all := timeline.Nanos(0)
	for _, limit := range []int{10_000, 1000, 100, 1} {
		use, c := chartOf(t, events, limit)
		_, again := chartOf(t, events, limit)
		if !reflect.DeepEqual(c, again) {
			t.Errorf("%d: another chart the second time", limit)
		}
		if c == nil && limit == 1 {
			continue // half a pair does not count
		}
		kept, time := 0, timeline.Nanos(0)
		for _, s := range c.Rows[0].Slices {
			kept++
			if s.Depth == 0 {
				time += s.Duration
			}
			if s.Duration < c.Least {
				t.Errorf("%d: a slice of %d, though the shortest are %d", limit, s.Duration, c.Least)
			}
		}
		for _, s := range c.Rows[0].Short {
			time += s.Time
		}
		if all == 0 {
			all = time
		}
		if kept > limit || time != all || all != use.Threads[0].Busy {
			t.Errorf("%d: %d slices, %d of %d outermost", limit, kept, time, use.Threads[0].Busy)
		}
		if fewer := use.ChartOf(c, kept/2); len(fewer.Rows[0].Slices) > kept/2 || len(fewer.Names) > len(c.Names) {
			t.Errorf("%d slices of a chart that may have %d", len(fewer.Rows[0].Slices), kept/2)
		}
	}
}

// Consecutive samples with a function in the same place on the stack appear as one call; a garbage collection is inside the call
// that it interrupts.
func TestChartOfSamples(t *testing.T) {
	tl := opened(t, `{"nodes":[{"id":1,"callFrame":{"functionName":"(root)"},"children":[2,4,5]},
		{"id":2,"callFrame":{"functionName":"f","url":"a.js","lineNumber":1},"children":[3]},{"id":3,"callFrame":{"functionName":"g","url":"a.js","lineNumber":2}},
		{"id":4,"callFrame":{"functionName":"(garbage collector)"}},{"id":5,"callFrame":{"functionName":"(idle)"}}],
		"startTime":0,"endTime":7000,"samples":[2,3,3,4,2,5,3],"timeDeltas":[1000,1000,1000,1000,1000,1000,1000]}`)
	all, err := CollectAll(t.Context(), tl, attribution.Rules{}, AllOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := all.Chart.texts()
	want := []string{"0 f 1000000+5000000 cpu -1, 1 g 2000000+3000000 cpu -1, 2 (gc) 4000000+1000000 cpu -1, 0 f 7000000+1000000 cpu -1, 1 g 7000000+1000000 cpu -1, short 0"}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// A waterfall shows each span below its parent; if there are too many spans, it keeps the traces that failed or took longest.
func TestWaterfall(t *testing.T) {
	c := newWaterfallCollector(4)
	add := func(trace, id, parent string, start, dur timeline.Nanos, failed bool) {
		s := &waterfallSpan{WaterfallSpan: WaterfallSpan{Start: start, Duration: dur, Name: trace + id, Failed: failed}, id: spanID{trace, id}, parent: spanID{trace, parent}}
		c.add(trace, s)
	}
	add("a", "1", "", 0, 10, false)
	add("b", "1", "", 1, 50, false)
	add("b", "3", "2", 2, 5, false) // before its parent
	add("b", "2", "1", 3, 20, false)
	add("c", "1", "", 4, 5, true)
	w := c.done()
	var got []string
	for _, s := range w.Spans {
		got = append(got, fmt.Sprint(s.Depth, " ", s.Name))
	}
	if want := []string{"0 b1", "1 b2", "2 b3", "0 c1"}; !reflect.DeepEqual(got, want) || w.More != 1 || w.Traces != 2 || w.Start != 1 || w.End != 51 {
		t.Errorf("%q, want %q; %d more of %d traces, from %d to %d", got, want, w.More, w.Traces, w.Start, w.End)
	}
}

// The collector handles a cycle of spans that are each other's parents, and limits a trace that is too large.
func TestHostileWaterfall(t *testing.T) {
	c := newWaterfallCollector(50)
	for i := range 2000 {
		id := fmt.Sprint(i)
		c.add("t", &waterfallSpan{WaterfallSpan: WaterfallSpan{Start: timeline.Nanos(i), Duration: timeline.Nanos(i % 7)}, id: spanID{"t", id}, parent: spanID{"t", fmt.Sprint((i + 1) % 2000)}})
	}
	for i := range 200 { // all alike
		c.add("t", &waterfallSpan{WaterfallSpan: WaterfallSpan{Duration: 6, Failed: true}, id: spanID{"t", "same"}, parent: spanID{"t", fmt.Sprint(i)}})
	}
	if w := c.done(); len(w.Spans) > 50 || int64(len(w.Spans))+w.More != 2200 {
		t.Errorf("%d spans, %d more", len(w.Spans), w.More)
	}
}

// Slices of equal length are thinned out evenly, not dropped together.
func TestChartOfEqualSlices(t *testing.T) {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, `,{"ph":"X","pid":1,"tid":1,"ts":%d,"dur":10,"name":"a"}`, i*10)
	}
	_, c := chartOf(t, "["+b.String()[1:]+"]", 1000)
	if c == nil {
		t.Fatal("no chart")
	}
	first, second := 0, 0
	for _, s := range c.Rows[0].Slices {
		if s.Start < c.Rows[0].Slices[0].Start+1500*10_000 {
			first++
		} else {
			second++
		}
	}
	if n := first + second; n < 500 || n > 1000 || first == 0 || second < 400 {
		t.Errorf("%d slices of the first half and %d of the second", first, second)
	}
}
