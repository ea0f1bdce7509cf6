package merge_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/merge"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// input returns an input whose reader makes the calls in read.
func input(t *testing.T, name string, clocks timeline.Clocks, read func(b *timeline.Builder)) merge.Input {
	t.Helper()
	c, b := merge.NewCollector(merge.CollectOptions{Inputs: 2, Flows: true, Job: new(merge.Job)}, timeline.Options{Problems: new(problem.Log)})
	defer b.Close()
	read(b)
	return merge.Input{Name: name, Clues: c.Finish(clocks)}
}

// slice adds a slice.
func slice(b *timeline.Builder, pid int64, name string, from, length timeline.Nanos) timeline.Event {
	ev := timeline.Event{
		Kind: timeline.Slice, Track: b.Thread(b.Process(timeline.ProcessKey{Num: pid}), timeline.ThreadKey{Num: pid}),
		Event: b.NextEvent(), TS: from, Dur: length, Name: []byte(name),
	}
	if err := b.Add(&ev); err != nil {
		panic(err)
	}
	return ev
}

// link adds a slice that carries a key.
func link(b *timeline.Builder, key string, role timeline.LinkRole, from, length timeline.Nanos) {
	ev := slice(b, 1, "linked", from, length)
	err := b.AddLink(&timeline.Link{Key: key, Role: role, Track: ev.Track, Event: ev.Event, TS: from, Dur: length})
	if err != nil {
		panic(err)
	}
}

const second = timeline.Nanos(1e9)

var (
	monotonic = timeline.Clocks{Trace: timeline.ClockMonotonic}
	wall      = timeline.Clocks{Trace: timeline.ClockRealtime}
	nothing   = timeline.Clocks{}
)

// anchored returns clocks in which the monotonic clock lags the wall clock by the given duration.
func anchored(by timeline.Nanos) timeline.Clocks {
	return timeline.Clocks{Trace: timeline.ClockMonotonic, Readings: []timeline.ClockReading{
		{Clock: timeline.ClockMonotonic, Time: second}, {Clock: timeline.ClockRealtime, Time: second + by},
	}}
}

