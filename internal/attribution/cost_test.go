package attribution_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// object returns a snapshot of an object in process 1, with the given parent unless it is empty.
func object(id string, ts int, parent string) string {
	snapshot := "{}"
	if parent != "" {
		snapshot = fmt.Sprintf(`{"parent":{"id_ref":%q}}`, parent)
	}
	return fmt.Sprintf(`{"ph":"O","name":"Object","id":%q,"ts":%d,"pid":1,"tid":1,"args":{"snapshot":%s}}`, id, ts, snapshot)
}

// enter returns an event that enters a context of the given type in process 1.
func enter(typ, id string, tid, ts int) string {
	return fmt.Sprintf(`{"ph":"(","name":%q,"id":%q,"ts":%d,"pid":1,"tid":%d}`, typ, id, ts, tid)
}

// long returns a slice of the given length.
func long(tid, ts, dur int) string {
	return fmt.Sprintf(`{"ph":"X","name":"work","ts":%d,"dur":%d,"tdur":%d,"pid":1,"tid":%d}`, ts, dur, dur/3, tid)
}

// countCells returns the number of cells.
func (a *attributed) countCells(t *testing.T) (n int) {
	t.Helper()
	if err := a.Costs.Cells.Each(func(*attribution.Cell) { n++ }); err != nil {
		t.Fatal(err)
	}
	return n
}

// tables returns all tables as JSON.
func (a *attributed) tables(t *testing.T) []byte {
	t.Helper()
	var out []byte
	for _, typ := range tables.Of(a.Result).Types() {
		for _, split := range []tables.SplitBy{tables.SplitNone, tables.SplitProcess, tables.SplitThread, tables.SplitCategory} {
			text, err := a.Table(tables.TableOptions{Type: typ, Split: split}).JSON()
			if err != nil {
				t.Fatal(err)
			}
			out = append(append(out, text...), '\n')
		}
	}
	return out
}

// Costs are divided in time only where the tree above a context changes: many object states during the work of many threads do
// not result in many cells.
func TestCellsOfChangingObjects(t *testing.T) {
	const threads, states = 100, 200
	list := []string{object("0x2", 0, ""), object("0x3", 0, "")}
	for i := range states {
		parent := "0x2"
		if i >= states/2 {
			parent = "0x3"
		}
		list = append(list, object("0x1", i, parent), object("0x4", i, ""))
	}
	for tid := 1; tid <= threads; tid++ {
		id := "0x1"
		if tid%2 == 0 {
			id = "0x4"
		}
		list = append(list, enter("C", id, tid, 0), long(tid, 0, states))
	}
	a := attribute(t, events(list...), attribution.Rules{})
	if n, most := a.countCells(t), 3*threads; n > most {
		t.Errorf("%d cells, want at most %d", n, most)
	}
	table := a.Table(tables.TableOptions{Type: "C"})
	for id, want := range map[string][2]timeline.Nanos{
		"ptr/0x1@1": {10_000_000, 10_000_000}, "ptr/0x4@1": {10_000_000, 10_000_000},
		"ptr/0x2@1": {0, 5_000_000}, "ptr/0x3@1": {0, 5_000_000},
	} {
		if row := rowOf(table, id, ""); row == nil || row.Self != want[0] || row.Total != want[1] {
			t.Errorf("%s: %+v, want self %d and total %d", id, row, want[0], want[1])
		}
	}
}

// Costs that do not fit in memory are summed on disk, with the same result.
func TestCellsOnDisk(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	list := []string{object("0x0", 0, "")}
	for i := range 3000 {
		id := fmt.Sprintf("0x%x", 1+i%300)
		if i < 300 {
			list = append(list, object(id, 0, "0x0"))
		}
		tid := 1 + random.IntN(40)
		list = append(list, long(tid, 100*i, 90), enter("C", id, tid, 100*i+10), long(tid, 100*i+20, 30),
			fmt.Sprintf(`{"ph":")","name":"C","id":%q,"ts":%d,"pid":1,"tid":%d}`, id, 100*i+80, tid))
	}
	input := events(list...)
	want := attribute(t, input, attribution.Rules{})
	if want.Costs.Cells.Spilled != nil {
		t.Fatal("the costs do not fit into memory")
	}
	got := attributeIn(t, input, attribution.Rules{}, 1<<20)
	if got.Costs.Cells.Spilled == nil {
		t.Fatal("the costs fit into memory")
	}
	for range 2 {
		if w, g := want.tables(t), got.tables(t); !bytes.Equal(w, g) {
			t.Errorf("from the disk come\n%s, want\n%s", g, w)
		}
	}
}

