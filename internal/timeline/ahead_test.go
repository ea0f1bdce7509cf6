package timeline

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/weft-trace/weft/internal/recording"
)

// aheadTimeline returns a timeline that contains slices with arguments on two threads, in simultaneous pairs, and a group of the
// given size at one timestamp.
func aheadTimeline(t *testing.T, memory int64, large int) *Timeline {
	b := testBuilder(t, memory)
	threads := []TrackID{threadOf(b, 0), threadOf(b, 1)}
	event := uint32(0)
	put := func(ts Nanos) {
		b.Args().Reset()
		b.Args().Key([]byte("k"))
		b.Args().Int(int64(event))
		add(t, b, Event{Kind: Slice, Track: threads[event%2], Event: event, TS: ts, Dur: 3, Name: []byte("work"),
			Args: slices.Clone(b.Args().Args())})
		event++
	}
	for i := range 3000 {
		put(Nanos(i / 2 * 10))
	}
	for range large {
		put(50_000)
	}
	for i := range 100 {
		put(Nanos(60_000 + i))
	}
	return finishAndNest(t, b)
}

// argOf returns the argument of an occurrence.
func argOf(tl *Timeline, o *Head) (v int64) {
	for a := range tl.ArgList(o.Args) {
		v = a.Int()
	}
	return v
}

// PreparedAhead calls fn for the same groups as Occurrences. It prepares the values of all groups except large ones.
func TestPreparedAhead(t *testing.T) {
	for _, memory := range []int64{1 << 30, noMemory} {
		size := aheadLen[int64](memory)
		for _, large := range []int{0, size, size + 1} {
			t.Run(fmt.Sprintf("%d at one time, %d bytes", large, memory), func(t *testing.T) {
				tl := aheadTimeline(t, memory, large)
				text := func(group []Head) (s string) {
					for i := range group {
						s += fmt.Sprintln(group[i].Ordinal, group[i].TS, group[i].End, argOf(tl, &group[i]))
					}
					return s
				}
				var want, got []string
				if err := tl.Occurrences(context.Background(), true, func(group []Head) error {
					want = append(want, text(group))
					return nil
				}); err != nil {
					t.Fatal(err)
				}
				absent := 0
				err := PreparedAhead(context.Background(), tl, func(o *Head, v *int64) { *v = argOf(tl, o) }, func(group []Head, values []int64) error {
					got = append(got, text(group))
					if values == nil {
						absent += len(group)
						return nil
					}
					for i := range group {
						if v := argOf(tl, &group[i]); len(values) != len(group) || values[i] != v {
							t.Errorf("record %d has the value %d, want %d", group[i].Ordinal, values[i], v)
						}
					}
					return nil
				})
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("other groups than without a goroutine; %v", err)
				}
				got = nil
				if err := tl.OccurrencesAhead(context.Background(), true, func(group []Head) error {
					got = append(got, text(group))
					return nil
				}); err != nil || !slices.Equal(got, want) {
					t.Errorf("other groups without values; %v", err)
				}
				wantAbsent := 0
				if large > size {
					wantAbsent = large
				}
				if absent != wantAbsent {
					t.Errorf("%d occurrences had no values, want %d", absent, wantAbsent)
				}
			})
		}
	}
}

// PreparedAhead returns errors from its callback and from a cancelled context, and then stops reading.
func TestPreparedAheadEnds(t *testing.T) {
	tl := aheadTimeline(t, noMemory, aheadSize+1)
	failed := errors.New("failed")
	for _, after := range []int{0, 1, 500, 900} {
		n := 0
		fail := func([]Head, []int) error {
			if n++; n > after {
				return failed
			}
			return nil
		}
		reading := 0 // for the race detector
		err := PreparedAhead(context.Background(), tl, func(*Head, *int) { reading++ }, fail)
		if reading++; err != failed || n != after+1 {
			t.Errorf("after %d calls: %v", n, err)
		}

		ctx, cancel := context.WithCancel(context.Background())
		n = 0
		err = PreparedAhead(ctx, tl, func(*Head, *int) {}, func([]Head, []int) error {
			if n++; n > after {
				cancel()
			}
			return nil
		})
		if cancel(); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled after %d calls: %v", n, err)
		}
	}
}

