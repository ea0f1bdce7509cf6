package pftrace_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	pb "github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/pftrace"
	"github.com/weft-trace/weft/timeline"
)

// framed puts packets into a trace as they are.
func framed(packets ...[]byte) []byte {
	var out []byte
	for _, p := range packets {
		out = append(out, 0x0a, byte(len(p)))
		out = append(out, p...)
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
	for r := pftrace.NewPacketReader(bytes.NewReader(trace)); ; {
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

// notesOf gives notes one by one.
func notesOf(list ...pftrace.PacketNote) func(*pftrace.PacketNote) (bool, error) {
	return func(n *pftrace.PacketNote) (bool, error) {
		if len(list) == 0 {
			return false, nil
		}
		*n, list = list[0], list[1:]
		return true, nil
	}
}

// Packets stay byte for byte: fields that nobody knows, lengths that are longer than they need to be, packets without an
// event although there is a note for them. A note stands at the end of its event.
func TestRewriteKeepsBytes(t *testing.T) {
	const note = "2203120161" // debug_annotations { name "a" in a field of no meaning }
	// The length of the event takes four bytes, and behind it stands a field 1023 of no meaning.
	plain := unhex(t, "4005"+"5002"+"5a84808000"+"48011802"+"f83f07")
	short := unhex(t, "4006"+"5002"+"5a04"+"48011803") // the length takes one byte
	other := unhex(t, "4007"+"5003"+"e203"+"03616263") // no event at all
	broken := unhex(t, "4008"+"5a7f4801")              // an event that is cut
	input := framed(plain, short, other, broken)
	rw := pftrace.Rewrite{Notes: notesOf(
		pftrace.PacketNote{Packet: 0, Annotations: unhex(t, note)},
		pftrace.PacketNote{Packet: 1, Annotations: unhex(t, note)},
		pftrace.PacketNote{Packet: 2, Annotations: unhex(t, note)},
		pftrace.PacketNote{Packet: 3, Annotations: unhex(t, note)},
	)}
	var out bytes.Buffer
	if err := rw.Run(context.Background(), &out, bytes.NewReader(input)); err != nil {
		t.Fatal(err)
	}
	want := framed(
		unhex(t, "4005"+"5002"+"5a89808000"+"48011802"+note+"f83f07"),
		unhex(t, "4006"+"5002"+"5a09"+"48011803"+note),
		other, broken,
	)
	if !bytes.Equal(out.Bytes(), want) {
		t.Errorf("the trace is\n%x, want\n%x", out.Bytes(), want)
	}

	// Taking the notes away gives what was there.
	rw = pftrace.Rewrite{IsNote: func(a []byte) bool { return bytes.Equal(a, unhex(t, note)[2:]) }}
	var back bytes.Buffer
	if err := rw.Run(context.Background(), &back, bytes.NewReader(out.Bytes())); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(back.Bytes(), input) {
		t.Errorf("without the notes the trace is\n%x, was\n%x", back.Bytes(), input)
	}
}

// What is appended has a sequence of its own, with all that a reader needs to know, and can be dropped again.
func TestRewriteAppends(t *testing.T) {
	input := framed(unhex(t, "4005"+"5007"+"5a04"+"48011802"))
	var sequence uint32
	rw := pftrace.Rewrite{Clock: timeline.ClockMonotonic, Append: func(a *pftrace.Appender) error {
		sequence = a.Sequence()
		thread, err := a.Thread(3, 4)
		if err != nil {
			return err
		}
		track, err := a.Track(thread, "below")
		if err != nil {
			return err
		}
		if err := a.Attributes([]timeline.Attribute{{Key: "k", Text: "v"}}); err != nil {
			return err
		}
		begin := timeline.OverlayEvent{Kind: timeline.ItemBegin, TS: 10, Dur: 5, Correlation: "c"}
		end := timeline.OverlayEvent{Kind: timeline.ItemEnd, TS: 15}
		return errors.Join(a.Event(track, "name", &begin), a.Event(track, "", &end))
	}}
	var out bytes.Buffer
	if err := rw.Run(context.Background(), &out, bytes.NewReader(input)); err != nil {
		t.Fatal(err)
	}
	if sequence != 8 {
		t.Errorf("the sequence is %d, want 8, behind that of the input", sequence)
	}
	packets := readPackets(t, out.Bytes())
	wanted := []string{
		`trusted_packet_sequence_id: 8 sequence_flags: 1`,
		`trusted_packet_sequence_id: 8 track_descriptor { uuid: 0x7765667400000001 thread { pid: 3 tid: 4 } }`,
		`trusted_packet_sequence_id: 8 track_descriptor { uuid: 0x7765667400000002 parent_uuid: 0x7765667400000001 name: "below" }`,
		`trusted_packet_sequence_id: 8 trace_attributes { attribute { key: "k" string_value: "v" } }`,
		`trusted_packet_sequence_id: 8 chrome_events { metadata { name: "k" string_value: "v" } }`,
		`trusted_packet_sequence_id: 8 timestamp: 10 timestamp_clock_id: 3 track_event { type: TYPE_SLICE_BEGIN track_uuid: 0x7765667400000002 name: "name" correlation_id_str: "c" }`,
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
	drop := pftrace.Rewrite{Drop: sequence}
	if err := drop.Run(context.Background(), &back, bytes.NewReader(out.Bytes())); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(back.Bytes(), input) {
		t.Errorf("without the sequence the trace is %x, was %x", back.Bytes(), input)
	}
}

// Errors of what Rewrite is given come back.
func TestRewriteErrors(t *testing.T) {
	input := framed(unhex(t, "4005"+"5a04"+"48011802"))
	bad := errors.New("bad")
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for name, test := range map[string]struct {
		ctx context.Context
		rw  pftrace.Rewrite
		src io.Reader
		dst io.Writer
	}{
		"notes":   {context.Background(), pftrace.Rewrite{Notes: func(*pftrace.PacketNote) (bool, error) { return false, bad }}, bytes.NewReader(input), io.Discard},
		"append":  {context.Background(), pftrace.Rewrite{Append: func(*pftrace.Appender) error { return bad }}, bytes.NewReader(input), io.Discard},
		"source":  {context.Background(), pftrace.Rewrite{}, io.MultiReader(bytes.NewReader(input), failing{bad}), io.Discard},
		"target":  {context.Background(), pftrace.Rewrite{}, bytes.NewReader(input), failing{bad}},
		"context": {cancelled, pftrace.Rewrite{}, bytes.NewReader(input), io.Discard},
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