// Zero-length slices count if they are at the start of a window or inside it, but not at its end.
func TestEmptySlicesInWindows(t *testing.T) {
	empty := func(ts int) string {
		return fmt.Sprintf(`{"ph":"X","name":"work","ts":%d,"dur":0,"pid":1,"tid":1,"args":{"data":{"frame":"F"}}}`, ts)
	}
	a := attribute(t, events(empty(0), empty(10), empty(19), empty(20), empty(30)), attribution.Rules{
		Cost: attribution.CostOptions{Window: attribution.Window{From: 10_000, To: 20_000}},
	})
	if row := rowOf(a.Table(tables.TableOptions{Type: "Frame"}), "frame/F", ""); row == nil || row.Slices != 2 {
		t.Errorf("row %+v, want 2 slices", row)
	}
}

// A window relative to the first event may end before time 0, or beyond the largest time.
func TestWindowResolves(t *testing.T) {
	const second = 1000 * 1000 * timeline.Microsecond
	for _, tt := range []struct {
		opts  attribution.CostOptions
		start timeline.Nanos
		want  attribution.Window
	}{
		{attribution.CostOptions{}, 5, attribution.Window{From: math.MinInt64, To: attribution.LastTime}},
		{attribution.CostOptions{FromStart: true}, -5, attribution.Window{From: math.MinInt64, To: attribution.LastTime}},
		{attribution.CostOptions{Window: attribution.Window{From: 1, To: 50 * second}, FromStart: true}, -100 * second, attribution.Window{From: 1 - 100*second, To: -50 * second}},
		{attribution.CostOptions{Window: attribution.Window{From: 1, To: math.MaxInt64}, FromStart: true}, 100, attribution.Window{From: 101, To: attribution.LastTime}},
		{attribution.CostOptions{Window: attribution.Window{From: math.MaxInt64 - 5, To: math.MaxInt64}, FromStart: true}, 100, attribution.Window{From: attribution.LastTime, To: attribution.LastTime}},
		{attribution.CostOptions{Window: attribution.Window{From: 7, To: 9}}, 100, attribution.Window{From: 7, To: 9}},
	} {
		if got := tt.opts.Resolve(tt.start); got != tt.want {
			t.Errorf("%+v from %d: %v, want %v", tt.opts, tt.start, got, tt.want)
		}
	}
}

// With extreme times and durations, costs add up, none is negative, and overflows are counted.
func TestExtremeTimes(t *testing.T) {
	micros := []string{"0", "0.001", "1", "4611686018427387.904", "9223372036854774", "9223372036854775.805", "9223372036854775.806"}
	random := rand.New(rand.NewPCG(3, 4))
	pick := func() string { return micros[random.IntN(len(micros))] }
	limited := uint64(0)
	for round := range 300 {
		list := []string{object("0x2", 0, ""), object("0x1", 0, "0x2")}
		for range 1 + random.IntN(12) {
			pid, tid := 1, 1+random.IntN(3)
			switch random.IntN(6) {
			case 0:
				list = append(list, fmt.Sprintf(`{"ph":"(","name":"C","id":"0x1","ts":%s,"pid":%d,"tid":%d}`, pick(), pid, tid))
			case 1:
				list = append(list, fmt.Sprintf(`{"ph":"O","name":"Object","id":"0x1","ts":%s,"pid":1,"tid":1,"args":{"snapshot":{"parent":{"id_ref":"0x2"}}}}`, pick()))
			case 2:
				list = append(list, fmt.Sprintf(`{"ph":"b","cat":"c","name":"a","id":%d,"ts":%s,"pid":%d,"tid":%d}`, tid, pick(), pid, tid),
					fmt.Sprintf(`{"ph":"e","cat":"c","name":"a","id":%d,"ts":%s,"pid":%d,"tid":%d}`, tid, pick(), pid, tid))
			default:
				list = append(list, fmt.Sprintf(`{"ph":"X","name":"Layout","ts":%s,"dur":%s,"tts":%s,"tdur":%s,"pid":%d,"tid":%d,"args":{"stackTrace":[],"data":{"frame":"F"}}}`,
					pick(), pick(), pick(), pick(), pid, tid))
			}
		}
		window := attribution.Window{From: timeline.Nanos(random.Int64() >> random.IntN(63)), To: timeline.Nanos(random.Int64() >> random.IntN(63))}
		for _, cost := range []attribution.CostOptions{{}, {Window: window}, {Window: window, FromStart: true, AtBegin: true}} {
			a := attribute(t, events(list...), attribution.Rules{Cost: cost, Intervals: true})
			for _, typ := range tables.Of(a.Result).Types() {
				checkSums(t, a.Table(tables.TableOptions{Type: typ}))
			}
			checkBusy(t, a, cost)
			limited += a.problems.Count(problem.CostLimit)
		}
		if t.Failed() {
			t.Fatalf("round %d: %s", round, events(list...))
		}
	}
	if limited == 0 {
		t.Error("no sum was too large")
	}
}

