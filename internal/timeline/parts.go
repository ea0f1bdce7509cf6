package timeline

import "math"

// Several inputs come onto one timeline through package merge. Each is read into a Builder of its own, a part, which shares the tables of
// tracks and texts with the Builder of the whole. A part keeps no events: its Intake adds them to the whole, where they belong in it.

// Intake is handed what a reader adds to a Builder, which does not keep it then. What it gets is valid during the call.
type Intake interface {
	Event(ev *Event) error
	Flow(f *FlowEvent) error
	Link(l *Link) error
	// Process returns the process with an id of the input if another input has made its track already.
	Process(k ProcessKey) (id TrackID, ok bool)
	// SampleThread returns the thread for the samples of a thread, and for what tells its states.
	SampleThread(thread TrackID) TrackID
	// Machine returns what a machine of the input is in the output; name is what the input calls it, "" if that is not known.
	Machine(machine uint32, name string) uint32
}

// PartOptions configure a part.
type PartOptions struct {
	Intake   Intake
	Moved    Nanos  // by how much the Intake moves the events
	IDSpace  string // the name of its id space; "": the trace's own
	IDSpaces string // prefix of its names for further id spaces
	Suffix   string // of names of tracks below tracks of earlier parts
}

// Part returns a Builder for the next of several inputs, which has ids of its own. Only the part that was made last may be used.
func (b *Builder) Part(opts PartOptions) *Builder {
	t := b.table
	p := &Builder{
		tables: b.tables, args: b.args, pages: b.pages, sampled: new(sampleTable), limit: b.limit, aside: b.aside,
		intake: opts.Intake, part: opts, first: TrackID(len(t.tracks)),
	}
	p.opts.Moved = opts.Moved
	t.trackKeys, t.keys, t.reading, t.writeOn = newTrackKeys(), nil, 0, opts.Intake.Machine(0, "")
	t.space, _ = t.number(opts.IDSpace)
	return p
}

// childName returns the name of a new track: below a track of an earlier part, the root among these, it names the part.
func (b *Builder) childName(parent TrackID, name string) string {
	if name == "" || parent >= b.first {
		return name
	}
	return name + b.part.Suffix
}

// sampleThread is SampleThread of the Intake.
func (b *Builder) sampleThread(thread TrackID) TrackID {
	if b.intake == nil {
		return thread
	}
	return b.intake.SampleThread(thread)
}

// View returns a Timeline with the tracks and texts so far, and no events.
func (b *Builder) View() *Timeline { return &Timeline{tables: b.tables} }

// RedirectThreads changes where the tracks of a part lead that are aliases of threads.
func (b *Builder) RedirectThreads(to func(thread TrackID) TrackID) {
	t := b.table
	for id := b.first; int(id) < len(t.tracks); id++ {
		if thread := t.resolve(id); thread != id && t.tracks[thread].kind == ThreadTrack {
			t.aliases[id] = to(thread)
		}
	}
}

// NumberTaken gives a process or thread a new number, because another input has another one with its number on its machine.
func (b *Builder) NumberTaken(id TrackID) {
	switch t := b.table; t.tracks[id].kind {
	case ProcessTrack:
		t.process(id).taken = true
	case ThreadTrack:
		t.thread(id).taken = true
	}
}

// SetInput sets the input of a process, if there are several. The first call counts.
func (b *Builder) SetInput(id TrackID, input string) {
	if p := b.table.process(id); p.of == "" {
		p.of = input
	}
}

// MakeUpFrom says which multiple of ten million is in the made-up ids of a process and of its threads, unless something has such an id. Multiples
// that are too high for Perfetto do not count.
func (b *Builder) MakeUpFrom(id TrackID, multiple int64) {
	if multiple > 0 && multiple <= math.MaxInt32/madeUp {
		b.table.process(id).madeUp = multiple
	}
}

// ShowProcess says by which id and under which name the output has a process; "": the name that it was given.
func (b *Builder) ShowProcess(id TrackID, key ProcessKey, name string) {
	p := b.table.process(id)
	p.key, p.shown = key, name
}

// SetInputs says where the events of several inputs begin, by their index, and whether ids of flows mean the same in all of them.
func (b *Builder) SetInputs(firsts []uint32, joinFlows bool) {
	b.inputs, b.joinFlows = firsts, joinFlows
}
