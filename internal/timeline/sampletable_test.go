package timeline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Items are returned in time order, simultaneous items in order of addition, whether they form one sequence or several.
func TestTimeOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for sequences := 1; sequences <= 4; sequences++ {
		for _, latest := range []int64{3, 1000, 1 << 62} {
			var times []Nanos
			for range sequences {
				part := make([]Nanos, r.IntN(200))
				for i := range part {
					part[i] = Nanos(r.Int64N(latest))
				}
				slices.Sort(part)
				times = append(times, part...)
			}
			var o timeOrder
			want := make([]uint32, len(times))
			for i, ts := range times {
				o.add(i, ts)
				want[i] = uint32(i)
			}
			slices.SortStableFunc(want, func(i, j uint32) int { return int(min(max(times[i]-times[j], -1), 1)) })
			got := o.appendTo(nil, len(times), func(i uint32) Nanos { return times[i] })
			if !slices.Equal(got, want) {
				t.Errorf("%d sequences up to %d: %d, want %d", sequences, latest, got, want)
			}
		}
	}
}

// mixedSamples adds samples of several threads, one thread after another or shuffled, and other events at the same times:
// counters, begins and ends of slices, and flows that bind to nothing or lead back. Samples are in the table if their offset is
// noOffset.
func mixedSamples(t *testing.T, b *Builder, samples int, shuffled bool, offset int64) {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(samples), 3))
	event := uint32(0)
	frame := b.Frame(Frame{Function: "f"})
	counter := b.Counter(threadOf(b, 0), &CounterKey{Name: []byte("counter")})
	for thread := range 3 {
		track := threadOf(b, thread)
		for i := range samples / 3 {
			ts := Nanos(i / 2 * 10)
			if shuffled {
				ts = Nanos(r.IntN(samples) * 10)
			}
			switch r.IntN(8) {
			case 0:
				add(t, b, Event{Kind: Counter, Track: counter, TS: ts, Event: event, Value: Int(int64(event))})
				event++
			case 1:
				add(t, b, Event{Kind: Slice, Track: track, TS: ts, Dur: Nanos(r.IntN(5) * 10), Event: event, Name: []byte("slice")})
				event++
			case 2:
				flow := FlowEvent{Space: FlowV1, Role: FlowRole(1 + r.IntN(3)), Binding: BindEnclosing, Track: track, TS: ts, Event: event, ID: uint64(r.IntN(20))}
				if err := b.AddFlow(&flow); err != nil {
					t.Fatal(err)
				}
				event++
			}
			ev := Event{Kind: Sample, Track: track, TS: ts, Event: event, Offset: offset, Value: Int(int64(i)), Callstack: b.PushFrame(0, frame)}
			if i%100 == 7 {
				ev.Value = Int(1 << 40) // never in the table
			}
			add(t, b, ev)
			event++
		}
	}
}

