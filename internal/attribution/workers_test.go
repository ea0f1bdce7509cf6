package attribution_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
)

// The result is the same with any number of workers and any memory: even if records are on disk while another goroutine reads
// them, or if one timestamp has more events than are read ahead or fit in memory.
func TestWorkers(t *testing.T) {
	list := []string{object("0x1", 0, "")}
	for i := range 6000 {
		ts := i / 3000 * 1000 // two large groups, and small ones after them
		if i%10 == 0 {
			ts = 2000 + i
		}
		list = append(list, x("FunctionCall", i%7, ts, fmt.Sprintf(`,"args":{"data":{"frame":"F%d","url":"http://a.test/%d"}}`, i%50, i%20)),
			fmt.Sprintf(`{"ph":"I","s":"t","name":"ResourceSendRequest","ts":%d,"pid":1,"tid":1,"args":{"data":{"requestId":"%d","frame":"F%d"}}}`, ts, i, i%30),
			x("InputLatency", 2, ts, fmt.Sprintf(`,"args":{"chrome_latency_info":{"trace_id":%d}}`, i%9)))
	}
	var long []string
	for i := range 2000 {
		long = append(long, x("FunctionCall", i%7, 0, fmt.Sprintf(`,"args":{"data":{"text":"%03000d","frame":"F%d"}}`, i, i%50)))
	}
	inputs := map[string][]byte{"many at one time": events(list...), "long arguments at one time": events(long...)}
	for _, name := range recording.Some([]string{"chrome-devtools-tiny", "chrome-everything-small"}) {
		inputs[name] = recording.Bytes(t, "traces/chrome/"+name+".json")
	}
	for name, input := range inputs {
		for _, opts := range []attribution.Rules{{}, {Intervals: true}} {
			t.Run(fmt.Sprintf("%s, with intervals: %v", name, opts.Intervals), func(t *testing.T) {
				var want *attributed
				for _, memory := range []int64{timeline.DefaultMemory, 1} {
					for _, opts.Workers = range []int{1, 2} {
						got := attributeIn(t, input, opts, memory)
						if want == nil {
							want = got
						}
						checkSame(t, fmt.Sprintf("%d workers, %d bytes", opts.Workers, memory), got, want)
					}
				}
			})
		}
	}
}

// checkSame compares the sets and tables of two attributions.
func checkSame(t *testing.T, how string, a, b *attributed) {
	t.Helper()
	text := func(a *attributed) map[int]string {
		out := map[int]string{}
		for event, set := range a.stampsByEvent(t) {
			out[event] = fmt.Sprint(a.show(set, true))
		}
		return out
	}
	if got, want := text(a), text(b); len(want) == 0 || !maps.Equal(got, want) {
		t.Errorf("%s: other contexts", how)
	}
	for _, typ := range tables.Of(b.Result).Types() {
		got, err := a.Table(tables.TableOptions{Type: typ, Split: tables.SplitThread}).JSON()
		if err != nil {
			t.Fatal(err)
		}
		if want, err := b.Table(tables.TableOptions{Type: typ, Split: tables.SplitThread}).JSON(); err != nil || string(got) != string(want) {
			t.Errorf("%s: another table of %s, %v", how, typ, err)
		}
	}
}
