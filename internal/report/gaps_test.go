package report_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/timeline"
)

// call and kernel return events for the gap tests: calls on thread 42, and kernels on device streams. Times are microseconds.
func call(correlation, ts, dur int) string {
	return fmt.Sprintf(`{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":42,"tid":42,"ts":%d,"dur":%d,"args":{"correlation":%d}}`, ts, dur, correlation)
}

func kernel(name string, device, stream, correlation, ts, dur int) string {
	return fmt.Sprintf(`{"ph":"X","cat":"kernel","name":%q,"pid":%d,"tid":%d,"ts":%d,"dur":%d,"args":{"device":%d,"stream":%d,"correlation":%d}}`,
		name, device, stream, ts, dur, device, stream, correlation)
}

// The cause of a stream gap depends on when the work after the gap was launched and on what else ran.
func TestGapsOfStreams(t *testing.T) {
	events := []string{
		call(1, 0, 5), kernel("a", 0, 7, 1, 10, 20), // 10–30
		call(2, 12, 3), kernel("b", 0, 7, 2, 33, 7), // 33–40: launched at 12, nothing ran: other, 3 µs
		`{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":42,"tid":42,"ts":41,"dur":30,"args":{}}`,
		call(3, 60, 5), kernel("c", 0, 7, 3, 70, 10), // 70–80: launched at 60, 20 µs after the stream was idle: host, 30 µs
		call(4, 66, 1), kernel("ncclDevKernel_AllReduce", 0, 9, 4, 75, 25), // 75–100
		call(5, 68, 1), kernel("d", 0, 7, 5, 100, 10), // 100–110: launched at 68, and a collective ran until 100: 20 µs
		kernel("e", 0, 9, 99, 105, 25),               // 105–130 on stream 9: its launch is unknown: 5 µs
		call(6, 90, 1), kernel("f", 0, 7, 6, 130, 1), // 130–131: launched at 90, and a kernel ran on stream 9: 20 µs
	}
	r := collectSlices(t, strings.Join(events, ","), report.SliceOptions{Gaps: true})
	type gap struct {
		at, dur  int64
		cause    report.GapCause
		until    string
		launched int64
	}
	var got []gap
	for _, g := range r.Gaps.Gaps {
		launched := int64(-1)
		if g.LaunchedAt != nil {
			launched = int64(*g.LaunchedAt / timeline.Microsecond)
		}
		got = append(got, gap{int64(g.Start / timeline.Microsecond), int64(g.Duration / timeline.Microsecond), g.Cause, g.EndedBy, launched})
	}
	want := []gap{
		{40, 30, report.GapHost, "c", 60}, {80, 20, report.GapCollective, "d", 68}, {110, 20, report.GapKernel, "f", 90},
		{100, 5, report.GapUnknown, "e", -1}, {30, 3, report.GapOther, "b", 12},
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("gaps\n%v, want\n%v", got, want)
	}
	// During the longest gap, from 40 to 70, the thread ran aten::mm from 41 to 70. The calls inside aten::mm took 5 (60–65), 1
	// (66) and 1 (68).
	if w := r.Gaps.Gaps[0].Meanwhile; w == nil || w.Self != micros(29) || w.Parts[0].Name != "aten::mm" || w.Parts[0].Self != micros(22) {
		t.Errorf("meanwhile %+v", w)
	}
	idle := r.Gaps.Idle[0]
	if idle.Gaps != 4 || idle.Time != micros(73) || idle.By[report.GapHost] != micros(30) || idle.By[report.GapOther] != micros(3) {
		t.Errorf("idle %+v", idle)
	}
	// Delays of stream 7, from the start of the call: 10, 21, 10, 32, 40. When d was launched (68), c had not begun (70); when
	// f was launched (90), d had not begun (100); nothing was queued before the others.
	l := r.Gaps.Launches[0]
	if l.Launches != 5 || l.DelayP50 != micros(21) || l.DelayMax != micros(40) || *l.MaxAt != micros(90) || l.QueueMax != 1 || l.QueueP50 != 0 {
		t.Errorf("launches %+v", l)
	}
}

// The last device to reach a collective holds up the others.
func TestArrivals(t *testing.T) {
	r := collectSlices(t, strings.Join([]string{
		kernel("ncclAll", 0, 7, 1, 10, 40), kernel("ncclAll", 1, 7, 2, 30, 20), kernel("ncclAll", 2, 7, 3, 15, 35), // the second is 15 later than the third
		kernel("ncclAll", 0, 7, 4, 100, 10), kernel("ncclAll", 1, 7, 5, 100, 10), kernel("ncclAll", 2, 7, 6, 100, 10), // none is late
		kernel("ncclOther", 2, 7, 7, 200, 10), // alone
	}, ","), report.SliceOptions{Gaps: true})
	var got []string
	for _, a := range r.Gaps.Arrivals {
		got = append(got, fmt.Sprint(a.Device, a.Collectives, a.Last, int64(a.HeldUp), int64(a.Waited)))
	}
	if want := "0 2 0 0 20000;1 2 1 15000 0;2 2 0 0 15000"; strings.Join(got, ";") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

// Without devices, gaps come from the threads that work most, or from the requested threads, and flow arrows determine which
// threads end them.
func TestGapsOfThreads(t *testing.T) {
	events := `
		{"ph":"X","pid":1,"tid":2,"name":"first","ts":0,"dur":100},
		{"ph":"X","pid":1,"tid":2,"name":"second","ts":150,"dur":50},
		{"ph":"X","pid":1,"tid":3,"name":"reads","ts":90,"dur":50},
		{"ph":"s","pid":1,"tid":3,"id":1,"name":"hand","cat":"hand","ts":135},
		{"ph":"f","pid":1,"tid":2,"id":1,"name":"hand","cat":"hand","ts":151,"bp":"e"},
		{"ph":"X","pid":1,"tid":4,"name":"rare","ts":0,"dur":1},
		{"ph":"X","pid":1,"tid":4,"name":"rare","ts":190,"dur":1}`
	r := collectSlices(t, events, report.SliceOptions{Gaps: true})
	if len(r.Gaps.Gaps) != 1 || r.Gaps.Quiet != 1 {
		t.Fatalf("%+v", r.Gaps)
	}
	g := r.Gaps.Gaps[0]
	if g.Start != micros(100) || g.Duration != micros(50) || g.EndedBy != "second" || g.Cause != report.GapThread || g.LaunchedBy.TID.Num != 3 || *g.LaunchedAt != micros(135) ||
		g.Meanwhile.Self != micros(40) {
		t.Errorf("%+v", g)
	}
	if r := collectSlices(t, events, report.SliceOptions{Gaps: true, Threads: true}); len(r.Gaps.Gaps) != 2 || r.Gaps.Gaps[0].Duration != micros(189) {
		t.Errorf("%+v", r.Gaps)
	}
}
