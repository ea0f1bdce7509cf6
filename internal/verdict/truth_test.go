package verdict

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/load"
	"github.com/weft-trace/weft/internal/merge"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// judged returns the verdict on a recording, or on several merged ones.
func judged(t *testing.T, inputs ...[]byte) *Verdict {
	t.Helper()
	all, said := collected(t, inputs...)
	return Of(all, said.Problems, said.Usual)
}

// collected returns the data from which a verdict is computed.
func collected(t *testing.T, inputs ...[]byte) (*report.All, *convert.Report) {
	t.Helper()
	job := &merge.Job{Options: merge.Options{Reference: -1}}
	for i, input := range inputs {
		job.Sources = append(job.Sources, merge.Source{Name: fmt.Sprintf("rank%d", i), Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(input)), nil }})
	}
	read := func() (*load.Trace, error) { return load.One(t.Context(), bytes.NewReader(inputs[0]), load.Options{}) }
	if len(inputs) > 1 {
		read = func() (*load.Trace, error) { return load.Many(t.Context(), job, load.Options{}) }
	}
	loaded, err := read()
	if err != nil {
		t.Fatal(err)
	}
	defer loaded.Close()
	all, err := report.CollectAll(t.Context(), loaded.Timeline, attribution.Rules{}, report.AllOptions{})
	if err != nil {
		t.Fatal(err)
	}
	loaded.Count()
	return all, loaded.Report
}

// said returns all statements of a verdict, one per line.
func said(v *Verdict) string {
	lines := []string{"kind: " + string(v.Kind), "heading: " + v.Heading.String()}
	for _, t := range slices.Concat(v.Why, v.Trust) {
		lines = append(lines, t.String())
	}
	for _, t := range v.Tiles {
		lines = append(lines, fmt.Sprintf("tile %s: %s %s %s", t.Label, t.Value, t.Rating, t.Note))
	}
	for _, x := range v.Issues {
		lines = append(lines, fmt.Sprintf("%s: %s. %s", x.Class, x.Title, x.Proof))
	}
	return strings.Join(lines, "\n")
}

// expect reports missing statements of a verdict, and forbidden forms.
func expect(t *testing.T, v *Verdict, want ...string) {
	t.Helper()
	text := said(v)
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("the verdict lacks %q:\n%s", w, text)
		}
	}
	for _, never := range []string{"0x", "mostly .", "of .", "%!", "NaN"} {
		if strings.Contains(text, never) {
			t.Errorf("the verdict has %q:\n%s", never, text)
		}
	}
	if n := len(v.Tiles); n < 3 || n > maxTiles {
		t.Errorf("%d tiles", n)
	}
	for i, x := range v.Issues {
		if x.Title == nil || x.Proof == nil || x.Action == nil || x.Class == "" || i > 0 && x.Gain > v.Issues[i-1].Gain {
			t.Errorf("issue %+v", x)
		}
	}
}

func micros(us float64) timeline.Nanos { return timeline.Nanos(math.Round(us * 1000)) }

// chromeEvent is the data that the tests read from a Chrome event.
type chromeEvent struct {
	Name     string
	Ph       string
	PID, TID int64
	ID       json.RawMessage
	ID2      json.RawMessage
	TS       float64
	Dur      float64
	TDur     *float64
	Args     struct {
		Frame string
		Name  string
		Data  struct {
			Score    float64 `json:"weighted_score_delta"`
			Recent   bool    `json:"had_recent_input"`
			ID       string  `json:"navigationId"`
			URL      string  `json:"documentLoaderURL"`
			IsOutest bool    `json:"isOutermostMainFrame"`
		}
	}
}

func chromeEvents(t *testing.T, input []byte) []chromeEvent {
	t.Helper()
	var file struct{ TraceEvents []json.RawMessage }
	if err := json.Unmarshal(input, &file); err != nil {
		t.Fatal(err)
	}
	var events []chromeEvent
	for _, raw := range file.TraceEvents {
		var e chromeEvent
		if json.Unmarshal(raw, &e) == nil || e.Name != "" { // arguments of other events have other types
			events = append(events, e)
		}
	}
	slices.SortStableFunc(events, func(a, b chromeEvent) int { return cmp.Compare(a.TS, b.TS) })
	return events
}

