package timeline

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// dumpItems returns a walk as text.
func dumpItems(t *testing.T, tl *Timeline) string {
	t.Helper()
	var b strings.Builder
	walk(t, tl, func(it *Item) {
		fmt.Fprintf(&b, "%d %d+%d track %d lane %d %s %q\n", it.Kind, it.TS, it.Dur, it.Track, it.Lane, it.Name, it.Args)
	})
	return b.String()
}

// Extending a timeline by slices has the same result as adding them to its Builder, both on disk and in memory.
func TestExtend(t *testing.T) {
	for _, memory := range []int64{noMemory, 1 << 20, 1 << 30} {
		r := rand.New(rand.NewPCG(7, 7))
		plain, base := testBuilder(t, 1<<30), testBuilder(t, memory)
		const n = 20_000
		var threads [5]TrackID
		for i := range threads {
			threads[i] = threadOf(base, i)
			if other := threadOf(plain, i); other != threads[i] {
				t.Fatal("two builders number tracks differently")
			}
		}
		for i := range n {
			for _, b := range []*Builder{plain, base} {
				// Slices from the input have odd times and added slices even times, so that none are equal.
				b.Args().Reset()
				b.Args().Key([]byte("number"))
				b.Args().Int(int64(i))
				add(t, b, Event{Kind: Slice, Track: threads[i%5], Event: uint32(i), TS: Nanos(20*(i/2)) + 1, Dur: Nanos(2 * (i % 300)),
					Name: []byte("event"), Args: b.Args().Args()})
			}
		}
		type slice struct {
			thread  int
			ts, dur Nanos
		}
		var extra []slice
		for range n {
			extra = append(extra, slice{r.IntN(5), 2 * Nanos(r.IntN(n)), 2 * Nanos(r.IntN(100))})
		}
		slices.SortStableFunc(extra, func(a, b slice) int { return int(a.ts - b.ts) })
		addExtra := func(add func(*Event) error, args *ArgsEncoder, s slice) {
			args.Reset()
			args.Key([]byte("length"))
			args.Int(int64(s.dur))
			err := add(&Event{Kind: Slice, Track: threads[s.thread], Event: n, TS: s.ts, Dur: s.dur, Name: []byte("added"),
				Args: args.Args()})
			if err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range extra {
			addExtra(plain.Add, plain.Args(), s)
		}
		want := dumpItems(t, finishAndNest(t, plain))

		tl, err := base.Finish(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer tl.Close()
		seen := 0
		err = tl.Extend(context.Background(), func(starts []Head, x *Builder) error {
			seen += len(starts)
			if starts == nil {
				for _, s := range extra {
					addExtra(x.Add, x.Args(), s)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if seen != n {
			t.Errorf("memory %d: %d starts, want %d", memory, seen, n)
		}
		if err := tl.Nest(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got := dumpItems(t, tl); got != want {
			t.Errorf("memory %d: the walk differs from that of one builder: %s", memory, firstDifferentLine(want, got))
		}
	}
}

// A timeline in memory is sorted even if an extension makes it spill, whatever the order of its records.
func TestExtendUnsorted(t *testing.T) {
	b := testBuilder(t, noMemory)
	thread := threadOf(b, 0)
	for i, ts := range []Nanos{30, 10, 20} {
		add(t, b, Event{Kind: Instant, Track: thread, Event: uint32(i), TS: ts, Name: []byte("event")})
	}
	tl, err := b.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	if _, ok := tl.store.(*memory); !ok {
		t.Fatal("the timeline is on disk before it is extended")
	}
	err = tl.Extend(context.Background(), func(starts []Head, x *Builder) error {
		if starts != nil {
			return nil
		}
		return x.Add(&Event{Kind: Slice, Track: thread, TS: 15, Dur: 1, Name: []byte("added")})
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := tl.store.(*memory); ok {
		t.Fatal("the timeline is in memory after it was extended")
	}
	if err := tl.Nest(context.Background()); err != nil {
		t.Fatal(err)
	}
	var times []Nanos
	walk(t, tl, func(it *Item) { times = append(times, it.TS) })
	if want := []Nanos{10, 15, 16, 20, 30}; !slices.Equal(times, want) {
		t.Errorf("items at %v, want %v", times, want)
	}
}

func firstDifferentLine(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d is %q, want %q", i, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

func threadOf(b *Builder, i int) TrackID {
	return b.Thread(b.Process(ProcessKey{Num: 1}), ThreadKey{Num: int64(10 + i)})
}

// Extend passes paired begins with their lengths, longest first, the id from a sampler, and the thread of events shown elsewhere,
// but not events with Skip. An added slice encloses an equal slice from the input.
func TestExtendStarts(t *testing.T) {
	for _, memory := range []int64{noMemory, 1 << 30} {
		b := testBuilder(t, memory)
		thread := threadOf(b, 0)
		add(t, b, Event{Kind: Instant, Track: thread, TS: 10, Name: []byte("skipped"), Sampling: Sampling{Skip: true}})
		add(t, b, Event{Kind: Begin, Track: thread, TS: 10, Event: 1, Name: []byte("pair")})
		add(t, b, Event{Kind: Slice, Track: thread, TS: 10, Dur: 50, Event: 2, Name: []byte("long"), Sampling: Sampling{TraceID: 1 << 52}})
		add(t, b, Event{Kind: End, Track: thread, TS: 30, Event: 3, Name: []byte("pair")})
		add(t, b, Event{Kind: Instant, Track: b.GlobalInstants(), TS: 40, Event: 4, Name: []byte("global"), Sampling: Sampling{Thread: thread}})
		add(t, b, Event{Kind: Begin, Track: thread, TS: 70, Event: 5, Name: []byte("open")})
		tl, err := b.Finish(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer tl.Close()
		var got []string
		err = tl.Extend(context.Background(), func(starts []Head, x *Builder) error {
			for _, s := range starts {
				end := s.End
				if end == NoTime {
					end = -1
				}
				got = append(got, fmt.Sprintf("%s %d-%d %t %d", tl.Name(s.NameID), s.TS, end, s.Thread == thread, s.TraceID))
			}
			if starts == nil {
				return x.Add(&Event{Kind: Slice, Track: thread, TS: 10, Dur: 20, Name: []byte("added")})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"long 10-60 true 4503599627370496", "pair 10-30 true 0", "global 40--1 true 0", "open 70--1 true 0"}
		if !slices.Equal(got, want) {
			t.Errorf("memory %d: steps %q, want %q", memory, got, want)
		}
		begins := nestedBegins(t, tl)
		if want := []string{"long", "added", "pair", "open"}; !slices.Equal(begins, want) {
			t.Errorf("memory %d: begins %q, want %q", memory, begins, want)
		}
	}
}

// nestedBegins nests a timeline and returns the names of its slices in start order.
func nestedBegins(t *testing.T, tl *Timeline) (names []string) {
	t.Helper()
	if err := tl.Nest(context.Background()); err != nil {
		t.Fatal(err)
	}
	walk(t, tl, func(it *Item) {
		if it.Kind == ItemBegin {
			names = append(names, string(it.Name))
		}
	})
	return names
}

// An error from the pass ends Extend and leaves no files.
func TestExtendError(t *testing.T) {
	b := testBuilder(t, noMemory)
	for i := range 5000 {
		add(t, b, Event{Kind: Slice, Track: threadOf(b, 0), TS: Nanos(i), Dur: 1, Event: uint32(i), Name: []byte("event")})
	}
	thread := threadOf(b, 0)
	tl, err := b.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	before := openFiles()
	bad := errors.New("bad")
	err = tl.Extend(context.Background(), func(starts []Head, x *Builder) error {
		for i := range 5000 {
			if err := x.Add(&Event{Kind: Slice, Track: thread, TS: Nanos(i), Name: []byte("added")}); err != nil {
				return err
			}
		}
		return bad
	})
	if !errors.Is(err, bad) {
		t.Errorf("error %v, want %v", err, bad)
	}
	if got := openFiles(); got != before {
		t.Errorf("%d open files, before Extend %d", got, before)
	}
	if err := tl.Close(); err != nil {
		t.Error(err)
	}
}

// The time unit is the microsecond unless some time needs a smaller unit.
func TestTimeUnit(t *testing.T) {
	for name, c := range map[string]struct {
		ev               Event
		time, threadTime Nanos
	}{
		"microseconds":             {Event{Kind: Slice, TS: 5000, Dur: 7000, ThreadTS: NewCPUTime(1000), ThreadDur: NewCPUTime(2000)}, Microsecond, Microsecond},
		"no thread time":           {Event{Kind: Instant, TS: 5000}, Microsecond, Microsecond},
		"start":                    {Event{Kind: Slice, TS: 5001, Dur: 7000, ThreadTS: NewCPUTime(1000), ThreadDur: NewCPUTime(2000)}, 1, Microsecond},
		"length":                   {Event{Kind: Slice, TS: 5000, Dur: 7001, ThreadTS: NewCPUTime(1000), ThreadDur: NewCPUTime(2000)}, 1, Microsecond},
		"thread time":              {Event{Kind: Slice, TS: 5000, Dur: 7000, ThreadTS: NewCPUTime(1001), ThreadDur: NewCPUTime(2000)}, Microsecond, 1},
		"thread duration":          {Event{Kind: Slice, TS: 5000, Dur: 7000, ThreadTS: NewCPUTime(1000), ThreadDur: NewCPUTime(2001)}, Microsecond, 1},
		"until the end of time":    {Event{Kind: Slice, TS: 5000, Dur: 9223372036854775000, ThreadTS: NewCPUTime(1000), ThreadDur: NewCPUTime(2000)}, 1, Microsecond},
		"length of something else": {Event{Kind: Instant, TS: 5000, Dur: 1}, Microsecond, Microsecond},
	} {
		b := testBuilder(t, 1<<30)
		c.ev.Track = threadOf(b, 0)
		add(t, b, c.ev)
		tl := finishAndNest(t, b)
		if tl.TimeUnit() != c.time || tl.ThreadTimeUnit() != c.threadTime {
			t.Errorf("%s: units %d and %d, want %d and %d", name, tl.TimeUnit(), tl.ThreadTimeUnit(), c.time, c.threadTime)
		}
	}
}

// Among added slices with the same start and end, the slice with the lowest Event encloses the others, whatever the order in
// which they were added, both on disk and in memory.
func TestExtendKeepsTheOrderOfEvents(t *testing.T) {
	for _, memory := range []int64{noMemory, 1 << 30} {
		b := testBuilder(t, memory)
		thread := threadOf(b, 0)
		add(t, b, Event{Kind: Slice, Track: thread, TS: 10, Dur: 20, Name: []byte("of the input")})
		tl, err := b.Finish(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer tl.Close()
		err = tl.Extend(context.Background(), func(starts []Head, x *Builder) error {
			if starts != nil {
				return nil
			}
			for _, event := range []uint32{9, 7, 8} {
				ev := Event{Kind: Slice, Track: thread, TS: 10, Dur: 20, Event: event, Name: fmt.Append(nil, event)}
				if err := x.Add(&ev); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		begins := nestedBegins(t, tl)
		if want := []string{"7", "8", "9", "of the input"}; !slices.Equal(begins, want) {
			t.Errorf("memory %d: begins %q, want %q", memory, begins, want)
		}
	}
}
