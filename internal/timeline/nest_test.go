package timeline_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/testkit"
	"github.com/weft-trace/weft/internal/timeline"
)

// laneCounts returns the number of slices on each lane of the only track, and checks that each lane nests.
func laneCounts(t *testing.T, tl *timeline.Timeline) map[uint32]int {
	t.Helper()
	counts := map[uint32]int{}
	nesting := nestChecker{t: t}
	walk(t, tl, func(it *timeline.Item) {
		if it.Kind == timeline.ItemBegin {
			counts[it.Lane]++
		}
		nesting.item(it)
	})
	nesting.finish()
	return counts
}

// nestChecker keeps the stack of every track and lane as Perfetto does: each end must close the innermost slice at that slice's
// end, and time must not decrease.
type nestChecker struct {
	t     testing.TB
	last  timeline.Nanos
	stack map[string][]timeline.Nanos

	instants map[string]int // number of instants at time last, since a slice last began or ended
}

const maxDepth = 512

func (c *nestChecker) item(it *timeline.Item) {
	c.t.Helper()
	if c.stack == nil {
		c.stack = map[string][]timeline.Nanos{}
	}
	if it.TS < c.last {
		c.t.Errorf("event %d at %d comes after %d", it.Event, it.TS, c.last)
	}
	if c.instants == nil || it.TS != c.last {
		c.instants = map[string]int{}
	}
	c.last = it.TS
	key := fmt.Sprint(it.Track, "~", it.Lane)
	open := c.stack[key]
	if it.Kind == timeline.ItemInstant {
		if c.instants[key]++; len(open)+c.instants[key] > maxDepth {
			c.t.Errorf("instant %d is at depth %d", it.Event, len(open)+c.instants[key])
		}
		return
	}
	c.instants[key] = 0
	switch it.Kind {
	case timeline.ItemBegin:
		end := timeline.Nanos(math.MaxInt64)
		if it.Dur != timeline.NoTime {
			end = it.TS + it.Dur
		}
		if len(open) > 0 && open[len(open)-1] < end {
			c.t.Errorf("event %d ends at %d, after its parent at %d", it.Event, end, open[len(open)-1])
		}
		if len(open) > 0 && open[len(open)-1] == it.TS {
			c.t.Errorf("event %d begins in a slice that ends at that time", it.Event)
		}
		if open = append(open, end); len(open) > maxDepth && it.Dur != 0 {
			c.t.Errorf("event %d is at depth %d", it.Event, len(open))
		}
		c.stack[key] = open
	case timeline.ItemEnd:
		if len(open) == 0 {
			c.t.Errorf("event %d at %d ends nothing", it.Event, it.TS)
			return
		}
		if open[len(open)-1] != it.TS {
			c.t.Errorf("the end of event %d at %d closes a slice that ends at %d", it.Event, it.TS, open[len(open)-1])
		}
		c.stack[key] = open[:len(open)-1]
	}
}

func (c *nestChecker) finish() {
	for key, open := range c.stack {
		for _, end := range open {
			if end != math.MaxInt64 {
				c.t.Errorf("track %s: a slice that ends at %d has no end", key, end)
			}
		}
	}
}

// Slices from depth 512 on move to another lane, which has space for 512 more (chrome-json.md 9).
func TestDepthLimit(t *testing.T) {
	var text strings.Builder
	const deep = 1500
	for i := range deep {
		fmt.Fprintf(&text, "X 1/1 x %d %d\n", i, 2*(deep-i))
	}
	tl, log := nest(t, largeMemory, text.String())
	if got, want := laneCounts(t, tl), map[uint32]int{0: 512, 1: 512, 2: 476}; !maps.Equal(got, want) {
		t.Errorf("slices by lane %v, want %v", got, want)
	}
	if n := log.Count(problem.SliceDepthLimit); n != deep-512 {
		t.Errorf("%d slices counted, want %d", n, deep-512)
	}
	if n := log.Count(problem.SliceOverlapMoved); n != 0 {
		t.Errorf("%d slices counted as overlapping", n)
	}
}