// rawShift returns the largest session window of layout shifts of a thread.
func rawShift(events []chromeEvent) (worst float64) {
	type window struct{ first, last, sum float64 }
	open := map[int64]*window{}
	for _, e := range events {
		if e.Name != "LayoutShift" || e.Args.Data.Recent {
			continue
		}
		w := open[e.TID]
		if w == nil || e.TS-w.last >= 1e6 || e.TS-w.first >= 5e6 {
			w = &window{first: e.TS}
			open[e.TID] = w
		}
		w.last, w.sum = e.TS, w.sum+e.Args.Data.Score
		worst = max(worst, w.sum)
	}
	return worst
}

// rawCPU returns the CPU time and length of the outermost slices of a thread that record their CPU time.
func rawCPU(events []chromeEvent, pid, tid int64) (cpu, of float64) {
	end := 0.0
	for _, e := range events {
		if e.Ph == "X" && e.PID == pid && e.TID == tid && e.TDur != nil && e.TS >= end {
			cpu, of, end = cpu+*e.TDur, of+e.Dur, e.TS+e.Dur
		}
	}
	return cpu, of
}

// Requests and heaps in Chrome recordings match their events. One of the recordings ends before many of its requests.
func TestTruthNetwork(t *testing.T) {
	for _, name := range []string{"chrome/chrome-devtools-small.json.gz", "otlp/browser.json.gz"} {
		t.Run(name, func(t *testing.T) { truthNetwork(t, recording.Bytes(t, "traces/"+name)) })
	}
}

func truthNetwork(t *testing.T, input []byte) {
	type event struct {
		Name     string
		PID, TID int64
		TS       float64
		Args     json.RawMessage
	}
	var file struct{ TraceEvents []event }
	if err := json.Unmarshal(input, &file); err != nil {
		t.Fatal(err)
	}
	slices.SortStableFunc(file.TraceEvents, func(a, b event) int { return cmp.Compare(a.TS, b.TS) })
	sent, answered, heaps := map[string]float64{}, map[string]float64{}, map[int64]int64{}
	requests, bytes, longest, drawn := int64(0), 0.0, 0.0, timeline.Nanos(0)
	for _, e := range file.TraceEvents {
		var args struct {
			Data struct {
				RequestID, URL    string
				EncodedDataLength float64
				JSHeapSizeUsed    int64
			}
		}
		if !slices.Contains([]string{"ResourceSendRequest", "ResourceReceiveResponse", "ResourceFinish", "UpdateCounters"}, e.Name) || json.Unmarshal(e.Args, &args) != nil {
			continue
		}
		from, known := sent[args.Data.RequestID]
		switch {
		case e.Name == "UpdateCounters":
			heaps[e.TID] = max(heaps[e.TID], args.Data.JSHeapSizeUsed)
		case e.Name == "ResourceFinish" && known:
			bytes += args.Data.EncodedDataLength
			longest = max(longest, e.TS-from)
			drawn += micros(e.TS - from)
			delete(sent, args.Data.RequestID)
		case e.Name == "ResourceReceiveResponse":
			answered[args.Data.RequestID] = e.TS
		case e.Name == "ResourceSendRequest" && strings.Contains(args.Data.URL, "://"):
			requests++
			sent[args.Data.RequestID] = e.TS
			if known { // redirected
				longest = max(longest, e.TS-from)
				drawn += micros(e.TS - from)
			}
		}
	}
	for id, from := range sent {
		drawn += micros(max(answered[id]-from, 0))
	}
	all, _ := collected(t, input)
	n := all.Network
	if n == nil || requests < 10 || n.Requests != requests || n.Unfinished != int64(len(sent)) || n.Bytes != int64(bytes) || n.Slowest[0].Length != micros(longest) {
		t.Errorf("%d requests, %d without an end, %v bytes, the longest %v µs: %+v", requests, len(sent), bytes, longest, n)
	}
	for i := range n.Waterfall.Spans {
		s := &n.Waterfall.Spans[i]
		drawn -= s.Duration
		parts := timeline.Nanos(0)
		for _, p := range s.Phases {
			parts += p.Duration
		}
		if len(s.Phases) > 0 && parts != s.Duration || s.Duration == 0 {
			t.Errorf("%+v", s)
		}
	}
	if drawn != 0 || len(n.Waterfall.Spans) != int(requests) {
		t.Errorf("%d of %d requests are drawn, %d ns too short", len(n.Waterfall.Spans), requests, drawn)
	}
	if len(all.Heaps) != len(heaps) {
		t.Errorf("%d heaps of %d threads", len(all.Heaps), len(heaps))
	}
	for _, h := range all.Heaps {
		if heaps[h.TID.Num] != h.Max || slices.Max(h.Sizes) != h.Max {
			t.Errorf("the heap of %s has %d bytes, in the events %d", h.Title(), h.Max, heaps[h.TID.Num])
		}
	}
}

