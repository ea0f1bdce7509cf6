package merge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/merge"
	"github.com/weft-trace/weft/internal/timeline"
)

// requests adds requests that a client sends once a second, each with a response 400 ns later; late holds the delay of each
// request.
func requests(b *timeline.Builder, late ...timeline.Nanos) {
	for i, by := range late {
		at := 100*second + timeline.Nanos(i)*second + by
		link(b, fmt.Sprint("out", i), timeline.LinkSend, at, 0)
		link(b, fmt.Sprint("back", i), timeline.LinkReceive, at+400, 0)
	}
}

// answers adds the server's side of requests, on a clock that lags: the server handles each
// request from 200 ns to 300 ns after it was sent.
func answers(b *timeline.Builder, behind timeline.Nanos, late ...timeline.Nanos) {
	for i, by := range late {
		at := 100*second + timeline.Nanos(i)*second + by - behind
		link(b, fmt.Sprint("out", i), timeline.LinkReceive, at+200, 0)
		link(b, fmt.Sprint("back", i), timeline.LinkSend, at+300, 0)
	}
}

// If arrows contradict each other, Solve uses the offset that contradicts the fewest of them, not the wall clock that
// they prove wrong; the uncertainty covers all of them.
func TestDisputes(t *testing.T) {
	const behind = 3 * second
	for _, c := range []struct {
		name        string
		clocks      timeline.Clocks
		late        []timeline.Nanos // of the server's side
		offset      timeline.Nanos
		uncertainty timeline.Nanos
		rule        merge.Rule
		note        string
	}{
		{"all fit", nothing, []timeline.Nanos{0, 0, 0, 0}, behind - 50, 150, merge.Causality, ""},
		{
			"one does not", wall, []timeline.Nanos{0, 0, 0, 5000}, behind - 50, 4850, merge.Causality,
			"no offset between one and two fits all of their 8 arrows; 2.9999998 s to 3.0000001 s contradicts the fewest: 1, by up to 4.85 µs",
		},
		{
			"nor does one that is far off", nothing, []timeline.Nanos{0, -second, 0, 0}, behind - 50, second - 150, merge.Causality,
			"no offset between one and two fits all of their 8 arrows; 2.9999998 s to 3.0000001 s contradicts the fewest: 1, by up to 999.99985 ms",
		},
		{
			"the clocks drift", wall, []timeline.Nanos{0, 0, 5000, 5000}, behind - 2550, 2650, merge.Causality,
			"drift: the clocks of one and two run at different speeds; the offset is 2.9999998 s to 3.0000001 s in the first half and 2.9999948 s to 2.9999951 s in the second",
		},
	} {
		one := input(t, "one", c.clocks, func(b *timeline.Builder) { requests(b, 0, 0, 0, 0) })
		two := input(t, "two", c.clocks, func(b *timeline.Builder) { answers(b, behind, c.late...) })
		for _, reverse := range []bool{false, true} {
			in, sign := []merge.Input{one, two}, timeline.Nanos(1)
			if reverse {
				in, sign = []merge.Input{two, one}, -1
			}
			plan := solve(t, merge.Options{}, in...)
			if p := plan.Inputs[1]; p.Offset != sign*c.offset || p.Uncertainty() != c.uncertainty || p.Rule != c.rule || p.AtLeast {
				t.Errorf("%s: %+v", c.name, p)
			}
			if notes := strings.Join(plan.Notes, "\n"); !reverse && (!strings.HasPrefix(notes, c.note) || c.note == "" && notes != "") {
				t.Errorf("%s: %s", c.name, notes)
			}
		}
	}
}

// Solve uses a wall clock that agrees with nearly all arrows, and mentions the few other arrows only in a note.
func TestDisputeOfOutliers(t *testing.T) {
	late := make([]timeline.Nanos, 20)
	late[7] = 5000
	one := input(t, "one", wall, func(b *timeline.Builder) { requests(b, make([]timeline.Nanos, 20)...) })
	two := input(t, "two", wall, func(b *timeline.Builder) { answers(b, 0, late...) })
	plan := solve(t, merge.Options{}, named(one, "h"), named(two, "h"))
	if p := plan.Inputs[1]; p.Offset != 0 || p.Uncertainty() != 0 || p.AtLeast {
		t.Errorf("%+v", p)
	}
	if len(plan.Notes) != 1 || !strings.Contains(plan.Notes[0], "contradicts the fewest: 1,") {
		t.Errorf("%q", plan.Notes)
	}
}

