package attribution

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/tracegen"
)

// hostileShapes are small inputs of which each once took memory or time out of all proportion.
var hostileShapes = map[string]func() []byte{
	"objects change while threads work": func() []byte {
		list := []string{object("0x2", 0, ""), object("0x3", 0, "")}
		for i := range 800 {
			list = append(list, object("0x1", i, []string{"0x2", "0x3"}[i%2]),
				enter("C", "0x1", i+1, 0), long(i+1, 0, 800))
		}
		return events(list...)
	},
	"many types, one entered between any two slices": func() []byte {
		var list []string
		for i := range 2500 {
			list = append(list, enter(fmt.Sprintf("T%d", i%100), fmt.Sprintf("0x%x", i), 1, 5), x("work", 1, 5, ""))
		}
		return events(list...)
	},
	"many types at different times": func() []byte {
		var list []string
		for i := range 2500 {
			list = append(list, enter(fmt.Sprintf("T%d", i%100), fmt.Sprintf("0x%x", i), 1, 20*i), x("work", 1, 20*i, ""))
		}
		return events(list...)
	},
	"objects of many members above each other": func() []byte {
		var list []string
		id := func(level, member int) string { return fmt.Sprintf("0x%x%02x", level+1, member) }
		for level := range 190 {
			for member := range 60 {
				list = append(list, fmt.Sprintf(
					`{"ph":"O","name":"Object","id":%q,"ts":%d,"pid":1,"tid":1,"args":{"snapshot":{"sibling":{"id_ref":%q},"parent":{"id_ref":%q}}}}`,
					id(level, member), level, id(level, 0), id(max(level-1, 0), 59)))
			}
		}
		return events(list...)
	},
	"a slice with many contexts one after the other": func() []byte {
		list := []string{long(1, 0, 50_000), long(1, 0, 45_000), long(1, 0, 40_000)}
		for i := range 10_000 {
			list = append(list, enter("C", fmt.Sprintf("0x%x", i), 1, 2*i), fmt.Sprintf(`{"ph":")","name":"C","id":"0x%x","ts":%d,"pid":1,"tid":1}`, i, 2*i+1))
		}
		return events(list...)
	},
	"flows that carry many types and never end": func() []byte {
		var list []string
		for i := range 100 {
			list = append(list, enter(fmt.Sprintf("T%d", i), fmt.Sprintf("0x%x", i), 1, 0))
		}
		for i := range 5000 {
			list = append(list, x("out", 1, 20*i+20, fmt.Sprintf(`,"bind_id":"0x%x","flow_out":true`, i+1)))
		}
		for i := range 5000 {
			list = append(list, x("in", 2, 20*(i+6000), fmt.Sprintf(`,"bind_id":"0x%x","flow_in":true`, i+1)))
		}
		return events(list...)
	},
	"asynchronous slices that have many types": func() []byte {
		var list []string
		for i := range 100 {
			list = append(list, enter(fmt.Sprintf("T%d", i), fmt.Sprintf("0x%x", i), 1, 0))
		}
		for i := range 5000 {
			list = append(list, fmt.Sprintf(`{"ph":"b","cat":"c","name":"a","id":%d,"ts":%d,"pid":1,"tid":1}`, i, i+1),
				fmt.Sprintf(`{"ph":"e","cat":"c","name":"a","id":%d,"ts":%d,"pid":1,"tid":1}`, i, 10_000+i))
		}
		return events(list...)
	},
	"requests that are sent at one time": func() []byte {
		var list []string
		for i := range 10_000 {
			list = append(list, fmt.Sprintf(
				`{"ph":"I","s":"t","name":"ResourceSendRequest","ts":0,"pid":1,"tid":1,"args":{"data":{"requestId":"%d","frame":"F"}}}`, i))
		}
		return events(list...)
	},
	"inputs without trace id, and dispatches that say when they happened": func() []byte {
		var list []string
		for i := range 20_000 {
			list = append(list, fmt.Sprintf(
				`{"ph":"b","cat":"c","name":"EventTiming","id":%d,"ts":%d,"pid":1,"tid":1,"args":{"data":{"type":"click","processingStart":1,"timeStamp":1}}}`, i, i))
		}
		for i := range 40_000 {
			list = append(list, x("EventDispatch", 1, 20*i, `,"args":{"data":{"type":"click","timestamp":1}}`),
				x("EventDispatch", 1, 20*i, fmt.Sprintf(`,"args":{"data":{"type":"click","timestamp":%d}}`, 100_000+i)))
		}
		return events(list...)
	},
	"long ids": func() []byte {
		var list []string
		for i := range 1000 {
			list = append(list, x("work", 1, 20*i, fmt.Sprintf(`,"args":{"data":{"frame":"%d%s"}}`, i, strings.Repeat("f", 5000))))
		}
		return events(list...)
	},
}

