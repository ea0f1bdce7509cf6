package pfwire_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	pb "github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// framed joins packets into a trace.
func framed(packets ...[]byte) []byte {
	var out []byte
	for _, p := range packets {
		out = wire.AppendBytes(out, 1, p)
	}
	return out
}

func unhex(t *testing.T, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(text)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// readPackets returns the packets of a trace.
func readPackets(t *testing.T, trace []byte) (all [][]byte) {
	t.Helper()
	for r := pfwire.NewPacketReader(bytes.NewReader(trace)); ; {
		p, err := r.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, bytes.Clone(p.Bytes))
	}
}

// notesOf returns a function for Rewrite.Notes that returns the notes of a list one by one.
func notesOf(list ...pfwire.PacketNote) func(*pfwire.PacketNote) (bool, error) {
	return func(n *pfwire.PacketNote) (bool, error) {
		if len(list) == 0 {
			return false, nil
		}
		*n, list = list[0], list[1:]
		return true, nil
	}
}

// Packets are copied byte for byte, even with unknown fields, with lengths that are longer than necessary, and with a note but no
// event. A note is at the end of its event.
func TestRewriteKeepsBytes(t *testing.T) {
	const note = "2203320161" // debug_annotations { string_value "a" }
	// The length of the event takes four bytes, and an unknown field 1023 follows.
	plain := unhex(t, "4005"+"5002"+"5a84808000"+"48011802"+"f83f07")
	short := unhex(t, "4006"+"5002"+"5a04"+"48011803") // the length takes one byte
	other := unhex(t, "4007"+"5003"+"e203"+"020807")   // no event
	broken := unhex(t, "4008"+"5a7f4801")              // a truncated event: it is dropped
	// The length takes one byte, and two with the note.
	full := unhex(t, "4009"+"5a7f"+"48011803ba0178"+strings.Repeat("61", 120))
	input := framed(plain, short, other, broken, full)
	rw := pfwire.Rewrite{Notes: notesOf(
		pfwire.PacketNote{Packet: 0, Annotations: unhex(t, note)},
		pfwire.PacketNote{Packet: 1, Annotations: unhex(t, note)},
		pfwire.PacketNote{Packet: 2, Annotations: unhex(t, note)},
		pfwire.PacketNote{Packet: 3, Annotations: unhex(t, note)},
		pfwire.PacketNote{Packet: 4, Annotations: unhex(t, note)},
	)}
	var out bytes.Buffer
	if err := rw.Run(context.Background(), &out, bytes.NewReader(input)); err != nil {
		t.Fatal(err)
	}
	want := framed(
		unhex(t, "4005"+"5002"+"5a89808000"+"48011802"+note+"f83f07"),
		unhex(t, "4006"+"5002"+"5a09"+"48011803"+note),
		other,
		unhex(t, "4009"+"5a8401"+"48011803ba0178"+strings.Repeat("61", 120)+note),
	)
	if !bytes.Equal(out.Bytes(), want) {
		t.Errorf("the trace is\n%x, want\n%x", out.Bytes(), want)
	}

	// Removing the notes restores the original.
	rw = pfwire.Rewrite{FindNote: func(list [][]byte) int {
		return slices.IndexFunc(list, func(a []byte) bool { return bytes.Equal(a, unhex(t, note)[2:]) })
	}}
	var back bytes.Buffer
	if err := rw.Run(context.Background(), &back, bytes.NewReader(out.Bytes())); err != nil {
		t.Fatal(err)
	}
	if parsed := framed(plain, short, other, full); !bytes.Equal(back.Bytes(), parsed) {
		t.Errorf("without the notes the trace is\n%x, was\n%x", back.Bytes(), parsed)
	}
}