// A pass that panics leaves no goroutine that is still reading or waiting for a batch.
func TestAheadPanics(t *testing.T) {
	tl := aheadTimeline(t, noMemory, 0)
	before := runtime.NumGoroutine()
	var prepared atomic.Int64
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		PreparedAhead(context.Background(), tl, func(*Head, *int64) { prepared.Add(1) }, func([]Head, []int64) error {
			for prepared.Load() < int64(aheadBatches*aheadLen[int64](noMemory)) {
				runtime.Gosched() // until all batches are full
			}
			panic("failed")
		})
	}()
	for end := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before; runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatal("a goroutine is left")
		}
	}
}

// countedGroups is a store that counts its groups.
type countedGroups struct {
	store
	n int
}

func (c *countedGroups) groups(rewrite bool, fn func(g *group) error) error {
	return c.store.groups(rewrite, func(g *group) error {
		c.n++
		return fn(g)
	})
}

// Reading ahead stops soon after it is cancelled, even without any occurrences.
func TestAheadIsCancelled(t *testing.T) {
	b := testBuilder(t, 1<<30)
	counter := b.Counter(threadOf(b, 0), &CounterKey{Name: []byte("counter")})
	for i := range 20_000 {
		add(t, b, Event{Kind: Counter, Track: counter, Event: uint32(i), TS: Nanos(i)})
	}
	tl := finishAndNest(t, b)
	counted := &countedGroups{store: tl.store}
	tl.store = counted
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	err := tl.OccurrencesAhead(ctx, false, func([]Head) error { return nil })
	if !errors.Is(err, context.Canceled) || counted.n > 5000 {
		t.Errorf("%v after %d groups", err, counted.n)
	}
}

// Reading ahead needs little memory, however long the arguments are, wherever long arguments are in a batch, and however large
// groups are: only one large group is in memory at a time.
func TestAheadHoldsLittle(t *testing.T) {
	const large = 20_000 // a group of this size needs 2.4 MB for occurrences and 10 MB for arguments
	for name, c := range map[string]struct {
		n     int
		ts    func(i int) Nanos
		bytes func(i int) int // length of the argument
		limit int64
	}{
		"few long arguments": {8000, func(i int) Nanos { return Nanos(i) }, func(i int) int {
			if i%37 == 0 {
				return 200_000
			}
			return 10
		}, 4 << 20},
		"large groups": {5 * large, func(i int) Nanos { return Nanos(i / large) }, func(int) int { return 500 }, 20 << 20},
	} {
		t.Run(name, func(t *testing.T) {
			b := testBuilder(t, noMemory)
			thread := threadOf(b, 0)
			text := make([]byte, 200_000)
			for i := range c.n {
				b.Args().Reset()
				b.Args().Key([]byte("k"))
				b.Args().String(text[:c.bytes(i)])
				add(t, b, Event{Kind: Instant, Track: thread, Event: uint32(i), TS: c.ts(i), Name: []byte("event"), Args: b.Args().Args()})
			}
			tl := finishAndNest(t, b)
			if err := tl.Occurrences(context.Background(), true, func([]Head) error { return nil }); err != nil { // fills the windows of payloads
				t.Fatal(err)
			}
			before, most, n := recording.Live(), int64(0), 0
			err := PreparedAhead(context.Background(), tl, func(o *Head, v *Args) { *v = o.Args }, func(group []Head, _ []Args) error {
				if n += len(group); len(group) > 1 || n%1000 == 0 {
					most = max(most, recording.Live()-before)
				}
				return nil
			})
			if err != nil || n != c.n {
				t.Errorf("%d occurrences, %v", n, err)
			}
			if most > c.limit {
				t.Errorf("%d bytes in memory, want at most %d", most, c.limit)
			}
		})
	}
}