// Collectives can contradict each other, just like arrows.
func TestDisputeOfCollectives(t *testing.T) {
	plan := solve(t, merge.Options{}, attends("r", map[string]timeline.Nanos{"1": 1e6, "2": 2e6, "3": 3e6}),
		attends("a", map[string]timeline.Nanos{"1": 5e6, "2": 6e6, "3": 7.1e6}))
	if p := plan.Inputs[1]; p.Offset != -4e6 || p.Uncertainty() != 90_000 || p.Rule != merge.Causality {
		t.Errorf("%+v", p)
	}
}

// counted returns an input whose link times are rounded down to multiples of step.
func counted(t *testing.T, name string, step timeline.Nanos, read func(add func(key string, role timeline.LinkRole, ts timeline.Nanos))) merge.Input {
	return input(t, name, wall, func(b *timeline.Builder) {
		read(func(key string, role timeline.LinkRole, ts timeline.Nanos) {
			ts -= ts % step
			ev := slice(b, 1, "linked", ts, 100)
			b.Observer().Step(step)
			if err := b.AddLink(&timeline.Link{Key: key, Role: role, Track: ev.Track, Event: ev.Event, TS: ts, Dur: 100, Step: step}); err != nil {
				t.Fatal(err)
			}
		})
	})
}

// A time in whole milliseconds may be almost one too early: a span that seems to start before its request does not prove that
// the clocks differ, and an input with such times is as uncertain as they are.
func TestWholeMilliseconds(t *testing.T) {
	const ms = timeline.Nanos(1e6)
	browser := counted(t, "browser", 1, func(add func(key string, role timeline.LinkRole, ts timeline.Nanos)) {
		for i := range 9 * ms {
			add(fmt.Sprint(i), timeline.LinkSend, second+i*20*ms+i*ms/9)
			add(fmt.Sprint(i), timeline.LinkReceive, second+i*20*ms+i*ms/9+ms)
			if i == 8 {
				break
			}
		}
	})
	server := func(step timeline.Nanos) merge.Input {
		return counted(t, "server", step, func(add func(key string, role timeline.LinkRole, ts timeline.Nanos)) {
			for i := range timeline.Nanos(9) {
				add(fmt.Sprint(i), timeline.LinkServe, second+i*20*ms+i*ms/9+ms/4)
			}
		})
	}
	exact, rough := server(1), server(ms)
	for _, c := range []struct {
		name string
		in   []merge.Input
		at   []timeline.Nanos // uncertainties
	}{
		{"exact", []merge.Input{named(browser, "h"), named(exact, "h")}, []timeline.Nanos{0, 0}},
		{"rough", []merge.Input{named(browser, "h"), named(rough, "h")}, []timeline.Nanos{0, ms}},
		{"rough one first", []merge.Input{named(rough, "h"), named(browser, "h")}, []timeline.Nanos{0, ms}},
	} {
		plan := solve(t, merge.Options{}, c.in...)
		if len(plan.Notes) != 0 {
			t.Errorf("%s: %q", c.name, plan.Notes)
		}
		for i := range plan.Inputs {
			if p := &plan.Inputs[i]; p.Low > 0 || p.High < 0 || p.Uncertainty() > c.at[i] {
				t.Errorf("%s: %s: %+v", c.name, c.in[i].Name, p)
			}
		}
	}
}

// An input with times in whole milliseconds never makes the place of another input worse.
func TestWholeMillisecondsBeside(t *testing.T) {
	const ms = timeline.Nanos(1e6)
	times := func(role timeline.LinkRole, by timeline.Nanos) func(add func(key string, role timeline.LinkRole, ts timeline.Nanos)) {
		return func(add func(key string, role timeline.LinkRole, ts timeline.Nanos)) {
			for i := range timeline.Nanos(9) {
				add(fmt.Sprint(i), role, second+i*20*ms+i*ms/9+by)
			}
		}
	}
	send, answer := times(timeline.LinkSend, 0), times(timeline.LinkReceive, 2*ms)
	both := func(add func(key string, role timeline.LinkRole, ts timeline.Nanos)) { send(add); answer(add) }
	browser, archive := counted(t, "browser", 1, both), counted(t, "archive", ms, both)
	server := counted(t, "server", 1, times(timeline.LinkServe, ms))
	for _, host := range []string{"", "h"} {
		alone := solve(t, merge.Options{}, named(browser, "h"), named(server, host)).Inputs[1]
		for _, in := range [][]merge.Input{
			{named(browser, "h"), named(server, host), named(archive, "h")}, {named(browser, "h"), named(archive, "h"), named(server, host)},
		} {
			plan := solve(t, merge.Options{}, in...)
			for i, p := range plan.Inputs {
				if in[i].Name == "server" && (p.Low != alone.Low || p.High != alone.High || p.AtLeast != alone.AtLeast) {
					t.Errorf("host %q: %+v, alone %+v", host, p, alone)
				}
			}
		}
	}
}