// Appended packets are on a separate sequence, with everything that a reader needs, and can be dropped again.
func TestRewriteAppends(t *testing.T) {
	input := framed(unhex(t, "4005"+"5007"+"5a04"+"48011802"))
	rw := pfwire.Rewrite{Clock: timeline.ClockMonotonic, Marker: "own", Append: func(a *pfwire.Appender) error {
		thread, err := a.Thread(3, 4)
		if err != nil {
			return err
		}
		track, err := a.Track(thread, timeline.TrackSpec{Name: "below", Description: "what"})
		if err != nil {
			return err
		}
		if err := a.Attributes([]timeline.Attribute{{Key: "k", Text: "v"}}); err != nil {
			return err
		}
		begin := timeline.Item{Head: timeline.Head{Kind: timeline.ItemBegin, TS: 10, Dur: 5}, Correlation: "c"}
		end := timeline.Item{Head: timeline.Head{Kind: timeline.ItemEnd, TS: 15}}
		return errors.Join(a.Event(track, "name", &begin), a.Event(track, "", &end))
	}}
	var out bytes.Buffer
	if err := rw.Run(context.Background(), &out, bytes.NewReader(input)); err != nil {
		t.Fatal(err)
	}
	packets := readPackets(t, out.Bytes())
	wanted := []string{
		`trusted_packet_sequence_id: 8 trace_attributes { attribute { key: "own" long_value: 8 } }`,
		`trusted_packet_sequence_id: 8 track_descriptor { uuid: 0x7765667400000001 thread { pid: 3 tid: 4 } }`,
		`trusted_packet_sequence_id: 8 track_descriptor { uuid: 0x7765667400000002 parent_uuid: 0x7765667400000001 name: "below" description: "what" }`,
		`trusted_packet_sequence_id: 8 trace_attributes { attribute { key: "k" string_value: "v" } }`,
		`trusted_packet_sequence_id: 8 sequence_flags: 1 timestamp: 10 timestamp_clock_id: 3 track_event { type: TYPE_SLICE_BEGIN track_uuid: 0x7765667400000002 name: "name" correlation_id_str: "c" }`,
		`trusted_packet_sequence_id: 8 timestamp: 15 timestamp_clock_id: 3 track_event { type: TYPE_SLICE_END track_uuid: 0x7765667400000002 }`,
	}
	if len(packets) != 1+len(wanted) {
		t.Fatalf("%d packets, want %d", len(packets), 1+len(wanted))
	}
	for i, text := range wanted {
		var got, want pb.TracePacket
		if err := proto.Unmarshal(packets[i+1], &got); err != nil {
			t.Fatal(err)
		}
		if err := prototext.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		if !proto.Equal(&got, &want) {
			t.Errorf("packet %d is %v, want %v", i, &got, &want)
		}
	}
	var back bytes.Buffer
	drop := pfwire.Rewrite{Marker: "own"}
	if err := drop.Run(context.Background(), &back, bytes.NewReader(out.Bytes())); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(back.Bytes(), input) {
		t.Errorf("without the sequence the trace is %x, was %x", back.Bytes(), input)
	}
}

// sequencePacket returns a packet with only a sequence id.
func sequencePacket(id uint32) []byte {
	return wire.AppendUint(nil, 10, uint64(id))
}

// Appended packets are on a sequence that the input does not use, however high its ids are.
func TestRewriteSequence(t *testing.T) {
	for _, test := range []struct {
		used []uint32
		want uint32
	}{
		{nil, 1},
		{[]uint32{0}, 1},
		{[]uint32{1, 2, 9}, 10},
		{[]uint32{1, 0xfffffffe}, 0xffffffff},
		{[]uint32{0xffffffff}, 1},
		{[]uint32{1, 2, 0xfffffffe, 0xffffffff}, 3},
		{[]uint32{3, 1, 2, 5, 0xfffffffd, 0xffffffff}, 4},
	} {
		var packets [][]byte
		for _, id := range test.used {
			packets = append(packets, sequencePacket(id))
		}
		var out bytes.Buffer
		rw := pfwire.Rewrite{Append: func(*pfwire.Appender) error { return nil }}
		if err := rw.Run(context.Background(), &out, bytes.NewReader(framed(packets...))); err != nil {
			t.Fatal(err)
		}
		all := readPackets(t, out.Bytes())
		var last pb.TracePacket
		if err := proto.Unmarshal(all[len(all)-1], &last); err != nil {
			t.Fatal(err)
		}
		if got := last.GetTrustedPacketSequenceId(); got != test.want {
			t.Errorf("sequences %d are used, and then %d, want %d", test.used, got, test.want)
		}
	}
}

// A trace that uses every possible sequence is rejected; nothing is added to its sequences.
func TestRewriteNoSequence(t *testing.T) {
	var input []byte
	for id := uint32(1); id < 1<<20; id++ {
		input = wire.AppendBytes(input, 1, sequencePacket(id))
	}
	input = wire.AppendBytes(input, 1, sequencePacket(0xffffffff))
	rw := pfwire.Rewrite{Append: func(*pfwire.Appender) error { return nil }}
	if err := rw.Run(context.Background(), io.Discard, bytes.NewReader(input)); err == nil {
		t.Error("no error")
	}
}