// walked lists the items of a walk, segment by segment.
func walked(t *testing.T, tl *Timeline) string {
	t.Helper()
	var out strings.Builder
	for i := range tl.SegmentCount() {
		fmt.Fprintln(&out, "segment", i)
		err := tl.WalkSegment(context.Background(), i, func(it *Item) error {
			fmt.Fprintln(&out, it.Kind, it.TS, it.Dur, it.Track, it.Lane, it.Event, string(it.Name), it.Value.Int(), it.Callstack, len(it.Flows))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// Samples in the table have the same positions in a walk as records would have, for any input order, both in memory and on disk.
func TestPlainSamplesAreInTheirPlaces(t *testing.T) {
	for _, samples := range []int{30, 3 * segmentLen} {
		for _, shuffled := range []bool{false, true} {
			b := testBuilder(t, 1<<30)
			mixedSamples(t, b, samples, shuffled, 0)
			tl := finishAndNest(t, b)
			want, totals, start := walked(t, tl), tl.Totals(), tl.Start()
			if n := tl.sampled.len(); n != 0 {
				t.Fatalf("%d samples with an input position are in the table", n)
			}
			for _, memory := range []int64{1 << 30, noMemory} {
				b := testBuilder(t, memory)
				mixedSamples(t, b, samples, shuffled, noOffset)
				if err := b.spillForTest(memory); err != nil {
					t.Fatal(err)
				}
				tl := finishAndNest(t, b)
				if n := tl.sampled.len(); n < samples*9/10 {
					t.Errorf("%d samples of the table of %d", n, samples)
				}
				if onDisk := tl.sampled.file != nil; onDisk != (memory == noMemory) {
					t.Errorf("with %d bytes of memory: on disk %v", memory, onDisk)
				}
				if got := walked(t, tl); got != want {
					t.Errorf("%d samples, shuffled %v, memory %d: %s", samples, shuffled, memory, firstDifferentLine(want, got))
				}
				if tl.Totals() != totals || tl.Start() != start || tl.Len() < samples {
					t.Errorf("%d samples: totals %+v from %d, want %+v from %d", samples, tl.Totals(), tl.Start(), totals, start)
				}
			}
		}
	}
}

// Samples in memory stay in order even if an extension makes the timeline spill.
func TestSamplesOfAnExtendedTimeline(t *testing.T) {
	b := testBuilder(t, noMemory)
	for i, ts := range []Nanos{30, 10, 20, 10} {
		add(t, b, Event{Kind: Sample, Track: threadOf(b, i), TS: ts, Event: uint32(i), Offset: noOffset})
	}
	thread := threadOf(b, 0)
	tl, err := b.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	if tl.sampled.file != nil {
		t.Fatal("the samples are on disk before the timeline is extended")
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
	if tl.sampled.file == nil {
		t.Fatal("the samples are in memory after the timeline was extended")
	}
	if err := tl.Nest(context.Background()); err != nil {
		t.Fatal(err)
	}
	var got []string
	walk(t, tl, func(it *Item) { got = append(got, fmt.Sprintf("%d %d", it.TS, it.Event)) })
	if want := []string{"10 1", "10 3", "15 0", "16 0", "20 2", "30 0"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A timeline can contain only samples, even samples before time 0.
func TestOnlyPlainSamples(t *testing.T) {
	const n = 10_000
	for _, memory := range []int64{1 << 30, noMemory} {
		for _, first := range []Nanos{1, -2 * n} {
			b := testBuilder(t, memory)
			track := threadOf(b, 1)
			for i := range n {
				add(t, b, Event{Kind: Sample, Track: track, TS: first + Nanos(n-1-i), Event: uint32(i), Offset: noOffset})
			}
			tl := finishAndNest(t, b)
			next := first
			walk(t, tl, func(it *Item) {
				if it.Kind != ItemSample || it.TS != next {
					t.Fatalf("item %+v, want the sample of %d", it, next)
				}
				next++
			})
			want := Totals{Samples: n, Start: first, End: first + n - 1}
			if next != first+n || tl.Start() != first || tl.Totals() != want {
				t.Errorf("%d samples of %d, totals %+v, want %+v", next-first, n, tl.Totals(), want)
			}
		}
	}
}

// A sample that the table cannot represent becomes a record, without loss.
func TestSamplesNotInTheTable(t *testing.T) {
	b := testBuilder(t, 1<<30)
	track := threadOf(b, 1)
	for i, ev := range []Event{
		{Value: Float(0.5)}, {Value: Int(-1)}, {Value: Int(1 << 32)}, {Name: []byte("cycles")}, {Category: []byte("c")},
		{CPU: NewCPU(0)}, {Args: Args{0x22, 0}}, {Sampling: Sampling{Skip: true}},
	} {
		ev.Kind, ev.Track, ev.TS, ev.Event, ev.Offset = Sample, track, Nanos(i), uint32(i), noOffset
		add(t, b, ev)
	}
	if n := b.sampled.len(); n != 0 {
		t.Errorf("%d samples are in the table", n)
	}
}
