package conformance

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"testing"
)

// This file is a second reader of Firefox profiles: it uses encoding/json with generic values and follows the
// specification sentence by sentence, without regard to memory or speed. Package firefox must give the same results.

// naiveObject is a JSON object. Numbers keep their text.
type naiveObject = map[string]any

// naiveProfile is the second reader's result.
type naiveProfile struct {
	anchor   int64 // time 0, in ns
	interval float64
	perMilli float64 // CPU time per millisecond
	schemas  map[string]naiveObject
	threads  []*naiveThread
	counters map[string]int // values, by pid
}

// naiveThread is a thread of a naiveProfile.
type naiveThread struct {
	index    int
	pid, tid string
	markers  []*naiveMarker
	samples  int

	values    int // number of values of the counters CPU % and eventDelay
	constants int // counters with a single value
}

// naiveMarker is a marker after pairing. Its times are in milliseconds on the profile's clock.
type naiveMarker struct {
	name       string
	start, end float64 // end is NaN for an instant
	data       naiveObject
	suppressed bool
}

// readNaively reads a profile of either dialect.
func readNaively(tb testing.TB, input []byte) *naiveProfile {
	tb.Helper()
	d := json.NewDecoder(bytes.NewReader(input))
	d.UseNumber()
	var root naiveObject
	if err := d.Decode(&root); err != nil {
		tb.Fatal(err)
	}
	meta := root["meta"].(naiveObject)
	p := &naiveProfile{schemas: map[string]naiveObject{}, counters: map[string]int{}}
	p.interval, p.perMilli = naiveNumber(meta["interval"]), 1e6
	if units, _ := meta["sampleUnits"].(naiveObject); units["threadCPUDelta"] == "µs" {
		p.perMilli = 1e3
	}
	start, _ := new(big.Rat).SetString(string(meta["startTime"].(json.Number)))
	p.anchor = new(big.Rat).Mul(start, big.NewRat(1e6, 1)).Num().Int64()
	if ns, ok := meta["startTimeAsClockMonotonicNanosecondsSinceBoot"].(json.Number); ok {
		p.anchor, _ = ns.Int64()
	}
	p.process(root, naiveNumber(meta["startTime"]))
	p.joinIPC()
	for _, th := range p.threads {
		th.markers = slices.DeleteFunc(th.markers, func(m *naiveMarker) bool { return m.suppressed })
		slices.SortStableFunc(th.markers, func(a, b *naiveMarker) int { return cmp.Compare(a.start, b.start) })
	}
	return p
}

// process reads the profile of a process and its children.
func (p *naiveProfile) process(root naiveObject, parentStart float64) {
	meta := root["meta"].(naiveObject)
	delta := naiveNumber(meta["startTime"]) - parentStart
	for _, s := range naiveList(meta["markerSchema"]) {
		schema := s.(naiveObject)
		if _, ok := p.schemas[schema["name"].(string)]; !ok {
			p.schemas[schema["name"].(string)] = schema
		}
	}
	shared, _ := root["shared"].(naiveObject)
	pid := ""
	for _, t := range naiveList(root["threads"]) {
		thread := t.(naiveObject)
		strings := naiveList(thread["stringTable"])
		if strings == nil {
			strings = naiveList(thread["stringArray"])
		}
		if strings == nil {
			strings = naiveList(shared["stringArray"])
		}
		th := &naiveThread{index: len(p.threads), pid: fmt.Sprint(thread["pid"]), tid: fmt.Sprint(thread["tid"])}
		pid = th.pid
		p.threads = append(p.threads, th)
		times := p.samples(th, thread["samples"])
		th.derive(naiveRows(thread["markers"]), naiveIsRaw(thread["markers"]), strings, times, delta, p.interval)
		for _, name := range []string{"jsAllocations", "nativeAllocations"} {
			for _, row := range naiveRows(thread[name]) {
				th.markers = append(th.markers, &naiveMarker{name: name, start: naiveNumber(row["time"]), end: math.NaN()})
			}
		}
	}
	for _, c := range naiveList(root["counters"]) {
		counter := c.(naiveObject)
		of := pid
		if counter["pid"] != nil {
			of = fmt.Sprint(counter["pid"])
		}
		p.counters[of] += len(naiveRows(counter["samples"]))
	}
	for _, child := range naiveList(root["processes"]) {
		p.process(child.(naiveObject), parentStart)
	}
}

