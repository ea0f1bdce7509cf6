package pfwire

import (
	"bytes"
	"context"
	"testing"

	"google.golang.org/protobuf/proto"

	pb "github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// This test compares the compact packets of a trace with two threads one by one: the sequence's clock and its steps in
// microseconds, the omitted track of the busier thread, a complete event, and thread times as differences in microseconds on
// the default counter.
func TestCompactPackets(t *testing.T) {
	b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log)})
	process := b.Process(timeline.ProcessKey{Num: 1})
	busy, other := b.Thread(process, timeline.ThreadKey{Num: 10}), b.Thread(process, timeline.ThreadKey{Num: 11})
	for i, ev := range []timeline.Event{
		{Kind: timeline.Slice, Track: busy, TS: 5_000_000, Dur: 3000, ThreadTS: timeline.NewCPUTime(70_000), ThreadDur: timeline.NewCPUTime(2000)},
		{Kind: timeline.Instant, Track: busy, TS: 5_001_000},
		{Kind: timeline.Instant, Track: other, TS: 5_001_000, ThreadTS: timeline.NewCPUTime(9000)},
		{Kind: timeline.Slice, Track: busy, TS: 5_003_000, Dur: 1000, ThreadTS: timeline.NewCPUTime(75_000), ThreadDur: timeline.NewCPUTime(0)},
	} {
		ev.Event, ev.Name = uint32(i), []byte("event")
		if err := b.Add(&ev); err != nil {
			t.Fatal(err)
		}
	}
	tl, err := b.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	if err := tl.Nest(context.Background()); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Write(context.Background(), &out, tl, Options{Packets: CompactPackets}); err != nil {
		t.Fatal(err)
	}
	var trace pb.Trace
	if err := proto.Unmarshal(out.Bytes(), &trace); err != nil {
		t.Fatal(err)
	}
	type event struct {
		delta    uint64
		track    uint64 // 0: the default
		time     []int64
		counters int
		complete string
	}
	var got []event
	var snapshot *pb.ClockSnapshot
	counters := map[uint64]*pb.CounterDescriptor{}
	for _, p := range trace.GetPacket() {
		if p.GetClockSnapshot() != nil {
			snapshot = p.GetClockSnapshot()
		}
		if c := p.GetTrackDescriptor().GetCounter(); c != nil {
			counters[p.GetTrackDescriptor().GetUuid()] = c
		}
		if d := p.GetTracePacketDefaults(); d != nil {
			if d.GetTimestampClockId() != 64 || d.GetTrackEventDefaults().GetTrackUuid() != uint64(busy) ||
				len(d.GetTrackEventDefaults().GetExtraCounterTrackUuids()) != 1 {
				t.Errorf("defaults %v", d)
			}
		}
		if e := p.GetTrackEvent(); e != nil {
			times := e.GetExtraCounterValues()
			if p.WeftThreadTime != nil { // the thread time of an instant, in nanoseconds
				times = append(times, p.GetWeftThreadTime())
			}
			got = append(got, event{p.GetTimestamp(), e.GetTrackUuid(), times, len(e.GetExtraCounterTrackUuids()), completeText(e)})
		}
	}
	want := []event{
		{0, 0, []int64{70}, 0, "3 µs, 2 µs of CPU"}, {1, 0, nil, 0, ""}, {0, uint64(other), []int64{9000}, 0, ""}, {2, 0, []int64{5}, 0, "1 µs, 0 µs of CPU"},
	}
	if len(got) != len(want) {
		t.Fatalf("%d events %v, want %v", len(got), got, want)
	}
	for i := range want {
		g, w := got[i], want[i]
		if g.delta != w.delta || g.track != w.track || g.counters != w.counters || g.complete != w.complete || len(g.time) != len(w.time) ||
			len(g.time) > 0 && g.time[0] != w.time[0] {
			t.Errorf("event %d: %v, want %v", i, g, w)
		}
	}
	for uuid, c := range counters {
		if c.GetUnitMultiplier() != 1000 || !c.GetIsIncremental() {
			t.Errorf("counter %d: %v", uuid, c)
		}
	}
	clocks := snapshot.GetClocks()
	if len(clocks) != 2 || clocks[0].GetClockId() != 6 || clocks[0].GetTimestamp() != 5_000_000 || clocks[1].GetClockId() != 64 ||
		clocks[1].GetTimestamp() != 5000 || !clocks[1].GetIsIncremental() || clocks[1].GetUnitMultiplierNs() != 1000 {
		t.Errorf("snapshot %v", snapshot)
	}
}

// Several segments need only one clock snapshot: the clock of each sequence continues from segment to segment.
func TestSegmentsShareTheClock(t *testing.T) {
	const events = 100_000
	b := timeline.NewBuilder(timeline.Options{TempDir: t.TempDir(), Problems: new(problem.Log)})
	var tracks [2]timeline.TrackID
	for machine := range tracks {
		b.SetMachine(uint32(machine))
		tracks[machine] = b.Thread(b.Process(timeline.ProcessKey{Num: 1}), timeline.ThreadKey{Num: 10})
	}
	for i := range events { // the second machine has the last 1,000
		ev := timeline.Event{Kind: timeline.Instant, Track: tracks[i/(events-1000)], TS: timeline.Nanos(5000 + i*7000), Name: []byte("e"), Event: uint32(i)}
		if err := b.Add(&ev); err != nil {
			t.Fatal(err)
		}
	}
	tl := finishTimeline(t, b)
	if tl.SegmentCount() < 3 {
		t.Fatalf("%d segments", tl.SegmentCount())
	}
	snapshots, clocks, next := map[uint32]int{}, map[uint32]uint64{}, uint64(5000)
	for _, p := range decode(t, write(t, tl, Options{Packets: CompactPackets, Workers: 2})).Packet {
		if s := p.GetClockSnapshot(); s != nil {
			snapshots[p.GetMachineId()]++
			clocks[p.GetMachineId()] = s.Clocks[len(s.Clocks)-1].GetTimestamp() * 1000
			continue
		}
		clocks[p.GetMachineId()] += p.GetTimestamp() * 1000
		if p.GetTrackEvent() != nil {
			if clocks[p.GetMachineId()] != next {
				t.Fatalf("an event at %d, not %d", clocks[p.GetMachineId()], next)
			}
			next += 7000
		}
	}
	if snapshots[0] != 1 || snapshots[1] != 1 || next != 5000+events*7000 {
		t.Errorf("snapshots %v, events to %d", snapshots, next)
	}
}
