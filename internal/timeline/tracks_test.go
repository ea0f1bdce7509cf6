package timeline_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/testkit"
	"github.com/weft-trace/weft/internal/timeline"
)

func newBuilder() (*timeline.Builder, *problem.Log) {
	log := new(problem.Log)
	return timeline.NewBuilder(timeline.Options{Problems: log}), log
}

// finish finishes and nests a timeline in memory.
func finish(t testing.TB, b *timeline.Builder) *timeline.Timeline {
	t.Helper()
	tl, err := b.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tl.Close() })
	if err := tl.Nest(context.Background()); err != nil {
		t.Fatal(err)
	}
	return tl
}

// use adds an instant to each track.
func use(t testing.TB, b *timeline.Builder, ids ...timeline.TrackID) {
	t.Helper()
	for _, id := range ids {
		ev := timeline.Event{Kind: timeline.Instant, Track: id, Name: []byte("i")}
		if err := b.Add(&ev); err != nil {
			t.Fatal(err)
		}
	}
}

// Calls with equal arguments return the same track, and calls with different arguments return different tracks.
func TestTracksAreCreatedOnce(t *testing.T) {
	b, _ := newBuilder()
	process := b.Process(timeline.ProcessKey{Num: 1})
	other := b.Process(timeline.ProcessKey{Text: "1"})
	make := []func() timeline.TrackID{
		func() timeline.TrackID { return b.Process(timeline.ProcessKey{Num: 1}) },
		func() timeline.TrackID { return b.Process(timeline.ProcessKey{Text: "1"}) },
		func() timeline.TrackID { return b.Thread(process, timeline.ThreadKey{Num: 2}) },
		func() timeline.TrackID { return b.Thread(process, timeline.ThreadKey{Text: "2"}) },
		func() timeline.TrackID { return b.Thread(other, timeline.ThreadKey{Num: 2}) },
		func() timeline.TrackID { return b.Child(process, "a") },
		func() timeline.TrackID { return b.Child(process, "b") },
		func() timeline.TrackID { return b.Child(other, "a") },
		func() timeline.TrackID { return b.GlobalInstants() },
		func() timeline.TrackID { return b.ProcessInstants(process) },
		func() timeline.TrackID { return b.Counter(process, &timeline.CounterKey{Name: []byte("a")}) },
		func() timeline.TrackID { return b.Counter(process, &timeline.CounterKey{Name: []byte("a"), Unique: 1}) },
		func() timeline.TrackID { return b.Counter(0, &timeline.CounterKey{Name: []byte("a")}) },
		func() timeline.TrackID {
			return b.Async(&timeline.AsyncKey{ID: []byte("1"), IsText: true, Process: process})
		},
		func() timeline.TrackID { return b.Async(&timeline.AsyncKey{ID: []byte("1"), Process: process}) },
		func() timeline.TrackID {
			return b.Async(&timeline.AsyncKey{ID: []byte("1"), Process: process, Kind: timeline.AsyncLocal})
		},
		func() timeline.TrackID {
			return b.Async(&timeline.AsyncKey{ID: []byte("1"), Process: process, Scope: []byte("s")})
		},
		func() timeline.TrackID {
			return b.Async(&timeline.AsyncKey{ID: []byte("1"), Process: process, Category: []byte("s")})
		},
		func() timeline.TrackID { return b.Async(&timeline.AsyncKey{ID: []byte("1"), Process: other}) },
	}
	seen := map[timeline.TrackID]int{}
	for i, fn := range make {
		id := fn()
		if again := fn(); again != id {
			t.Errorf("track %d: first %d, then %d", i, id, again)
		}
		if j, ok := seen[id]; ok {
			t.Errorf("tracks %d and %d are the same", i, j)
		}
		seen[id] = i
	}
	first := b.NewTrack(0, timeline.TrackSpec{Name: "x"})
	if second := b.NewTrack(0, timeline.TrackSpec{Name: "x"}); second == first {
		t.Error("NewTrack returned a track twice")
	}
}

// Numeric ids that are written differently are different ids, whatever their value.
func TestAsyncIDsAreComparedAsText(t *testing.T) {
	b, _ := newBuilder()
	ids := map[timeline.TrackID]string{}
	for _, id := range []string{"0", "-0", "1", "01", "+1", "1.0", "1e0", "-1", "-01", "18446744073709551615", "", "00", "+0"} {
		track := b.Async(&timeline.AsyncKey{ID: []byte(id)})
		if before, ok := ids[track]; ok {
			t.Errorf("ids %q and %q have one track", before, id)
		}
		ids[track] = id
		use(t, b, track)
	}
	tl := finish(t, b)
	walk(t, tl, func(it *timeline.Item) {
		if want := ids[it.Track]; it.AsyncID != want {
			t.Errorf("id %q is read as %q", want, it.AsyncID)
		}
	})
}

