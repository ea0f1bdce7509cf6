package profilecalls

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// naive is a Builder that follows profile-calls.md 5 step by step: whole stacks for each sample, and a
// duration set on every call whenever the text says so.
type naive struct {
	p      *v8profile.Profile
	mode   Mode
	events []Event
	lock   []int
	js     []*Call
	all    []*Call
	fake   bool
}

// frames returns the stack of a node, outermost first, without frames that are hidden.
func (b *naive) frames(n v8profile.NodeIndex) []v8profile.NodeIndex {
	var stack []v8profile.NodeIndex
	for ; n > 0; n = b.p.Node(n).Parent {
		if !b.p.Meta(n) && b.p.FunctionOf(n).URL != nativeURL {
			stack = append(stack, n)
		}
	}
	slices.Reverse(stack)
	return stack
}

// sampleFrames returns the stack of a sample: that of a garbage collection is the one before.
func (b *naive) sampleFrames(i int) []v8profile.NodeIndex {
	for i >= 0 && b.p.At(i) == b.p.Collector {
		i--
	}
	if i < 0 {
		return nil
	}
	return b.frames(b.p.At(i))
}

func (b *naive) equal(x, y v8profile.NodeIndex) bool {
	f, g := b.p.FunctionOf(x), b.p.FunctionOf(y)
	return f.ScriptID == g.ScriptID && f.Name == g.Name && f.Line == g.Line
}

func (b *naive) topLock() int {
	if len(b.lock) == 0 {
		return 0
	}
	return b.lock[len(b.lock)-1]
}

func (b *naive) popLock() int {
	top := b.topLock()
	b.lock = b.lock[:max(0, len(b.lock)-1)]
	return top
}

func (b *naive) setDurations(ts timeline.Nanos) {
	for _, c := range b.js {
		c.Dur = max(ts-c.TS, 0)
	}
}

func (b *naive) truncate(depth int, ts timeline.Nanos) {
	depth = min(max(depth, b.topLock()), len(b.js))
	b.setDurations(ts)
	b.js = b.js[:depth]
}

func (b *naive) apply(frames []v8profile.NodeIndex, ts, end timeline.Nanos, sample int) {
	i := b.topLock()
	for i < len(b.js) && i < len(frames) && b.equal(frames[i], b.js[i].Node) {
		b.js[i].Dur = max(b.js[i].Dur, end-b.js[i].TS)
		i++
	}
	b.truncate(i, ts)
	for ; i < len(frames); i++ {
		c := &Call{Node: frames[i], TS: ts, Sample: sample, Order: int64(len(b.all))}
		b.js, b.all = append(b.js, c), append(b.all, c)
	}
}

func (b *naive) endEvents(ts timeline.Nanos) {
	for len(b.events) > 0 && b.events[len(b.events)-1].End <= ts {
		end := b.events[len(b.events)-1].End
		b.events = b.events[:len(b.events)-1]
		b.truncate(b.popLock(), end)
	}
}

func (b *naive) inJS() bool {
	return len(b.events) > 0 && (b.events[len(b.events)-1].Class == Invocation || b.events[len(b.events)-1].Class == Microtasks)
}

func (b *naive) begin(ev Event) {
	b.endEvents(ev.TS)
	parentInJS := b.inJS()
	task := ev.Class == Task || ev.Class == Microtasks
	if task {
		b.lock = nil
		b.truncate(0, ev.TS)
		b.fake = false
	}
	if b.fake {
		b.truncate(b.popLock(), ev.TS)
		b.fake = false
	}
	node, known := b.p.TraceID(ev.TraceID)
	if known {
		b.apply(b.frames(node), ev.TS, ev.End, -1)
	} else {
		b.setDurations(ev.TS)
	}
	if ev.TraceID != 0 && !parentInJS {
		b.fake = true
	}
	if b.mode == Refined && !known && (parentInJS || b.fake) && !task {
		b.hoist(ev)
	}
	b.lock = append(b.lock, len(b.js))
	b.events = append(b.events, ev)
}

func (b *naive) hoist(ev Event) {
	in, after := -1, -1
	for i := range b.p.Len() {
		switch t := b.p.Time(i); {
		case t >= ev.TS && t < ev.End && in < 0:
			in = i
		case t >= ev.End && after < 0 && (len(b.events) == 0 || t < b.events[len(b.events)-1].End):
			after = i
		}
	}
	if in < 0 || after < 0 {
		return
	}
	x, y := b.sampleFrames(in), b.sampleFrames(after)
	for i := 0; i < len(x) && i < len(y) && b.equal(x[i], y[i]); i++ {
		if i >= len(b.js) {
			c := &Call{Node: x[i], TS: ev.TS, Sample: in, Order: int64(len(b.all))}
			b.js, b.all = append(b.js, c), append(b.all, c)
		} else if !b.equal(x[i], b.js[i].Node) {
			return
		}
	}
}

func (b *naive) sample(i int) {
	ts := b.p.Time(i)
	b.endEvents(ts)
	frames := b.sampleFrames(i)
	switch {
	case b.inJS() || b.fake:
		b.apply(frames, ts, ts, i)
	case len(b.js) == 0:
		b.fake = true
		b.apply(frames, ts, ts, i)
		b.lock = append(b.lock, 0)
	case b.mode == Refined:
		lock := b.topLock()
		if len(frames) >= lock && slices.EqualFunc(frames[:lock], b.js[:lock], func(n v8profile.NodeIndex, c *Call) bool {
			return b.equal(n, c.Node)
		}) {
			b.apply(frames, ts, ts, i)
		}
	}
}