// Simultaneous instants nest in each other like slices, but slices do not nest in them (perfetto.md 6).
func TestDepthOfInstants(t *testing.T) {
	repeat := func(n int, line string) string { return strings.Repeat(line+"\n", n) }
	var deep strings.Builder
	for i := range 500 {
		fmt.Fprintf(&deep, "X 1/1 x %d %d\n", i, 10_000-2*i)
	}
	tests := []struct {
		name, text string
		lanes      map[string]int // number of instants by track and lane
		moved      int
	}{
		{"as many as there may be", repeat(512, "I 1/1 i 5"), map[string]int{"1/1~0": 512}, 0},
		{"more", repeat(1030, "I 1/1 i 5"), map[string]int{"1/1~0": 512, "1/1~1": 512, "1/1~2": 6}, 518},
		{"at two times", repeat(400, "I 1/1 i 5") + repeat(400, "I 1/1 i 6"), map[string]int{"1/1~0": 800}, 0},
		{"on two tracks", repeat(400, "I 1/1 i 5") + repeat(400, "I 1/2 i 5"), map[string]int{"1/1~0": 400, "1/2~0": 400}, 0},
		{"in 500 slices", deep.String() + repeat(20, "I 1/1 i 1000"), map[string]int{"1/1~0": 12, "1/1~1": 8}, 8},
		{"beside a slice that begins between them", repeat(300, "I 1/1 i 5") + "B 1/1 b 5\n" + repeat(300, "I 1/1 i 5") + "E 1/1 b 9\n",
			map[string]int{"1/1~0": 600}, 0},
		{"global", repeat(513, "I global i 5"), map[string]int{"root/track:Global_instants~0": 512, "root/track:Global_instants~1": 1}, 1},
		{"of a process", repeat(513, "I 1/instants i 5"), map[string]int{"1/track:Process_instants~0": 512, "1/track:Process_instants~1": 1}, 1},
		{"asynchronous", repeat(513, "I 1/id:0x1 i 5"), map[string]int{"1/async:i~0": 512, "1/async:i~1": 1}, 1},
		{"on more lanes than are searched", repeat(512*70+1, "I 1/1 i 5") + repeat(2, "I 1/1 i 6"), nil, 512*69 + 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for _, memory := range []int64{largeMemory, smallMemory} {
				tl, log := nest(t, memory, test.text)
				got, total := map[string]int{}, 0
				nesting := nestChecker{t: t}
				walk(t, tl, func(it *timeline.Item) {
					if it.Kind == timeline.ItemInstant {
						total++
						got[fmt.Sprint(testkit.Path(tl, it.Track), "~", it.Lane)]++
					}
					if it.Lane > tl.LaneCount(it.Track) {
						t.Errorf("lane %d does not exist", it.Lane)
					}
					nesting.item(it)
				})
				nesting.finish()
				if test.lanes != nil && !maps.Equal(got, test.lanes) {
					t.Errorf("instants by lane %v, want %v", got, test.lanes)
				}
				if want := strings.Count(test.text, "I "); total != want {
					t.Errorf("%d instants, want %d", total, want)
				}
				if n := int(log.Count(problem.InstantDepthLimit)); n != test.moved {
					t.Errorf("%d instants counted as moved, want %d", n, test.moved)
				}
				if n := int(log.Count(problem.SliceDepthLimit)); n != 0 {
					t.Errorf("%d counted as slices", n)
				}
			}
		})
	}
}

// With more lanes than are searched, each slice still gets a lane in which it nests, and free lanes are reused.
func TestManyLanes(t *testing.T) {
	const wide, rounds = 200, 5
	var text strings.Builder
	for round := range rounds {
		// Every slice overlaps all others in its round.
		for i := range wide {
			fmt.Fprintf(&text, "X 1/1 x %d %d\n", round*10_000+i, 1000)
		}
	}
	tl, log := nest(t, largeMemory, text.String())
	counts := laneCounts(t, tl)
	if len(counts) != wide {
		t.Errorf("%d lanes, want %d", len(counts), wide)
	}
	for lane, n := range counts {
		if n != rounds {
			t.Errorf("lane %d has %d slices, want %d", lane, n, rounds)
		}
	}
	if n := log.Count(problem.SliceOverlapMoved); n != (wide-1)*rounds {
		t.Errorf("%d slices counted, want %d", n, (wide-1)*rounds)
	}
}

// If slices overlap like a staircase, lanes become free one by one while others are in use, and are reused.
func TestFreeLanesAreReused(t *testing.T) {
	const wide = 150
	var text strings.Builder
	for i := range 20 * wide {
		fmt.Fprintf(&text, "X 1/1 x %d %d\n", i*10, wide*10)
	}
	tl, _ := nest(t, largeMemory, text.String())
	if got := laneCounts(t, tl); len(got) != wide {
		t.Errorf("%d lanes, want %d", len(got), wide)
	}
}