func solve(t *testing.T, opts merge.Options, in ...merge.Input) *merge.Plan {
	t.Helper()
	opts.Reference = -1
	plan, err := merge.Solve(in, opts)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// A request and its response bound the offset of a server from both sides (R6).
func TestCausality(t *testing.T) {
	const truth = 7 * second
	client := input(t, "client", nothing, func(b *timeline.Builder) {
		link(b, "w3c:1", timeline.LinkSend, 100, 0)
		link(b, "w3c:1", timeline.LinkReceive, 900, 0)
		link(b, "w3c:2", timeline.LinkSend, 2000, 0)
		link(b, "w3c:2", timeline.LinkReceive, 2500, 0)
	})
	server := input(t, "server", nothing, func(b *timeline.Builder) {
		link(b, "w3c:1", timeline.LinkServe, 300+truth, 9000) // 200 after the request, 600 before the response
		link(b, "w3c:2", timeline.LinkServe, 2150+truth, 300)
	})
	p := solve(t, merge.Options{}, client, server).Inputs[1]
	if p.Low != -truth-150 || p.High != -truth+350 || p.Rule != merge.Causality {
		t.Errorf("%d to %d by %v", p.Low+truth, p.High+truth, p.Rule)
	}
}

// If the wall clock contradicts causality, causality counts, and the plan notes that.
func TestCausalityOverWallClock(t *testing.T) {
	client := input(t, "client", wall, func(b *timeline.Builder) {
		link(b, "w3c:1", timeline.LinkSend, 10*second, 0)
		link(b, "w3c:1", timeline.LinkReceive, 10*second+1000, 0)
	})
	server := input(t, "server", wall, func(b *timeline.Builder) { link(b, "w3c:1", timeline.LinkServe, 13*second, 200) })
	plan := solve(t, merge.Options{}, client, server)
	p := plan.Inputs[1]
	if p.Rule != merge.Causality || p.Low != -3*second || p.High != -3*second+1000 {
		t.Errorf("%d to %d by %v", p.Low, p.High, p.Rule)
	}
	if len(plan.Notes) != 1 || !strings.Contains(plan.Notes[0], "contradict causality by 2.999999 s") {
		t.Errorf("%q", plan.Notes)
	}
}

// If causality bounds only one side, the wall clock gives the other bound (R5 and R6).
func TestWallClockAndCausality(t *testing.T) {
	client := input(t, "client", wall, func(b *timeline.Builder) { link(b, "w3c:1", timeline.LinkSend, 5000, 0) })
	server := input(t, "server", nothing, func(b *timeline.Builder) {
		b.Observer().Anchor(&timeline.Anchor{At: 0, Wall: 0, Low: -1000, High: 1000, By: "a note"})
		link(b, "w3c:1", timeline.LinkServe, 5300, 10)
	})
	p := solve(t, merge.Options{}, client, server).Inputs[1]
	if p.Low != -300 || p.High != 1000 || p.Rule != merge.Causality {
		t.Errorf("%d to %d by %v: %s", p.Low, p.High, p.Rule, p.Evidence)
	}
}

// If the clocks run at different speeds, no offset fits all links.
func TestDrift(t *testing.T) {
	var links [2]func(b *timeline.Builder)
	links[0] = func(b *timeline.Builder) {
		for i := range timeline.Nanos(4) {
			link(b, "a"+string(rune('0'+i)), timeline.LinkSend, second+i*second, 0)
			link(b, "b"+string(rune('0'+i)), timeline.LinkReceive, second+400+i*second, 0)
		}
	}
	links[1] = func(b *timeline.Builder) {
		for i := range timeline.Nanos(4) {
			late := i / 2 * 5000 // in the second half
			link(b, "a"+string(rune('0'+i)), timeline.LinkReceive, second+200+late+i*second, 0)
			link(b, "b"+string(rune('0'+i)), timeline.LinkSend, second+300+late+i*second, 0)
		}
	}
	plan := solve(t, merge.Options{}, input(t, "one", wall, links[0]), input(t, "two", wall, links[1]))
	if len(plan.Notes) != 1 || !strings.HasPrefix(plan.Notes[0], "drift") {
		t.Errorf("%q", plan.Notes)
	}
}

// Two events of the same sync count as simultaneous, to within the step of the clocks (R4).
func TestClockSync(t *testing.T) {
	marks := func(times ...timeline.Nanos) func(b *timeline.Builder) {
		return func(b *timeline.Builder) {
			for i, ts := range times {
				slice(b, 1, "weft:sync:"+string(rune('a'+i)), ts, 0)
			}
		}
	}
	p := solve(t, merge.Options{}, input(t, "one", nothing, marks(5_000_001, 9_000_000)), input(t, "two", nothing, marks(2_000_000, 6_000_300))).Inputs[1]
	if p.Rule != merge.ClockSync || p.Low != 2_000_001 || p.High != 3_999_700 {
		t.Errorf("%d to %d by %v", p.Low, p.High, p.Rule)
	}
	_, err := merge.Solve([]merge.Input{
		input(t, "one", nothing, marks(5*second, 9*second)), input(t, "two", nothing, marks(5*second, 6*second)),
	}, merge.Options{Reference: -1})
	if bad := (*merge.ContradictionError)(nil); !errors.As(err, &bad) {
		t.Errorf("syncs that do not share one moment: %v", err)
	}
}

// A sync with an issue time lies between two times: a sync that was issued at 100 and recorded at 400 happened between 100
// and 400.
func TestClockSyncIssued(t *testing.T) {
	add := func(role timeline.LinkRole, ts, issued timeline.Nanos) func(b *timeline.Builder) {
		return func(b *timeline.Builder) {
			ev := slice(b, 1, "clock_sync", ts, 0)
			if err := b.AddLink(&timeline.Link{Key: "sync:x", Role: role, Track: ev.Track, Event: ev.Event, TS: ts, Issued: issued}); err != nil {
				t.Fatal(err)
			}
		}
	}
	p := solve(t, merge.Options{},
		input(t, "one", nothing, add(timeline.LinkSyncSent, 400_001, 100_001)), input(t, "two", nothing, add(timeline.LinkSync, 1_001, 0))).Inputs[1]
	if p.Low != 99_000 || p.High != 399_001 {
		t.Errorf("%d to %d", p.Low, p.High)
	}
}

// Two machines are related by their wall clocks, because their monotonic clocks are unrelated.
func TestTwoHosts(t *testing.T) {
	work := func(b *timeline.Builder) { slice(b, 1, "work", 700*second, second) }
	plan := solve(t, merge.Options{}, input(t, "one", anchored(1000*second), work), input(t, "two", anchored(400*second), work))
	if p := plan.Inputs[1]; p.Rule != merge.WallClock || p.Offset != -600*second || !p.AtLeast {
		t.Errorf("%+v", p)
	}
	same := solve(t, merge.Options{}, input(t, "one", anchored(1000*second), work), input(t, "two", anchored(1000*second+700), work))
	if p := same.Inputs[1]; p.Rule != merge.SameBoot || p.Offset != 0 {
		t.Errorf("%+v", p)
	}
	one, two := input(t, "one", anchored(1000*second), work), input(t, "two", anchored(1000*second+700), work)
	one.Host, two.Host = "a", "b"
	if p := solve(t, merge.Options{}, one, two).Inputs[1]; p.Rule != merge.WallClock || !p.AtLeast {
		t.Errorf("hosts that are said to differ: %+v", p)
	}
}

// Two recorders that recorded the same events used one clock (R2); without common events, equal pids mean nothing.
func TestSameEvents(t *testing.T) {
	events := func(pid int64, jitter timeline.Nanos) func(b *timeline.Builder) {
		return func(b *timeline.Builder) {
			for i := range timeline.Nanos(200) {
				slice(b, pid, "task"+string(rune('a'+i%20)), second+i*7_000_000+i*i*1000+i%3*jitter, 1000)
			}
		}
	}
	plan := solve(t, merge.Options{}, input(t, "one", nothing, events(7, 0)), input(t, "two", nothing, events(7, 9_000)))
	if p := plan.Inputs[1]; p.Rule != merge.SameEvents || p.Low != 0 || p.High != 0 {
		t.Errorf("%+v", p)
	}
	if !plan.Shares(0, 1, timeline.ProcessKey{Num: 7}) {
		t.Error("the process is not shared")
	}
	_, err := merge.Solve([]merge.Input{input(t, "one", nothing, events(7, 0)), input(t, "two", nothing, events(8, 9_000))}, merge.Options{Reference: -1})
	if unplaced := (*merge.UnplacedError)(nil); !errors.As(err, &unplaced) {
		t.Errorf("other pids: %v", err)
	}
}

// Clocks of one kind are assumed to be the same if nothing else is known, unless --strict is set.
func TestAssumed(t *testing.T) {
	work := func(b *timeline.Builder) { slice(b, 1, "work", 2*second, second) }
	in := []merge.Input{input(t, "one", monotonic, work), input(t, "two", monotonic, work)}
	if p := solve(t, merge.Options{}, in...).Inputs[1]; p.Rule != merge.Assumed || p.Offset != 0 {
		t.Errorf("%+v", p)
	}
	if _, err := merge.Solve(in, merge.Options{Reference: -1, Strict: true}); err == nil {
		t.Error("strict assumes")
	}
	late := input(t, "late", monotonic, func(b *timeline.Builder) { slice(b, 1, "work", 9*second, second) })
	if _, err := merge.Solve([]merge.Input{in[0], late}, merge.Options{Reference: -1}); err == nil {
		t.Error("times that do not overlap")
	}
}

// If relations contradict each other, Solve returns an error unless the user gives an offset.
func TestContradiction(t *testing.T) {
	sync := func(ts timeline.Nanos) func(b *timeline.Builder) {
		return func(b *timeline.Builder) { slice(b, 1, "weft:sync:a", ts, 0) }
	}
	in := []merge.Input{input(t, "one", anchored(1000*second), sync(2*second)), input(t, "two", anchored(1000*second), sync(5*second))}
	_, err := merge.Solve(in, merge.Options{Reference: -1})
	bad := (*merge.ContradictionError)(nil)
	if !errors.As(err, &bad) {
		t.Fatal(err)
	}
	for _, part := range []string{"one and two contradict each other", "same boot", "clock sync"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	decided := solve(t, merge.Options{Offsets: []merge.GivenOffset{{Input: 1, Offset: -3 * second}}}, in...)
	if p := decided.Inputs[1]; p.Rule != merge.Given || p.Offset != -3*second {
		t.Errorf("%+v", p)
	}
}

// An input that would start before 0 puts all inputs on wall time.
func TestBeforeZero(t *testing.T) {
	reference := input(t, "reference", anchored(1000*second), func(b *timeline.Builder) { slice(b, 1, "work", second, second) })
	early := input(t, "early", wall, func(b *timeline.Builder) { slice(b, 1, "work", 990*second, second) })
	plan := solve(t, merge.Options{}, reference, early)
	if plan.Clock != "REALTIME" || plan.Inputs[0].Offset != 1000*second || plan.Inputs[1].Span.From != 990*second {
		t.Errorf("%s: %+v", plan.Clock, plan.Inputs)
	}
	if plan.Clocks.Trace != timeline.ClockRealtime {
		t.Errorf("%+v", plan.Clocks)
	}
	unknown := input(t, "reference", nothing, func(b *timeline.Builder) { slice(b, 1, "work", second, second) })
	_, err := merge.Solve([]merge.Input{unknown, early}, merge.Options{Reference: 0, Offsets: []merge.GivenOffset{{Input: 1, Offset: -1000 * second}}})
	if bad := (*merge.BeforeZeroError)(nil); !errors.As(err, &bad) {
		t.Error(err)
	}
}

// An input without a place is left out with --keep-going; the reference cannot be.
func TestKeepGoing(t *testing.T) {
	work := func(b *timeline.Builder) { slice(b, 1, "work", 2*second, second) }
	in := []merge.Input{input(t, "one", anchored(1000*second), work), input(t, "own clock", nothing, work), input(t, "two", anchored(1000*second), work)}
	plan := solve(t, merge.Options{KeepGoing: true}, in...)
	if plan.Inputs[1].LeftOut == nil || plan.Inputs[2].LeftOut != nil || plan.Inputs[2].Rule != merge.SameBoot {
		t.Errorf("%+v", plan.Inputs)
	}
	if in[1].Clues == nil {
		t.Error("the inputs of the caller have changed")
	}
}

// FuzzSolve: whatever inputs state about their clocks, there is a plan or an error, and a plan keeps every given interval.
func FuzzSolve(f *testing.F) {
	f.Add([]byte("weft merge"))
	f.Add([]byte{0, 1, 2, 3, 255, 254, 1, 0, 0, 9, 8, 7, 100, 50, 3})
	f.Fuzz(func(t *testing.T, data []byte) {
		r := strings.NewReader(string(data))
		next := func() int64 {
			b, err := r.ReadByte()
			if err == io.EOF {
				return 0
			}
			return int64(b)
		}
		var in []merge.Input
		for i := range 3 {
			clocks := []timeline.Clocks{nothing, monotonic, wall, anchored(timeline.Nanos(next()-128) << (next() % 50))}[next()%4]
			in = append(in, input(t, string(rune('a'+i)), clocks, func(b *timeline.Builder) {
				for range next() % 8 {
					link(b, string(rune('k'+next()%3)), timeline.LinkRole(next()%5), timeline.Nanos(next())<<(next()%48), timeline.Nanos(next()))
				}
				if next()%2 == 0 {
					b.Observer().Anchor(&timeline.Anchor{At: timeline.Nanos(next()), Wall: timeline.Nanos(next()) << (next() % 48), Low: -timeline.Nanos(next()), High: timeline.Nanos(next())})
				}
			}))
		}
		plan, err := merge.Solve(in, merge.Options{Reference: -1, KeepGoing: next()%2 == 0})
		if err != nil {
			return
		}
		for i := range plan.Inputs {
			if p := &plan.Inputs[i]; p.LeftOut == nil && (p.Low > p.Offset || p.Offset > p.High) {
				t.Errorf("input %d: %d is not in %d to %d", i, p.Offset, p.Low, p.High)
			}
		}
	})
}