// Ids that Perfetto cannot represent are replaced by small ids, and 0 by ten million, but never by an id that the input uses as a
// pid or tid (chrome-json.md 7).
func TestAssignedIDsDoNotCollide(t *testing.T) {
	b, log := newBuilder()
	for _, pid := range []int64{0, -1, math.MinInt64, math.MaxInt32 + 1, math.MaxInt64} {
		use(t, b, b.Thread(b.Process(timeline.ProcessKey{Num: pid}), timeline.ThreadKey{Num: 7}))
	}
	use(t, b, b.Thread(b.Process(timeline.ProcessKey{Num: 3}), timeline.ThreadKey{Num: 2}))
	use(t, b, b.Thread(b.Process(timeline.ProcessKey{Text: "renderer"}), timeline.ThreadKey{Text: "stream 7"}))
	tl := finish(t, b)
	seen := map[int64]string{}
	for id := range tl.TrackCount() {
		tr := tl.Track(timeline.TrackID(id))
		number := int64(tr.PID)
		switch {
		case tr.Kind == timeline.ThreadTrack && tr.Name == "stream 7":
			number = tr.TID
		case tr.Kind != timeline.ProcessTrack:
			continue
		}
		usable := tr.Kind == timeline.ProcessTrack && tr.InputID.Num == 3
		if number <= 0 || number == 2 || number == 7 || number > 10 && (number != 10_000_000 || tr.InputID.Num != 0) || usable != (number == 3) {
			t.Errorf("track %d %q has the number %d", id, tr.Name, number)
		}
		if tr.Assigned == usable {
			t.Errorf("%d: assigned %v", number, tr.Assigned)
		}
		if other, ok := seen[number]; ok {
			t.Errorf("%q and %q have the number %d", other, tr.Name, number)
		}
		seen[number] = tr.Name
	}
	if len(seen) != 8 {
		t.Errorf("%d numbers, want 8", len(seen))
	}
	if n := log.Count(problem.PidRemapped); n != 5 {
		t.Errorf("%d pids are counted as remapped, want 5", n)
	}
}

// A process or thread with an assigned number keeps its identity: its id in the input, and a name that identifies it.
func TestNamesOfAssignedIDs(t *testing.T) {
	b, _ := newBuilder()
	zero := b.Process(timeline.ProcessKey{})
	gpu := b.Process(timeline.ProcessKey{Num: -5})
	b.SetProcessName(gpu, 0, []byte("python"))
	b.AddLabel(gpu, "GPU 0")
	negative := b.Process(timeline.ProcessKey{Num: -6})
	b.SetProcessName(negative, 0, []byte("python"))
	labelled := b.Process(timeline.ProcessKey{Num: -7})
	b.AddLabel(labelled, "GPU 1")
	text := b.Process(timeline.ProcessKey{Text: "renderer"})
	b.SetProcessName(text, 0, []byte("other name"))
	usable := b.Process(timeline.ProcessKey{Num: 100})
	b.SetProcessName(usable, 0, []byte("python"))
	b.AddLabel(usable, "CPU")
	stream := b.Thread(gpu, timeline.ThreadKey{Text: "stream 7"})
	big := b.Thread(usable, timeline.ThreadKey{Text: "18446744073709551616", IsNumber: true})
	b.SetThreadName(big, 0, []byte("worker"))
	mainThread := b.Thread(zero, timeline.ThreadKey{})
	use(t, b, zero, gpu, negative, labelled, text, usable, stream, big, mainThread)
	tl := finish(t, b)
	for _, test := range []struct {
		id                timeline.TrackID
		name, full, title string
	}{
		{zero, "", "pid 0", "[pid 0]"},
		{gpu, "python", "python (GPU 0)", "python (GPU 0) [pid -5]"},
		{negative, "python", "python (pid -6)", "python [pid -6]"},
		{labelled, "", "GPU 1", "GPU 1 [pid -7]"},
		{text, "renderer", "renderer", "renderer"},
		{usable, "python (CPU)", "python (CPU)", "python (CPU) [pid 100]"}, // labelled like python (GPU 0)
		{stream, "stream 7", "stream 7", "stream 7"},
		{big, "worker", "worker (tid 18446744073709551616)", "worker [tid 18446744073709551616]"},
		{mainThread, "", "tid 0", "[tid 0]"},
	} {
		tr := tl.Track(test.id)
		if tr.Name != test.name || tr.FullName() != test.full || tr.Title() != test.title {
			t.Errorf("name %q, full name %q, title %q; want %q, %q, %q", tr.Name, tr.FullName(), tr.Title(), test.name, test.full, test.title)
		}
	}
}

