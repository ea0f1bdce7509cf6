package profilecalls

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// naive is a Builder that follows profile-calls.md 5 step by step: whole stacks for each sample, and a duration set on every call
// whenever the rules say so.
type naive struct {
	p      *v8profile.Profile
	s      *v8profile.Samples
	mode   Mode
	events []Event
	lock   []int
	js     []*Call
	all    []*Call
	fake   bool
	next   int // the first unprocessed sample
}

// frames returns the stack of a node, outermost first, without hidden frames.
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

// sampleFrames returns the stack of a sample: for a garbage collection, the stack before it.
func (b *naive) sampleFrames(i int) []v8profile.NodeIndex {
	for i >= 0 && b.s.At(i) == b.p.Collector {
		i--
	}
	if i < 0 {
		return nil
	}
	return b.frames(b.s.At(i))
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

func invokes(c producers.Class) bool {
	return c != producers.OtherClass && c != producers.Task && c != producers.Collection
}

func (b *naive) inJS() bool {
	return len(b.events) > 0 && invokes(b.events[len(b.events)-1].Class)
}

func (b *naive) begin(ev Event) {
	b.endEvents(ev.TS)
	parentInJS := b.inJS()
	task := ev.Class == producers.Task || ev.Class == producers.Microtasks
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
	b.lock = append(b.lock, len(b.js))
	b.events = append(b.events, ev)
}

// tell returns the unprocessed samples with a known stack in a period.
func (b *naive) tell(from, to timeline.Nanos) (samples []int) {
	for i := b.next; i < b.p.Len(); i++ {
		n, t := b.s.At(i), b.s.Time(i)
		if from <= t && t < to && n != b.p.Collector && (n == b.p.Idle || len(b.frames(n)) > 0) {
			samples = append(samples, i)
		}
	}
	return samples
}

// prefix returns the common outermost frames of two stacks.
func (b *naive) prefix(x, y []v8profile.NodeIndex) []v8profile.NodeIndex {
	for i := range x {
		if i == len(y) || !b.equal(x[i], y[i]) {
			return x[:i]
		}
	}
	return x
}

// replace makes the calls match a stack, unless an event locks a call that is not on the stack.
func (b *naive) replace(frames []v8profile.NodeIndex, open bool, ts timeline.Nanos, sample int) {
	var calls []v8profile.NodeIndex
	for _, c := range b.js {
		calls = append(calls, c.Node)
	}
	same := len(b.prefix(frames, calls))
	b.truncate(same, ts)
	if !open || len(b.js) > same {
		return
	}
	for _, n := range frames[same:] {
		c := &Call{Node: n, TS: ts, Sample: sample, Order: int64(len(b.all))}
		b.js, b.all = append(b.js, c), append(b.all, c)
	}
}

// collecting reports whether an open event is a garbage collection.
func (b *naive) collecting() bool {
	return slices.ContainsFunc(b.events, func(ev Event) bool { return ev.Class.Collects() })
}

// beginRefined follows profile-calls.md 7.
func (b *naive) beginRefined(ev Event) {
	b.endEvents(ev.TS)
	limit := timeline.Nanos(1 << 62)
	if len(b.events) > 0 {
		limit = b.events[len(b.events)-1].End
	}
	ev.End = min(ev.End, limit)
	b.setDurations(ev.TS)
	if !b.collecting() {
		b.callers(ev, limit)
	}
	b.lock = append(b.lock, len(b.js))
	b.events = append(b.events, ev)
}

func (b *naive) callers(ev Event, limit timeline.Nanos) {
	var common, after []v8profile.NodeIndex
	inside := b.tell(ev.TS, ev.End)
	if len(inside) > 0 {
		common = b.sampleFrames(inside[0])
		for _, i := range inside {
			common = b.prefix(common, b.sampleFrames(i))
		}
	}
	if behind := b.tell(ev.End, limit); len(behind) > 0 {
		after = b.sampleFrames(behind[0])
	}
	onStack := ev.Class == producers.Engine || ev.Class == producers.Callback || ev.Class.Collects()
	if node, known := b.p.TraceID(ev.TraceID); known {
		frames := b.frames(node)
		if len(inside) > 0 {
			frames = b.prefix(frames, common)
		}
		b.replace(frames, true, ev.TS, -1)
		return
	}
	switch {
	case ev.Class == producers.Task, ev.Class == producers.Microtasks && len(inside) == 0:
		b.truncate(0, ev.TS)
	case len(inside) == 0:
		if !onStack && !b.inJS() {
			b.replace(after, false, ev.TS, 0)
		}
	default:
		around := common
		if (ev.Class == producers.Invocation || ev.Class == producers.Microtasks) && !b.inJS() && len(around) > 0 && len(around) == len(b.sampleFrames(inside[0])) {
			around = around[:len(around)-1]
		}
		b.replace(around, false, ev.TS, 0)
		hoisted := common
		if ev.Class != producers.Engine && !ev.Class.Collects() {
			hoisted = b.prefix(common, after)
			if invokes(ev.Class) && len(hoisted) > 0 && len(hoisted) == len(b.sampleFrames(inside[0])) {
				hoisted = hoisted[:len(hoisted)-1]
			}
			if !b.inJS() && len(b.js) == 0 {
				return
			}
		}
		if len(hoisted) > len(b.js) {
			b.replace(hoisted, true, ev.TS, inside[0])
		}
	}
}

func (b *naive) sample(i int) {
	ts := b.s.Time(i)
	b.endEvents(ts)
	frames := b.sampleFrames(i)
	switch {
	case b.mode == Refined && (b.collecting() || b.s.At(i) == b.p.Collector):
		b.setDurations(ts)
	case b.mode == Refined:
		b.replace(frames, true, ts, i)
	case b.inJS() || b.fake:
		b.apply(frames, ts, ts, i)
	case len(b.js) == 0:
		b.fake = true
		b.apply(frames, ts, ts, i)
		b.lock = append(b.lock, 0)
	}
}

// run returns the calls that the rules derive from a profile and events.
func (b *naive) run(events []Event) []Call {
	for _, ev := range events {
		if ev.LegacyInstant && ev.TraceID == 0 {
			continue
		}
		for ; b.next < b.p.Len(); b.next++ {
			if t := b.s.Time(b.next); t > ev.TS || t == ev.TS && ev.End > ev.TS {
				break
			}
			b.sample(b.next)
		}
		if b.mode == Refined {
			b.beginRefined(ev)
		} else {
			b.begin(ev)
		}
	}
	for ; b.next < b.p.Len(); b.next++ {
		b.sample(b.next)
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
		ev := Event{TS: ts, End: ts + timeline.Nanos(rnd.IntN(60))*1000, Class: producers.Class(rnd.IntN(int(producers.CollectionStep) + 1))}
		if rnd.IntN(3) == 0 {
			ev.TraceID = uint64(1 + rnd.IntN(5))
		}
		if rnd.IntN(6) == 0 {
			ev.End, ev.LegacyInstant = ts, rnd.IntN(2) == 0
		}
		for i := range events { // mostly shorten events that would not nest
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

// TestAgainstNaive checks that the optimizations of a Builder do not change results.
func TestAgainstNaive(t *testing.T) {
	for seed := range uint64(1500) {
		rnd := rand.New(rand.NewPCG(seed, 0))
		p, events := randomProfile(t, rnd), randomEvents(rnd)
		for _, mode := range []Mode{DevTools, Refined} {
			want := (&naive{p: p, s: p.Samples(), mode: mode}).run(events)
			var got []Call
			stats := run(NewFrames(p), mode, events, func(c *Call) {
				c.Samples = 0 // the rules do not define it
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
				if mode == Refined {
					checkRefined(t, p, events, got)
				}
			}
		}
	}
}

// nested reports whether no two events overlap without nesting. Otherwise a call may end before a sample that was processed while
// it was open.
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
	b := naive{p: p, s: p.Samples()}
	var samples, lost int64
	for i := range p.Len() {
		frames := b.sampleFrames(i)
		if len(frames) == 0 || b.s.At(i) == p.Collector {
			continue
		}
		samples++
		ts, top := b.s.Time(i), frames[len(frames)-1]
		if !slices.ContainsFunc(calls, func(c Call) bool { return c.TS <= ts && ts <= c.TS+c.Dur && b.equal(c.Node, top) }) {
			lost++
		}
	}
	if stats.Samples != samples || stats.LostSamples != lost {
		t.Fatalf("%d of %d samples lost, want %d of %d", stats.LostSamples, stats.Samples, lost, samples)
	}
}

// checkRefined checks the guarantees of the refined rules: no call crosses an event, none begins or ends in a garbage collection,
// each is on the stack of a sample, and every sample outside garbage collections has calls of all its functions.
func checkRefined(t *testing.T, p *v8profile.Profile, events []Event, calls []Call) {
	t.Helper()
	b := naive{p: p, s: p.Samples()}
	for i := range calls {
		c := &calls[i]
		end := c.TS + c.Dur
		if c.Sample >= 0 {
			seen := slices.ContainsFunc(b.sampleFrames(c.Sample), func(n v8profile.NodeIndex) bool { return n == c.Node })
			if at := b.s.Time(c.Sample); !seen || at < c.TS || at > end {
				t.Fatalf("call %d, from %d to %d, is not backed by sample %d at %d", i, c.TS, end, c.Sample, at)
			}
		}
		for _, ev := range events {
			if c.TS < ev.TS && ev.TS < end && end < ev.End || ev.TS < c.TS && c.TS < ev.End && ev.End < end {
				t.Fatalf("call %d, from %d to %d, crosses %+v", i, c.TS, end, ev)
			}
			if ev.Class.Collects() && ev.TS < ev.End && c.TS < ev.End && ev.TS < end && (ev.TS < c.TS || end < ev.End) {
				t.Fatalf("call %d, from %d to %d, begins or ends in the collection %+v", i, c.TS, end, ev)
			}
		}
	}
	for i := range p.Len() {
		ts := b.s.Time(i)
		if b.s.At(i) == p.Collector || slices.ContainsFunc(events, func(ev Event) bool {
			return ev.Class.Collects() && ev.TS <= ts && ts < ev.End
		}) {
			continue
		}
		for _, n := range b.sampleFrames(i) {
			if !slices.ContainsFunc(calls, func(c Call) bool { return c.TS <= ts && ts <= c.TS+c.Dur && b.equal(c.Node, n) }) {
				t.Fatalf("sample %d at %d has no call of %s", i, ts, p.FunctionOf(n).Name)
			}
		}
	}
}
