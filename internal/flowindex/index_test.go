package flowindex_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/flowindex"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/testkit"
	"github.com/weft-trace/weft/internal/timeline"
)

// index creates the index of a timeline in text form (package testkit).
func index(t testing.TB, memory int64, text string) *flowindex.Index {
	t.Helper()
	return indexOf(t, memory, func(b *timeline.Builder) error { return testkit.Add(b, text) })
}

// Memory budgets for the tests: everything in memory, and everything that can be on disk.
const (
	largeMemory = timeline.DefaultMemory
	smallMemory = 1
)

// resolve creates a timeline with resolved flows.
func resolve(t testing.TB, opts timeline.Options, fill func(*timeline.Builder) error) *timeline.Timeline {
	t.Helper()
	opts.TempDir = t.TempDir()
	b := timeline.NewBuilder(opts)
	if err := fill(b); err != nil {
		t.Fatal(err)
	}
	tl, err := b.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tl.Close() })
	if err := flowbind.NestAndResolve(context.Background(), tl); err != nil {
		t.Fatal(err)
	}
	return tl
}

func indexOf(t testing.TB, memory int64, fill func(*timeline.Builder) error) *flowindex.Index {
	t.Helper()
	log := new(problem.Log)
	tl := resolve(t, timeline.Options{Memory: memory, Problems: log, KeepFlowIDs: true}, fill)
	problems := fmt.Sprint(log.Totals())
	x, err := flowindex.NewIndex(context.Background(), tl)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	if again := fmt.Sprint(log.Totals()); again != problems {
		t.Errorf("making an index counts problems again: %s, %s before", again, problems)
	}
	return x
}

// describe formats a flow: "ID [start,end] members 0 1←0 2←0", with "…" after an end that is not in the input. Members are
// identified by their events.
func describe(t testing.TB, x *flowindex.Index, f flowindex.Flow) string {
	t.Helper()
	open := ""
	if !f.Ended {
		open = "…"
	}
	line := fmt.Sprintf("%s [%d,%d%s]", f.ID, f.Start, f.End, open)
	if f.Name != "" || f.Category != "" {
		line += fmt.Sprintf(" %s/%s", f.Name, f.Category)
	}
	line += fmt.Sprintf(" %d threads:", f.Threads)
	var events []uint32
	err := x.Members(context.Background(), f, func(m flowindex.Member) error {
		if m.Flow != f.Number || m.N != len(events) {
			t.Errorf("%s: %+v is no member %d", line, m, len(events))
		}
		events = append(events, m.Event)
		line += fmt.Sprintf(" %d", m.Event)
		if m.Previous >= 0 {
			line += fmt.Sprintf("←%d", events[m.Previous])
		}
		return nil
	})
	if err != nil || len(events) != f.Members {
		t.Errorf("%s: %d members, %v", line, f.Members, err)
	}
	return line
}