// In a merge, the requests of a page do not replace the spans of the server, or vice versa.
func TestTruthNetworkOfMerge(t *testing.T) {
	browser, server := recording.Bytes(t, "traces/otlp/browser.json.gz"), recording.Bytes(t, "traces/otlp/server.otlp")
	merged, _ := collected(t, browser, server)
	page, _ := collected(t, browser)
	spans, _ := collected(t, server)
	if len(merged.Network.Waterfall.Spans) != len(page.Network.Waterfall.Spans) || len(merged.Waterfall.Spans) != len(spans.Waterfall.Spans) || page.Waterfall != nil || spans.Network != nil {
		t.Errorf("the merge has %d requests and %d spans, its inputs %d and %d", len(merged.Network.Waterfall.Spans), len(merged.Waterfall.Spans), len(page.Network.Waterfall.Spans), len(spans.Waterfall.Spans))
	}
}

// The statements of the verdict on a Chrome page match its events: layout shift, inputs, long tasks, CPU time.
func TestTruthChrome(t *testing.T) {
	input := recording.Bytes(t, "traces/chrome/chrome-devtools-small.json.gz")
	events := chromeEvents(t, input)
	v := judged(t, input)
	type key struct {
		pid int64
		id  string
	}
	begun, slowest := map[key]float64{}, 0.0
	names := map[[2]int64]string{}
	for _, e := range events {
		k := key{e.PID, e.Name + string(e.ID) + string(e.ID2)}
		switch {
		case e.Name == "thread_name":
			names[[2]int64{e.PID, e.TID}] = e.Args.Name
		case !strings.HasPrefix(e.Name, "InputLatency::") || strings.HasSuffix(e.Name, "MouseMove"):
		case e.Ph == "b":
			begun[k] = e.TS
		case e.Ph == "e":
			slowest = max(slowest, e.TS-begun[k])
		}
	}
	long, busiest := 0, busiestMain(events)
	for thread, name := range names {
		if name != "CrRendererMain" {
			continue
		}
		for _, e := range events {
			if e.PID == thread[0] && e.TID == thread[1] && strings.HasSuffix(e.Name, "RunTask") && e.Dur >= 50_000 {
				long++
			}
		}
	}
	expect(t, v, "kind: web page", "tile Layout shift: "+fmt.Sprintf("%.2f good", rawShift(events)), "tile Slowest input: "+table.Length(micros(slowest)),
		"the slowest input took "+table.Length(micros(slowest)), fmt.Sprintf("tile Long tasks: %d ", long), "heading: a.localhost:8701 responded fast: no long task")
	if long != 0 {
		t.Error("there are long tasks")
	}
	cpu := table.Percent(timeline.Nanos(busiest[0]*1000), timeline.Nanos(busiest[1]*1000))
	expect(t, v, "on a CPU for "+cpu+" of it", "tile On a CPU: "+cpu)
}

