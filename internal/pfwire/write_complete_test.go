package pfwire

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"

	pb "github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// completeText describes the slice of a complete event, or "" for other events.
func completeText(e *pb.TrackEvent) string {
	l := e.GetLegacyEvent()
	if l == nil {
		return ""
	}
	text := fmt.Sprintf("%d µs", l.GetDurationUs())
	if l.ThreadDurationUs != nil {
		text += fmt.Sprintf(", %d µs of CPU", l.GetThreadDurationUs())
	}
	if e.Type != nil || l.GetPhase() != 'X' {
		text += fmt.Sprintf(", type %v, phase %c", e.GetType(), l.GetPhase())
	}
	return text
}

// eventTexts describes the track events of a trace, in packet order.
func eventTexts(trace *pb.Trace) (texts []string) {
	for _, p := range trace.GetPacket() {
		switch e := cmp.Or(p.GetTrackEvent(), p.GetWeftIdle()); {
		case e == nil:
		case e.Type != nil:
			texts = append(texts, map[pb.TrackEvent_Type]string{1: "begin", 2: "end", 3: "instant"}[e.GetType()])
		default:
			texts = append(texts, completeText(e))
		}
	}
	return texts
}

// Some slices become complete events, the others a BEGIN and an END event (perfetto.md 6.6).
func TestCompleteEvents(t *testing.T) {
	cpu := timeline.NewCPUTime
	slice := timeline.Event{Kind: timeline.Slice, TS: 5_000, Dur: 3000}
	pair := []string{"begin", "end"}
	tests := []struct {
		name  string
		track func(b *timeline.Builder, thread timeline.TrackID) timeline.TrackID // nil: the thread
		more  timeline.Event                                                      // fields in addition to slice
		next  *timeline.Event
		want  []string
	}{
		{name: "whole microseconds", want: []string{"3 µs"}},
		{name: "begins between two microseconds", more: timeline.Event{TS: 5_001}, want: []string{"3 µs"}},
		{name: "with CPU time", more: timeline.Event{ThreadTS: cpu(7), ThreadDur: cpu(2000)}, want: []string{"3 µs, 2 µs of CPU"}},
		{name: "with a CPU time of 0", more: timeline.Event{ThreadTS: cpu(7), ThreadDur: cpu(0)}, want: []string{"3 µs, 0 µs of CPU"}},
		{name: "CPU time with nanoseconds", more: timeline.Event{ThreadTS: cpu(7), ThreadDur: cpu(2001)}, want: pair},
		{name: "negative CPU time", more: timeline.Event{ThreadTS: cpu(7000), ThreadDur: cpu(-1000)}, want: pair},
		{name: "CPU time at the begin alone", more: timeline.Event{ThreadTS: cpu(7)}, want: pair},
		{name: "nanoseconds", more: timeline.Event{Dur: 3001}, want: pair},
		{name: "longer than a reader takes", more: timeline.Event{Dur: (maxCompleteMicros + 1) * 1000}, want: pair},
		{name: "idle", more: timeline.Event{Idle: true}, want: pair},
		{name: "of a process", track: func(b *timeline.Builder, thread timeline.TrackID) timeline.TrackID {
			return b.Process(timeline.ProcessKey{Num: 2})
		}, want: pair},
		{name: "below a thread", track: func(b *timeline.Builder, thread timeline.TrackID) timeline.TrackID {
			return b.Child(thread, "below")
		}, want: pair},
		{name: "on a lane", next: &timeline.Event{Kind: timeline.Slice, TS: 6_000, Dur: 3000}, want: []string{"3 µs", "begin", "end"}},
		{name: "nested in one", next: &timeline.Event{Kind: timeline.Slice, TS: 6_000, Dur: 2000}, want: []string{"3 µs", "2 µs"}},
		{name: "a begin and an end in one", next: &timeline.Event{Kind: timeline.Slice, TS: 6_000, Dur: 1999}, want: []string{"3 µs", "begin", "end"}},
		{name: "without length in one", next: &timeline.Event{Kind: timeline.Slice, TS: 6_000}, want: []string{"3 µs", "begin", "end"}},
		{name: "a begin", next: &timeline.Event{Kind: timeline.Begin, TS: 9_000}, want: []string{"3 µs", "begin"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log)})
			thread := b.Thread(b.Process(timeline.ProcessKey{Num: 1}), timeline.ThreadKey{Num: 10})
			ev := slice
			ev.Track, ev.ThreadTS, ev.ThreadDur, ev.Idle = thread, tt.more.ThreadTS, tt.more.ThreadDur, tt.more.Idle
			ev.TS, ev.Dur = max(ev.TS, tt.more.TS), max(ev.Dur, tt.more.Dur)
			if tt.track != nil {
				ev.Track = tt.track(b, thread)
			}
			events := []timeline.Event{ev}
			if tt.next != nil {
				tt.next.Track = thread
				events = append(events, *tt.next)
			}
			tl := nested(t, b, events)
			if got := eventTexts(written(t, tl, Options{Packets: CompactPackets})); !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
			for _, text := range eventTexts(written(t, tl, Options{Packets: PlainPackets})) {
				if text != "begin" && text != "end" {
					t.Errorf("plain packets have %q", text)
				}
			}
		})
	}
}