// all formats all flows in the order of Walk, with the label of the first member.
func all(t testing.TB, x *flowindex.Index) string {
	t.Helper()
	var lines strings.Builder
	err := x.Walk(context.Background(), func(f flowindex.Flow, first flowindex.Member, label flowindex.Label) error {
		fmt.Fprintf(&lines, "%s %s\n", label.Name, describe(t, x, f))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines.String()
}

func TestIndex(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"chain", `
X 1/1 a 100 10
X 1/2 b 200 10
X 1/2 c 300 10
s 1/1 18 105 name=n cat=k
t 1/2 18 205 name=n cat=k
f 1/2 18 310 name=n cat=k bp=e
`, "a 0x12 [105,310] n/k 2 threads: 0 1←0 2←1\n"},
		{"the id is used again", `
X 1/1 a 100 10
X 1/2 b 200 10
X 1/1 c 300 10
X 1/2 d 400 10
s 1/1 7 100
f 1/2 7 200 bp=e
s 1/1 7 300
f 1/2 7 400 bp=e
`, "a 0x7 [100,210] 2 threads: 0 1←0\nc 0x7 [300,410] 2 threads: 2 3←2\n"},
		// Both consumers follow the producer.
		{"several ends", `
X 1/1 a 100 500
X 1/2 b 200 10
X 1/3 c 300 10
s 1/1 7 100
f 1/2 7 200 bp=e
f 1/3 7 300 bp=e
`, "a 0x7 [100,600] 3 threads: 0 1←0 2←0\n"},
		{"names and categories are part of the id", `
X 1/1 a 100 10
X 1/1 b 200 10
s 1/1 7 100 name=x
s 1/1 7 100 name=y
f 1/1 7 200 name=y bp=e
`, "a 0x7 [100,110…] x/ 1 threads: 0\na 0x7 [100,210] y/ 1 threads: 0 1←0\n"},
		{"never taken up, never ended", `
X 1/1 a 100 10
B 1/1 b 200
s 1/1 7 100
t 1/1 7 200
s 1/1 8 100
`, "a 0x7 [100,200…] 1 threads: 0 1←0\na 0x8 [100,110…] 1 threads: 0\n"},
		{"to itself, and back", `
X 1/1 a 100 900
X 1/2 b 200 10
s 1/1 7 100
t 1/1 7 150
t 1/2 7 200
f 1/1 7 300 bp=e
`, "a 0x7 [100,1000] 2 threads: 0 1←0 0←1\n"},
		{"bind_id", `
X 1/1 a 100 10 out=7
X 1/1 b 200 10 step=7
X 1/1 c 300 10 in=7
X 1/1 d 400 10 in=7
`, "a 0x7 [100,410] 1 threads: 0 1←0 2←1 3←1\n"},
		{"perfetto", `
X 1/1 a 100 10 flow=7
I 1/1 b 200 flow=7,255
X 1/1 c 300 10 end=7
X 1/1 d 400 10 flow=7
X 2/id:z e 500 5 end=255
`, "a 7 [100,310] 1 threads: 0 1←0 2←1\nb 255 [200,505] 2 threads: 1 4←1\nd 7 [400,410…] 1 threads: 3\n"},
		{"texts", `
X 1/1 a 100 10
s 1/1 ping;1 100
X 1/1 b 200 10
f 1/1 ping;1 200 bp=e
`, "a ping;1 [100,210] 1 threads: 0 2←0\n"},
		{"none", "X 1/1 a 100 10\n", ""},
	} {
		for _, memory := range []int64{largeMemory, smallMemory} {
			if diff := cmp.Diff(c.want, all(t, index(t, memory, c.text))); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.name, diff)
			}
		}
	}
}

// find formats the result of Find.
func find(t testing.TB, x *flowindex.Index, id string, at timeline.Nanos) string {
	t.Helper()
	flows, err := x.Find(context.Background(), id, at)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, f := range flows {
		found = append(found, fmt.Sprintf("%s/%s@%d", f.ID, f.Name, f.Start))
	}
	return strings.Join(found, " ")
}

func TestFindByTime(t *testing.T) {
	x := index(t, largeMemory, `
X 1/1 a 100 10
X 1/1 b 200 10
X 1/1 c 300 10
X 1/1 d 400 10
s 1/1 7 105
f 1/1 7 200 bp=e
s 1/1 7 305
f 1/1 7 400 bp=e
s 1/1 7 205 name=other
`)
	for _, c := range []struct {
		at   timeline.Nanos
		want string
	}{
		{99, ""},
		{100, "0x7/@105"}, // the slice with its start has begun
		{105, "0x7/@105"},
		{150, "0x7/@105"},
		{204, "0x7/@105 0x7/other@205"},
		{250, "0x7/@105 0x7/other@205"}, // the first flow has ended, and its id has not started again
		{304, "0x7/@105 0x7/other@205"},
		{305, "0x7/@305 0x7/other@205"},
		{1 << 62, "0x7/@305 0x7/other@205"},
	} {
		if got := find(t, x, "0x7", c.at); got != c.want {
			t.Errorf("at %d: %q, want %q", c.at, got, c.want)
		}
	}
}

// Ids are found in the form used in the input; an id can have several forms.
func TestFindByID(t *testing.T) {
	x := index(t, smallMemory, `
X 1/1 a 100 10 out=18
X 1/1 b 100 10 out=12
X 1/1 c 100 10 flow=18
X 1/1 d 100 10 flow=12
X 1/1 e 100 10 out=zz
X 1/1 f 100 10 out=18446744073709551615
`)
	for id, want := range map[string]string{
		"18": "18/@100 0x12/@100", "12": "12/@100 0xc/@100 0x12/@100", // decimal, and hexadecimal for Chrome
		"0x12": "18/@100 0x12/@100", "0X12": "18/@100 0x12/@100", "c": "0xc/@100",
		"zz": "zz/@100", "z": "", "": "", "0x": "", "-1": "0xffffffffffffffff/@100", "ffffffffffffffff": "0xffffffffffffffff/@100",
		"18446744073709551615": "0xffffffffffffffff/@100", "18446744073709551616": "", "0": "",
	} {
		got := find(t, x, id, 1000)
		if !sameWords(got, want) {
			t.Errorf("%q finds %q, want %q", id, got, want)
		}
	}
}

