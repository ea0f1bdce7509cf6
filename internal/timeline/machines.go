package timeline

import (
	"cmp"
	"maps"
	"slices"
)

// A trace can hold what several machines have recorded. Each has its own pids, and its own tracks below the root; a flow does not lead
// from one to another, because viewers follow none there. Machine 0 is the trace's own.

// Machine is one of the further machines of a trace.
type Machine struct {
	ID   uint32
	Name string // "": not known
}

// machines are the machines of the tracks below the root, processes among them. Tracks below these share their machine.
type machines struct {
	reading   uint32                // the machine of the input that is being read
	writeOn   uint32                // what it is in the output
	machineOf map[TrackID]uint32    // 0 where there is none
	named     map[uint32]string     // by machine of the output
	keys      map[uint32]*trackKeys // by machine of the input that is being read; nil: it has only the one
}

// MaxMachines bounds how many machines a trace has; what comes from more is assigned to the trace's own.
const MaxMachines = 1 << 10

// place notes of which machine a track below the root is.
func (m *machines) place(id TrackID) {
	if m.machineOf == nil {
		m.machineOf = map[TrackID]uint32{}
	}
	m.machineOf[id] = m.writeOn
}

// SetMachine sets the machine of what comes from now on, by its number in the input.
func (b *Builder) SetMachine(machine uint32) {
	t := b.table
	if machine == t.reading {
		return
	}
	if t.keys == nil {
		t.keys = map[uint32]*trackKeys{t.reading: t.trackKeys}
	}
	keys := t.keys[machine]
	if keys == nil {
		if len(t.keys) >= MaxMachines {
			machine = 0
		}
		if keys = t.keys[machine]; keys == nil {
			keys = newTrackKeys()
			t.keys[machine] = keys
		}
	}
	t.trackKeys, t.reading, t.writeOn = keys, machine, b.machineOut(machine, "")
}

// machineOut returns what a machine of the input is in the output.
func (b *Builder) machineOut(machine uint32, name string) uint32 {
	if b.intake != nil {
		return b.intake.Machine(machine, name)
	}
	return machine
}

// NameMachine names a machine of the input.
func (b *Builder) NameMachine(machine uint32, name string) {
	m := &b.table.machines
	if b.intake != nil {
		b.intake.Machine(machine, name)
		return
	}
	if m.named == nil {
		m.named = map[uint32]string{}
	}
	if len(m.named) < MaxMachines {
		m.named[machine] = name
	}
}

// processesRead returns the processes of the input that is being read.
func (t *trackTable) processesRead() []TrackID {
	all := slices.Collect(maps.Values(t.processByKey))
	for _, keys := range t.keys {
		if keys != t.trackKeys {
			all = slices.AppendSeq(all, maps.Values(keys.processByKey))
		}
	}
	return all
}

// Machine returns the machine that a track is of.
func (t *Timeline) Machine(id TrackID) uint32 {
	if len(t.table.machineOf) == 0 {
		return 0
	}
	for t.table.tracks[id].parent != 0 {
		id = t.table.tracks[id].parent
	}
	return t.table.machineOf[id]
}

// Machines returns the machines of which the trace has tracks, beside its own, in the order of their numbers.
func (t *Timeline) Machines() []Machine {
	var all []Machine
	known := map[uint32]bool{0: true}
	for id, machine := range t.table.machineOf {
		if !known[machine] && t.table.tracks[id].used {
			known[machine] = true
			all = append(all, Machine{machine, t.table.named[machine]})
		}
	}
	slices.SortFunc(all, func(a, b Machine) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