// maxPeak bounds what attribution takes beside the timeline with 1 MiB of memory: its share of that, and a few tables
// that begin with some size.
const maxPeak = 24 << 20

// Attribution of what is made to hurt it takes neither much memory nor much time, and costs add up.
func TestHostileShapes(t *testing.T) {
	for name, shape := range hostileShapes {
		t.Run(name, func(t *testing.T) {
			input := shape()
			for _, opts := range []Options{{Intervals: true}, {EndWithSlice: true, FlowConflict: CommonAncestor}} {
				checkPeak(t, input, opts)
			}
		})
	}
}

// The memory that attribution takes does not grow with the length of a trace.
func TestMemoryOfLongTraces(t *testing.T) {
	var b bytes.Buffer
	if err := tracegen.WritePyTorch(&b, tracegen.PyTorch{Seed: 1, Bytes: 16 << 20}); err != nil {
		t.Fatal(err)
	}
	checkPeak(t, b.Bytes(), Options{Intervals: true})

	var list []string
	for i := range 80_000 {
		rest := fmt.Sprintf(`,"args":{"data":{"frame":"F%d","url":"http://a.test/%d"}}`, i%50, i%20)
		if i%3 == 0 {
			rest = fmt.Sprintf(`,"bind_id":"0x%x","flow_in":%v,"flow_out":%v`, i/6, i%6 == 3, i%6 == 0)
		}
		list = append(list, x("FunctionCall", i%8, 20*i, rest))
	}
	checkPeak(t, events(list...), Options{Intervals: true})
}