func sameWords(a, b string) bool {
	words := map[string]int{}
	for _, w := range strings.Fields(a) {
		words[w]++
	}
	for _, w := range strings.Fields(b) {
		words[w]--
	}
	for _, n := range words {
		if n != 0 {
			return false
		}
	}
	return true
}

// Firefox ids have 16 or 17 digits; both forms find all flows, but an exact match takes precedence.
func TestFindFirefoxID(t *testing.T) {
	x := indexOf(t, largeMemory, func(b *timeline.Builder) error {
		thread := b.Thread(b.Process(timeline.ProcessKey{Num: 1}), timeline.ThreadKey{Num: 1})
		for i, id := range []string{"80004bd4b5eee88c0", "80004bd4b5eee88d", "80004bd4b5eee88e0", "80004bd4b5eee88e", "other"} {
			ev := timeline.Event{
				Kind: timeline.Instant, Track: thread, Event: uint32(i), TS: timeline.Nanos(i), Name: []byte("m"),
			}
			if err := b.Add(&ev); err != nil {
				return err
			}
			err := b.AddFlow(&timeline.FlowEvent{
				Space: timeline.FlowFirefox, Role: timeline.FlowContinue, Binding: timeline.BindCarrier,
				Track: thread, Event: ev.Event, TS: ev.TS, IDText: []byte(id),
			})
			if err != nil {
				return err
			}
		}
		return nil
	})
	for id, want := range map[string]string{
		"80004bd4b5eee88c0": "80004bd4b5eee88c0/@0", "80004bd4b5eee88c": "80004bd4b5eee88c0/@0",
		"80004bd4b5eee88d": "80004bd4b5eee88d/@1", "80004bd4b5eee88d0": "80004bd4b5eee88d/@1",
		"80004bd4b5eee88e0": "80004bd4b5eee88e0/@2", "80004bd4b5eee88e": "80004bd4b5eee88e/@3",
		"80004BD4B5EEE88C0": "", "other": "other/@4", "other0": "",
	} {
		if got := find(t, x, id, 1000); got != want {
			t.Errorf("%q finds %q, want %q", id, got, want)
		}
	}
}

// Text ids whose text was not kept can be found, and are shown by their hash.
func TestFindTextNotKept(t *testing.T) {
	tl := resolve(t, timeline.Options{Problems: new(problem.Log)}, func(b *timeline.Builder) error {
		return testkit.Add(b, "X 1/1 a 100 10\ns 1/1 ping 100\n")
	})
	x, err := flowindex.NewIndex(context.Background(), tl)
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	f, err := x.Flow(0)
	if err != nil {
		t.Fatal(err)
	}
	if f.ID != fmt.Sprintf("#%016x", timeline.HashFlowID([]byte("ping"))) {
		t.Errorf("the id is shown as %s", f.ID)
	}
	for _, id := range []string{"ping", f.ID} {
		if find(t, x, id, 100) == "" {
			t.Errorf("%s is not found", id)
		}
	}
}

func TestNextAndPrevious(t *testing.T) {
	ctx := context.Background()
	x := index(t, smallMemory, `
X 1/1 a 100 500 out=7
X 1/2 b 200 10 in=7
X 1/3 c 300 10 in=7
X 1/4 d 400 10 step=7
X 1/5 e 500 10 in=7
X 1/6 f 600 10 in=7
`)
	f, err := x.Flow(0)
	if err != nil {
		t.Fatal(err)
	}
	for n, want := range [][]int{{1, 2, 3}, nil, nil, {4, 5}, nil, nil} {
		next, err := x.Next(ctx, f, n, 100)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, m := range next {
			got = append(got, m.N)
			if m.Previous != n {
				t.Errorf("member %d comes from %d, not %d", m.N, m.Previous, n)
			}
		}
		if !cmp.Equal(got, want) {
			t.Errorf("member %d leads to %v, want %v", n, got, want)
		}
	}
	if next, err := x.Next(ctx, f, 0, 2); err != nil || len(next) != 2 {
		t.Errorf("%v, %v; want 2", next, err)
	}
	for _, number := range []int{-1, 1} {
		if _, err := x.Flow(number); err == nil {
			t.Errorf("flow %d: no error", number)
		}
	}
	for _, n := range []int{-1, 6} {
		if _, err := x.Member(f, n); err == nil {
			t.Errorf("member %d: no error", n)
		}
	}
}

