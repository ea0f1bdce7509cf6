package attribution_test

import (
	"bytes"
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strings"
	"testing"
	"time"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/tracegen"
)

// hostileShapes holds small inputs that once needed disproportionate memory or time.
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

// maxPeak bounds the memory of attribution, excluding the timeline, for a budget of 1 MiB: its share of the budget, and a few
// tables with an initial size.
const maxPeak = 24 << 20

// Attribution of hostile inputs needs little memory and time, and costs add up.
func TestHostileShapes(t *testing.T) {
	recording.NeedAll(t, "measures memory")
	for name, shape := range hostileShapes {
		t.Run(name, func(t *testing.T) {
			input := shape()
			for _, opts := range []attribution.Rules{{Intervals: true}, {EndWithSlice: true, FlowConflict: attribution.CommonAncestor}} {
				checkPeak(t, input, opts)
			}
		})
	}
}

// The memory of attribution does not grow with the length of a trace.
func TestMemoryOfLongTraces(t *testing.T) {
	recording.NeedAll(t, "measures memory")
	var b bytes.Buffer
	if err := tracegen.WritePyTorch(&b, tracegen.PyTorch{Seed: 1, Bytes: 16 << 20}); err != nil {
		t.Fatal(err)
	}
	checkPeak(t, b.Bytes(), attribution.Rules{Intervals: true})

	var list []string
	for i := range 80_000 {
		rest := fmt.Sprintf(`,"args":{"data":{"frame":"F%d","url":"http://a.test/%d"}}`, i%50, i%20)
		if i%3 == 0 {
			rest = fmt.Sprintf(`,"bind_id":"0x%x","flow_in":%v,"flow_out":%v`, i/6, i%6 == 3, i%6 == 0)
		}
		list = append(list, x("FunctionCall", i%8, 20*i, rest))
	}
	checkPeak(t, events(list...), attribution.Rules{Intervals: true})
}

// checkPeak attributes an input with 1 MiB of memory, and checks the peak and that costs add up.
func checkPeak(t *testing.T, input []byte, opts attribution.Rules) {
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
	for _, typ := range tables.Of(a.Result).Types()[:min(1, len(tables.Of(a.Result).Types()))] {
		table := a.Table(tables.TableOptions{Type: typ})
		checkSums(t, table)
		if busy := busyTime(t, l.t, opts.Cost.Resolve(l.t.Start())); table.Busy != busy {
			t.Errorf("%s: costs of %d ns, threads were busy for %d", typ, table.Busy, busy)
		}
	}
}

// peakOf returns the largest increase of live memory while a function runs. It may miss short peaks.
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

// Contexts that are entered and never left are dropped beyond a limit, first from the types with the most contexts.
func TestMaxEntered(t *testing.T) {
	var list []string
	for i := range attribution.MaxEntered + 5 {
		list = append(list, enter("C", fmt.Sprintf("0x%x", i), 1, i))
	}
	list = append(list, enter("D", "0x1", 1, 5000), x("work", 1, 6000, ""))
	a := attribute(t, events(list...), attribution.Rules{})
	a.want(t, len(list)-1, fmt.Sprintf("C ptr 0x%x explicit 0", attribution.MaxEntered+4), "D ptr 0x1 explicit 0")
	if n := a.problems.Count(problem.ContextLimit); n != 6 {
		t.Errorf("context_limit was counted %d times, want 6", n)
	}
	if n := a.problems.Count(problem.NeverLeft); n != attribution.MaxEntered {
		t.Errorf("never_left was counted %d times, want %d", n, attribution.MaxEntered)
	}
}