// samples counts the samples of a thread and returns their times.
func (p *naiveProfile) samples(th *naiveThread, table any) []float64 {
	rows := naiveRows(table)
	var times []float64
	now := 0.0
	shares, delays := map[float64]int{}, map[float64]int{}
	for i, row := range rows {
		at := naiveNumber(row["time"])
		if delta, ok := row["timeDeltas"]; ok {
			now += naiveNumber(delta)
			at = now
		}
		times = append(times, at)
		th.samples++
		if i > 0 && !math.IsNaN(naiveNumber(row["threadCPUDelta"])) && at > times[i-1] {
			shares[min(100*naiveNumber(row["threadCPUDelta"])/p.perMilli/(at-times[i-1]), 100)]++
		}
		for _, delay := range []string{"eventDelay", "responsiveness"} {
			if v := naiveNumber(row[delay]); !math.IsNaN(v) {
				delays[v]++
			}
		}
	}
	for _, counter := range []map[float64]int{shares, delays} {
		for _, n := range counter {
			th.values += n
		}
		if len(counter) == 1 { // a fact about the thread instead of a counter
			th.constants++
		}
	}
	return times
}

// derive makes the markers of a thread from its rows: it pairs starts with ends.
func (th *naiveThread) derive(rows []naiveObject, raw bool, strings []any, samples []float64, delta, interval float64) {
	if raw {
		slices.SortStableFunc(rows, func(a, b naiveObject) int {
			return cmp.Compare(naiveCompletion(a), naiveCompletion(b))
		})
	}
	first, last := math.Inf(1), math.Inf(-1)
	extend := func(t float64) { first, last = min(first, t), max(last, t) }
	for _, t := range samples {
		extend(t + delta)
		extend(t + delta + interval)
	}
	for _, row := range rows {
		phase := naiveNumber(row["phase"])
		if phase != 3 {
			extend(naiveNumber(row["startTime"]) + delta)
		}
		if phase == 1 || phase == 3 {
			extend(naiveNumber(row["endTime"]) + delta)
		}
	}
	var open []naiveObject
	for _, row := range rows {
		data, _ := row["data"].(naiveObject)
		m := &naiveMarker{name: naiveText(strings, row["name"]), end: math.NaN(), data: naiveObject{}}
		m.start = naiveNumber(row["startTime"]) + delta
		end := naiveNumber(row["endTime"]) + delta
		isRequest := data["type"] == "Network" && data["id"] != nil
		isPartner := func(other naiveObject) bool {
			if isRequest {
				before, _ := other["data"].(naiveObject)
				return naiveNumber(other["phase"]) == 1 && before["id"] == data["id"]
			}
			return naiveNumber(other["phase"]) == 2 && other["name"] == row["name"]
		}
		switch phase := naiveNumber(row["phase"]); {
		case phase == 1 && isRequest && data["status"] == "STATUS_START", phase == 2:
			open = append(open, row)
			continue
		case phase == 1 && isRequest, phase == 3:
			m.end = end
			if phase == 3 {
				m.start = min(end, first)
			}
			for i := len(open) - 1; i >= 0; i-- {
				if isPartner(open[i]) {
					m.start = naiveNumber(open[i]["startTime"]) + delta
					m.overlay(open[i], strings)
					open = slices.Delete(open, i, i+1)
					break
				}
			}
		case phase == 1:
			m.end = end
		}
		m.overlay(row, strings)
		th.markers = append(th.markers, m)
	}
	for _, row := range open {
		m := &naiveMarker{name: naiveText(strings, row["name"]), data: naiveObject{}}
		m.start = naiveNumber(row["startTime"]) + delta
		m.end = max(last, m.start)
		m.overlay(row, strings)
		th.markers = append(th.markers, m)
	}
}

// overlay adds the payload of a row.
func (m *naiveMarker) overlay(row naiveObject, strings []any) {
	data, _ := row["data"].(naiveObject)
	for key, v := range data {
		m.data[key] = v
	}
	m.data[""] = strings // for flow ids
}

// naiveCompletion is the sort key of rows in the raw form.
func naiveCompletion(row naiveObject) float64 {
	if end := naiveNumber(row["endTime"]); end != 0 && !math.IsNaN(end) {
		return end
	}
	return naiveNumber(row["startTime"])
}