// The test looks up the slices on a thread at a given time, and the slices of an input event.
func TestSlicesOfFlows(t *testing.T) {
	ctx := context.Background()
	text := `
X 1/1 outer 100 100 out=1,2
X 1/1 plain 110 80
X 1/1 inner 120 20 out=3
I 1/1/track:below mark 130 in=3
B 1/1 open 500 in=1
X 1/2 other 100 1000 in=2
X 1/1 zero 300 0 out=4
`
	var thread timeline.TrackID
	x := indexOf(t, largeMemory, func(b *timeline.Builder) error {
		thread = b.Thread(b.Process(timeline.ProcessKey{Num: 1}), timeline.ThreadKey{Num: 1})
		return testkit.Add(b, text)
	})
	names := func(ordinals []uint64, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		labels, err := x.Labels(ctx, ordinals)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, ordinal := range ordinals {
			names = append(names, labels[ordinal].Name)
		}
		return strings.Join(names, " ")
	}
	for at, want := range map[timeline.Nanos]string{
		99: "", 100: "outer", 125: "outer inner", 130: "outer inner mark", 131: "outer inner", 200: "outer",
		201: "mark", 299: "mark", 300: "zero", 400: "zero", 500: "open", 1 << 40: "open",
	} {
		if got := names(x.At(ctx, thread, at)); got != want {
			t.Errorf("at %d: %q, want %q", at, got, want)
		}
	}
	for event, want := range map[uint32]string{0: "outer", 1: "", 2: "inner", 3: "mark", 4: "open", 99: ""} {
		if got := names(x.OfEvent(ctx, event)); got != want {
			t.Errorf("event %d: %q, want %q", event, got, want)
		}
	}
	ordinals, _ := x.OfEvent(ctx, 0)
	members, err := x.OfSlice(ordinals[0])
	if err != nil || len(members) != 2 || members[0].Flow == members[1].Flow {
		t.Errorf("%+v, %v; want 2 flows", members, err)
	}
	if members, err := x.OfSlice(1 << 40); err != nil || len(members) != 0 {
		t.Errorf("%+v, %v", members, err)
	}
}

