package merge_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/merge"
	"github.com/weft-trace/weft/internal/timeline"
)

// at returns a function that adds a slice of one second at the given time.
func at(ts timeline.Nanos) func(b *timeline.Builder) {
	return func(b *timeline.Builder) { slice(b, 1, "work", ts, second) }
}

// calls adds a client's request and the response to it; serves adds the server's work between them, on a clock that is ahead.
func calls(b *timeline.Builder) {
	link(b, "w3c:1", timeline.LinkSend, 10*second, 0)
	link(b, "w3c:1", timeline.LinkReceive, 10*second+1000, 0)
}

func serves(ahead timeline.Nanos) func(b *timeline.Builder) {
	return func(b *timeline.Builder) { link(b, "w3c:1", timeline.LinkServe, 10*second+400+ahead, 200) }
}

// named returns an input with a host name.
func named(in merge.Input, host string) merge.Input {
	in.Host = host
	return in
}

// refusal returns the error with which Solve rejects the inputs.
func refusal[E error](t *testing.T, opts merge.Options, in ...merge.Input) (err E) {
	t.Helper()
	opts.Reference = -1
	if _, got := merge.Solve(in, opts); !errors.As(got, &err) {
		t.Fatalf("%v, want a %T", got, err)
	}
	return err
}

// A given offset takes precedence over a more exact path through other inputs, and does not move those inputs.
func TestGivenCountsFirst(t *testing.T) {
	in := []merge.Input{input(t, "a", anchored(1000*second), at(second)), input(t, "b", anchored(1000*second), at(second)), input(t, "c", anchored(1000*second), at(second))}
	plan := solve(t, merge.Options{Offsets: []merge.GivenOffset{{Input: 1, Offset: second, Within: 10_000_000}}}, in...)
	if p := plan.Inputs[1]; p.Rule != merge.Given || p.Offset != second || p.Uncertainty() != 10_000_000 {
		t.Errorf("b: %+v", p)
	}
	if p := plan.Inputs[2]; p.Rule != merge.SameBoot || p.Offset != 0 || p.Uncertainty() != 0 {
		t.Errorf("c: %+v", p)
	}
}

// If other evidence contradicts a given offset, a note contains the best such evidence; there is one note per given offset.
func TestGivenAgainstEvidence(t *testing.T) {
	in := []merge.Input{input(t, "a", anchored(1000*second), at(second)), input(t, "b", anchored(1000*second+300), at(second)), input(t, "c", wall, at(second))}
	plan := solve(t, merge.Options{Offsets: []merge.GivenOffset{{Input: 1, Offset: second, Within: 10_000_000}, {Input: 2, Offset: -999 * second}}}, in...)
	want := []string{
		"--offset puts b at 1 s from a, and counts; same boot (REALTIME − MONOTONIC differ by 300 ns) says 0",
		"--offset puts c at −999 s from a, and counts; wall clock (clock snapshots; times since 1970) says −1000 s ± 1 µs",
	}
	if !slices.Equal(plan.Notes, want) {
		t.Errorf("%q", plan.Notes)
	}
	for _, offset := range []timeline.Nanos{0, 5} { // no note if they agree
		plan := solve(t, merge.Options{Offsets: []merge.GivenOffset{{Input: 1, Offset: offset, Within: 5}}}, in[:2]...)
		if len(plan.Notes) != 0 {
			t.Errorf("%d: %q", offset, plan.Notes)
		}
	}
	reversed := solve(t, merge.Options{Offsets: []merge.GivenOffset{{Input: 1, Offset: -second}}}, in[1], in[0])
	if len(reversed.Notes) != 1 || !strings.HasPrefix(reversed.Notes[0], "--offset puts a at −1 s from b") {
		t.Errorf("%q", reversed.Notes)
	}
}

// The wall clocks of other inputs do not affect the offset between two inputs that causality relates, whichever input is the
// reference.
func TestCausalityBeforeWallClocksOfOthers(t *testing.T) {
	const ahead = 50_000_000
	client, server, other := input(t, "client", wall, calls), input(t, "server", wall, serves(ahead)), input(t, "other", wall, at(10*second))
	for _, in := range [][]merge.Input{{client, server, other}, {other, client, server}, {other, server, client}, {server, other, client}} {
		plan := solve(t, merge.Options{}, in...)
		offsets := map[string]timeline.Nanos{}
		for i := range in {
			offsets[in[i].Name] = plan.Inputs[i].Offset
		}
		if d := offsets["server"] - offsets["client"] + ahead; d < -400 || d > 600 {
			t.Errorf("%s first: the server is %d ns from its place", in[0].Name, d)
		}
		if len(plan.Notes) != 1 || !strings.Contains(plan.Notes[0], "contradict causality by 49.9994 ms") {
			t.Errorf("%s first: %q", in[0].Name, plan.Notes)
		}
	}
}