// busiestMain returns the time on a CPU and the length, in µs, of the tasks of the main thread with the most work.
func busiestMain(events []chromeEvent) (busiest [2]float64) {
	for _, e := range events {
		if e.Name != "thread_name" || e.Args.Name != "CrRendererMain" {
			continue
		}
		if cpu, of := rawCPU(events, e.PID, e.TID); of > busiest[1] {
			busiest = [2]float64{cpu, of}
		}
	}
	return busiest
}

// The stated time from the start of a navigation to the largest content matches the events, and the recorder's tasks do not count
// as the reader's.
func TestTruthChromeLoad(t *testing.T) {
	input := recording.Read(t, recording.Large(t, "traces/chrome/chrome-devtools-medium.json.gz"))
	events := chromeEvents(t, input)
	starts, painted := map[string]float64{}, 0.0
	for _, e := range events {
		switch e.Name {
		case "navigationStart":
			if e.Args.Data.IsOutest && strings.HasPrefix(e.Args.Data.URL, "http") {
				starts[e.Args.Data.ID] = e.TS
			}
		case "largestContentfulPaint::Candidate":
			if start, ok := starts[e.Args.Data.ID]; ok {
				painted = max(painted, e.TS-start)
			}
		}
	}
	recorders, long := 0, 0
	for _, e := range events {
		if !strings.HasSuffix(e.Name, "RunTask") || e.Dur < 50_000 {
			continue
		}
		long++
		for _, in := range events {
			if strings.HasPrefix(in.Name, "CpuProfiler::") && in.PID == e.PID && in.TID == e.TID && in.TS >= e.TS && in.TS+in.Dur <= e.TS+e.Dur && in.Dur >= e.Dur/2 {
				recorders++
				break
			}
		}
	}
	busiest := busiestMain(events)
	cpu := table.Percent(timeline.Nanos(busiest[0]*1000), timeline.Nanos(busiest[1]*1000))
	expect(t, judged(t, input), "tile Largest content: "+table.Length(micros(painted))+" good LCP of page2.html", fmt.Sprintf("%d of %d long tasks is the recorder's own work", recorders, long),
		fmt.Sprintf("tile Long tasks: %d ", long-recorders), "heading: a.localhost:8701/page2.html was kept waiting: its thread ran for only "+cpu+" of "+table.Length(micros(busiest[1])))
}

// The function that the verdict on a profile names has the stated self time: the total time from each of its samples to the next
// sample.
func TestTruthProfile(t *testing.T) {
	input := recording.Bytes(t, "traces/cpuprofile/cdp-page-small.cpuprofile.gz")
	var p struct {
		Nodes []struct {
			ID        int64
			CallFrame struct {
				FunctionName, URL string
				LineNumber        int64
			}
		}
		Samples    []int64
		TimeDeltas []int64
	}
	if err := json.Unmarshal(input, &p); err != nil {
		t.Fatal(err)
	}
	functions, self, all, idle, program := map[int64]string{}, map[string]float64{}, 0.0, 0.0, 0.0
	stretch, longest, stretches := 0.0, 0.0, 0
	for _, n := range p.Nodes {
		functions[n.ID] = n.CallFrame.FunctionName
		if n.CallFrame.URL != "" {
			functions[n.ID] += fmt.Sprintf(" (%s:%d)", path.Base(n.CallFrame.URL), n.CallFrame.LineNumber+1)
		}
	}
	for i, id := range p.Samples {
		if i+1 == len(p.Samples) {
			break
		}
		until := float64(p.TimeDeltas[i+1])
		stretch += until
		switch all += until; functions[id] {
		case "(idle)":
			idle, stretch = idle+until, 0
		case "(program)":
			program += until
		case "(garbage collector)", "(root)":
		default:
			self[functions[id]] += until
		}
		if longest = max(longest, stretch); stretch >= 50_000 && stretch-until < 50_000 {
			stretches++
		}
	}
	if functions[p.Samples[len(p.Samples)-1]] == "(program)" { // the last sample has the average length
		program += all / float64(len(p.Samples)-1)
	}
	total := 0.0
	for _, t := range self {
		total += t
	}
	names := slices.SortedFunc(maps.Keys(self), func(a, b string) int { return cmp.Compare(self[b], self[a]) })
	top := self[names[0]]
	expect(t, judged(t, input), "kind: profile", fmt.Sprintf("heading: The thread was busy without a break for up to %s, and %d times for more than 50 ms", table.Length(micros(longest)), stretches),
		fmt.Sprintf("The largest function, %s, uses %s of the time in functions: ", names[0], table.Percent(micros(top), micros(total))), table.Length(micros(program))+" of it was native code",
		"tile Functions: ", "tile Busy: "+table.Percent(micros(all-idle), micros(all)), fmt.Sprintf("seen in %d samples", len(p.Samples)))
}

