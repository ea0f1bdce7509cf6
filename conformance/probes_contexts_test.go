package conformance

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/recording"
)

// TestPresContexts compares the costs of presentation contexts with a sweep over the slices of the expected result: each
// moment of a thread belongs to the innermost enclosing layout slice. It does so for probe lines, and for Perfetto
// traces made from them, attributed before or not.
func TestPresContexts(t *testing.T) {
	for _, name := range []string{"dtrace-seed", "dtrace-layout", "bpftrace17-json", "bpftrace17-unsorted"} {
		t.Run(name, func(t *testing.T) {
			input := recording.Bytes(t, "traces/probes/"+name+".probelines")
			result := filepath.Join(recording.Testdata(t), "conformance", "probes", "real", name+".expected.json.gz")
			want := sweepContexts(t, recording.Read(t, result))
			if len(want) < 2 {
				t.Fatalf("%d contexts", len(want))
			}
			written, _ := convertTrace(t, input, convert.Options{})
			noted, _ := convertTrace(t, input, convert.Options{Attribute: &attribution.Options{}})
			for form, trace := range map[string][]byte{"lines": input, "trace": written, "attributed trace": noted} {
				if diff := cmp.Diff(want, contextCosts(t, trace)); diff != "" {
					t.Errorf("%s: -want +got:\n%s", form, diff)
				}
			}
		})
	}
}

// contextCosts returns the time of each presentation context in nanoseconds.
func contextCosts(t *testing.T, trace []byte) map[string]int64 {
	t.Helper()
	_, result := attributeRecording(t, trace, convert.Options{})
	table, err := tables.Of(result).Table(tables.TableOptions{Type: "PresContext"})
	if err != nil {
		t.Fatal(err)
	}
	costs := map[string]int64{}
	for _, row := range table.Rows {
		if row.ID != "(unattributed)" {
			costs[row.ID] = int64(row.Self)
		}
	}
	return costs
}

// sweepContexts adds up the times of contexts from the slices of an expected result.
func sweepContexts(t *testing.T, expected []byte) map[string]int64 {
	t.Helper()
	var result struct {
		Slices []json.RawMessage `json:"slices"`
		Probes [][]any           `json:"probes"`
	}
	if err := json.Unmarshal(expected, &result); err != nil {
		t.Fatal(err)
	}
	pids := map[int64]int64{} // by thread
	for _, row := range result.Probes {
		pids[int64(row[2].(float64))] = int64(row[1].(float64))
	}
	type interval struct {
		start, end int64
		context    string
	}
	threads := map[int64][]interval{}
	for _, row := range result.Slices {
		var name string
		var start, end, depth, tid int64
		var flags []string
		var args struct {
			PresCtx *uint64 `json:"presctx"`
		}
		if err := json.Unmarshal(row, &[]any{&name, &start, &end, &depth, &tid, &flags, &args}); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "layout ") && args.PresCtx != nil {
			threads[tid] = append(threads[tid], interval{start, end, fmt.Sprintf("ptr/%#x@%d", *args.PresCtx, pids[tid])})
		}
	}
	costs := map[string]int64{}
	for _, all := range threads {
		var edges []int64
		for _, s := range all {
			edges = append(edges, s.start, s.end)
			costs[s.context] += 0
		}
		slices.Sort(edges)
		for i := 1; i < len(edges); i++ {
			innermost := -1
			for k, s := range all { // the later of nested slices is the inner one
				if s.start <= edges[i-1] && s.end >= edges[i] {
					innermost = k
				}
			}
			if innermost >= 0 {
				costs[all[innermost].context] += edges[i] - edges[i-1]
			}
		}
	}
	return costs
}

// The phase of a layout probe, declared or not, determines the kind of work of its slice; a slice that only has the
// name of a layout probe is other work.
func TestPhaseCategories(t *testing.T) {
	const lines = `#probelines 1
#probe a:layout-start presctx:ptr phase:enum(paint,reflow,frameCon) key=presctx,phase
#probe c:draw-start what:str name=what
P1	1000	1	1	0	a:layout-start	0x10	0
P1	1100	1	1	0	a:layout-end	0x10	0
P1	2000	1	1	0	a:layout-start	0x10	1
P1	2200	1	1	0	a:layout-end	0x10	1
P1	3000	1	1	0	a:layout-start	0x10	2
P1	3400	1	1	0	a:layout-end	0x10	2
P1	4000	1	1	0	b:layout-start	0x10	1
P1	4800	1	1	0	b:layout-end	0x10	1
P1	5000	1	1	0	a:layout-start	0x10	7
P1	6600	1	1	0	a:layout-end	0x10	7
P1	7000	1	1	0	c:draw-start	layout paint
P1	10200	1	1	0	c:draw-end	layout paint
`
	written, _ := convertTrace(t, []byte(lines), convert.Options{})
	for form, trace := range map[string][]byte{"lines": []byte(lines), "trace": written} {
		_, result := attributeRecording(t, trace, convert.Options{})
		table, err := tables.Of(result).Table(tables.TableOptions{Type: "PresContext", Split: tables.SplitCategory})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]int64{}
		for _, row := range table.Rows {
			got[row.ID+" "+row.Part] = int64(row.Self)
		}
		const context = "ptr/0x10@1 "
		want := map[string]int64{
			context + "paint": 100, context + "layout": 200 + 800, context + "style": 400, context + "other": 1600, "(unattributed) other": 3200,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -want +got:\n%s", form, diff)
		}
	}
}