// A wall clock that contradicts a better rule causes a note, not an error.
func TestClockSyncOverWallClock(t *testing.T) {
	plan := solve(t, merge.Options{}, input(t, "one", wall, func(b *timeline.Builder) { slice(b, 1, "weft:sync:a", 5*second, 0) }),
		input(t, "two", wall, func(b *timeline.Builder) { slice(b, 1, "weft:sync:a", 8*second, 0) }))
	if p := plan.Inputs[1]; p.Rule != merge.ClockSync || p.Offset != -3*second {
		t.Errorf("%+v", p)
	}
	if want := "the wall clocks of one and two contradict clock sync by 2.999 s; clock sync counts"; len(plan.Notes) != 1 || plan.Notes[0] != want {
		t.Errorf("%q", plan.Notes)
	}
}

// If causality gives a bound on one side, a wall clock beyond the bound is wrong by at least the difference.
func TestOneSidedCausality(t *testing.T) {
	producer := func(b *timeline.Builder) { link(b, "w3c:1", timeline.LinkSend, 10*second, 0) }
	consumer := func(ts timeline.Nanos) func(b *timeline.Builder) {
		return func(b *timeline.Builder) { link(b, "w3c:1", timeline.LinkReceive, ts, 0) }
	}
	plan := solve(t, merge.Options{}, input(t, "producer", wall, producer), input(t, "consumer", wall, consumer(10*second-5_000_000)))
	if p := plan.Inputs[1]; p.Rule != merge.Causality || p.Low != 5_000_000 || p.High != 5_000_000 || !p.AtLeast {
		t.Errorf("%+v", p)
	}
	if len(plan.Notes) != 1 || !strings.Contains(plan.Notes[0], "by 5 ms") {
		t.Errorf("%q", plan.Notes)
	}
	back := solve(t, merge.Options{}, input(t, "consumer", wall, consumer(10*second-5_000_000)), input(t, "producer", wall, producer))
	if p := back.Inputs[1]; p.Offset != -5_000_000 || !p.AtLeast {
		t.Errorf("the other way round: %+v", p)
	}
	agrees := solve(t, merge.Options{}, input(t, "producer", wall, producer), input(t, "consumer", wall, consumer(10*second+5_000_000)))
	if p := agrees.Inputs[1]; p.Rule != merge.WallClock || p.Offset != 0 || !p.AtLeast {
		t.Errorf("what causality does not bound is not certain by it: %+v", p)
	}
}

// Three services with wrong clocks pass messages on: one message may bound an offset that another leaves open.
func TestOneSidedCausalityOfThree(t *testing.T) {
	const ms = 1_000_000
	send := func(b *timeline.Builder, key string, ts timeline.Nanos) { link(b, key, timeline.LinkSend, ts, 0) }
	receive := func(b *timeline.Builder, key string, ts timeline.Nanos) { link(b, key, timeline.LinkReceive, ts, 0) }
	a := input(t, "a", wall, func(b *timeline.Builder) { send(b, "ab", 10*second); send(b, "ac", 10*second) })
	b := input(t, "b", wall, func(b *timeline.Builder) { receive(b, "ab", 10*second-4*ms); send(b, "bc", 10*second-3*ms) })
	c := input(t, "c", wall, func(b *timeline.Builder) { receive(b, "ac", 10*second-7*ms); receive(b, "bc", 10*second-7*ms) })
	for _, in := range [][]merge.Input{{a, b, c}, {a, c, b}, {c, b, a}, {b, a, c}} {
		plan := solve(t, merge.Options{}, in...)
		at := map[string]timeline.Nanos{}
		for i := range in {
			at[in[i].Name] = plan.Inputs[i].Offset
		}
		if at["b"]-at["a"] < 4*ms || at["c"]-at["a"] < 7*ms || at["c"]-at["b"] < 4*ms {
			t.Errorf("%s first: %v", in[0].Name, at)
		}
	}
}