// checkSums checks that the rows of a table add up to the busy time, and that no cost is negative.
func checkSums(t *testing.T, table *tables.Table) {
	t.Helper()
	self := timeline.Nanos(0)
	for i := range table.Rows {
		r := &table.Rows[i]
		self += r.Self
		for _, v := range []timeline.Nanos{r.Self, r.Total, r.CPU, r.WithoutCPU, r.GCProvoked, r.ForcedStyle, r.ForcedLayout, r.RequestTime, r.Async} {
			if v < 0 {
				t.Errorf("%s: negative cost: %+v", table.Type, r)
			}
		}
		if r.Total < r.Self {
			t.Errorf("%s: %s has a total of %d and itself %d", table.Type, r.ID, r.Total, r.Self)
		}
	}
	if self != table.Busy {
		t.Errorf("%s: rows have %d ns, threads were busy for %d", table.Type, self, table.Busy)
	}
}

// checkBusy checks that all busy time of threads was charged, unless a sum overflows.
func checkBusy(t *testing.T, a *attributed, cost attribution.CostOptions) {
	t.Helper()
	busy := busyTime(t, a.t, cost.Resolve(a.t.Start()))
	for _, typ := range tables.Of(a.Result).Types() {
		if table := a.Table(tables.TableOptions{Type: typ}); table.Busy != busy {
			t.Errorf("%s: costs of %d ns, threads were busy for %d", typ, table.Busy, busy)
		}
	}
}

// Bytes, CPU times and latencies saturate.
func TestExtremeValues(t *testing.T) {
	const most = "9223372036854775807"
	a := attribute(t, events(
		`{"ph":"X","name":"work","ts":0,"dur":100,"pid":1,"tid":1,"args":{"data":{"frame":"F"}}}`,
		`{"ph":"I","name":"ResourceSendRequest","ts":1,"pid":1,"tid":1,"args":{"data":{"requestId":"r","frame":"F"}}}`,
		`{"ph":"I","name":"ResourceReceivedData","ts":2,"pid":1,"tid":1,"args":{"data":{"requestId":"r","encodedDataLength":`+most+`}}}`,
		`{"ph":"I","name":"ResourceReceivedData","ts":3,"pid":1,"tid":1,"args":{"data":{"requestId":"r","encodedDataLength":`+most+`}}}`,
		`{"ph":"I","name":"ResourceSendRequest","ts":4,"pid":1,"tid":1,"args":{"data":{"requestId":"s","frame":"F"}}}`,
		`{"ph":"I","name":"ResourceFinish","ts":5,"pid":1,"tid":1,"args":{"data":{"requestId":"s","encodedDataLength":`+most+`}}}`,
	), attribution.Rules{})
	table := a.Table(tables.TableOptions{Type: "Frame"})
	checkSums(t, table)
	if row := rowOf(table, "frame/F", ""); row == nil || row.NetworkBytes != math.MaxInt64 || row.Requests != 2 {
		t.Errorf("row %+v, want 2 requests of %s bytes", row, most)
	}
}

// A slice of length zero keeps its CPU time, although other slices start before its end event; the enclosing slice has the rest.
func TestCPUOfEmptySlice(t *testing.T) {
	for name, empty := range map[string]string{
		"complete": `{"ph":"X","name":"empty","ts":5,"dur":0,"tdur":1,"pid":1,"tid":1}`,
		"pair": `{"ph":"B","name":"empty","ts":5,"tts":105,"pid":1,"tid":1},
			{"ph":"E","name":"empty","ts":5,"tts":106,"pid":1,"tid":1}`,
	} {
		around := `{"ph":"X","name":"around","ts":0,"dur":10,"tdur":4,"pid":1,"tid":1}`
		next := `{"ph":"X","name":"next","ts":5,"dur":1,"tdur":2,"pid":1,"tid":1}`
		a := attribute(t, events(around, empty, next), attribution.Rules{})
		row := rowOf(a.Table(tables.TableOptions{Type: "Frame"}), attribution.Unattributed, "")
		if row == nil || row.CPU != 3000 || row.WithoutCPU != 0 {
			t.Errorf("%s: %+v, want 3000 ns of CPU time, and no time without", name, row)
		}
	}
}

