package timeline

import "math"

// Package merge combines several inputs on one timeline. Each is read into its own Builder, a part, which shares the tables of tracks
// and texts with the main Builder. A part stores no events: its Intake adds them to the main Builder at their aligned times.

// Intake receives what a reader adds to a Builder, which then does not store it. Its arguments are valid during the call.
type Intake interface {
	Event(ev *Event) error
	Flow(f *FlowEvent) error
	Link(l *Link) error
	// Process returns the process with an id of the input if another input has created its track.
	Process(k ProcessKey) (id TrackID, ok bool)
	// SampleThread returns the thread to which the samples and sampled states of a thread are added.
	SampleThread(thread TrackID) TrackID
	// Machine returns the output's number of a machine of the input; name is the input's name for it, "" if unknown.
	Machine(machine uint32, name string) uint32
}

// PartOptions configure a part.
type PartOptions struct {
	Intake   Intake
	Moved    Nanos  // offset that the Intake adds to times
	IDSpace  string // name of the part's id space; "": the trace's own
	IDSpaces string // prefix of the part's other id spaces
	Suffix   string // of names of tracks below tracks of earlier parts
}

// Part returns a Builder for the next of several inputs, with ids of its own. Only the latest part may be used.
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

// sampleThread applies SampleThread of the Intake, if any.
func (b *Builder) sampleThread(thread TrackID) TrackID {
	if b.intake == nil {
		return thread
	}
	return b.intake.SampleThread(thread)
}

// View returns a Timeline with the current tracks and texts, and without events.
func (b *Builder) View() *Timeline { return &Timeline{tables: b.tables} }

// RedirectThreads redirects the part's tracks that are aliases of threads.
func (b *Builder) RedirectThreads(to func(thread TrackID) TrackID) {
	t := b.table
	for id := b.first; int(id) < len(t.tracks); id++ {
		if thread := t.resolve(id); thread != id && t.tracks[thread].kind == ThreadTrack {
			t.aliases[id] = to(thread)
		}
	}
}

// NumberTaken gives a process or thread a new number, because another input uses its number for something else on the same machine.
func (b *Builder) NumberTaken(id TrackID) {
	switch t := b.table; t.tracks[id].kind {
	case ProcessTrack:
		t.process(id).taken = true
	case ThreadTrack:
		t.thread(id).taken = true
	}
}

// SetInput sets the input of a process if there are several inputs. Only the first call has an effect.
func (b *Builder) SetInput(id TrackID, input string) {
	if p := b.table.process(id); p.input == "" {
		p.input = input
	}
}

// SetAssignedBase sets the multiple of ten million that is added to allocated ids of a process and its threads, unless such an id is used.
// Multiples that are too high for Perfetto are ignored.
func (b *Builder) SetAssignedBase(id TrackID, multiple int64) {
	if multiple > 0 && multiple <= math.MaxInt32/madeUp {
		b.table.process(id).madeUp = multiple
	}
}

// ShowProcess sets the id and display name of a process in the output; "": its own name.
func (b *Builder) ShowProcess(id TrackID, key ProcessKey, name string) {
	p := b.table.process(id)
	p.key, p.displayName = key, name
}

// SetInputs sets the index of the first event of each of several inputs, and whether flow ids mean the same in all of them.
func (b *Builder) SetInputs(firsts []uint32, joinFlows bool) {
	b.inputs, b.joinFlows = firsts, joinFlows
}
