package pfwire

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	pb "github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// threadTimesOf returns the thread times of the slices in a trace, as Perfetto reads them, by counter.
func threadTimesOf(t *testing.T, trace *pb.Trace) (times map[uint64][]int64, incremental bool) {
	t.Helper()
	times = map[uint64][]int64{}
	counters, defaults := map[uint64]*pb.CounterDescriptor{}, []uint64(nil)
	for _, p := range trace.GetPacket() {
		if d := p.GetTracePacketDefaults(); d != nil {
			defaults = d.GetTrackEventDefaults().GetExtraCounterTrackUuids()
		}
		if d := p.GetTrackDescriptor(); d.GetCounter() != nil {
			counters[d.GetUuid()] = d.GetCounter()
		}
		uuids := defaults
		if own := p.GetTrackEvent().GetExtraCounterTrackUuids(); len(own) > 0 {
			uuids = own
		}
		for i, v := range p.GetTrackEvent().GetExtraCounterValues() {
			c, list := counters[uuids[i]], times[uuids[i]]
			v *= max(c.GetUnitMultiplier(), 1)
			if incremental = c.GetIsIncremental(); incremental && len(list) > 0 {
				v += list[len(list)-1]
			}
			times[uuids[i]] = append(list, v)
		}
	}
	return times, incremental
}

// threadTimeTrace returns a timeline with three segments. Two threads have slices, but one of them is inactive for a segment; a
// third thread has slices only in the last segment.
func threadTimeTrace(t *testing.T, first timeline.Nanos) (tl *timeline.Timeline, want [][]int64) {
	t.Helper()
	b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log)})
	process := b.Process(timeline.ProcessKey{Num: 1})
	want = make([][]int64, 3)
	const n = 3 << 15
	for i := range n {
		thread := i % 2
		switch {
		case i == n-10:
			thread = 2
		case i > n/3 && i < 2*n/3:
			thread = 0
		}
		at := first + timeline.Nanos(i*i%1000_003)*1000 // not monotonic: inputs can contain any times
		ev := timeline.Event{
			Kind: timeline.Slice, Track: b.Thread(process, timeline.ThreadKey{Num: int64(10 + thread)}), TS: timeline.Nanos(i) * 1000, Event: uint32(i), Name: []byte("event"),
			Dur: 500, ThreadTS: timeline.NewCPUTime(at), ThreadDur: timeline.NewCPUTime(1000),
		}
		if err := b.Add(&ev); err != nil {
			t.Fatal(err)
		}
		want[thread] = append(want[thread], int64(at), int64(at)+1000)
	}
	tl, err := b.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tl.Close() })
	if err := tl.Nest(context.Background()); err != nil {
		t.Fatal(err)
	}
	if tl.SegmentCount() < 3 {
		t.Fatalf("%d segments", tl.SegmentCount())
	}
	return tl, want
}

// Thread times are differences across segments, however many workers write them and however little they buffer.
func TestThreadTimesAreDifferences(t *testing.T) {
	tl, want := threadTimeTrace(t, 0)
	var one []byte
	for _, opts := range []Options{{Workers: 1}, {Workers: 2}, {Workers: 3}, {Workers: 3, maxHeldBack: 1}, {Workers: 2, maxHeldBack: 100_000}, {Workers: 3, Compression: Zlib}} {
		opts.Packets = CompactPackets
		var out bytes.Buffer
		if err := Write(context.Background(), &out, tl, opts); err != nil {
			t.Fatal(err)
		}
		if opts.Compression == NoCodec && one == nil {
			one = out.Bytes()
		}
		if opts.Compression == NoCodec && !bytes.Equal(out.Bytes(), one) {
			t.Errorf("%+v: other bytes than one worker", opts)
		}
		got, incremental := threadTimesOf(t, decode(t, out.Bytes()))
		if !incremental {
			t.Errorf("%+v: the counters are not incremental", opts)
		}
		sameThreadTimes(t, got, want)
	}
}

// Perfetto adds doubles. Sums that it would round are written as absolute values.
func TestLargeThreadTimesAreNoDifferences(t *testing.T) {
	tl, want := threadTimeTrace(t, 1<<52)
	var out bytes.Buffer
	if err := Write(context.Background(), &out, tl, Options{Packets: CompactPackets, Workers: 2}); err != nil {
		t.Fatal(err)
	}
	got, incremental := threadTimesOf(t, decode(t, out.Bytes()))
	if incremental {
		t.Error("the counters are incremental")
	}
	sameThreadTimes(t, got, want)
}

func sameThreadTimes(t *testing.T, got map[uint64][]int64, want [][]int64) {
	t.Helper()
	var a, b []string
	for _, list := range got {
		a = append(a, fmt.Sprint(list))
	}
	for _, list := range want {
		b = append(b, fmt.Sprint(list))
	}
	slices.Sort(a)
	slices.Sort(b)
	if !slices.Equal(a, b) {
		t.Errorf("thread times differ from those of the input")
	}
}

// A canceled write ends even though segments wait for each other.
func TestInterruptedSegments(t *testing.T) {
	tl, _ := threadTimeTrace(t, 0)
	ctx, cancel := context.WithCancel(context.Background())
	w := writerFunc(func(p []byte) (int, error) { cancel(); return len(p), nil })
	if err := Write(ctx, w, tl, Options{Packets: CompactPackets, Workers: 3, Compression: Zlib}); err != context.Canceled {
		t.Errorf("error %v", err)
	}
	failing := writerFunc(func(p []byte) (int, error) { return 0, fmt.Errorf("full") })
	if err := Write(context.Background(), failing, tl, Options{Packets: CompactPackets, Workers: 3}); err == nil || err.Error() != "full" {
		t.Errorf("error %v", err)
	}
}
