package timeline

import (
	"cmp"
	"maps"
	"slices"
)

// A trace can hold what several machines have recorded. Each has its own pids, and its own tracks below the root; a flow does not lead
// from one to another, because viewers follow none there. Machine 0 is that of the trace itself.

// Machine is one of the further machines of a trace.
type Machine struct {
	ID   uint32
	Name string // "": not known
}

// machines are those of the tracks below the root, processes among them. What is below these is of the same machine.
type machines struct {
	reading   uint32                // the machine of the input that is being read
	writeOn   uint32                // what it is in the output
	machineOf map[TrackID]uint32    // 0 where there is none
	named     map[uint32]string     // by machine of the output
	keys      map[uint32]*trackKeys // by machine of the input that is being read; nil: it has only the one

	several bool              // inputs keep their machines: the output is not to be of one machine
	home    uint32            // of the input that is being read: the machine that it was recorded on
	renamed map[uint32]uint32 // what the others of this input are in the output
	from    string            // its name
	last    uint32            // the highest that was given out
}

// machineID is a number that means something on one machine.
type machineID struct {
	machine uint32
	number  int64
}

// maxMachines bounds how many machines a trace has; what comes from more is taken for that of the trace itself.
const maxMachines = 1 << 10

// place notes of which machine a track below the root is.
func (m *machines) place(id TrackID) {
	if m.machineOf == nil {
		m.machineOf = map[TrackID]uint32{}
	}
	m.machineOf[id] = m.writeOn
}

// SetMachine says of which machine is what comes from now on, as the input numbers them.
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
		if len(t.keys) >= maxMachines {
			machine = 0
		}
		if keys = t.keys[machine]; keys == nil {
			keys = newTrackKeys()
			t.keys[machine] = keys
		}
	}
	t.trackKeys, t.reading, t.writeOn = keys, machine, t.machineOut(b.inputs != nil, machine)
}

// machineOut returns what a machine of the input that is being read is in the output.
func (m *machines) machineOut(merged bool, machine uint32) uint32 {
	switch {
	case !merged:
		return machine
	case machine == 0 || !m.several:
		return m.home
	}
	out, ok := m.renamed[machine]
	if !ok && m.last < maxMachines {
		m.last++
		out = m.last
		m.renamed[machine] = out
		m.name(out, m.from)
	}
	return out
}

// name names a machine of the output.
func (m *machines) name(id uint32, name string) {
	if m.named == nil {
		m.named = map[uint32]string{}
	}
	if len(m.named) < maxMachines {
		m.named[id] = name
	}
}

// NameMachine names a machine of the input that is being read.
func (b *Builder) NameMachine(machine uint32, name string) {
	m := &b.table.machines
	if b.inputs == nil {
		m.name(machine, name)
		return
	}
	if machine != 0 && m.several {
		m.name(m.machineOut(true, machine), name+" ("+m.from+")")
	}
}

// SetMachines says that the output of several inputs has several machines: that of the trace itself, and those with these names, from 1 on.
func (b *Builder) SetMachines(names []string) {
	m := &b.table.machines
	m.several, m.last = true, uint32(len(names))
	for i, name := range names {
		m.name(uint32(i+1), name)
	}
}

// beginInput begins to read an input.
func (t *trackTable) beginInput(of *Input) {
	t.trackKeys, t.keys = newTrackKeys(), nil
	t.reading, t.home, t.renamed, t.from = 0, of.Machine, map[uint32]uint32{}, of.Name
	t.writeOn = of.Machine
	t.space, _ = t.number(of.IDSpace)
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