// Numbers assigned by an earlier conversion are reused unless the input uses them.
func TestWriteAs(t *testing.T) {
	b, _ := newBuilder()
	first, second := b.Process(timeline.ProcessKey{}), b.Process(timeline.ProcessKey{Num: -1})
	stream := b.Thread(second, timeline.ThreadKey{Text: "stream 7"})
	other := b.Thread(b.Process(timeline.ProcessKey{Num: 3}), timeline.ThreadKey{Num: 4})
	b.RequestNumber(first, 3)
	b.RequestNumber(second, 1)
	b.RequestNumber(stream, 9)
	b.RequestNumber(other, 5)
	use(t, b, first, second, stream, other)
	tl := finish(t, b)
	if one, two := tl.Track(first).PID, tl.Track(second).PID; one != 10_000_000 || two != 1 {
		t.Errorf("the processes are %d and %d, want 10000000 and 1", one, two)
	}
	if s, o := tl.Track(stream).TID, tl.Track(other).TID; s != 9 || o != 4 {
		t.Errorf("the threads are %d and %d, want 9 and 4", s, o)
	}
}

// Only events make a track and its ancestors used; ends alone do not.
func TestUsedTracks(t *testing.T) {
	b, log := newBuilder()
	unused := b.Process(timeline.ProcessKey{Num: 0})
	b.SetThreadName(b.Thread(unused, timeline.ThreadKey{}), 0, []byte("swapper"))
	process := b.Process(timeline.ProcessKey{Num: 1})
	thread := b.Thread(process, timeline.ThreadKey{Num: 2})
	child := b.Child(thread, "state")
	counter := b.Counter(process, &timeline.CounterKey{Name: []byte("c")})
	use(t, b, child)
	if err := b.Add(&timeline.Event{Kind: timeline.End, Track: b.Thread(unused, timeline.ThreadKey{Num: 3})}); err != nil {
		t.Fatal(err)
	}
	tl := finish(t, b)
	for id, want := range map[timeline.TrackID]bool{unused: false, process: true, thread: true, child: true, counter: false} {
		if got := tl.Track(id).Used; got != want {
			t.Errorf("track %d: used %v, want %v", id, got, want)
		}
	}
	if log.Count(problem.PidRemapped) > 0 {
		t.Error("the pid of an unused process was replaced")
	}
}

func TestSortIndexesAndLabels(t *testing.T) {
	b, _ := newBuilder()
	process := b.Process(timeline.ProcessKey{Num: 1})
	thread := b.Thread(process, timeline.ThreadKey{Num: 2})
	b.SetSortIndex(process, -3)
	b.SetSortIndex(thread, 0)
	b.SetSortIndex(b.GlobalInstants(), 5) // has no effect
	for _, label := range []string{"a", "", "b", "a"} {
		b.AddLabel(process, label)
	}
	use(t, b, thread)
	tl := finish(t, b)
	if tr := tl.Track(process); !tr.HasRank || tr.Rank != -3 || !slices.Equal(tr.Labels, []string{"a", "b"}) {
		t.Errorf("process: %+v", tr)
	}
	if tr := tl.Track(thread); !tr.HasRank || tr.Rank != 0 || tr.PID != 1 || tr.TID != 2 {
		t.Errorf("thread: %+v", tr)
	}
}

// Events on an undeclared track move to its alias, as do tracks below it.
func TestAliases(t *testing.T) {
	b, _ := newBuilder()
	process := b.Process(timeline.ProcessKey{Num: 1})
	thread := b.Thread(process, timeline.ThreadKey{Num: 2})
	first, second, never := b.Undeclared(), b.Undeclared(), b.Undeclared()
	below := b.Child(first, "below")
	use(t, b, first, second, never, below)
	b.Alias(first, second)
	b.Alias(second, thread)
	b.Alias(never, never)
	tl := finish(t, b)
	want := "0 instant 1/2 i\n0 instant 1/2 i\n0 instant root/track:i i\n0 instant 1/2/track:below i\n"
	if got := dump(t, tl); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for _, id := range []timeline.TrackID{first, second} {
		if tl.Track(id).Used {
			t.Errorf("track %d is used, though all its events are elsewhere", id)
		}
	}
	if !tl.Track(thread).Used || !tl.Track(process).Used || !tl.Track(never).Used {
		t.Error("a track with events is not used")
	}
}