// The stated time of the largest content of a Firefox page is the time in its marker.
func TestTruthFirefox(t *testing.T) {
	input := recording.Bytes(t, "traces/firefox/gecko/ff-gecko-tiny.json.gz")
	painted := 0.0
	for _, part := range strings.Split(string(input), `"type":"LargestContentfulPaint","timeMs":`)[1:] {
		var ms float64
		if _, err := fmt.Sscanf(part, "%g", &ms); err != nil {
			t.Fatal(err)
		}
		painted = max(painted, ms)
	}
	expect(t, judged(t, input), "kind: web page", "tile Largest content: "+table.Length(micros(painted*1000))+" good LCP of tiny.html")
}

// rawDevices returns how long each device ran a kernel, copy or fill, by rank and number, the time from the first to the last
// of them, and the number of kernels.
func rawDevices(t *testing.T, inputs ...[]byte) (busy map[[2]int]timeline.Nanos, window timeline.Nanos, kernels int) {
	t.Helper()
	type span struct{ from, to timeline.Nanos }
	busy = map[[2]int]timeline.Nanos{}
	first, last := timeline.Nanos(math.MaxInt64), timeline.Nanos(0)
	for rank, input := range inputs {
		var file struct {
			TraceEvents []struct {
				Ph, Cat string
				TS, Dur json.Number
				Args    struct{ Device int }
			}
		}
		if err := json.Unmarshal(input, &file); err != nil {
			t.Fatal(err)
		}
		spans := map[int][]span{}
		for _, e := range file.TraceEvents {
			if e.Ph != "X" || e.Cat != "kernel" && e.Cat != "gpu_memcpy" && e.Cat != "gpu_memset" {
				continue
			}
			if e.Cat == "kernel" {
				kernels++
			}
			from := exact(t, e.TS)
			spans[e.Args.Device] = append(spans[e.Args.Device], span{from, from + exact(t, e.Dur)})
		}
		for device, list := range spans {
			slices.SortFunc(list, func(a, b span) int { return cmp.Compare(a.from, b.from) })
			end := timeline.Nanos(0)
			for _, s := range list {
				busy[[2]int{rank, device}] += max(s.to-max(s.from, end), 0)
				end = max(end, s.to)
				first, last = min(first, s.from), max(last, s.to)
			}
		}
	}
	return busy, last - first, kernels
}

