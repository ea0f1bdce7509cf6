package timeline

import "math"

// Package merge combines several inputs in one timeline. Each input is read into its own Builder, a part, which shares the tables
// of tracks and texts with the main Builder. A part stores no events: its Intake adds the events to the main Builder at their
// aligned times.

// Intake receives a reader's additions to a Builder, which then does not store them. Arguments are valid only during the call.
type Intake interface {
	Event(ev *Event) error
	Flow(f *FlowEvent) error
	Link(l *Link) error
	// Process returns the process with the given input id if another input has already created its track.
	Process(k ProcessKey) (id TrackID, ok bool)
	// SampleThread returns the thread to which to add the samples and sampled states of the given thread.
	SampleThread(thread TrackID) TrackID
	// Machine returns the output number of a machine in the input. name is the input's name for the machine, "" if unknown.
	Machine(machine uint32, name string) uint32
}

// PartOptions configures a part.
type PartOptions struct {
	Intake   Intake
	Moved    Nanos  // offset that the Intake adds to times
	IDSpace  string // name of the part's id space; "": the trace's own
	IDSpaces string // prefix for the part's other id spaces
	Suffix   string // appended to the names of tracks below tracks of earlier parts
}

// Part returns a Builder for the next of several inputs, with its own ids. Only the latest part may be used.
func (b *Builder) Part(opts PartOptions) *Builder {
	t := b.table
	p := &Builder{
		tables: b.tables, args: b.args, pages: b.pages, sampled: new(sampleTable), limit: b.limit, reserved: b.reserved,
		intake: opts.Intake, part: opts, first: TrackID(len(t.tracks)),
	}
	p.opts.Moved = opts.Moved
	t.trackKeys, t.keys, t.reading, t.writeOn = newTrackKeys(), nil, 0, opts.Intake.Machine(0, "")
	t.space, _ = t.number(opts.IDSpace)
	return p
}

// childName returns the name of a new track, with the part's suffix if the parent is the root or a track of an earlier part.
func (b *Builder) childName(parent TrackID, name string) string {
	if name == "" || parent >= b.first {
		return name
	}
	return name + b.part.Suffix
}

// sampleThread applies the Intake's SampleThread, if there is an Intake.
func (b *Builder) sampleThread(thread TrackID) TrackID {
	if b.intake == nil {
		return thread
	}
	return b.intake.SampleThread(thread)
}

// View returns a Timeline with the current tracks and texts, but without events.
func (b *Builder) View() *Timeline { return &Timeline{tables: b.tables} }

// RedirectThreads redirects the tracks of the part that are aliases for threads. For each such thread, the callback returns the
// new target.
func (b *Builder) RedirectThreads(to func(thread TrackID) TrackID) {
	t := b.table
	for id := b.first; int(id) < len(t.tracks); id++ {
		if thread := t.resolve(id); thread != id && t.tracks[thread].kind == ThreadTrack {
			t.aliases[id] = to(thread)
		}
	}
}

// NumberTaken gives a process or thread a new number because another input uses its number for something else on the same
// machine.
func (b *Builder) NumberTaken(id TrackID) {
	switch t := b.table; t.tracks[id].kind {
	case ProcessTrack:
		t.process(id).taken = true
	case ThreadTrack:
		t.thread(id).taken = true
	}
}

// SetInput sets the name of a process's input, for traces with several inputs. Only the first call has an effect.
func (b *Builder) SetInput(id TrackID, input string) {
	if p := b.table.process(id); p.input == "" {
		p.input = input
	}
}

// SetAssignedBase sets the multiple of ten million that is added to the allocated ids of a process and its threads, unless the
// result is already used. Multiples that are too high for Perfetto are ignored.
func (b *Builder) SetAssignedBase(id TrackID, multiple int64) {
	if multiple > 0 && multiple <= math.MaxInt32/madeUp {
		b.table.process(id).madeUp = multiple
	}
}

// ShowProcess sets the id and display name of a process in the output; an empty name selects the process's own name.
func (b *Builder) ShowProcess(id TrackID, key ProcessKey, name string) {
	p := b.table.process(id)
	p.key, p.displayName = key, name
}

// SetInputs sets the index of each input's first event, and whether flow ids have the same meaning in all inputs.
func (b *Builder) SetInputs(firsts []uint32, joinFlows bool) {
	b.inputs, b.joinFlows = firsts, joinFlows
}