// The end event of a slice of length zero provides arguments like any other end event: here it names frame A.
func TestArgumentsAtEndOfEmptySlice(t *testing.T) {
	a := attribute(t, events(`{"ph":"B","name":"empty","ts":5,"pid":1,"tid":1}`, `{"ph":"E","name":"empty","ts":5,"pid":1,"tid":1,"args":{"frame":"A"}}`), attribution.Rules{})
	a.want(t, 0, "Frame frame A args 0")
}

// A slice that ends after the enclosing slice keeps its CPU time. The time comes from the slice itself or from the end event,
// which comes too late for the cost pass (attribution.md, Cost).
func TestCPUOfClippedSlice(t *testing.T) {
	around := `{"ph":"X","name":"around","ts":0,"dur":10,"pid":1,"tid":1}`
	for name, clipped := range map[string]string{
		"complete": `{"ph":"X","name":"clipped","ts":5,"dur":10,"tdur":4,"pid":1,"tid":1}`,
		"pair": `{"ph":"B","name":"clipped","ts":5,"tts":100,"pid":1,"tid":1},
			{"ph":"E","name":"clipped","ts":15,"tts":104,"pid":1,"tid":1}`,
		"pair with slices after it": `{"ph":"B","name":"clipped","ts":5,"tts":100,"pid":1,"tid":1},` + x("after", 1, 12, `,"dur":1`) + `,
			{"ph":"E","name":"clipped","ts":15,"tts":104,"pid":1,"tid":1}`,
	} {
		a := attribute(t, events(around, clipped), attribution.Rules{})
		row := rowOf(a.Table(tables.TableOptions{Type: "Frame"}), attribution.Unattributed, "")
		if row == nil || row.CPU != 4000 {
			t.Errorf("%s: %+v, want 4000 ns of CPU time", name, row)
		}
		if n := a.t.Problems().Count(problem.Clipped); n != 1 {
			t.Errorf("%s: %d slices are clipped, want 1", name, n)
		}
	}
}

// A selection and its complement add up to the whole: every slice and every nanosecond is in exactly one of them.
func TestCounts(t *testing.T) {
	input := events(
		`{"ph":"X","name":"outer","ts":0,"dur":100000,"tts":0,"tdur":60000,"pid":1,"tid":1,"args":{"data":{"frame":"F"}}}`,
		`{"ph":"X","name":"inner","ts":10000,"dur":30000,"tts":5000,"tdur":20000,"pid":1,"tid":1}`,
		`{"ph":"X","name":"other","ts":0,"dur":7000,"pid":1,"tid":2}`,
		`{"ph":"b","cat":"c","name":"async","id":1,"ts":0,"pid":1,"tid":1,"args":{"data":{"frame":"F"}}}`,
		`{"ph":"e","cat":"c","name":"async","id":1,"ts":900,"pid":1,"tid":1}`,
		`{"ph":"i","s":"t","name":"mark","ts":50000,"pid":1,"tid":1}`,
	)
	const inner = 30_000_000
	isInner := func(tl *timeline.Timeline, o *timeline.Head) bool { return string(tl.Name(o.NameID)) == "inner" }
	all := attribute(t, input, attribution.Rules{}).Table(tables.TableOptions{Type: "Frame"})
	var parts []*tables.Table
	for _, want := range []bool{true, false} {
		l, err := readChrome(t, input, timeline.DefaultMemory)
		if err != nil {
			t.Fatal(err)
		}
		a := l.attribute(t, attribution.Rules{Cost: attribution.CostOptions{Counts: func(o *timeline.Head) bool { return isInner(l.t, o) == want }}})
		part := a.Table(tables.TableOptions{Type: "Frame"})
		checkSums(t, part)
		parts = append(parts, part)
	}
	if parts[0].Busy != inner || parts[0].Busy+parts[1].Busy != all.Busy {
		t.Errorf("busy for %d and %d of %d", parts[0].Busy, parts[1].Busy, all.Busy)
	}
	whole := rowOf(all, "frame/F", "")
	in, out := rowOf(parts[0], "frame/F", ""), rowOf(parts[1], "frame/F", "")
	if in.Slices != 1 || in.Slices+out.Slices != whole.Slices || in.CPU+out.CPU != whole.CPU || in.Async != 0 || out.Async != whole.Async ||
		in.Instants+out.Instants != whole.Instants || in.LongTasks != 0 || out.LongTasks != 1 {
		t.Errorf("%+v and %+v of %+v", in, out, whole)
	}
}