// A request leads to the load event through two slices that each belong to two flows, and from a step of a task to the task.
func TestConnected(t *testing.T) {
	const text = `
X 1/1 request 100 10 out=1
X 1/2 response 200 10 in=1,2 out=3
X 1/1 decode 300 10 in=3 out=4
X 1/3 paint 400 10 in=4
X 1/2 elsewhere 500 10 out=5
X 1/1 task 600 100 in=5
X 1/1 step 610 10 out=6
X 1/1 within 612 2 out=7
X 1/4 end 700 10 in=6
X 1/1 touching 700 50 out=8
`
	for _, memory := range []int64{largeMemory, smallMemory} {
		x := index(t, memory, text)
		connected := func(id string, nested bool) string {
			t.Helper()
			start, err := x.Find(context.Background(), id, 1000)
			if err != nil || len(start) != 1 {
				t.Fatal(start, err)
			}
			var steps []string
			err = x.Connected(context.Background(), start, nested, func(c flowindex.Connection) error {
				from, err := x.Flow(c.From)
				steps = append(steps, fmt.Sprintf("%d:%s→%s %v event %d", c.Distance, from.ID, c.Flow.ID, c.Link, c.Through.Event))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			return strings.Join(steps, ", ")
		}
		for _, c := range []struct {
			id     string
			nested bool
			want   string
		}{
			{"0x1", false, "1:0x1→0x3 shared event 1, 2:0x3→0x4 shared event 2"},
			{"0x4", false, "1:0x4→0x3 shared event 2, 2:0x3→0x1 shared event 1"},
			{"0x5", false, ""},
			{"0x5", true, "1:0x5→0x6 inside event 6, 2:0x6→0x7 inside event 7"},
			{"0x7", true, "1:0x7→0x6 around event 6, 2:0x6→0x5 around event 5"},
			{"0x8", true, ""}, // the task has ended
		} {
			if got := connected(c.id, c.nested); got != c.want {
				t.Errorf("%s, nested %v: %s\nwant %s", c.id, c.nested, got, c.want)
			}
		}
	}
}

// The search through flows that share slices with many others takes time proportional to the number of their ends.
func TestConnectedMany(t *testing.T) {
	const n = 3000
	var text strings.Builder
	list := func(option string) string {
		var ids []string
		for i := range n {
			ids = append(ids, fmt.Sprint(i))
		}
		return option + "=" + strings.Join(ids, ",")
	}
	fmt.Fprintf(&text, "X 1/1 a 100 10 %s\nX 1/1 b 200 10 %s\nX 1/1 c 300 10 %s\n", list("flow"), list("flow"), list("end"))
	x := index(t, largeMemory, text.String())
	f, err := x.Flow(0)
	if err != nil {
		t.Fatal(err)
	}
	reached := 0
	err = x.Connected(context.Background(), []flowindex.Flow{f}, true, func(flowindex.Connection) error { reached++; return nil })
	if err != nil || reached != n-1 {
		t.Errorf("%d flows, %v", reached, err)
	}
	stop := errors.New("enough")
	if err := x.Connected(context.Background(), []flowindex.Flow{f}, true, func(flowindex.Connection) error { return stop }); err != stop {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := x.Members(ctx, f, func(flowindex.Member) error { return nil }); err != context.Canceled {
		t.Errorf("%v", err)
	}
}

// The markers connected with a flow belong to the flows that Connected reaches from it; each marker counts only once.
func TestConnectedMarkers(t *testing.T) {
	ctx := context.Background()
	for _, text := range []string{
		"X 1/1 a 100 10 out=1\nX 1/2 b 200 10 in=1,2 out=3\nX 1/1 c 300 10 in=3 out=4\nX 1/3 d 400 10 in=4\nX 1/2 e 500 10 out=5\nX 1/1 f 600 100 in=5\n",
		"X 1/1 a 100 10 out=1\nX 1/2 b 200 10 out=2\nX 1/3 c 300 10 out=3\nX 1/4 d 400 10 in=3,1\nX 1/5 e 500 10 in=2,3\nX 1/5 f 600 10 out=9\n",
		"X 1/1 a 100 10 flow=1\nX 1/2 b 200 10 flow=1\nX 1/1 c 300 10 end=1,2\n",
		"",
	} {
		for _, memory := range []int64{largeMemory, smallMemory} {
			x := index(t, memory, text)
			connected, err := x.ConnectedMarkers(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for number := range x.Len() {
				f, err := x.Flow(number)
				if err != nil {
					t.Fatal(err)
				}
				markers := map[uint64]bool{}
				count := func(f flowindex.Flow) error {
					return x.Members(ctx, f, func(m flowindex.Member) error { markers[m.Ordinal] = true; return nil })
				}
				err = errors.Join(count(f), x.Connected(ctx, []flowindex.Flow{f}, false, func(c flowindex.Connection) error { return count(c.Flow) }))
				if got := connected.Of(f); err != nil || got != len(markers) {
					t.Errorf("%s\nflow %s: %d markers, want %d, %v", text, f.ID, got, len(markers), err)
				}
			}
		}
	}
}

// With many segments, both in memory and on disk, each arrow of the timeline leads to one member, labels belong to their slices,
// and flows are in order.
func TestIndexOfManySegments(t *testing.T) {
	const n = 40_000
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "X 1/%d name%d %d 5 out=%d in=%d\n", 1+i%3, i, i*10, i%1000, (i+500)%1000)
	}
	tl := resolve(t, timeline.Options{Problems: new(problem.Log)}, func(b *timeline.Builder) error {
		return testkit.Add(b, text.String())
	})
	if tl.SegmentCount() < 2 {
		t.Fatal("one segment only")
	}
	for _, memory := range []int64{largeMemory, smallMemory} {
		x := index(t, memory, text.String())
		members, last := 0, timeline.Nanos(-1)
		err := x.Walk(context.Background(), func(f flowindex.Flow, first flowindex.Member, label flowindex.Label) error {
			members += f.Members
			if first.TS < last || label.Name != fmt.Sprintf("name%d", first.Event) {
				t.Fatalf("flow %+v begins with %+v %q after %d", f, first, label, last)
			}
			last = first.TS
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if arrows := tl.Totals().Flows; int64(members-x.Len()) != arrows || arrows == 0 {
			t.Errorf("%d members of %d flows, %d arrows", members, x.Len(), arrows)
		}
	}
}
