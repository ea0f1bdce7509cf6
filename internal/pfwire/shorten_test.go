package pfwire

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

const testLimit = 8 << 10

// longText has multi-byte characters, which must not be split.
func longText(n int) []byte { return []byte(strings.Repeat("aé漢", n/6)) }

// large adds arguments of more than testLimit bytes, with a small one at each end.
var large = map[string]func(e *timeline.ArgsEncoder){
	"text": func(e *timeline.ArgsEncoder) { addArg(e, "long", longText(50000)) },
	"texts": func(e *timeline.ArgsEncoder) {
		for i := range 6 {
			addArg(e, fmt.Sprint("long", i), longText(3000))
		}
	},
	"key": func(e *timeline.ArgsEncoder) { addArg(e, string(longText(50000)), []byte("v")) },
	"many": func(e *timeline.ArgsEncoder) {
		for i := range 300 {
			addArg(e, fmt.Sprint("k", i), longText(90))
		}
	},
	"json": func(e *timeline.ArgsEncoder) {
		e.Key([]byte("j"))
		e.JSON(append(append([]byte{'"'}, longText(50000)...), '"'))
	},
	"numbers": func(e *timeline.ArgsEncoder) {
		e.Key([]byte("numbers"))
		e.BeginArray()
		for i := range 20000 {
			e.Int(int64(i))
		}
		e.EndArray()
	},
	"nested": func(e *timeline.ArgsEncoder) {
		e.Key([]byte("nested"))
		for range 400 {
			e.BeginDict()
			addArg(e, "beside", longText(100))
			e.Key([]byte("in"))
		}
		e.Int(1)
		for range 400 {
			e.EndDict()
		}
	},
	"lists of texts": func(e *timeline.ArgsEncoder) {
		for i := range 3 {
			e.Key([]byte(fmt.Sprint("list", i)))
			e.BeginArray()
			for range 40 {
				e.String(longText(900))
			}
			e.EndArray()
		}
	},
}

func addArg(e *timeline.ArgsEncoder, key string, text []byte) {
	e.Key([]byte(key))
	e.String(text)
}

// A packet that readers would skip because of its size is counted, and its longest parts are shortened, with a remark.
func TestLargePackets(t *testing.T) {
	for name, fill := range large {
		for _, form := range []PacketForm{PlainPackets, CompactPackets} {
			b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log)})
			e := b.Args()
			e.Reset()
			addArg(e, "first", []byte("stays"))
			fill(e)
			addInstants(t, b, timeline.Event{TS: 1000, Name: []byte("before")}, timeline.Event{TS: 2000, Name: []byte("large"), Args: e.Args()}, timeline.Event{TS: 3000, Name: []byte("after")})
			tl := finishTimeline(t, b)
			trace := write(t, tl, Options{maxPacket: testLimit, Packets: form})
			checkSizes(t, name, trace)
			if n := tl.Problems().Count(problem.EventSizeLimit); n != 1 {
				t.Errorf("%s: %d problems; want 1", name, n)
			}
			read := decode(t, trace)
			events := eventsIn(read)
			if len(events) != 3 || !strings.Contains(read.String(), "(weft ") {
				t.Fatalf("%s: %d events, or there is no remark: %.300v", name, len(events), events)
			}
			if size := proto.Size(events[1]); size < testLimit/2 && name != "nested" && name != "key" {
				t.Errorf("%s: only %d bytes are left of the event", name, size)
			}
			if !strings.Contains(events[1].String(), "stays") {
				t.Errorf("%s: a short argument is missing", name)
			}
		}
	}
}

func addInstants(t *testing.T, b *timeline.Builder, events ...timeline.Event) {
	t.Helper()
	for i := range events {
		events[i].Kind, events[i].Track = timeline.Instant, b.GlobalInstants()
		if err := b.Add(&events[i]); err != nil {
			t.Fatal(err)
		}
	}
}

// Long names, and packets that describe tracks, are shortened and counted in the same way.
func TestLargeNames(t *testing.T) {
	long := string(longText(3 << 20))
	b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log)})
	process := b.Process(timeline.ProcessKey{Num: 1})
	b.SetProcessName(process, 0, []byte(long))
	thread := b.Thread(process, timeline.ThreadKey{Num: 2})
	b.SetThreadName(thread, 0, []byte(long))
	for i, category := range []string{"a", long} {
		ev := timeline.Event{Kind: timeline.Instant, Track: thread, TS: timeline.Nanos(i) * 1000, Name: []byte(long), Category: []byte(category)}
		if err := b.Add(&ev); err != nil {
			t.Fatal(err)
		}
	}
	tl := finishTimeline(t, b)
	trace := write(t, tl, Options{maxPacket: 1 << 20})
	for i, p := range decode(t, trace).Packet {
		if n := proto.Size(p); n > 1<<20 {
			t.Errorf("packet %d has %d bytes", i, n)
		}
	}
	if n := tl.Problems().Count(problem.EventSizeLimit); n < 3 {
		t.Errorf("%d problems", n)
	}
}

// Fields that cannot be shortened are dropped, and other packets are unchanged.
func TestShortenPackets(t *testing.T) {
	event, mark := wire.BeginMessage(nil, 1)
	event = append(event, 0x50, 1) // trusted_packet_sequence_id
	event = wire.EndMessage(wire.AppendBytes(event, 12345, make([]byte, 3*testLimit)), mark)
	small := []byte{0x0a, 2, 0x50, 1}
	got, n := shortenPackets(nil, append(append([]byte{}, small...), event...), testLimit)
	if n != 1 || string(got) != string(small)+string(small) { // an unknown field is dropped as a whole
		t.Errorf("%d shortened: %x", n, got)
	}
}

func checkSizes(t *testing.T, name string, trace []byte) {
	t.Helper()
	for r := wire.NewReader(trace); r.Next(); {
		if len(r.Bytes()) > testLimit {
			t.Errorf("%s: a packet has %d bytes", name, len(r.Bytes()))
		}
	}
}

func eventsIn(trace *protos.Trace) (events []*protos.TrackEvent) {
	for _, p := range trace.Packet {
		if e := p.GetTrackEvent(); e != nil {
			events = append(events, e)
		}
	}
	return events
}
