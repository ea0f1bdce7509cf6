package pfwire

import (
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// What further machines of a trace have recorded is on packet sequences of their own, one for each, whose packets have a machine_id. To
// Perfetto a machine is like a trace of its own: it keeps clocks, interned texts, tracks and flows apart (perfetto.md 5.9). So each of
// these sequences defines all texts. Their times need no clock snapshot: BOOTTIME of all machines is one, unless something says otherwise.

// sequence is a packet sequence of events, and the fields by which its packets are told.
type sequence struct {
	machineID         []byte // empty for the machine of the trace itself
	plain, needsState []byte // see the variables of these names
	compact           compact
	machine           timeline.Machine
}

// findMachines gives a sequence to each further machine.
func (w *writer) findMachines(form PacketForm) {
	if len(w.machines) == 0 {
		return
	}
	index := map[uint32]int{}
	w.sequences = []sequence{w.sequence}
	for i, m := range w.machines {
		s := sequence{machine: m, machineID: wire.AppendUint(nil, schema.TracePacket_MachineID, uint64(m.ID)), compact: compact{threadUnit: w.compact.threadUnit}}
		s.plain = wire.AppendUint(s.machineID[:len(s.machineID):len(s.machineID)], schema.TracePacket_TrustedPacketSequenceID, uint64(w.t.TrackCount()+1+i))
		s.needsState = append(wire.AppendUint(nil, schema.TracePacket_SequenceFlags, schema.TracePacket_SeqNeedsIncrementalState), s.plain...)
		if form == CompactPackets {
			s.compact = w.newCompact(m.ID)
		}
		w.sequences = append(w.sequences, s)
		index[m.ID] = i + 1
	}
	w.onMachine = make([]int, w.t.TrackCount())
	for id := range w.onMachine {
		w.onMachine[id] = index[w.t.Machine(timeline.TrackID(id))]
	}
}

// turnTo goes on with the sequence of the machine that a track is of.
func (w *writer) turnTo(track timeline.TrackID) {
	if w.onMachine != nil && w.onMachine[track] != w.current {
		w.turn(w.onMachine[track])
	}
}

func (w *writer) turn(to int) {
	w.sequences[w.current] = w.sequence
	w.sequence, w.current = w.sequences[to], to
}

// eachSequence calls a function for each sequence, as the current one.
func (w *writer) eachSequence(do func() error) error {
	if len(w.sequences) == 0 {
		return do()
	}
	for i := range w.sequences {
		w.turn(i)
		if err := do(); err != nil {
			return err
		}
	}
	w.turn(0)
	return nil
}

// startSequences writes how the sequences begin. The trace's own comes first: otherwise Perfetto would take the first of
// the others for it.
func (w *writer) startSequences() error {
	return w.eachSequence(func() error {
		if w.current == 0 {
			return w.begin()
		}
		for _, write := range []func() error{w.systemInfo, w.begin, w.writtenByWeft} {
			if err := write(); err != nil {
				return err
			}
		}
		return nil
	})
}

// writtenByWeft marks a sequence other than the trace's own, which has all attributes, as written by weft.
func (w *writer) writtenByWeft() error {
	b, packet := wire.BeginMessage(w.out.buf, schema.Trace_Packet)
	w.out.buf = wire.EndMessage(appendAttributes(append(b, w.plain...), []timeline.Attribute{{Key: AttributeVersion, Text: Version}}), packet)
	return w.out.packetDone()
}

// systemInfo names the machine of the sequence.
func (w *writer) systemInfo() error {
	if w.machine.Name == "" {
		return nil
	}
	b, packet := wire.BeginMessage(w.out.buf, schema.Trace_Packet)
	b, info := wire.BeginMessage(append(b, w.plain...), schema.TracePacket_SystemInfo)
	b = wire.AppendString(b, schema.SystemInfo_MachineName, w.machine.Name)
	w.out.buf = wire.EndMessage(wire.EndMessage(b, info), packet)
	return w.out.packetDone()
}
