package pfwire

import (
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// Recordings of further machines are on separate packet sequences, whose packets have a machine_id. Perfetto treats a machine like a
// separate trace: it separates clocks, interned texts, tracks and flows (perfetto.md 5.9). So each of these sequences defines all
// texts. Their times need no clock snapshot: by default, all machines share BOOTTIME.

// sequence is a packet sequence for events, with the encoded fields that identify its packets.
type sequence struct {
	machineID         []byte // empty for the machine of the trace itself
	plain, needsState []byte // see the variables with these names
	compact           compact
	machine           timeline.Machine
}

// findMachines assigns a sequence to each further machine.
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

// switchTo makes the sequence of a track's machine the current one.
func (w *writer) switchTo(track timeline.TrackID) {
	if w.onMachine != nil && w.onMachine[track] != w.current {
		w.setSequence(w.onMachine[track])
	}
}

func (w *writer) setSequence(to int) {
	w.sequences[w.current] = w.sequence
	w.sequence, w.current = w.sequences[to], to
}

// eachSequence calls do with each sequence as the current one.
func (w *writer) eachSequence(do func() error) error {
	if len(w.sequences) == 0 {
		return do()
	}
	for i := range w.sequences {
		w.setSequence(i)
		if err := do(); err != nil {
			return err
		}
	}
	w.setSequence(0)
	return nil
}

// startSequences writes the start of each sequence. The trace's own sequence must be first, because Perfetto treats the first
// sequence as the trace's own.
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

// writtenByWeft marks a sequence of a further machine as written by weft; all other attributes are on the trace's own sequence.
func (w *writer) writtenByWeft() error {
	b, packet := wire.BeginMessage(w.out.buf, schema.Trace_Packet)
	w.out.buf = wire.EndMessage(appendAttributes(append(b, w.plain...), []timeline.Attribute{{Key: AttributeVersion, Text: Version}}), packet)
	return w.out.packetDone()
}

// systemInfo writes the name of the sequence's machine.
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
