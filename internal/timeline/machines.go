package timeline

import (
	"cmp"
	"maps"
	"slices"
)

// A trace can record several machines. Each has its own pids and its own tracks below the root; no flow leads from one machine to
// another, because viewers do not follow such flows. Machine 0 is the trace's own.

// Machine is one of the machines in a trace, other than the trace's own.
type Machine struct {
	ID   uint32
	Name string // "": unknown
}

// machines holds the machines of processes and other tracks directly below the root. The descendants of these tracks inherit the
// machines.
type machines struct {
	reading   uint32                // machine of the current input
	writeOn   uint32                // number of that machine in the output
	machineOf map[TrackID]uint32    // missing: 0
	named     map[uint32]string     // by number in the output
	keys      map[uint32]*trackKeys // by machine of the current input; nil: the input has only one machine
}

// MaxMachines limits the number of machines in a trace; tracks of further machines are assigned to the trace's own machine.
const MaxMachines = 1 << 10

// setMachine sets the machine of a track directly below the root.
func (m *machines) setMachine(id TrackID) {
	if m.machineOf == nil {
		m.machineOf = map[TrackID]uint32{}
	}
	m.machineOf[id] = m.writeOn
}

// SetMachine sets the machine for subsequent additions, by its number in the input.
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

// machineOut returns the output number of a machine in the input.
func (b *Builder) machineOut(machine uint32, name string) uint32 {
	if b.intake != nil {
		return b.intake.Machine(machine, name)
	}
	return machine
}

// NameMachine names a machine in the input.
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

// processesRead returns the processes of the current input.
func (t *trackTable) processesRead() []TrackID {
	all := slices.Collect(maps.Values(t.processByKey))
	for _, keys := range t.keys {
		if keys != t.trackKeys {
			all = slices.AppendSeq(all, maps.Values(keys.processByKey))
		}
	}
	return all
}

// Machine returns the machine of a track.
func (t *Timeline) Machine(id TrackID) uint32 {
	if len(t.table.machineOf) == 0 {
		return 0
	}
	return t.table.machineOf[t.table.top(id)]
}

// Machines returns the machines with tracks, except the trace's own, ordered by number.
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