// checkPeak attributes an input with 1 MiB of memory and checks how much is taken at most, and that costs add up.
func checkPeak(t *testing.T, input []byte, opts Options) {
	t.Helper()
	l, err := readChrome(t, input, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var a *attributed
	peak := peakOf(func() { a = l.attribute(t, opts) })
	t.Logf("%d KiB of input, at most %d KiB beside the timeline", len(input)>>10, peak>>10)
	if peak > maxPeak {
		t.Errorf("%+v: attribution takes %d bytes, want at most %d", opts, peak, maxPeak)
	}
	for _, typ := range a.Types()[:min(1, len(a.Types()))] {
		table := a.Table(TableOptions{Type: typ})
		checkSums(t, table)
		if busy := busyTime(t, l.t, opts.Cost.resolve(l.t.Start())); table.Busy != busy {
			t.Errorf("%s: costs of %d ns, threads were busy for %d", typ, table.Busy, busy)
		}
	}
}

// peakOf returns how much the live memory of the program grows at most while a function runs. What is live for a moment
// only can escape it.
func peakOf(fn func()) (peak int64) {
	defer debug.SetGCPercent(debug.SetGCPercent(25))
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	runtime.GC()
	metrics.Read(live)
	before := int64(live[0].Value.Uint64())
	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		for {
			metrics.Read(live)
			peak = max(peak, int64(live[0].Value.Uint64())-before)
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	fn()
	close(done)
	<-watched
	return peak
}

// Input events, their timings and types have limits, and what is beyond them is counted.
func TestInputLimits(t *testing.T) {
	empty := attribute(t, events(), Options{}).t
	c := newCollector(empty, 1)
	for i := range maxInputs + 3 {
		c.found.inputs.add(c, Input{node: NodeID(i + 1)})
	}
	if n := len(c.found.inputs.list); n != maxInputs || c.contexts.dropped != 3 {
		t.Errorf("%d inputs, %d were counted", n, c.contexts.dropped)
	}
	c = newCollector(empty, 1)
	for i := range maxUnnamed + 4 {
		c.found.inputs.begin(c, &seen{Occurrence: &timeline.Occurrence{End: timeline.NoTime}, ordinal: uint64(i), name: &nameInfo{}})
	}
	if n := len(c.found.inputs.begun); n != maxUnnamed || c.contexts.dropped != 4 {
		t.Errorf("%d inputs whose id is not known, %d were counted", n, c.contexts.dropped)
	}
	c = newCollector(empty, 1)
	for i := range maxTypes + 5 {
		c.found.inputs.typeOf(c, fmt.Append(nil, i))
	}
	if n := len(c.found.inputs.types); n != maxTypes || c.contexts.dropped != 5 {
		t.Errorf("%d types of events, %d were counted", n, c.contexts.dropped)
	}
	c = newCollector(empty, 1)
	for i := range maxInputs + 6 {
		s := &seen{Occurrence: &timeline.Occurrence{TS: timeline.Nanos(i)}, place: &place{}, facts: &facts{asyncID: []byte("0x1")}}
		c.found.inputs.timing(c, s)
		c.contexts.size = 0 // the limit in bytes is another one
	}
	if n := len(c.found.inputs.timings); n != maxInputs || c.contexts.dropped != 6 {
		t.Errorf("%d timings, %d were counted", n, c.contexts.dropped)
	}
}

// The tables of contexts have limits. What has no room is counted, what is there is found still.
func TestTableLimits(t *testing.T) {
	long := bytes.Repeat([]byte("x"), maxIDText)
	table := newCatalogue(limitsFor(fullLimits))
	first := table.node("scope", long, 1)
	for i := range maxTableSize/maxIDText + 100 {
		table.node("scope", append(fmt.Appendf(nil, "%d-", i), long...), 1)
		table.keep(append(fmt.Appendf(nil, "%d+", i), long...))
	}
	if table.size > maxTableSize || table.dropped == 0 {
		t.Errorf("%d bytes, want at most %d; %d were counted", table.size, maxTableSize, table.dropped)
	}
	if n := table.node("scope", append(long, "more"...), 1); n != first {
		t.Errorf("node %d, want %d", n, first)
	}
	if n := table.node(strings.Repeat("s", maxIDText+1), []byte("id"), 1); n != 0 {
		t.Errorf("a scope that is too long made node %d", n)
	}

	table = newCatalogue(limitsFor(fullLimits))
	for i := range maxNodes + 10 {
		table.node("", fmt.Append(nil, i), 1)
	}
	if len(table.nodes) != maxNodes || table.dropped != 11 { // node 0 is none
		t.Errorf("%d nodes, %d were counted", len(table.nodes), table.dropped)
	}
	a, b := table.node("", []byte("17"), 1), table.node("", []byte("18"), 1)
	if x, ok := table.find("", "17", 1); !ok || x != a || a == b {
		t.Errorf("nodes %d and %d; found %d", a, b, x)
	}
	if _, ok := table.find("", "17", 2); ok {
		t.Error("found a node of another process")
	}
}

// A set has the old context of a type, or none, where there is no room for another set.
func TestSetLimits(t *testing.T) {
	most := limitsFor(fullLimits)
	s := newSets(&most)
	s.sets.maxCount = 3
	a, b := s.entry(entry{typ: 1, node: 1}), s.entry(entry{typ: 2, node: 2})
	one := s.with(0, a)
	two := s.with(one, b)
	if one == 0 || two == one || s.full != 0 {
		t.Fatalf("sets %d and %d, %d had no room", one, two, s.full)
	}
	if got := s.with(two, s.entry(entry{typ: 2, node: 3})); got != two || s.full != 1 {
		t.Errorf("set %d, %d had no room; want set %d, 1", got, s.full, two)
	}
	if got := s.with(0, a); got != one {
		t.Errorf("set %d, want %d", got, one)
	}
	s.sets.maxCount, s.sets.maxTotal = 10, 4
	if got := s.with(0, b); got == 0 || len(s.sets.values) != 4 {
		t.Errorf("set %d; %d entries in sets, want 4", got, len(s.sets.values))
	}
	if got := s.with(0, s.entry(entry{typ: 5, node: 1})); got != 0 {
		t.Errorf("set %d, want none", got)
	}
}

// Contexts that are entered and never left are forgotten beyond a limit, those of the types that have most of them first.
func TestMaxEntered(t *testing.T) {
	var list []string
	for i := range maxEntered + 5 {
		list = append(list, enter("C", fmt.Sprintf("0x%x", i), 1, i))
	}
	list = append(list, enter("D", "0x1", 1, 5000), x("work", 1, 6000, ""))
	a := attribute(t, events(list...), Options{})
	a.want(t, len(list)-1, fmt.Sprintf("C ptr 0x%x explicit 0", maxEntered+4), "D ptr 0x1 explicit 0")
	if n := a.problems.Count(problem.ContextLimit); n != 6 {
		t.Errorf("context_limit was counted %d times, want 6", n)
	}
	if n := a.problems.Count(problem.NeverLeft); n != maxEntered {
		t.Errorf("never_left was counted %d times, want %d", n, maxEntered)
	}
}

// What has room again when asynchronous slices are over is used again.
func TestHeld(t *testing.T) {
	p := &propagation{asyncs: map[timeline.TrackID][]openAsync{}, contexts: newCatalogue(limitsFor(fullLimits))}
	set := make([]begun, 100)
	const size = openSize + 100*begunSize
	n := 0
	for p.hold(size) {
		p.asyncs[timeline.TrackID(n)] = []openAsync{{end: timeline.Nanos(n), set: set}}
		n++
	}
	if n != maxHeld/size || p.contexts.dropped != 1 {
		t.Errorf("%d asynchronous slices are held, want %d; %d were counted", n, maxHeld/size, p.contexts.dropped)
	}
	p.now, p.patience = timeline.Nanos(n/2), 0
	if !p.hold(size) || len(p.asyncs) != n-n/2 {
		t.Errorf("%d asynchronous slices are open, want %d", len(p.asyncs), n-n/2)
	}
}

// A history gives what was entered at any event, whichever is asked for first.
func TestHistory(t *testing.T) {
	c := newCatalogue(limitsFor(fullLimits))
	p, q := c.node("ptr", []byte("0x1"), 1), c.node("ptr", []byte("0x2"), 1)
	a, h := &active{}, &history{}
	a.enter(7, entered{node: p})
	h.begin(a)
	for i, e := range []evidence{{kind: enters, typ: 7, node: q}, {kind: enters, typ: 6, node: q}, {kind: destroys, node: q}, {kind: leaves, typ: 7, node: p}} {
		h.apply(a, c, &e, &explicitAt{event: uint32(10 * (i + 1))}, nil)
	}
	for event, want := range map[uint32][]top{
		5: {{7, entered{node: p}}}, 10: {{7, entered{node: p}}}, 11: {{7, entered{node: q, event: 10}}},
		25: {{6, entered{node: q, event: 20}}, {7, entered{node: q, event: 10}}}, 31: {{7, entered{node: p}}}, 99: nil,
	} {
		if got := h.appendTops(nil, event); !slices.Equal(got, want) {
			t.Errorf("at event %d: %v, want %v", event, got, want)
		}
	}
}

// Objects that begin and end very often and have no snapshot are put in order in one go.
func TestObjectsWithoutSnapshots(t *testing.T) {
	c := newCatalogue(limitsFor(fullLimits))
	n := c.node("ptr", []byte("0x1"), 1)
	c.nodes[n].context = true
	const lives = maxSnapshots / 4
	for i := range lives {
		c.add(snapshot{node: n, ts: timeline.Nanos(2 * i), change: created})
		c.add(snapshot{node: n, ts: timeline.Nanos(2*i + 1), change: deleted})
	}
	c.finish()
	c.classify()
	if at := c.at(n, lastTime); at != 0 || len(c.states[n]) != 2*lives {
		t.Errorf("snapshot %d and %d states, want none and %d", at, len(c.states[n]), 2*lives)
	}
}

// Building the tree ends when its context does.
func TestTreeIsCancelled(t *testing.T) {
	c := newCatalogue(limitsFor(fullLimits))
	for i := range 10 {
		n := c.node("ptr", fmt.Append(nil, i), 1)
		c.refer(c.add(snapshot{node: n, change: changed}), reference{"ptr", "0", 1}, false)
	}
	c.finish()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.build(ctx, new(problem.Log)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}