// The nester releases tracks without open slices; this must not affect the result.
func TestManyShortTracks(t *testing.T) {
	var text strings.Builder
	const ids = 20_000
	text.WriteString("B 1/1 around 0\nX 1/2 long 5 1000000\nX 1/2 crossing 6 2000000\n")
	for i := range ids {
		fmt.Fprintf(&text, "B 1/id:0x%x a %d\nE 1/id:0x%x a %d\n", i+1, 10+i, i+1, 12+i)
	}
	text.WriteString("X 1/2 inside 900000 10\nX 1/2 inside 1000010 10\nE 1/1 around 3000000\n")
	tl, log := nest(t, largeMemory, text.String())
	nesting := nestChecker{t: t}
	n := 0
	walk(t, tl, func(it *timeline.Item) {
		nesting.item(it)
		n++
	})
	nesting.finish()
	if want := 2 * (ids + 5); n != want {
		t.Errorf("%d items, want %d", n, want)
	}
	if got := testkit.Problems(log); got != "slice_overlap_moved 1: event 2 (byte 20) \"crossing\"\n" {
		t.Error(got)
	}
}

// Times near the end of the range do not wrap around.
func TestEndOfTime(t *testing.T) {
	const most = int64(math.MaxInt64)
	text := fmt.Sprintf("X 1/1 a %d 10\nX 1/1 b %d %d\nB 1/1 open %d\nI 1/1 i %d\n", most-5, most-20, most, most-20, most)
	tl, _ := nest(t, largeMemory, text)
	laneCounts(t, tl)
	ends := 0
	err := tl.Walk(context.Background(), func(it *timeline.Item) error {
		if it.Kind == timeline.ItemEnd {
			ends++
		}
		return nil
	})
	if err != nil || ends < 2 {
		t.Errorf("%d ends, error %v", ends, err)
	}
}

// randomLines returns random events of all kinds that overlap, cross and coincide, including a few flows, and payloads of many
// sizes.
func randomLines(seed uint64, n int) []string {
	r := rand.New(rand.NewPCG(seed, 3))
	span := 1 + r.IntN(3*n)
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	var lines []string
	for i := range n {
		ts, name := r.IntN(span), pick("a", "b", "c", "-", fmt.Sprint("n", i))
		options := pick("", "", " cat=x", " cat=x,y", fmt.Sprintf(" tts=%d tdur=%d", ts/2, r.IntN(9)), " stack=main;"+name,
			" args=k:"+strings.Repeat("v", r.IntN(1<<r.IntN(12)))+",i:5")
		thread := pick("1/1", "1/2", "2/1")
		async := pick("1/id:0x1", "2/id:0x1", "1/id:0x2@s", "1/local:0x1", "2/global:0x1", "1/legacy:0x1")
		track := pick(thread, thread, async)
		line := ""
		switch r.IntN(12) {
		case 0, 1, 2:
			line = fmt.Sprintf("X %s %s %d %d", track, name, ts, r.IntN(1+r.IntN(span)))
		case 3, 4:
			line = fmt.Sprintf("B %s %s %d", track, name, ts)
		case 5, 6:
			line = fmt.Sprintf("E %s %s %d", track, name, ts)
		case 7:
			line = fmt.Sprintf("I %s %s %d", pick(track, "1/instants", "global"), name, ts)
		case 8:
			line = fmt.Sprintf("%s 1/counter:c %d %d", "C", i, ts)
		case 9:
			line = fmt.Sprintf("S %s %d %d", thread, i, ts)
		default:
			lines = append(lines, fmt.Sprintf("%s %s %d %d%s", pick("s", "t", "f"), thread, r.IntN(4), ts, pick("", " bp=e")))
			continue
		}
		if kind := line[0]; (kind == 'X' || kind == 'B' || kind == 'I') && r.IntN(5) == 0 {
			options += pick(" out=1", " step=1", " in=1", " flow=7", " end=7", " flow=7,8")
		}
		lines = append(lines, line+options)
	}
	return lines
}

// resolve nests a timeline and binds its flows.
func resolve(t testing.TB, memory int64, text string) (*timeline.Timeline, *problem.Log) {
	t.Helper()
	return nestWith(t, memory, text, func(tl *timeline.Timeline) error {
		return flowbind.NestAndResolve(context.Background(), tl)
	})
}