// A complete event that is open at the start of a segment has no end event there.
func TestCompleteEventsAcrossSegments(t *testing.T) {
	b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log)})
	thread := b.Thread(b.Process(timeline.ProcessKey{Num: 1}), timeline.ThreadKey{Num: 10})
	const n = 1 << 17
	cpu := timeline.NewCPUTime
	events := []timeline.Event{{Kind: timeline.Slice, Track: thread, Dur: 3 * n * 1000, ThreadTS: cpu(0), ThreadDur: cpu(2 * n * 1000)}}
	for i := range n {
		at := timeline.Nanos(i) * 2000
		events = append(events, timeline.Event{Kind: timeline.Slice, Track: thread, TS: at, Dur: 1000, ThreadTS: cpu(at / 2), ThreadDur: cpu(1000)})
	}
	tl := nested(t, b, events)
	if tl.SegmentCount() < 3 {
		t.Fatalf("%d segments", tl.SegmentCount())
	}
	counts := map[string]int{}
	trace := written(t, tl, Options{Packets: CompactPackets})
	for _, text := range eventTexts(trace) {
		counts[text]++
	}
	if len(counts) != 2 || counts["1 µs, 1 µs of CPU"] != n || counts["393216 µs, 262144 µs of CPU"] != 1 {
		t.Errorf("%v", counts)
	}
	threadTime, i := int64(0), 0 // in microseconds; the values are differences
	for _, p := range trace.GetPacket() {
		e := p.GetTrackEvent()
		if e == nil || e.GetLegacyEvent().GetDurationUs() != 1 {
			continue
		}
		for _, v := range e.GetExtraCounterValues() {
			threadTime += v
		}
		if threadTime != int64(i) {
			t.Fatalf("slice %d starts at %d µs of CPU time", i, threadTime)
		}
		i++
	}
}

// nested returns a nested timeline of the events, which it numbers and names.
func nested(t *testing.T, b *timeline.Builder, events []timeline.Event) *timeline.Timeline {
	t.Helper()
	for i := range events {
		events[i].Event, events[i].Name = uint32(i), []byte("event")
		if err := b.Add(&events[i]); err != nil {
			t.Fatal(err)
		}
	}
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

// written returns the trace written for a timeline.
func written(t *testing.T, tl *timeline.Timeline, opts Options) *pb.Trace {
	t.Helper()
	var out bytes.Buffer
	if err := Write(context.Background(), &out, tl, opts); err != nil {
		t.Fatal(err)
	}
	return decode(t, out.Bytes())
}