// longArguments returns a timeline that contains simultaneous instants, each with an argument that names the event, and similar
// slices that use a template.
func longArguments(t *testing.T, events int) *Timeline {
	b := testBuilder(t, noMemory)
	args, text := b.Args(), make([]byte, 5000)
	begin := func() {
		args.Reset()
		args.Key([]byte("dict"))
		args.BeginDict()
		args.Key([]byte("text"))
		args.String(text)
	}
	key := func(name string) KeyID {
		begin()
		args.Key([]byte(name))
		return args.KeyID()
	}
	keys := [2]KeyID{key("n"), key("other")}
	begin()
	template := b.Template([]byte("call"), nil, keys)
	if template == 0 {
		t.Fatal("no template")
	}
	for i := range uint32(events) {
		copy(text, fmt.Sprintf("%08d", i))
		args.Reset()
		args.Key([]byte("text"))
		args.String(text)
		add(t, b, Event{Kind: Instant, Track: threadOf(b, 0), Event: i, TS: 10, Name: []byte("event"), Args: args.Args()})
		s := Event{Template: template, Kind: Slice, Track: threadOf(b, 1), Event: i, Offset: -1, TS: 10, Dur: 5, Numbers: [2]int64{int64(i), 1}}
		if err := b.Add(&s); err != nil {
			t.Fatal(err)
		}
	}
	return finishAndNest(t, b)
}

// namedEvent returns the event named by an argument from longArguments.
func namedEvent(tl *Timeline, args Args) (event string) {
	for a := range tl.ArgList(args) {
		if a.Kind != ArgDict {
			return string(a.Text()[:8])
		}
		for m := range tl.Members(a) {
			if string(m.Key) == "n" {
				return fmt.Sprintf("%08d", m.Int())
			}
		}
	}
	return "none"
}

// Arguments that do not fit into memory together with others at the same timestamp are read on request.
func TestLongArgumentsAtOneTime(t *testing.T) {
	const events = 3000
	tl := longArguments(t, events)
	var seen, late int
	var before, most int64
	check := func(group []Head) error {
		most = max(most, recording.Live()-before)
		for i := range group {
			o := &group[i]
			if seen++; len(o.Args) == 0 {
				late++
			}
			if err := tl.ReadArgs(o); err != nil {
				return err
			}
			if got, want := namedEvent(tl, o.Args), fmt.Sprintf("%08d", o.Event); got != want {
				t.Fatalf("event %s has the arguments of %s", want, got)
			}
		}
		return nil
	}
	alone := func() error { return tl.Occurrences(context.Background(), true, check) }
	if err := alone(); err != nil { // fills the windows of payloads
		t.Fatal(err)
	}
	for name, pass := range map[string]func() error{
		"alone": alone,
		"ahead": func() error {
			return PreparedAhead(context.Background(), tl, func(*Head, *int) {}, func(group []Head, values []int) error {
				if values != nil {
					t.Error("values for arguments that are not in memory")
				}
				return check(group)
			})
		},
	} {
		seen, late, most, before = 0, 0, 0, recording.Live()
		if err := pass(); err != nil || seen != 2*events || late < events || late == seen {
			t.Errorf("%s: %d occurrences, %d of them without arguments at first; %v", name, seen, late, err)
		}
		if limit := int64(maxCopied + 4<<20); most > limit {
			t.Errorf("%s: %d bytes in memory, want at most %d", name, most, limit)
		}
	}
}

// BenchmarkHeads compares passes over Heads with passes over structs the size of Items, see Head.
func BenchmarkHeads(b *testing.B) {
	type rest [unsafe.Sizeof(Item{}) - unsafe.Sizeof(Head{})]byte
	const n = 1 << 18
	builder := testBuilder(b, 1<<30)
	thread := threadOf(builder, 0)
	for i := range n {
		add(b, builder, Event{Kind: Slice, Track: thread, Event: uint32(i), TS: Nanos(10 * i), Dur: 7, Name: []byte("s")})
	}
	tl := finishAndNest(b, builder)
	b.Run("Head", func(b *testing.B) { benchmarkAhead(b, tl, func(*Head, *struct{}) {}) })
	b.Run("Item", func(b *testing.B) { benchmarkAhead(b, tl, func(_ *Head, r *rest) { *r = rest{} }) })
}

func benchmarkAhead[T any](b *testing.B, tl *Timeline, prepare func(*Head, *T)) {
	for b.Loop() {
		sum := Nanos(0)
		err := PreparedAhead(context.Background(), tl, prepare, func(group []Head, _ []T) error {
			sum += group[0].End
			return nil
		})
		if err != nil || sum == 0 {
			b.Fatal(sum, err)
		}
	}
}