// exact reads microseconds with up to three decimals.
func exact(t *testing.T, n json.Number) timeline.Nanos {
	t.Helper()
	whole, fraction, _ := strings.Cut(n.String(), ".")
	ns, err := strconv.ParseInt(whole+(fraction + "000")[:3], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return timeline.Nanos(ns)
}

// Devices are busy while any of their kernels, copies or fills runs.
func TestTruthJob(t *testing.T) {
	input := recording.Bytes(t, "traces/pytorch/pytorch-small.json.gz")
	busy, window, kernels := rawDevices(t, input)
	one, two := busy[[2]int{0, 0}], busy[[2]int{0, 1}]
	expect(t, judged(t, input), "kind: GPU job", "heading: 2 devices were used well: busy for "+table.Percent(one+two, 2*window), "tile GPU 0: "+table.Percent(one, window),
		"tile GPU 1: "+table.Percent(two, window), fmt.Sprintf("tile Kernels: %d", kernels))
}

// With several ranks, the verdict names the device that was idle longest, by its rank.
func TestTruthRanks(t *testing.T) {
	var inputs [][]byte
	for i := range 4 {
		inputs = append(inputs, recording.Bytes(t, fmt.Sprintf("traces/merge/rank%d.json.gz", i)))
	}
	busy, window, kernels := rawDevices(t, inputs...)
	all, least := timeline.Nanos(0), [2]int{}
	for device, b := range busy {
		if all += b; b < busy[least] {
			least = device
		}
	}
	n := timeline.Nanos(len(busy))
	expect(t, judged(t, inputs...), fmt.Sprintf("heading: %d devices were idle for %s of the time; rank %d, GPU %d was the idlest, for %s", n, table.Percent(n*window-all, n*window), least[0], least[1], table.Percent(window-busy[least], window)),
		fmt.Sprintf("tile Kernels: %d", kernels), "tile Devices busy: "+table.Percent(all, n*window), fmt.Sprintf("rank %d, GPU %d works for only %s of %s", least[0], least[1], table.Length(busy[least]), table.Length(window)))
}

// rawSpan is the data that the tests read from an OpenTelemetry span.
type rawSpan struct {
	id, parent, name, message string
	failed                    bool
	start, end                uint64
}

// protoFields calls a function for each field of a protobuf message.
func protoFields(b []byte, field func(n uint64, v uint64, text []byte)) {
	for len(b) > 0 {
		key, n := binary.Uvarint(b)
		b = b[n:]
		switch key & 7 {
		case 0:
			v, n := binary.Uvarint(b)
			b = b[n:]
			field(key>>3, v, nil)
		case 1:
			field(key>>3, binary.LittleEndian.Uint64(b), nil)
			b = b[8:]
		case 2:
			size, n := binary.Uvarint(b)
			field(key>>3, 0, b[n:n+int(size)])
			b = b[n+int(size):]
		case 5:
			field(key>>3, uint64(binary.LittleEndian.Uint32(b)), nil)
			b = b[4:]
		}
	}
}

// rawSpans reads the messages of a collector's file, each after its size.
func rawSpans(input []byte) (spans []rawSpan) {
	readSpan := func(b []byte) {
		var s rawSpan
		protoFields(b, func(n, v uint64, text []byte) {
			switch n {
			case 2:
				s.id = string(text)
			case 4:
				s.parent = string(text)
			case 5:
				s.name = string(text)
			case 7:
				s.start = v
			case 8:
				s.end = v
			case 15:
				protoFields(text, func(n, v uint64, text []byte) {
					if n == 2 {
						s.message = string(text)
					}
					s.failed = s.failed || n == 3 && v == 2
				})
			}
		})
		spans = append(spans, s)
	}
	for len(input) >= 4 {
		size := binary.BigEndian.Uint32(input)
		protoFields(input[4:4+size], func(n, _ uint64, resource []byte) {
			protoFields(resource, func(n, _ uint64, scope []byte) {
				if n != 2 {
					return
				}
				protoFields(scope, func(n, _ uint64, span []byte) {
					if n == 2 {
						readSpan(span)
					}
				})
			})
		})
		input = input[4+size:]
	}
	return spans
}

// The failed spans, and the spans where errors originate, match the file.
func TestTruthService(t *testing.T) {
	input := recording.Bytes(t, "traces/otlp/collector.proto.gz")
	spans := rawSpans(input)
	failed, origins, roots, longest, message, rootFails := 0, map[string]int{}, 0, uint64(0), "", 0
	passed := map[string]bool{}
	for _, s := range spans {
		if s.failed {
			failed++
			passed[s.parent] = true
		}
	}
	for _, s := range spans {
		if s.failed && !passed[s.id] {
			origins[s.name]++
			message = s.message
		}
		if s.parent == "" {
			roots++
			longest = max(longest, s.end-s.start)
			if s.failed {
				rootFails++
			}
		}
	}
	if failed == 0 || len(origins) != 1 || rootFails != 0 {
		t.Fatalf("%d fail, from %v, %d without a parent", failed, origins, rootFails)
	}
	v := judged(t, input)
	expect(t, v, "kind: service trace", fmt.Sprintf("tile Errors: %d poor of %d spans", failed, len(spans)),
		fmt.Sprintf("tile Requests: %d ", roots), "tile Slowest request: "+table.Length(timeline.Nanos(longest)))
	for name, n := range origins {
		expect(t, v, fmt.Sprintf("heading: %s of go-back failed %d times, but all %d requests from outside succeeded", name, n, roots), fmt.Sprintf("The message is “%s”", message), fmt.Sprintf("%s of go-back fails %d times. “%s”", name, n, message))
	}
}

// Requests, failures, the load and the slowest request match the archive.
func TestTruthArchive(t *testing.T) {
	input := recording.Bytes(t, "clocks/node/page.har.gz")
	var file struct {
		Log struct {
			Pages []struct {
				StartedDateTime time.Time
				PageTimings     struct{ OnContentLoad, OnLoad float64 }
			}
			Entries []struct {
				StartedDateTime time.Time
				Time            float64
				Request         struct{ URL string }
				Response        struct{ Status int }
				Timings         struct{ Wait float64 }
			}
		}
	}
	if err := json.Unmarshal(input, &file); err != nil {
		t.Fatal(err)
	}
	page := file.Log.Pages[0]
	failed, late, slowest := 0, 0, 0
	loaded := page.StartedDateTime.Add(time.Duration(page.PageTimings.OnLoad * 1e6))
	for i, e := range file.Log.Entries {
		if e.Response.Status >= 400 {
			failed++
		}
		if e.StartedDateTime.After(loaded) {
			late++
		}
		if e.Time > file.Log.Entries[slowest].Time {
			slowest = i
		}
	}
	e := file.Log.Entries[slowest]
	expect(t, judged(t, input), "kind: HTTP archive", fmt.Sprintf("heading: 127.0.0.1:4500/page.html loaded in %s, and %d of %d requests failed", table.Length(micros(page.PageTimings.OnLoad*1000)), failed, len(file.Log.Entries)),
		"tile DOM ready: "+table.Length(micros(page.PageTimings.OnContentLoad*1000)), fmt.Sprintf("tile Requests: %d ", len(file.Log.Entries)), fmt.Sprintf("tile Failed: %d poor", failed),
		fmt.Sprintf("tile Sent after the load: %d ", late), "took "+table.Length(micros(e.Time*1000)), table.Length(micros(e.Timings.Wait*1000))+" of it waiting for the first byte")
}

// Failed system calls are the ones that returned a small negative number.
func TestTruthSyscalls(t *testing.T) {
	input := recording.Bytes(t, "traces/probes/syscalls.probelines.gz")
	failed, began := int64(0), map[string]bool{}
	for line := range strings.Lines(string(input)) {
		var l struct{ Data json.RawMessage }
		var data []any
		if json.Unmarshal([]byte(line), &l) != nil || json.Unmarshal(l.Data, &data) != nil || len(data) < 7 {
			continue
		}
		call, isReturn := strings.CutSuffix(fmt.Sprint(data[5]), "-return")
		if entry, ok := strings.CutSuffix(call, "-entry"); ok {
			began[entry] = true
		}
		if ret, ok := data[6].(float64); ok && isReturn && began[call] && ret < 0 && ret >= -4095 {
			failed++
		}
	}
	all, _ := collected(t, input)
	n := int64(0)
	for _, e := range all.Probes.Errors {
		n += e.Count
		if e.Error == "" || e.Total <= 0 {
			t.Errorf("%+v", e)
		}
	}
	if n != failed || n == 0 {
		t.Errorf("%d system calls failed, %d returned an error", n, failed)
	}
}

// The slowest statement is the one with the most time from its start to its end.
func TestTruthProbes(t *testing.T) {
	input := recording.Bytes(t, "traces/probes/postgres-queries.probelines.gz")
	type started struct {
		text string
		at   int64
	}
	var open []started
	statements := map[string]int64{}
	for line := range strings.Lines(string(input)) {
		var l struct {
			Type string
			Data json.RawMessage
		}
		var data []any
		if json.Unmarshal([]byte(line), &l) != nil || l.Type != "value" || json.Unmarshal(l.Data, &data) != nil || len(data) < 6 {
			continue
		}
		at := int64(data[1].(float64))
		switch data[5] {
		case "postgresql:query-start":
			open = append(open, started{data[6].(string), at})
		case "postgresql:query-done":
			s := open[len(open)-1]
			open = open[:len(open)-1]
			statements[s.text] += at - s.at
		}
	}
	texts := slices.SortedFunc(maps.Keys(statements), func(a, b string) int { return cmp.Compare(statements[b], statements[a]) })
	top := texts[0]
	expect(t, judged(t, input), "kind: probes", fmt.Sprintf("heading: The slowest statement took %s: “%s”", table.Length(timeline.Nanos(statements[top])), quote(top).Text))
}

// The verdict on a recording without events or times states that, and makes no statement about time.
func TestTruthOther(t *testing.T) {
	for input, want := range map[string]string{
		`[]`: "heading: The recording has no events",
		`[{"ph":"C","pid":1,"ts":1,"name":"memory","args":{"bytes":1}}]`: "heading: The recording has no slices and no samples",
	} {
		if text := said(judged(t, []byte(input))); !strings.Contains(text, want) {
			t.Errorf("%s: %s", input, text)
		}
	}
}

// A Firefox request counts once, however many processes recorded it; it fails with an error of its own or a status of 400 or
// more.
func TestTruthNetworkOfFirefox(t *testing.T) {
	input := recording.Bytes(t, "traces/firefox/processed/ff-processed-tiny.json.gz")
	var profile struct {
		Threads []struct {
			Markers struct {
				Data []struct {
					Type, Status, RequestStatus string
					ID                          json.Number
					ResponseStatus              int
				}
			}
		}
	}
	if err := json.Unmarshal(input, &profile); err != nil {
		t.Fatal(err)
	}
	failed := map[json.Number]bool{} // by id
	for _, thread := range profile.Threads {
		for _, m := range thread.Markers.Data {
			if m.Type == "Network" {
				failed[m.ID] = failed[m.ID] || m.ResponseStatus >= 400 || m.Status == "STATUS_CANCEL" || m.RequestStatus != "NS_OK"
			}
		}
	}
	want := int64(0)
	for _, f := range failed {
		if f {
			want++
		}
	}
	all, _ := collected(t, input)
	if n := all.Network; want == 0 || n == nil || n.Requests != int64(len(failed)) || n.Failed != want || len(n.Waterfall.Spans) != len(failed) || len(n.Waterfall.Spans[0].Phases) == 0 {
		t.Errorf("%d requests, %d failed: %+v", len(failed), want, n)
	}
}

// Screenshots are pictures from the recording in their order, and no two neighbours are equal.
func TestTruthScreenshots(t *testing.T) {
	input := recording.Bytes(t, "traces/chrome/chrome-devtools-ui-saved-small.json.gz")
	var file struct {
		TraceEvents []struct {
			Name string
			Args struct{ Snapshot []byte }
		}
	}
	if err := json.Unmarshal(input, &file); err != nil {
		t.Fatal(err)
	}
	all, _ := collected(t, input)
	at, size := 0, 0
	for _, e := range file.TraceEvents {
		if e.Name == "Screenshot" && at < len(all.Screenshots) && bytes.Equal(e.Args.Snapshot, all.Screenshots[at].Image) {
			at, size = at+1, size+len(e.Args.Snapshot)
		}
	}
	if n := len(all.Screenshots); n < 4 || n > 10 || at != n || size > 150_000 {
		t.Errorf("%d screenshots, %d of them of the recording in its order, %d bytes", n, at, size)
	}
	for i := 1; i < len(all.Screenshots); i++ {
		if bytes.Equal(all.Screenshots[i].Image, all.Screenshots[i-1].Image) {
			t.Errorf("screenshot %d is the one before", i)
		}
	}
}
