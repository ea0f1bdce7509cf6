package profilecalls

import (
	"cmp"
	"encoding/json"
	"slices"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// traceEvent is an event of a Chrome trace as encoding/json reads it: this test does not use weft's readers.
type traceEvent struct {
	Ph, Name string
	PID, TID int64
	TS, Dur  json.Number
	ID       json.RawMessage
	Args     json.RawMessage
}

// eventArgs holds the places of the trace id in the arguments of an event.
type eventArgs struct {
	BeginData *struct {
		SampleTraceID uint64 `json:"sampleTraceId"`
	} `json:"beginData"`
	SampleTraceID uint64 `json:"sampleTraceId"`
	Data          struct {
		SampleTraceID uint64 `json:"sampleTraceId"`
	} `json:"data"`
}

type threadKey struct{ pid, tid int64 }

// trace is the part of a trace that the tests need.
type trace struct {
	events   map[threadKey][]Event // sorted
	profiles []*v8profile.Recording
	problems problem.Log
}

// nanos converts microseconds, which have at most three decimals in the traces of the tests.
func nanos(t *testing.T, n json.Number) timeline.Nanos {
	t.Helper()
	if n == "" {
		return 0
	}
	if v, err := n.Int64(); err == nil {
		return timeline.Nanos(v) * 1000
	}
	f, err := n.Float64()
	if err != nil {
		t.Fatal(err)
	}
	return timeline.Nanos(f*1000 + 0.5)
}

// readTrace reads a Chrome trace: an object with traceEvents or a list.
func readTrace(t *testing.T, data []byte) *trace {
	t.Helper()
	var doc struct{ TraceEvents []traceEvent }
	var err error
	if data[0] == '[' {
		err = json.Unmarshal(data, &doc.TraceEvents)
	} else {
		err = json.Unmarshal(data, &doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	tr := &trace{events: map[threadKey][]Event{}}
	c := v8profile.NewAssembler(&tr.problems, v8profile.AssemblerOptions{})
	open := map[threadKey][]int{}
	for i := range doc.TraceEvents {
		ev := &doc.TraceEvents[i]
		thread := threadKey{ev.PID, ev.TID}
		ts := nanos(t, ev.TS)
		var id string
		if len(ev.ID) > 0 && json.Unmarshal(ev.ID, &id) != nil {
			id = string(ev.ID)
		}
		piece := &v8profile.Event{Process: ev.PID, Thread: ev.TID, ID: id, TS: ts, Args: ev.Args}
		switch {
		case ev.Ph == "P" && ev.Name == "Profile":
			c.Head(piece)
		case ev.Ph == "P" && ev.Name == "ProfileChunk":
			c.Chunk(piece)
		case ev.Ph == "E":
			if stack := open[thread]; len(stack) > 0 {
				tr.events[thread][stack[len(stack)-1]].End = ts
				open[thread] = stack[:len(stack)-1]
			}
		case ev.Ph == "X", ev.Ph == "B", ev.Ph == "I", ev.Ph == "i", ev.Ph == "R":
			out := Event{
				TS: ts, End: ts, Class: producers.ClassOf([]byte(ev.Name)), TraceID: traceIDOf(ev.Args), LegacyInstant: ev.Ph == "I",
			}
			switch ev.Ph {
			case "X":
				out.End = ts + nanos(t, ev.Dur)
			case "B":
				open[thread] = append(open[thread], len(tr.events[thread]))
			}
			tr.events[thread] = append(tr.events[thread], out)
		}
	}
	for _, events := range tr.events {
		slices.SortStableFunc(events, func(a, b Event) int {
			return cmp.Or(cmp.Compare(a.TS, b.TS), cmp.Compare(b.End, a.End))
		})
	}
	tr.profiles, err = c.Finish(func(process int64) (int64, bool) { return process, true })
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// traceIDOf returns the trace id in the arguments of an event.
func traceIDOf(raw json.RawMessage) uint64 {
	var args eventArgs
	_ = json.Unmarshal(raw, &args) // values of other types are not trace ids
	switch {
	case args.BeginData != nil:
		return args.BeginData.SampleTraceID
	case args.SampleTraceID != 0:
		return args.SampleTraceID
	}
	return args.Data.SampleTraceID
}

// chosen returns the profile from which the calls of a thread are built.
func (tr *trace) chosen(pid, tid int64) *v8profile.Recording {
	for _, r := range tr.profiles {
		if r.Process == pid && r.Thread == tid && r.Chosen {
			return r
		}
	}
	return nil
}

// calls builds the calls of a thread, in order of creation.
func (tr *trace) calls(r *v8profile.Recording, mode Mode) ([]Call, Stats) {
	var calls []Call
	b := NewBuilder(NewFrames(r.Profile), mode, func(c *Call) { calls = append(calls, *c) })
	events := tr.events[threadKey{r.Process, r.Thread}]
	for i := range events {
		b.Event(&events[i])
	}
	stats, err := b.Finish()
	if err != nil {
		panic(err)
	}
	sortByOrder(calls)
	return calls, stats
}

// sortByOrder sorts calls in order of creation.
func sortByOrder(calls []Call) {
	slices.SortFunc(calls, func(a, b Call) int { return cmp.Compare(a.Order, b.Order) })
}