// Aliases and parents that form cycles, and chains that are too long, end at the root.
func TestLoopsOfTracks(t *testing.T) {
	t.Run("aliases", func(t *testing.T) {
		b, _ := newBuilder()
		x, y, z := b.Undeclared(), b.Undeclared(), b.Undeclared()
		b.Alias(x, y)
		b.Alias(y, z)
		b.Alias(z, x)
		use(t, b, x, b.Child(y, "child"))
		checkTracks(t, b, 2)
	})
	t.Run("parents", func(t *testing.T) {
		b, _ := newBuilder()
		x, y := b.Undeclared(), b.Undeclared()
		a, c := b.Child(x, "a"), b.Child(y, "c")
		b.Alias(x, c)
		b.Alias(y, a)
		use(t, b, b.Child(a, "below"), a, c)
		checkTracks(t, b, 3)
	})
	t.Run("parents without events", func(t *testing.T) {
		b, _ := newBuilder()
		x, y := b.Undeclared(), b.Undeclared()
		a, c := b.Child(x, "a"), b.Child(y, "c")
		b.Alias(x, c)
		b.Alias(y, a)
		use(t, b, b.Child(a, "below"))
		checkTracks(t, b, 1)
	})
	t.Run("a thread of itself", func(t *testing.T) {
		b, _ := newBuilder()
		x := b.Undeclared()
		thread := b.Thread(x, timeline.ThreadKey{Num: 1})
		b.Alias(x, thread)
		use(t, b, thread, b.Thread(b.Undeclared(), timeline.ThreadKey{}))
		checkTracks(t, b, 2)
	})
	t.Run("deep", func(t *testing.T) {
		b, _ := newBuilder()
		parent := b.Process(timeline.ProcessKey{Num: 1})
		const depth = 500
		for range depth {
			parent = b.Child(parent, "deeper")
		}
		use(t, b, parent)
		checkTracks(t, b, 1)
	})
}

// checkTracks walks a timeline and checks that no used track has too many ancestors.
func checkTracks(t *testing.T, b *timeline.Builder, events int) {
	t.Helper()
	tl := finish(t, b)
	n := 0
	err := tl.Walk(context.Background(), func(it *timeline.Item) error {
		n++
		return nil
	})
	if err != nil || n != events {
		t.Errorf("%d events, want %d; error %v", n, events, err)
	}
	for id := range tl.TrackCount() {
		tr := tl.Track(timeline.TrackID(id))
		if !tr.Used {
			continue
		}
		hops := 0
		for p := tr.Parent; p != 0; p = tl.Track(p).Parent {
			if hops++; hops > 100 {
				t.Errorf("track %d has more than 100 ancestors", id)
				break
			}
		}
	}
}

// Attributes stay in the order in which they were first set; the last value wins.
func TestAttributes(t *testing.T) {
	b, log := newBuilder()
	b.SetAttribute("a", "1")
	b.SetIntAttribute("b", 2)
	b.SetAttribute("a", "3")
	b.SetAttribute("empty", "")
	if a, ok := b.Attribute("b"); !ok || !a.IsInt || a.Int != 2 {
		t.Errorf("attribute b: %+v, %v", a, ok)
	}
	if _, ok := b.Attribute("c"); ok {
		t.Error("an attribute that was never set exists")
	}
	tl := finish(t, b)
	tl.SetAttribute(timeline.Attribute{Key: "b", Text: "x"})
	tl.SetAttribute(timeline.Attribute{Key: "new", Text: "y"})
	want := []timeline.Attribute{{Key: "a", Text: "3"}, {Key: "b", Text: "x"}, {Key: "empty"}, {Key: "new", Text: "y"}}
	if got := tl.Attributes(); !slices.Equal(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if text := testkit.Problems(log); text != "" {
		t.Error(text)
	}
}

func TestTooManyAttributes(t *testing.T) {
	b, log := newBuilder()
	for i := range 10_007 {
		b.SetIntAttribute(string(rune('a'+i%26))+string(rune(0x4e00+i)), int64(i))
	}
	if n := log.Count(problem.MetadataValueOmitted); n != 7 {
		t.Errorf("%d attributes are counted as omitted, want 7", n)
	}
	if n := len(finish(t, b).Attributes()); n != 10_000 {
		t.Errorf("%d attributes are kept", n)
	}
}

// Equal frames and stacks have equal ids, by which they can be retrieved.
func TestCallstacks(t *testing.T) {
	b, _ := newBuilder()
	main, f := b.Frame(timeline.Frame{Function: "main"}), b.Frame(timeline.Frame{Function: "f", File: "f.js", Line: 3, Column: 4})
	if b.Frame(timeline.Frame{Function: "main"}) != main || main == f {
		t.Error("the ids of equal frames differ, or different frames have one id")
	}
	one, two := b.Callstack([]timeline.FrameID{main}), b.Callstack([]timeline.FrameID{main, f})
	if b.Callstack([]timeline.FrameID{main, f}) != two || one == two || b.Callstack(nil) != 0 {
		t.Error("the ids of equal stacks differ, or different stacks have one id")
	}
	tl := finish(t, b)
	if tl.FrameCount() != 2 || tl.CallstackCount() != 2 || !slices.Equal(tl.Callstack(two), []timeline.FrameID{main, f}) ||
		tl.Frame(f).Line != 3 {
		t.Error("the timeline returns other frames or stacks")
	}
}
