package timeline

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// occurrencesOf returns the occurrences of a timeline as text, one line each.
func occurrencesOf(t *testing.T, tl *Timeline, args bool) (lines []string) {
	t.Helper()
	err := tl.Occurrences(context.Background(), args, func(group []Head) error {
		for i := range group {
			o := &group[i]
			if o.TS != group[0].TS {
				t.Errorf("%d and %d are one time", o.TS, group[0].TS)
			}
			at, _ := o.ThreadTime.Nanos()
			used, _ := o.ThreadDuration.Nanos()
			lines = append(lines, fmt.Sprintf("%d %d %d-%d thread %d %s %v %v cpu %d %d begun by %d args %d",
				o.Kind, o.Ordinal, o.TS, o.End, o.Thread, tl.Name(o.NameID), o.Complete, o.Deletion, at, used, o.BeginEvent, len(o.Args)))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// Occurrences returns slices with their ends in the input, instants, end events, and the thread of events shown elsewhere, both
// in memory and from disk.
func TestOccurrences(t *testing.T) {
	for _, memory := range []int64{1 << 30, noMemory} {
		b := testBuilder(t, memory)
		thread := threadOf(b, 0)
		other := threadOf(b, 1)
		b.Args().Reset()
		b.Args().Key([]byte("k"))
		b.Args().Int(1)
		args := slices.Clone(b.Args().Args())
		for _, ev := range []Event{
			{Kind: Slice, Track: thread, Event: 0, TS: 10, Dur: 100, Name: []byte("outer"), ThreadTS: NewCPUTime(5), ThreadDur: NewCPUTime(50), Args: args},
			{Kind: Begin, Track: thread, Event: 1, TS: 20, Name: []byte("pair"), ThreadTS: NewCPUTime(7)},
			{Kind: End, Track: thread, Event: 2, TS: 30, Name: []byte("pair"), ThreadTS: NewCPUTime(9), Args: args},
			{Kind: Begin, Track: thread, Event: 3, TS: 40, Name: []byte("open")},
			{Kind: Instant, Track: b.ProcessInstants(0), Event: 4, TS: 50, Name: []byte("written"),
				Sampling: Sampling{Thread: other, Skip: true}},
			{Kind: End, Track: b.Child(0, "things"), Event: 5, TS: 60, Name: []byte("thing"), KeepEnd: true},
		} {
			add(t, b, ev)
		}
		tl := finishAndNest(t, b)
		no := int64(NoTime)
		want := []string{
			fmt.Sprintf("1 0 10-110 thread %d outer true false cpu 5 50 begun by 0 args %d", thread, len(args)),
			fmt.Sprintf("1 1 20-30 thread %d pair false false cpu 7 %d begun by 0 args 0", thread, no),
			fmt.Sprintf("2 2 30-%d thread %d pair false false cpu 9 %d begun by 1 args %d", no, thread, no, len(args)),
			fmt.Sprintf("1 3 40-%d thread %d open false false cpu %d %d begun by 0 args 0", no, thread, no, no),
			fmt.Sprintf("3 4 50-%d thread %d written false false cpu %d %d begun by 0 args 0", no, other, no, no),
			fmt.Sprintf("3 5 60-%d thread 0 thing false true cpu %d %d begun by 0 args 0", no, no, no),
		}
		if got := occurrencesOf(t, tl, true); !slices.Equal(got, want) {
			t.Errorf("with %d bytes of memory\n%s\nwant\n%s", memory, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
		for _, line := range occurrencesOf(t, tl, false) {
			if !strings.HasSuffix(line, "args 0") {
				t.Errorf("arguments that nobody asked for: %s", line)
			}
		}
	}
}

// A selection returns the arguments with wanted names, including those inside dictionaries.
func TestSelectArgs(t *testing.T) {
	b := testBuilder(t, 1<<30)
	e := b.Args()
	e.Reset()
	for _, name := range []string{"a", "b", "dict", "c"} {
		e.Key([]byte(name))
		if name != "dict" {
			e.String([]byte(name))
			continue
		}
		e.BeginDict()
		for _, name := range []string{"b", "c"} {
			e.Key([]byte(name))
			e.Int(1)
		}
		e.EndDict()
	}
	args := slices.Clone(e.Args())
	tl := finishAndNest(t, b)
	selection := tl.SelectArgs(func(name string) bool { return name == "dict" || name == "c" })
	var got []string
	for a := range selection.List(args) {
		got = append(got, string(a.Key))
		if a.Kind == ArgDict {
			for m := range selection.Members(a) {
				got = append(got, "dict."+string(m.Key))
			}
		}
	}
	if want := []string{"dict", "dict.c", "c"}; !slices.Equal(got, want) {
		t.Errorf("selected %q, want %q", got, want)
	}
}

// listNotes and listOverlay hold notes and overlays in memory.
type listNotes []Note

func (l listNotes) From(ordinal uint64) (func(*Note) (bool, error), error) {
	i := slices.IndexFunc(l, func(n Note) bool { return n.Ordinal >= ordinal })
	if i < 0 {
		i = len(l)
	}
	return (&listCursor[Note]{l[i:]}).Next, nil
}
func (listNotes) Close() error { return nil }

type listOverlay []Item

func (l listOverlay) After(ts Nanos) (func(*Item) (bool, error), error) {
	i := slices.IndexFunc(l, func(e Item) bool { return e.TS > ts })
	if i < 0 {
		i = len(l)
	}
	return (&listCursor[Item]{l[i:]}).Next, nil
}
func (listOverlay) Close() error { return nil }

type listCursor[T any] struct{ rest []T }

func (c *listCursor[T]) Next(v *T) (bool, error) {
	if len(c.rest) == 0 {
		return false, nil
	}
	*v, c.rest = c.rest[0], c.rest[1:]
	return true, nil
}

// Walk returns notes with their slices, and merges the events of an overlay in time order. If the timeline is walked in segments,
// each event is still returned exactly once, wherever the segments meet.
func TestNotesAndOverlay(t *testing.T) {
	const n = 3 * segmentLen
	b := testBuilder(t, 1<<30)
	thread := threadOf(b, 0)
	for i := range n {
		add(t, b, Event{Kind: Slice, Track: thread, Event: uint32(i), TS: Nanos(10 * i), Dur: 7, Name: []byte("s")})
	}
	tl := finishAndNest(t, b)
	if tl.SegmentCount() < 3 {
		t.Fatalf("only %d segments", tl.SegmentCount())
	}
	var notes listNotes
	for i := 0; i < n; i += 3 {
		enc := tl.NewArgs()
		enc.Key([]byte("note"))
		enc.Int(int64(i))
		notes = append(notes, Note{uint64(i), slices.Clone(enc.Args())})
	}
	tl.AttachNotes(notes)
	track := tl.AddTrack(thread, TrackSpec{Name: "overlay"})
	var overlay listOverlay
	for i := range n / 2 {
		overlay = append(overlay,
			Item{Head: Head{Kind: ItemBegin, TS: Nanos(20*i + 5), Dur: 4, Track: track, NameID: tl.InternName("o")}},
			Item{Head: Head{Kind: ItemEnd, TS: Nanos(20*i + 9), Track: track}})
	}
	overlay = append(overlay, Item{Head: Head{Kind: ItemInstant, TS: 10*n + 100, Track: track}})
	tl.AttachOverlay(overlay, n/2, 1)

	var last Nanos
	noted, added := 0, 0
	walk(t, tl, func(it *Item) {
		if it.TS < last {
			t.Fatalf("%d after %d", it.TS, last)
		}
		last = it.TS
		if it.Track == track {
			if want := overlay[added]; it.Kind != want.Kind || it.TS != want.TS || it.Dur != want.Dur {
				t.Fatalf("event %d of the overlay is %+v, want %+v", added, it, want)
			}
			added++
			return
		}
		if it.Kind != ItemBegin {
			return
		}
		if (len(it.Notes) > 0) != (it.Event%3 == 0) {
			t.Fatalf("slice %d has note %x", it.Event, it.Notes)
		}
		for a := range tl.ArgList(it.Notes) {
			noted++
			if string(a.Key) != "note" || a.Int() != int64(it.Event) {
				t.Fatalf("slice %d has the note %s %d", it.Event, a.Key, a.Int())
			}
		}
	})
	if noted != n/3 || added != len(overlay) {
		t.Errorf("%d notes and %d events, want %d and %d", noted, added, n/3, len(overlay))
	}
	if totals := tl.Totals(); totals.Slices != n+n/2 || totals.Instants != 1 {
		t.Errorf("totals %+v", totals)
	}
}

// Hidden tracks are omitted, along with the ends of slices that are open on them at the start of a segment.
func TestHideTracks(t *testing.T) {
	const n = 2 * segmentLen
	b := testBuilder(t, 1<<30)
	thread, gone := threadOf(b, 0), threadOf(b, 1)
	for i := range n {
		track, dur := thread, Nanos(5)
		if i%2 == 1 {
			track, dur = gone, 4000
		}
		add(t, b, Event{Kind: Slice, Track: track, Event: uint32(i), TS: Nanos(10 * i), Dur: dur, Name: []byte("s")})
	}
	tl := finishAndNest(t, b)
	tl.HideTracks([]TrackID{gone}, n/2, 0)
	items := 0
	walk(t, tl, func(it *Item) {
		items++
		if it.Track == gone {
			t.Fatalf("an item at %d is on a hidden track", it.TS)
		}
	})
	if items != n || tl.Totals().Slices != n/2 || tl.Track(gone).Used {
		t.Errorf("%d items, %d slices, used %v", items, tl.Totals().Slices, tl.Track(gone).Used)
	}
}

// A hidden argument is omitted; facts are dropped by name.
func TestHideArg(t *testing.T) {
	b := testBuilder(t, 1<<30)
	thread := threadOf(b, 0)
	for i, keys := range [][]string{{"before", "own", "behind"}, {"own"}, {"own", "kept"}, {"mine", "own"}, {"kept"}} {
		e := b.Args()
		e.Reset()
		for n, key := range keys {
			e.Key([]byte(key))
			e.Int(int64(n))
		}
		add(t, b, Event{Kind: Instant, Track: thread, TS: Nanos(i), Event: uint32(i), Args: slices.Clone(e.Args())})
	}
	b.SetAttribute("own.a", "1")
	b.SetAttribute("a", "2")
	tl := finishAndNest(t, b)
	tl.HideArg(func(args Args) int {
		i := 0
		for a := range tl.ArgList(args) {
			if string(a.Key) == "own" {
				return i
			}
			i++
		}
		return -1
	})
	tl.DropAttributes(func(key string) bool { return strings.HasPrefix(key, "own") })
	var got []string
	walk(t, tl, func(it *Item) {
		var args []string
		for a := range tl.ArgList(it.Args) {
			args = append(args, fmt.Sprint(string(a.Key), a.Int()))
		}
		got = append(got, strings.Join(args, " "))
	})
	if want := []string{"before0 behind2", "", "kept1", "mine0", "kept0"}; !slices.Equal(got, want) {
		t.Errorf("arguments %q, want %q", got, want)
	}
	if list := tl.Attributes(); len(list) != 1 || list[0].Key != "a" {
		t.Errorf("attributes %v", list)
	}
}