// The walk and the problems are the same however little memory there is.
func TestSpillingChangesNothing(t *testing.T) {
	for seed := range uint64(8) {
		text := strings.Join(randomLines(seed, 4000), "\n")
		tl, log := resolve(t, largeMemory, text)
		want, wantProblems := dump(t, tl), testkit.Problems(log)
		for _, memory := range []int64{smallMemory, 400_000} {
			tl, log := resolve(t, memory, text)
			for range 2 { // Walk can be repeated
				if got := dump(t, tl); got != want {
					t.Errorf("seed %d: with %d bytes of memory\n%s", seed, memory, firstDifference(want, got))
				}
			}
			if got := testkit.Problems(log); got != wantProblems {
				t.Errorf("seed %d: problems with %d bytes of memory\n%s\nwant\n%s", seed, memory, got, wantProblems)
			}
		}
		if t.Failed() {
			t.FailNow()
		}
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d: got %s\nwant %s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

// For any input, the walk nests and contains every slice, instant, counter and sample exactly once, with its own times.
func TestNothingIsLost(t *testing.T) {
	for seed := range uint64(60) {
		lines := randomLines(100+seed, 300)
		tl, log := resolve(t, largeMemory, strings.Join(lines, "\n"))
		nesting := nestChecker{t: t}
		var got []string
		ended := 0
		walk(t, tl, func(it *timeline.Item) {
			nesting.item(it)
			switch it.Kind {
			case timeline.ItemBegin:
				dur := it.Dur
				if lines[it.Event][0] == 'B' {
					dur = 0 // set by the matcher
					if it.Dur != timeline.NoTime {
						ended++
					}
				}
				got = append(got, fmt.Sprintf("%c %d %d %d", lines[it.Event][0], it.Event, it.TS, dur))
			case timeline.ItemInstant, timeline.ItemCounter, timeline.ItemSample:
				if strings.ContainsRune("ICS", rune(lines[it.Event][0])) {
					got = append(got, fmt.Sprintf("%c %d %d 0", lines[it.Event][0], it.Event, it.TS))
				}
			}
		})
		nesting.finish()
		var want []string
		ends := 0
		for i, line := range lines {
			f := strings.Fields(line)
			switch f[0] {
			case "X":
				want = append(want, fmt.Sprintf("X %d %s %s", i, f[3], f[4]))
			case "B", "I", "C", "S":
				want = append(want, fmt.Sprintf("%s %d %s 0", f[0], i, f[3]))
			case "E":
				ends++
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("the walk has %d items, want %d", len(got), len(want))
		}
		// A Begin gets its length from an End or its parent; an asynchronous Begin without an End merely stays unfinished.
		matched := ends - int(log.Count(problem.EndWithoutBegin)+log.Count(problem.AsyncEndWithoutBegin))
		closed := int(log.Count(problem.BeginClosedByParent) + log.Count(problem.AsyncUnfinished))
		if ended < matched || ended > matched+closed {
			t.Errorf("%d begins are ended by %d ends and at most %d parents", ended, matched, closed)
		}
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, strings.Join(lines, "\n"))
		}
	}
}

// A canceled context stops every step; Close removes the data on disk.
func TestCancel(t *testing.T) {
	var text strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&text, "X 1/%d x %d 5\n", 1+i%7, i)
	}
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, memory := range []int64{largeMemory, smallMemory} {
		dir := t.TempDir()
		b := timeline.NewBuilder(timeline.Options{Memory: memory, TempDir: dir, Problems: new(problem.Log)})
		if err := testkit.Add(b, text.String()); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Finish(canceled); !errors.Is(err, context.Canceled) {
			t.Errorf("Finish: %v", err)
		}
		dirIsEmpty(t, dir)

		tl, _ := nest(t, memory, text.String())
		if err := tl.Walk(canceled, func(*timeline.Item) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("Walk: %v", err)
		}
		if err := tl.Scan(canceled, func([]timeline.Record) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("Scan: %v", err)
		}
		if err := tl.Nest(canceled); !errors.Is(err, context.Canceled) {
			t.Errorf("Nest: %v", err)
		}
	}
}

// Walk and Scan return errors from the callback unchanged.
func TestErrorsOfCallbacks(t *testing.T) {
	tl, _ := nest(t, largeMemory, "X 1/1 a 0 5\nX 1/1 b 1 1\n")
	broken := errors.New("broken")
	for stop := range 4 {
		n := 0
		err := tl.Walk(context.Background(), func(*timeline.Item) error {
			if n == stop {
				return broken
			}
			n++
			return nil
		})
		if err != broken || n != stop {
			t.Errorf("Walk: %v after %d items, want it after %d", err, n, stop)
		}
	}
	if err := tl.Scan(context.Background(), func([]timeline.Record) error { return broken }); err != broken {
		t.Errorf("Scan: %v", err)
	}
}

// An empty timeline is valid.
func TestEmptyTimeline(t *testing.T) {
	tl, log := resolve(t, smallMemory, "")
	if dump(t, tl) != "" || tl.Len() != 0 || tl.Start() != 0 || testkit.Problems(log) != "" {
		t.Error("an empty timeline has something in it")
	}
}