// Only appended packets are dropped: packets that happen to have the id of an appended sequence are kept, before it and, in a
// trace joined with another one, after it.
func TestRewriteLeavesOutRuns(t *testing.T) {
	appending := pfwire.Rewrite{Marker: "own", Append: func(a *pfwire.Appender) error {
		_, err := a.Track(0, timeline.TrackSpec{Name: "t"})
		return err
	}}
	var first bytes.Buffer
	if err := appending.Run(context.Background(), &first, bytes.NewReader(framed(sequencePacket(7)))); err != nil {
		t.Fatal(err)
	}
	other := framed(sequencePacket(2), sequencePacket(8))
	marked := wire.AppendUint(nil, 10, 5) // names another sequence than its own
	marked, m := wire.BeginMessage(marked, 126)
	marked, attribute := wire.BeginMessage(marked, 1)
	marked = wire.EndMessage(wire.EndMessage(wire.AppendInt(wire.AppendString(marked, 1, "own"), 2, 8), attribute), m)
	joined := slices.Concat(framed(sequencePacket(8), marked, sequencePacket(5)), first.Bytes(), other)
	want := slices.Concat(framed(sequencePacket(8), marked, sequencePacket(5), sequencePacket(7)), other)
	var out bytes.Buffer
	dropping := pfwire.Rewrite{Marker: "own"}
	if err := dropping.Run(context.Background(), &out, bytes.NewReader(joined)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(out.Bytes(), want) {
		t.Errorf("the trace is %x, want %x", out.Bytes(), want)
	}
}

// bundled returns a bundle of packets.
func bundled(t *testing.T, codec pfwire.Codec, packets ...[]byte) []byte {
	t.Helper()
	var body []byte
	for _, p := range packets {
		body = wire.AppendBytes(body, 1, p)
	}
	var stream bytes.Buffer
	field := 50
	switch codec {
	case pfwire.Zlib:
		z := zlib.NewWriter(&stream)
		if _, err := z.Write(body); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	case pfwire.Zstd:
		field = 133
		z, err := zstd.NewWriter(&stream)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := z.Write(body); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	out, packet := wire.BeginMessage(nil, 1)
	return wire.EndMessage(wire.AppendBytes(out, field, stream.Bytes()), packet)
}

// Packets in bundles stay in bundles with the same codec, unless a packet is too large for one. The result of a second Rewrite
// does not depend on the first.
func TestRewriteKeepsBundles(t *testing.T) {
	event := func(sequence uint32, size int) []byte {
		b, m := wire.BeginMessage(sequencePacket(sequence), 11)
		b = wire.AppendString(b, 23, strings.Repeat("x", size))
		return wire.EndMessage(b, m)
	}
	const room = 200 << 10
	input := slices.Concat(
		framed(sequencePacket(1)),
		bundled(t, pfwire.Zlib, event(1, room), event(1, room)), // no longer fits with its notes
		bundled(t, pfwire.Zlib, event(2, 10)),
		framed(sequencePacket(1)),
		bundled(t, pfwire.Zstd, event(2, 10), event(2, 20)),
		bundled(t, pfwire.Zlib, event(3, 2*room), event(3, 2*room), event(3, 2*room)), // too large for one
		bundled(t, pfwire.Zlib, event(3, 1<<20)),                                      // larger than any with its note
	)
	note := wire.AppendBytes(nil, 4, []byte(strings.Repeat("n", 120<<10)))
	rewrite := func(trace []byte) []byte {
		var list []pfwire.PacketNote
		for i := range 11 {
			list = append(list, pfwire.PacketNote{Packet: int64(i), Annotations: note})
		}
		rw := pfwire.Rewrite{
			Marker: "own", Notes: notesOf(list...), FindNote: func(list [][]byte) int {
				return slices.IndexFunc(list, func(a []byte) bool { return bytes.Equal(a, note[4:]) })
			},
			Append: func(a *pfwire.Appender) error { _, err := a.Track(0, timeline.TrackSpec{Name: "t"}); return err },
		}
		var out bytes.Buffer
		if err := rw.Run(context.Background(), &out, bytes.NewReader(trace)); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	bundles := func(trace []byte) (list []string) {
		for r := pfwire.NewPacketReader(bytes.NewReader(trace)); ; {
			p, err := r.Next()
			if err == io.EOF {
				return list
			}
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, fmt.Sprint(p.Bundle.Number, p.Bundle.Codec))
		}
	}
	once := rewrite(input)
	want := []string{
		"0 none", "1 zlib", "2 zlib", "2 zlib", "0 none", "3 zstd", "3 zstd", "0 none", "0 none", "0 none", "0 none",
		"4 zstd", "4 zstd", // the codec of the last bundle written
	}
	if got := bundles(once); !slices.Equal(got, want) {
		t.Errorf("the bundles are\n%q, want\n%q", got, want)
	}
	if again := rewrite(once); !bytes.Equal(again, once) {
		t.Errorf("rewritten again, the bundles are\n%q, were\n%q", bundles(again), bundles(once))
	}
}

// Run returns errors from the input, the output, the functions in Rewrite and the context.
func TestRewriteErrors(t *testing.T) {
	input := framed(unhex(t, "4005"+"5a04"+"48011802"))
	bad := errors.New("bad")
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for name, test := range map[string]struct {
		ctx context.Context
		rw  pfwire.Rewrite
		src io.Reader
		dst io.Writer
	}{
		"notes":   {context.Background(), pfwire.Rewrite{Notes: func(*pfwire.PacketNote) (bool, error) { return false, bad }}, bytes.NewReader(input), io.Discard},
		"append":  {context.Background(), pfwire.Rewrite{Append: func(*pfwire.Appender) error { return bad }}, bytes.NewReader(input), io.Discard},
		"source":  {context.Background(), pfwire.Rewrite{}, io.MultiReader(bytes.NewReader(input), failing{bad}), io.Discard},
		"target":  {context.Background(), pfwire.Rewrite{}, bytes.NewReader(input), failing{bad}},
		"context": {cancelled, pfwire.Rewrite{}, bytes.NewReader(input), io.Discard},
	} {
		err := test.rw.Run(test.ctx, test.dst, test.src)
		if !errors.Is(err, bad) && !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error)  { return 0, f.err }
func (f failing) Write([]byte) (int, error) { return 0, f.err }