// An input that is tied to another one moves with it. Bounds that no offsets satisfy move nothing and cause an error.
func TestSettleTogether(t *testing.T) {
	const ms = 1_000_000
	one := func(key string, role timeline.LinkRole, ts timeline.Nanos) func(b *timeline.Builder) {
		return func(b *timeline.Builder) { link(b, key, role, ts, 0) }
	}
	both := func(list ...func(b *timeline.Builder)) func(b *timeline.Builder) {
		return func(b *timeline.Builder) {
			for _, f := range list {
				f(b)
			}
		}
	}
	mark := func(b *timeline.Builder) { slice(b, 1, "weft:sync:m", 11*second+1, 0) }
	a := input(t, "a", wall, both(one("ab", timeline.LinkSend, 10*second), one("ac", timeline.LinkSend, 10*second)))
	c := input(t, "c", wall, both(one("ac", timeline.LinkReceive, 10*second-7*ms), one("bc", timeline.LinkReceive, 10*second-7*ms), mark))
	b := input(t, "b", wall, both(one("ab", timeline.LinkReceive, 10*second-4*ms), one("bc", timeline.LinkSend, 10*second-3*ms)))
	tied := input(t, "tied", nothing, mark)
	plan := solve(t, merge.Options{}, a, c, b, tied)
	if got := plan.Inputs[1].Offset; got != 8*ms || plan.Inputs[3].Offset != got || !plan.Inputs[3].AtLeast {
		t.Errorf("%+v", plan.Inputs)
	}
	circle := input(t, "c", wall, both(one("ac", timeline.LinkReceive, 10*second-7*ms), one("bc", timeline.LinkReceive, 10*second-7*ms), one("ca", timeline.LinkSend, 10*second)))
	first := input(t, "a", wall, both(one("ab", timeline.LinkSend, 10*second), one("ac", timeline.LinkSend, 10*second), one("ca", timeline.LinkReceive, 10*second+7*ms)))
	refusal[*merge.ContradictionError](t, merge.Options{}, first, circle, b)
}

// Offsets from wall clocks are exact only if the inputs are known to be from one host; otherwise their uncertainty exceeds any
// limit.
func TestUnknownHosts(t *testing.T) {
	one, two := input(t, "one", wall, at(second)), input(t, "two", wall, at(second))
	if p := solve(t, merge.Options{}, one, two).Inputs[1]; !p.AtLeast {
		t.Errorf("hosts that nobody names: %+v", p)
	}
	if err := refusal[*merge.UncertainError](t, merge.Options{MaxUncertainty: second}, one, two); !err.AtLeast || err.Input != "two" {
		t.Errorf("%+v", err)
	}
	if p := solve(t, merge.Options{MaxUncertainty: second}, named(one, "h"), named(two, "h")).Inputs[1]; p.AtLeast {
		t.Errorf("one host: %+v", p)
	}
	if p := solve(t, merge.Options{Same: [][]int{{0, 1}}}, one, two).Inputs[1]; p.AtLeast {
		t.Errorf("said to be the same: %+v", p)
	}
	if p := solve(t, merge.Options{}, named(one, "h"), two).Inputs[1]; !p.AtLeast {
		t.Errorf("one host of two is known: %+v", p)
	}
	// A third input from the first one's host does not make the second certain.
	third := input(t, "three", wall, at(second))
	plan := solve(t, merge.Options{}, named(one, "h"), two, named(third, "h"))
	if !plan.Inputs[1].AtLeast || plan.Inputs[2].AtLeast {
		t.Errorf("%+v", plan.Inputs)
	}
}