// run gives the calls of a profile between events.
func (b *naive) run(events []Event) []Call {
	next := 0
	for _, ev := range events {
		if ev.LegacyInstant && ev.TraceID == 0 {
			continue
		}
		for ; next < b.p.Len(); next++ {
			if t := b.p.Time(next); t > ev.TS || t == ev.TS && ev.End > ev.TS {
				break
			}
			b.sample(next)
		}
		b.begin(ev)
	}
	for ; next < b.p.Len(); next++ {
		b.sample(next)
	}
	b.endEvents(1 << 62)
	var calls []Call
	for _, c := range b.all {
		calls = append(calls, *c)
	}
	return calls
}

// randomProfile returns a small profile whose functions, pseudo functions and times often coincide.
func randomProfile(t *testing.T, rnd *rand.Rand) *v8profile.Profile {
	t.Helper()
	var nodes, samples, deltas, traceIDs []string
	nodes = append(nodes, `{"id":0,"callFrame":{"functionName":"(root)"}}`)
	for i, name := range []string{"(program)", "(idle)", "(garbage collector)"} {
		nodes = append(nodes, fmt.Sprintf(`{"id":%d,"parent":0,"callFrame":{"functionName":%q}}`, i+1, name))
	}
	n := 4 + 1 + rnd.IntN(14)
	for id := 4; id < n; id++ {
		parent, url := 0, ""
		if id > 4 && rnd.IntN(4) > 0 {
			parent = 4 + rnd.IntN(id-4)
		}
		if rnd.IntN(8) == 0 {
			url = nativeURL
		}
		nodes = append(nodes, fmt.Sprintf(`{"id":%d,"parent":%d,"callFrame":{"functionName":"f%d","url":%q}}`,
			id, parent, rnd.IntN(4), url))
	}
	for range 2 + rnd.IntN(40) {
		samples = append(samples, fmt.Sprint(1+rnd.IntN(n)))
		deltas = append(deltas, fmt.Sprint(rnd.IntN(8)-1))
	}
	for id := 1; id < 5; id++ {
		traceIDs = append(traceIDs, fmt.Sprintf(`"%d":%d`, id, rnd.IntN(n+2)))
	}
	return v8Profile(t, nodes, samples, deltas, traceIDs)
}

func v8Profile(t *testing.T, nodes, samples, deltas, traceIDs []string) *v8profile.Profile {
	t.Helper()
	list := func(items []string) string { return strings.Join(items, ",") }
	return readAny(t, fmt.Sprintf(`{"nodes":[%s],"samples":[%s],"timeDeltas":[%s],"trace_ids":{%s}}`,
		list(nodes), list(samples), list(deltas), list(traceIDs)))
}

// randomEvents returns events of a thread, most of which nest.
func randomEvents(rnd *rand.Rand) []Event {
	var events []Event
	for range rnd.IntN(30) {
		ts := timeline.Nanos(rnd.IntN(160)-5) * 1000
		ev := Event{TS: ts, End: ts + timeline.Nanos(rnd.IntN(60))*1000, Class: Class(rnd.IntN(4))}
		if rnd.IntN(3) == 0 {
			ev.TraceID = uint64(1 + rnd.IntN(5))
		}
		if rnd.IntN(6) == 0 {
			ev.End, ev.LegacyInstant = ts, rnd.IntN(2) == 0
		}
		for i := range events { // mostly shorten what would not nest
			if o := &events[i]; rnd.IntN(20) > 0 && ev.TS < o.End && o.TS <= ev.TS && ev.End > o.End {
				ev.End = o.End
			}
		}
		events = append(events, ev)
	}
	slices.SortStableFunc(events, func(a, b Event) int {
		return cmp.Or(cmp.Compare(a.TS, b.TS), cmp.Compare(b.End, a.End))
	})
	return events
}

// TestAgainstNaive holds that what a Builder leaves out of the rules, because it changes nothing, changes nothing.
func TestAgainstNaive(t *testing.T) {
	for seed := range uint64(1500) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		p, events := randomProfile(t, rnd), randomEvents(rnd)
		for _, mode := range []Mode{DevTools, Refined} {
			want := (&naive{p: p, mode: mode}).run(events)
			var got []Call
			stats := run(NewFrames(p), mode, events, func(c *Call) {
				c.Samples = 0 // the text says nothing of it
				got = append(got, *c)
			})
			sortByOrder(got)
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d, mode %d: -want +got:\n%s", seed, mode, diff)
			}
			if stats.Calls != int64(len(got)) {
				t.Fatalf("seed %d, mode %d: %d calls, %d counted", seed, mode, len(got), stats.Calls)
			}
			if nested(events) {
				checkLost(t, p, stats, got)
			}
		}
	}
}

// nested reports whether no two events overlap without nesting. If they do, a call may end before a sample that was
// processed while it was open.
func nested(events []Event) bool {
	for i, a := range events {
		for _, b := range events[i+1:] {
			if b.TS < a.End && b.End > a.End {
				return false
			}
		}
	}
	return true
}

// checkLost counts the lost samples from the finished calls.
func checkLost(t *testing.T, p *v8profile.Profile, stats Stats, calls []Call) {
	t.Helper()
	b := naive{p: p}
	var samples, lost int64
	for i := range p.Len() {
		frames := b.sampleFrames(i)
		if len(frames) == 0 || p.At(i) == p.Collector {
			continue
		}
		samples++
		ts, top := p.Time(i), frames[len(frames)-1]
		if !slices.ContainsFunc(calls, func(c Call) bool { return c.TS <= ts && ts <= c.TS+c.Dur && b.equal(c.Node, top) }) {
			lost++
		}
	}
	if stats.Samples != samples || stats.LostSamples != lost {
		t.Fatalf("%d of %d samples lost, want %d of %d", stats.LostSamples, stats.Samples, lost, samples)
	}
}
