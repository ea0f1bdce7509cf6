package pfwire

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/pfwire/message"
)

// applyPacket parses a packet in text form and applies it.
func applyPacket(t *testing.T, s *State, text string) (*Sequence, *message.TracePacket, error) {
	t.Helper()
	var packet protos.TracePacket
	if err := prototext.Unmarshal([]byte(text), &packet); err != nil {
		t.Fatal(err)
	}
	b, err := proto.Marshal(&packet)
	if err != nil {
		t.Fatal(err)
	}
	f := new(message.TracePacket)
	if err := f.Parse(b); err != nil {
		t.Fatal(err)
	}
	seq, err := s.Apply(f)
	if f.Payload == 6 {
		if err := s.Clocks.Snapshot(seq, f.Sequence.Machine, f.Data); err != nil {
			t.Fatal(err)
		}
	}
	return seq, f, err
}

func TestPacketFields(t *testing.T) {
	_, f, _ := applyPacket(t, NewState(), `timestamp: 0 trusted_packet_sequence_id: 7 sequence_flags: 3 previous_packet_dropped: 1
		timestamp_clock_id: 64 trace_packet_defaults { } first_packet_on_sequence: true machine_id: 2 trusted_uid: 5 trusted_pid: 6
		interned_data { event_names { iid: 1 name: "a" } } track_event { name_iid: 1 }`)
	want := message.TracePacket{
		HasTimestamp: true, ClockID: 64, Sequence: message.SequenceKey{Machine: 2, ID: 7}, Cleared: true, NeedsState: true, Dropped: true,
		InternedData: []byte("\x12\x05\x08\x01\x12\x01a"), Defaults: []byte{}, Payload: 11, Data: []byte("\x50\x01"),
	}
	if fmt.Sprintf("%+v", *f) != fmt.Sprintf("%+v", want) || f.Defaults == nil {
		t.Errorf("got  %+v\nwant %+v", *f, want)
	}
}

// If a packet has two track_events, the last one is read; incremental_state_cleared is the old form of flag 1.
func TestPacketFieldsTwice(t *testing.T) {
	var f message.TracePacket
	if err := f.Parse([]byte("\x5a\x02\x50\x01\x5a\x02\x50\x02\xc8\x02\x01\x68\x00")); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(f.Data, []byte("\x50\x02")) || !f.Cleared {
		t.Errorf("%+v", f)
	}
}

func TestSequenceStates(t *testing.T) {
	s := NewState()
	steps := []struct {
		name, packet string
		lost         bool
		text         string // of event name 1 afterwards; "": undefined
	}{
		{"a new sequence has no state", `sequence_flags: 2`, true, ""},
		{"its interned data is not kept", `interned_data { event_names { iid: 1 name: "too early" } }`, false, ""},
		{"flag 1 starts it", `sequence_flags: 3 interned_data { event_names { iid: 1 name: "a" } }`, false, "a"},
		{"the first definition counts", `interned_data { event_names { iid: 1 name: "b" } }`, false, "a"},
		{"a loss ends it", `previous_packet_dropped: 1 sequence_flags: 2 interned_data { event_names { iid: 2 name: "c" } }`, true, "a"},
		{"it stays so", `sequence_flags: 2`, true, "a"},
		{"flag 1 wins over a loss", `previous_packet_dropped: 1 sequence_flags: 1`, false, ""},
		{"the old form of flag 1", `interned_data { event_names { iid: 1 name: "d" } } incremental_state_cleared: true`, false, "d"},
	}
	for _, step := range steps {
		seq, _, err := applyPacket(t, s, "trusted_packet_sequence_id: 1 "+step.packet)
		if lost := errors.Is(err, ErrStateLost); lost != step.lost || err != nil && !lost {
			t.Errorf("%s: error %v", step.name, err)
		}
		if text, ok := seq.Interned.Text(message.InternedEventNames, 1); string(text) != step.text || ok != (step.text != "") {
			t.Errorf("%s: name %q, want %q", step.name, text, step.text)
		}
	}
}

// Sequences of different machines can have the same id.
func TestSequencesOfMachines(t *testing.T) {
	s := NewState()
	a, _, _ := applyPacket(t, s, `trusted_packet_sequence_id: 1 sequence_flags: 1`)
	b, _, _ := applyPacket(t, s, `trusted_packet_sequence_id: 1 sequence_flags: 1 machine_id: 3`)
	if a == b {
		t.Error("one state for two machines")
	}
	if none, _, err := applyPacket(t, s, `timestamp: 1`); none != nil || err != nil {
		t.Errorf("a packet without sequence: %v, %v", none, err)
	}
}

// Ids are found however far apart they are, regardless of the order of their definitions.
func TestInternedIDs(t *testing.T) {
	s := NewState()
	ids := []uint64{1, 100, 17, 2, 1 << 60, 18, 50, 101, 0xffffffffffffffff}
	for _, id := range ids {
		applyPacket(t, s, fmt.Sprintf(`trusted_packet_sequence_id: 1 sequence_flags: %d interned_data { event_names { iid: %d name: "n%d" } }`,
			map[bool]int{true: 1}[id == 1], id, id))
	}
	applyPacket(t, s, `trusted_packet_sequence_id: 1 interned_data { event_names { iid: 3 } event_names { iid: 0 name: "zero" } }`)
	seq, _, _ := applyPacket(t, s, `trusted_packet_sequence_id: 1`)
	for _, id := range ids {
		if text, ok := seq.Interned.Text(message.InternedEventNames, id); !ok || string(text) != fmt.Sprintf("n%d", id) {
			t.Errorf("id %d: %q, %v", id, text, ok)
		}
	}
	if text, ok := seq.Interned.Text(message.InternedEventNames, 3); !ok || len(text) != 0 {
		t.Errorf("an empty text is defined: %q, %v", text, ok)
	}
	for _, id := range []uint64{0, 4, 1 << 40} {
		if text, ok := seq.Interned.Text(message.InternedEventNames, id); ok {
			t.Errorf("id %d is not defined, but is %q", id, text)
		}
	}
}

func TestSequenceKeepsThread(t *testing.T) {
	s := NewState()
	seq, f, _ := applyPacket(t, s, `trusted_packet_sequence_id: 1 sequence_flags: 1 thread_descriptor { pid: 1 tid: 5000000000 reference_timestamp_us: 9 }`)
	var d message.ThreadDescriptor
	if err := d.Parse(f.Data); err != nil {
		t.Fatal(err)
	}
	seq.SetThread(&d)
	if n := seq.AddInt(4, 3) + seq.AddInt(4, 3); n != 9 {
		t.Errorf("running values add up to %d, want 9", n)
	}
	applyPacket(t, s, `trusted_packet_sequence_id: 1 sequence_flags: 1`)
	want := SequenceThread{Known: true, PID: 1, TID: 5000000000, TimeUS: 9, SampleUS: 9}
	if seq.Thread != want {
		t.Errorf("thread %+v, want %+v", seq.Thread, want)
	}
	if n := seq.AddInt(4, 1); n != 1 {
		t.Errorf("running value %d after a new start, want 1", n)
	}
}