// Inputs that the user puts on one host share its monotonic clock, unless the host was rebooted between the recordings.
func TestOneHostSharesClocks(t *testing.T) {
	one, two := input(t, "one", monotonic, at(second)), input(t, "two", monotonic, at(9*second))
	for name, plan := range map[string]*merge.Plan{
		"--host": solve(t, merge.Options{Strict: true}, named(one, "h"), named(two, "h")),
		"--same": solve(t, merge.Options{Strict: true, Same: [][]int{{0, 1}}}, one, two),
	} {
		if p := plan.Inputs[1]; p.Rule != merge.SameBoot || p.Offset != 0 || p.Uncertainty() != 0 || p.AtLeast {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if err := refusal[*merge.UnplacedError](t, merge.Options{}, named(one, "h"), named(two, "i")); err.Input != "two" {
		t.Error(err)
	}
	before, after := input(t, "before", anchored(1000*second), at(second)), input(t, "after", anchored(2000*second), at(second))
	if p := solve(t, merge.Options{}, named(before, "h"), named(after, "h")).Inputs[1]; p.Rule != merge.WallClock || p.Offset != 1000*second || !p.AtLeast {
		t.Errorf("started in between: %+v", p)
	}
}

// An input that is related to two hosts does not make them one.
func TestHostsContradict(t *testing.T) {
	a, b, c := input(t, "a", anchored(1000*second), at(second)), input(t, "b", anchored(1000*second), at(second)), input(t, "c", anchored(1000*second), at(second))
	err := refusal[*merge.HostsError](t, merge.Options{}, a, named(b, "H1"), named(c, "H2"))
	for _, part := range []string{"a and c are of one host by same boot", "b is of H1", "c of H2"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q does not say %q", err, part)
		}
	}
	plan := solve(t, merge.Options{}, named(a, "H1"), named(b, "H1"), named(c, "H2"))
	if plan.Hosts != 2 || plan.Inputs[0].Host != "H1" || plan.Inputs[2].Host != "H2" {
		t.Errorf("%d hosts: %+v", plan.Hosts, plan.Inputs)
	}
	plan = solve(t, merge.Options{KeepGoing: true}, a, named(b, "H1"), named(c, "H2"))
	if plan.Inputs[2].LeftOut == nil || plan.Inputs[0].Host != "H1" {
		t.Errorf("%+v", plan.Inputs)
	}
}

// With many inputs that only rule R7 places, or that have no place, the running time grows no faster than the number of pairs.
func TestManyInputs(t *testing.T) {
	const n = 3000
	in := make([]merge.Input, n)
	for i := range in {
		clocks := monotonic
		if i%3 == 2 {
			clocks = nothing
		}
		in[i] = merge.Input{Name: fmt.Sprint(i), Clues: finish(clocks)}
	}
	plan := solve(t, merge.Options{KeepGoing: true}, in...)
	placed := 0
	for i := range plan.Inputs {
		if p := &plan.Inputs[i]; p.LeftOut == nil && (i == 0 || p.Rule == merge.Assumed) {
			placed++
		}
	}
	if placed != n-n/3 {
		t.Errorf("%d inputs of %d are placed", placed, n)
	}
}

// Inputs that contradict the reference are left out together; the one that agrees stays.
func TestManyContradictions(t *testing.T) {
	const n = 1500
	var in []merge.Input
	marks := func(from, to int, shift timeline.Nanos) func(b *timeline.Builder) {
		return func(b *timeline.Builder) {
			for i := from; i < to; i++ {
				slice(b, 1, fmt.Sprint("weft:sync:", i), second+timeline.Nanos(i)*1000+shift, 0)
			}
		}
	}
	in = append(in, input(t, "reference", anchored(1000*second), marks(1, n, 0)))
	for i := 1; i < n; i++ {
		shift := second
		if i == n/2 {
			shift = 0
		}
		in = append(in, input(t, fmt.Sprint(i), anchored(1000*second), marks(i, i+1, shift)))
	}
	plan := solve(t, merge.Options{KeepGoing: true}, in...)
	for i := 1; i < n; i++ {
		bad := (*merge.ContradictionError)(nil)
		if contradicts := errors.As(plan.Inputs[i].LeftOut, &bad); contradicts != (i != n/2) {
			t.Fatalf("input %d: %v", i, plan.Inputs[i].LeftOut)
		}
	}
}

// finish returns the clues of an input with one event.
func finish(clocks timeline.Clocks) *merge.Clues {
	c, b := merge.NewCollector(merge.CollectOptions{Inputs: 2}, timeline.Options{})
	defer b.Close()
	slice(b, 1, "work", second, second)
	return c.Finish(clocks)
}

// Times that cannot be represented are rejected, before and after all inputs are put on wall time.
func TestOutOfRange(t *testing.T) {
	late := input(t, "late", nothing, at(5_000_000_000*second))
	given := merge.Options{Offsets: []merge.GivenOffset{{Input: 1, Offset: 4_320_000_000 * second}}}
	if err := refusal[*merge.RangeError](t, given, input(t, "one", nothing, at(second)), late); err.Input != "late" {
		t.Error(err)
	}
	given.Offsets[0].Offset = -6_000_000_000 * second // even this offset is not mistaken for a missing bound
	one := input(t, "one", anchored(8_000_000_000*second), at(second))
	if p := solve(t, given, one, late).Inputs[1]; p.Rule != merge.Given || p.Span.From != 7_000_000_000*second {
		t.Errorf("%+v", p)
	}
	given.Offsets = append(given.Offsets, merge.GivenOffset{Input: 2, Offset: 1_500_000_000 * second})
	if err := refusal[*merge.RangeError](t, given, one, late, input(t, "later", nothing, at(second))); err.Input != "later" {
		t.Error(err)
	}
}

// An input may start at 0, or before the reference: the output's clock snapshot is at the first event.
func TestSnapshotAtZero(t *testing.T) {
	plan := solve(t, merge.Options{}, input(t, "one", anchored(1000*second), at(0)), input(t, "two", anchored(1000*second), at(second)))
	if got := plan.Clocks.Readings[0].Time; got != 0 {
		t.Errorf("the snapshot is of %d", got)
	}
}

// A check of a relation that bounds only one side has no residual.
func TestOneSidedCheck(t *testing.T) {
	plan := solve(t, merge.Options{}, input(t, "one", wall, func(b *timeline.Builder) {
		slice(b, 1, "weft:sync:a", 5*second, 0)
		link(b, "w3c:1", timeline.LinkSend, 3*second, 0)
	}), input(t, "two", nothing, func(b *timeline.Builder) {
		slice(b, 1, "weft:sync:a", 5*second, 0)
		link(b, "w3c:1", timeline.LinkReceive, 4*second, 0)
	}))
	if len(plan.Checked) != 1 || !plan.Checked[0].HasLow() || plan.Checked[0].HasHigh() || plan.Checked[0].Residual != 0 {
		t.Errorf("%+v", plan.Checked)
	}
}

// In two inputs with the same events, equal pids mean one process, unless the events of the two processes differ: containers
// reuse pids.
func TestOtherProcessOfSamePid(t *testing.T) {
	events := func(name string) func(b *timeline.Builder) {
		return func(b *timeline.Builder) {
			for i := range timeline.Nanos(300) {
				slice(b, 7, "task"+string(rune('a'+i%20)), second+i*7_000_000+i*i*1000, 1000)
			}
			for i := range timeline.Nanos(40) {
				slice(b, 1, name, second+i*50_000_000, 1000)
			}
			slice(b, 9, name, second, 1000) // too few to tell
		}
	}
	plan := solve(t, merge.Options{}, input(t, "one", nothing, events("init")), input(t, "two", nothing, events("web")))
	for pid, want := range map[int64]bool{7: true, 1: false, 9: true} {
		if got := plan.Shares(0, 1, timeline.ProcessKey{Num: pid}); got != want {
			t.Errorf("pid %d is shared: %v", pid, got)
		}
	}
	for _, p := range plan.Processes {
		if want := map[string]string{"7": "same events", "1": "", "9": "same events"}[p.PID]; p.By != want {
			t.Errorf("pid %s by %q, want %q", p.PID, p.By, want)
		}
	}
	// A process that differs from the first input's is the same in the other two.
	three := solve(t, merge.Options{}, input(t, "one", nothing, events("init")), input(t, "two", nothing, events("web")), input(t, "three", nothing, events("web")))
	if one := (timeline.ProcessKey{Num: 1}); three.Shares(0, 2, one) || !three.Shares(1, 2, one) {
		t.Error("the process of two and three")
	}
}

// The error for too few samples does not claim that they are from another recording.
func TestTooFewSamples(t *testing.T) {
	trace := input(t, "trace", monotonic, at(second))
	trace.Clues.Invocations = map[merge.Thread][]merge.Range{{PID: 1, TID: 1}: {{From: second, To: 2 * second}}}
	profile := &merge.Clues{Clock: merge.ClockMonotonic, Monotonic: true, CPUProfile: true, Any: true, Start: second, End: 2 * second}
	for i := range timeline.Nanos(80) {
		profile.Script = append(profile.Script, second+i*1_000_000)
	}
	err := refusal[*merge.UnplacedError](t, merge.Options{}, trace, merge.Input{Name: "profile", Clues: profile.WithProcesses()})
	if !strings.Contains(err.Error(), "80 of its samples of JavaScript lie in the time of the trace, too few") {
		t.Error(err)
	}
}