// joinIPC extends the markers of messages with two known endpoints from one to the other.
func (p *naiveProfile) joinIPC() {
	type message struct{ points map[string]*naiveMarker }
	found := map[string]*message{} // the last one with each key
	var all []*message
	for _, th := range p.threads {
		for _, m := range th.markers {
			if m.data["type"] != "IPC" {
				continue
			}
			from, to := th.pid, fmt.Sprint(m.data["otherPid"])
			if m.data["direction"] == "receiving" {
				from, to = to, from
			}
			point := fmt.Sprint(m.data["direction"], m.data["phase"])
			key := fmt.Sprint(from, to, m.data["messageSeqno"], m.data["messageType"])
			msg := found[key]
			if msg == nil || msg.points[point] != nil {
				msg = &message{points: map[string]*naiveMarker{}}
				found[key] = msg
				all = append(all, msg)
			}
			msg.points[point] = m
		}
	}
	for _, msg := range all {
		sent, received := msg.points["sendingendpoint"], msg.points["receivingendpoint"]
		if sent == nil || received == nil || received.start < sent.start {
			continue
		}
		sent.end, received.end = received.start, received.start
		received.start = sent.start
		sent.name, received.name = "IPCOut", "IPCIn"
		if sent.data["sync"] == true {
			sent.name, received.name = "SyncIPCOut", "SyncIPCIn"
		}
		for point, m := range msg.points {
			m.suppressed = point != "sendingendpoint" && point != "receivingendpoint"
		}
	}
}

// naiveFlow is a flow: its id and its members.
type naiveFlow struct {
	id      string
	members []string
}

// flows resolves the flows of the profile by the rule of the active flow.
func (p *naiveProfile) flows() []naiveFlow {
	type at struct {
		th *naiveThread
		m  *naiveMarker
	}
	var all []at
	for _, th := range p.threads {
		for _, m := range th.markers {
			all = append(all, at{th, m})
		}
	}
	slices.SortStableFunc(all, func(a, b at) int {
		return cmp.Or(cmp.Compare(a.m.start, b.m.start), cmp.Compare(a.th.index, b.th.index))
	})
	var flows []*naiveFlow
	active := map[string]*naiveFlow{}
	for _, a := range all {
		kind, _ := a.m.data["type"].(string)
		schema := p.schemas[kind]
		fields := naiveList(schema["fields"])
		if fields == nil {
			fields = naiveList(schema["data"])
		}
		for _, f := range fields {
			field := f.(naiveObject)
			format, _ := field["format"].(string)
			key, _ := field["key"].(string)
			if format != "flow-id" && format != "terminating-flow-id" || a.m.data[key] == nil {
				continue
			}
			id := naiveText(a.m.data[""].([]any), a.m.data[key])
			flow := active[id]
			if flow == nil {
				flow = &naiveFlow{id: id}
				active[id] = flow
				flows = append(flows, flow)
			}
			if member := p.describe(a.th, a.m); !slices.Contains(flow.members[max(0, len(flow.members)-1):], member) {
				flow.members = append(flow.members, member)
			}
			if format == "terminating-flow-id" {
				delete(active, id)
			}
		}
	}
	var list []naiveFlow
	for _, f := range flows {
		slices.Sort(f.members)
		list = append(list, *f)
	}
	return list
}

// describe returns the name of a marker in the output.
func (p *naiveProfile) describe(th *naiveThread, m *naiveMarker) string {
	return fmt.Sprintf("%s/%s %s %d", th.pid, th.tid, m.name, p.anchor+int64(math.Round(m.start*1e6)))
}

// naiveNumber returns a number, or NaN.
func naiveNumber(v any) float64 {
	n, ok := v.(json.Number)
	if !ok {
		return math.NaN()
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil {
		return math.NaN()
	}
	return f
}

// naiveText returns an element of a string table.
func naiveText(strings []any, index any) string {
	i := naiveNumber(index)
	if !(i >= 0 && i < float64(len(strings))) {
		return "" // after a truncation
	}
	return strings[int(i)].(string)
}

func naiveList(v any) []any {
	list, _ := v.([]any)
	return list
}

// naiveIsRaw reports whether a table has a schema and rows.
func naiveIsRaw(table any) bool {
	t, _ := table.(naiveObject)
	return t["schema"] != nil
}

// naiveRows returns the rows of a table in either form.
func naiveRows(table any) []naiveObject {
	t, ok := table.(naiveObject)
	if !ok {
		return nil
	}
	var rows []naiveObject
	if schema, ok := t["schema"].(naiveObject); ok {
		for _, r := range naiveList(t["data"]) {
			row := naiveObject{}
			for column, place := range schema {
				if i := int(naiveNumber(place)); i < len(naiveList(r)) {
					row[column] = naiveList(r)[i]
				}
			}
			rows = append(rows, row)
		}
		return rows
	}
	for range int(naiveNumber(t["length"])) {
		rows = append(rows, naiveObject{})
	}
	for column, values := range t {
		for i, v := range naiveList(values) {
			if i < len(rows) {
				rows[i][column] = v
			}
		}
	}
	return rows
}
