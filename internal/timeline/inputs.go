package timeline

import (
	"cmp"
	"iter"
	"math"
	"sort"
	"strings"

	"github.com/weft-trace/weft/internal/problem"
)

// Input is one of several inputs that a Builder takes one after the other, on one timeline. Their ids are their own: of two inputs
// with the process 1, the events of each are on tracks of their own, unless Shares says that it is one process.
type Input struct {
	// Name tells its tracks from those of the others.
	Name string
	// Offset is added to all its times. Events that are before 0 then are left out and counted.
	Offset Nanos
	// Reference says that what the input states about the whole trace holds for all of them.
	Reference bool
	// Shares reports whether a process of an earlier input, by its number, is that of this one with the same id; nil: no process is.
	Shares func(earlier int, id ProcessKey) bool
	// Owns reports whether the slices of the input are those on the track of a thread, not those of another input; nil: they are if they come
	// first.
	Owns func(process ProcessKey, thread ThreadKey) bool
	// IDSpace is the name of the id space of its processes; "": that of the trace itself.
	IDSpace string
	// Watch returns keys of links of an event that its reader says nothing of; nil: there are none. The event is valid during the call.
	Watch func(ev *Event) []string
	// DropArgs are the names of arguments that readers give only for Watch: they are no part of the events of the output.
	DropArgs []string
	// KeyOf returns the key of the link of which an event has told only the request, "" if it has none; nil: there are none.
	KeyOf func(request string) string
	// Machine is the machine of the output that the input was recorded on, see Builder.NameMachine. If the input has several, the others
	// become machines of their own, unless all of the output is to be of one.
	Machine uint32
}

// inputs is what a Builder knows of its inputs.
type inputs struct {
	list  []inputRange
	now   *Input // nil: no input is being read
	at    int    // the index of now
	base  uint32 // event index of its first event
	first TrackID

	byKey  map[ProcessKey][]inputProcess // of all inputs so far
	pids   map[machineID]bool            // numbers of their processes
	tids   map[machineID]bool            // numbers of their threads
	slices map[TrackID]int               // by thread: the input whose slices are on its track
	places []TrackID                     // by track: where slices of now go; 0: not decided yet

	sampled map[TrackID]int     // by thread: the input whose samples it has
	beside  map[TrackID]TrackID // by thread: that with the samples of now

	samples      SampleDescription // of now
	countSamples bool              // they cannot weigh what they say

	joinFlows bool
	dropArgs  map[string]bool // the names that ArgList gives for DropArgs of now
	event     Event           // scratch
	args      Args            // scratch
}

// inputRange are the events of an input: from first on, up to those of the next one.
type inputRange struct {
	Input
	first uint32
}

// inputProcess is a process of an input.
type inputProcess struct {
	input int
	track TrackID
}

// BeginInput begins the events of the next input. Event indexes, and times, count as the input has them.
func (b *Builder) BeginInput(in Input) {
	if b.inputs == nil {
		b.inputs = &inputs{
			byKey: map[ProcessKey][]inputProcess{}, pids: map[machineID]bool{}, tids: map[machineID]bool{}, slices: map[TrackID]int{},
			sampled: map[TrackID]int{}, beside: map[TrackID]TrackID{},
		}
	}
	s := b.inputs
	s.now, s.at, s.base, s.first = &in, len(s.list), b.next, TrackID(len(b.table.tracks))
	s.list = append(s.list, inputRange{in, b.next})
	s.samples, s.countSamples = SampleDescription{}, false
	clear(s.places)
	clear(s.beside)
	s.dropArgs = map[string]bool{}
	for _, name := range in.DropArgs {
		s.dropArgs[string(inputName([]byte(name)))] = true
	}
	b.table.beginInput(&in)
}

// EndInput ends the events of an input.
func (b *Builder) EndInput() {
	s, t := b.inputs, b.table
	for id := s.first; int(id) < len(t.tracks); id++ { // what was declared after its events
		if to := t.resolve(id); to != id && t.tracks[to].kind == ThreadTrack {
			t.aliases[id] = b.place(to)
		}
	}
	for _, id := range t.processesRead() {
		p := t.process(id)
		if p.taken && p.input == uint32(s.at) {
			p.of = s.now.Name
			b.AddLabel(id, p.whose())
		}
		b.AddLabel(id, s.now.label())
		if p.name.valid { // what later inputs call it does not matter
			p.name.ts = math.MaxInt64
		}
	}
	for id := s.first; int(id) < len(t.tracks); id++ {
		if row := &t.tracks[id]; row.kind == ThreadTrack {
			s.tids[machineID{t.machineOf[t.resolve(row.parent)], t.threads[row.index].key.Num}] = true
		}
	}
	s.now, t.writeOn, t.space = nil, 0, 0
}

// JoinFlows says that ids of flows mean the same in all inputs, so that flows connect them.
func (b *Builder) JoinFlows() { b.inputs.joinFlows = true }

// process returns the track of a process that an earlier input has made.
func (s *inputs) process(k ProcessKey) (TrackID, bool) {
	if s.now.Shares == nil {
		return 0, false
	}
	for _, p := range s.byKey[k] {
		if s.now.Shares(p.input, k) {
			return p.track, true
		}
	}
	return 0, false
}

// made notes a process that the current input has made.
func (s *inputs) made(t *trackTable, p *process, track TrackID) {
	p.input = uint32(s.at)
	if n := (machineID{t.writeOn, p.key.Num}); p.key.Text == "" {
		p.taken = s.pids[n]
		s.pids[n] = true
	}
	if t.reading == 0 {
		s.byKey[p.key] = append(s.byKey[p.key], inputProcess{s.at, track})
	}
}

// ownProcesses returns the processes of the current input, some of which earlier inputs may have made, and the first of their tracks; nil if
// there is one input.
func (b *Builder) ownProcesses() (first TrackID, own map[TrackID]bool) {
	s := b.inputs
	if s == nil || s.now == nil {
		return 0, nil
	}
	first, own = s.first, map[TrackID]bool{}
	for _, id := range b.table.processesRead() {
		first, own[id] = min(first, id), true
	}
	return first, own
}

// older reports whether a track is one that earlier inputs have made, or the root.
func (s *inputs) older(track TrackID) bool { return s.now != nil && s.at > 0 && track < s.first }

// childName returns the name of a track below one of an earlier input.
func (s *inputs) childName(parent TrackID, name string) string {
	if name == "" || !s.older(parent) {
		return name
	}
	return name + " (" + s.now.Name + ")"
}

// Place returns the track for slices and instants that the current input has on a track: where another input has the track of a thread, it
// is one below that.
func (b *Builder) Place(track TrackID) TrackID { return b.place(track) }

// place returns the track for slices and instants that an input has on a track: where another input has the track of a thread, those of
// the others are on tracks of their own below it, because two recorders do not nest.
func (b *Builder) place(track TrackID) TrackID {
	s := b.inputs
	if int(track) < len(s.places) && s.places[track] != 0 {
		return s.places[track]
	}
	to := track
	if track > 0 && b.table.tracks[track].kind == ThreadTrack {
		owner, taken := s.slices[track]
		if !taken && b.owns(track) {
			s.slices[track], owner, taken = s.at, s.at, true
		}
		if !taken || owner != s.at {
			to = b.NewTrack(track, TrackSpec{Name: s.now.Name, Role: RoleInput, Subject: s.now.Name})
		}
	}
	if n := int(track) + 1; n > len(s.places) {
		s.places = append(s.places, make([]TrackID, max(n, len(b.table.tracks))-len(s.places))...)
	}
	s.places[track] = to
	return to
}

// owns reports whether the current input may have the track of a thread.
func (b *Builder) owns(track TrackID) bool {
	if b.inputs.now.Owns == nil {
		return true
	}
	process, thread, ok := b.IDs(track)
	return !ok || b.inputs.now.Owns(process, thread)
}

// placeSamples returns the thread for samples of the current input, which it has from now on.
func (b *Builder) placeSamples(track TrackID) TrackID {
	s := b.inputs
	if _, ok := s.sampled[track]; !ok {
		s.sampled[track] = s.at
	}
	return b.samplesOf(track)
}

// samplesOf returns the thread for samples that the current input has of one, and for what tells their states: if an earlier input has some, it
// is one of their own, so that nobody adds up two profilers.
func (b *Builder) samplesOf(track TrackID) TrackID {
	s := b.inputs
	if s == nil || s.now == nil {
		return track
	}
	owner, ok := s.sampled[track]
	row := &b.table.tracks[track]
	if !ok || owner == s.at || row.kind != ThreadTrack {
		return track
	}
	id, ok := s.beside[track]
	if !ok {
		key := b.table.threads[row.index].key
		id = b.Thread(row.parent, ThreadKey{Text: furtherSamples + key.String() + " (" + s.now.Name + ")"})
		s.beside[track], s.sampled[id] = id, s.at
	}
	return id
}

// adjust returns an event of the current input as one of the timeline; nil if it is before time 0.
func (b *Builder) adjust(ev *Event) *Event {
	s := b.inputs
	ts, ok := b.shifted(ev.TS, ev.Event, ev.Offset)
	if !ok {
		return nil
	}
	out := &s.event
	*out = *ev
	out.TS, out.Event = ts, ev.Event+s.base
	if len(s.dropArgs) > 0 && len(ev.Args) > 0 {
		out.Args = b.keptArgs(ev.Args)
	}
	switch ev.Kind {
	case Slice, Begin, End, Instant:
		out.Track = b.place(ev.Track)
	case Sample:
		out.Track = b.placeSamples(ev.Track)
		if s.countSamples {
			out.Value, out.Name = Int(1), countedSamples
			b.opts.Problems.Add(problem.ProfileWeightDropped, problem.Position{Event: int64(out.Event), Offset: ev.Offset}, s.now.Name)
		}
	}
	return out
}

// keptArgs returns arguments of the current input without those of DropArgs.
func (b *Builder) keptArgs(args Args) Args {
	s, t := b.inputs, &Timeline{tables: b.tables}
	s.args = args.appendWithout(s.args[:0], func(arg []byte) bool { return s.dropArgs[string(t.Arg(arg).Key)] })
	return s.args
}

// countedSamples is what samples count that cannot weigh anything else.
var countedSamples = []byte("samples")

// shifted returns a time of the current input on the timeline; false, and a problem, if that has no such time.
func (b *Builder) shifted(ts Nanos, event uint32, at int64) (Nanos, bool) {
	by := b.inputs.now.Offset
	to := ts + by
	if to < 0 || ts > 0 && by > 0 && to < ts {
		b.opts.Problems.Add(problem.EventNegativeTimestamp, problem.Position{Event: int64(event + b.inputs.base), Offset: at}, b.inputs.now.Name)
		return 0, false
	}
	return to, true
}

// describeSamples says what the samples of the current input are. A trace has one description, that of the first input with samples.
func (b *Builder) describeSamples(d SampleDescription) {
	s := b.inputs
	if !b.anySample {
		b.samples, s.samples, s.countSamples = d, d, false
		return
	}
	s.samples = d
	s.countSamples = d.Counter != b.samples.Counter || d.Unit != b.samples.Unit
}

// facts returns the keys under which a fact of the current input is kept.
func (s *inputs) facts(key string) iter.Seq[string] {
	return func(yield func(string) bool) {
		if !yield(InputFacts + s.now.Name + "." + key) {
			return
		}
		if s.now.Reference {
			yield(key)
		}
	}
}

// A Ranking says how the processes of inputs are shown.
type Ranking struct {
	Order  []int    // of inputs: the place of each
	Prefix []string // of inputs: what comes before the names of their processes
	Suffix []string // of inputs: what comes after them
}

// RankProcesses gives the processes of all inputs their names and their order: by input, then as their input has them. A name that
// several inputs have says which input it is of; one that several processes of an input have says which process, by the first label that tells it
// from others ("python (GPU 1)"), unless FullName says so anyway.
func (b *Builder) RankProcesses(r Ranking) {
	t := b.table
	var all []TrackID
	names := map[string]int{} // the input with a process of the name; -1: several
	type inputName struct {
		input int32
		name  string
	}
	sharing := map[inputName]int{} // processes of an input with the name
	for id := range t.tracks {
		if t.tracks[id].kind != ProcessTrack {
			continue
		}
		all = append(all, TrackID(id))
		p := t.process(TrackID(id))
		name := p.key.nameOr(p.name.text)
		sharing[inputName{int32(p.input), name}]++
		if of, ok := names[name]; !ok {
			names[name] = int(p.input)
		} else if of != int(p.input) {
			names[name] = -1
		}
	}
	ofInputs := map[string]bool{} // labels that tell no process of an input from the others
	for i := range b.inputs.list {
		ofInputs[b.inputs.list[i].label()] = true
	}
	taken := UniqueNames{} // ids that are texts
	for _, id := range all {
		p := t.process(id)
		name := p.key.nameOr(p.name.text)
		of := int(p.input)
		shared := sharing[inputName{int32(p.input), name}] > 1
		if name != "" && names[name] < 0 && r.Prefix[of] == "" {
			name += " (" + b.inputs.list[of].Name + ")"
		}
		which, labelled := p.labelBeside(ofInputs)
		if assigned := !p.taken && !isUsablePID(p.key); shared && name != "" && labelled && !assigned {
			name += " (" + which + ")"
		}
		if name != "" {
			p.shown = r.Prefix[of] + name + r.Suffix[of]
		}
		if p.key.Text != "" {
			b.setTextID(id, taken)
		}
	}
	sort.SliceStable(all, func(i, j int) bool {
		p, q := t.process(all[i]), t.process(all[j])
		if a, b := r.Order[p.input], r.Order[q.input]; a != b {
			return a < b
		}
		if p.hasRank && q.hasRank && p.rank != q.rank {
			return p.rank < q.rank
		}
		return p.hasRank && !q.hasRank
	})
	for i, id := range all {
		p := t.process(id)
		p.rank, p.hasRank = int32(i), true
	}
}

// label is what the processes of an input are labelled with.
func (in *Input) label() string { return InputLabel + in.Name }

// InputLabel is in front of the name of an input in the label of a process that has its events.
const InputLabel = "input "

// InputFacts is in front of the name of an input, followed by a dot, in the keys of what it states about its trace.
const InputFacts = "input."

// labelBeside returns the first label of a process that is not one of others.
func (p *process) labelBeside(others map[string]bool) (first string, ok bool) {
	for _, l := range p.labels {
		if !others[l] {
			return l, true
		}
	}
	return "", false
}

// setTextID gives a process whose id is a text, and so tells it from others, the id by which the output knows it: the name that it is shown
// by, with that of its input and a number if earlier processes have the same one. A number beyond 64 bits stays, unless it is taken.
func (b *Builder) setTextID(id TrackID, taken UniqueNames) {
	p := b.table.process(id)
	key, of := p.key, b.inputs.list[p.input].Name
	if !key.IsNumber {
		key.Text = p.shown
	} else if taken[key.Text] > 0 {
		b.AddLabel(id, "pid "+p.key.String()+" of "+of)
		key = ProcessKey{Text: cmp.Or(p.shown, "pid "+key.Text)}
	}
	if suffix := " (" + of + ")"; taken[key.Text] > 0 && !strings.HasSuffix(key.Text, suffix) {
		key.Text += suffix
	}
	key.Text = taken.Take(key.Text)
	if p.key = key; !key.IsNumber {
		p.shown = key.Text
	}
}

// InputOf returns the index of the input that an event is from, by its index; 0 if there is but one, or if ids of flows mean the same
// in all of them.
func (t *Timeline) InputOf(event uint32) uint32 {
	if len(t.inputs) < 2 {
		return 0
	}
	after := sort.Search(len(t.inputs), func(i int) bool { return t.inputs[i].first > event })
	return uint32(max(after-1, 0))
}

// FlowInput returns InputOf for the id of a flow: 0 where ids mean the same in all inputs.
func (t *Timeline) FlowInput(event uint32) uint32 {
	if t.joinFlows {
		return 0
	}
	return t.InputOf(event)
}

// Recorder is an input with slices and instants, or samples, of threads that another input has recorded in more detail. They are beside those of
// the thread, and in no sum over these: together they would count its time more than once.
type Recorder struct {
	Input   string `json:"input"`
	Threads int    `json:"threads"`
	Events  uint64 `json:"events"`
	Samples uint64 `json:"samples,omitempty"`
}

// Recorders returns the inputs whose slices are beside those of others, in the order of the tracks; Samplers those whose samples are.
func (t *Timeline) Recorders() (all []Recorder) {
	of, threads := map[string]int{}, map[string]map[TrackID]bool{}
	for id := range t.table.tracks {
		row := &t.table.tracks[id]
		if row.kind != NamedTrack || !row.used || t.table.specs[row.index].Role != RoleInput {
			continue
		}
		spec := &t.table.specs[row.index]
		name := cmp.Or(spec.Subject, spec.Name) // earlier versions wrote no subject
		i, ok := of[name]
		if !ok {
			i = len(all)
			of[name], threads[name], all = i, map[TrackID]bool{}, append(all, Recorder{Input: name})
		}
		threads[name][row.parent] = true // which has a track for each lane, where it was read from a Perfetto trace
		all[i].Events += spec.starts
		all[i].Threads = len(threads[name])
	}
	return all
}

// furtherSamples is how the names of threads begin that have the samples of a further input; the id of the thread and the name of the input
// follow.
const furtherSamples = "Samples of thread "

// maxIDPieces is at how many parentheses in such a name the id may end.
const maxIDPieces = 16

// NotCounted returns the inputs that reports leave slices or samples of.
func (t *Timeline) NotCounted() []Recorder {
	_, samplers := t.Samplers()
	return append(t.Recorders(), samplers...)
}

// Samplers returns the threads whose samples are left out of reports, because another input has more samples of the same thread, and the inputs
// that these are of.
func (t *Timeline) Samplers() (left map[TrackID]bool, all []Recorder) {
	type known struct {
		process TrackID
		id      string
	}
	threads, further := map[known]TrackID{}, []TrackID{}
	for id := range t.table.tracks {
		row := &t.table.tracks[id]
		if row.kind != ThreadTrack {
			continue
		}
		th := &t.table.threads[row.index]
		if strings.HasPrefix(th.key.Text, furtherSamples) {
			further = append(further, TrackID(id))
		} else if th.samples > 0 {
			threads[known{row.parent, th.key.String()}] = TrackID(id)
		}
	}
	best := map[TrackID]TrackID{} // by thread
	of := make([]TrackID, len(further))
	names := map[TrackID]string{}
	for i, id := range further {
		row := &t.table.tracks[id]
		text := strings.TrimPrefix(t.table.threads[row.index].key.Text, furtherSamples)
		at := 0
		for range maxIDPieces {
			next := strings.Index(text[at:], " (")
			if next < 0 {
				break
			}
			at += next
			if thread, ok := threads[known{row.parent, text[:at]}]; ok {
				of[i], names[id] = thread, strings.TrimSuffix(text[at+2:], ")")
				if _, ok := best[thread]; !ok {
					best[thread] = thread
				}
				if t.sampleCount(id) > t.sampleCount(best[thread]) {
					best[thread] = id
				}
				break
			}
			at += len(" (")
		}
	}
	left = map[TrackID]bool{}
	index := map[string]int{}
	leave := func(id TrackID, input string) {
		i, ok := index[input]
		if !ok {
			i = len(all)
			index[input], all = i, append(all, Recorder{Input: input})
		}
		left[id] = true
		all[i].Threads++
		all[i].Samples += t.sampleCount(id)
	}
	for i, id := range further {
		thread := of[i]
		if thread == 0 {
			continue
		}
		if best[thread] != thread && !left[thread] {
			leave(thread, "a further input") // the trace does not say which one
		}
		if best[thread] != id {
			leave(id, names[id])
		}
	}
	return left, all
}

// sampleCount returns how many samples a thread has.
func (t *Timeline) sampleCount(thread TrackID) uint64 {
	return t.table.threads[t.table.tracks[thread].index].samples
}

// BindsFlows reports whether ends of flows bind by time to the slices of a track: those of threads.
func (t *Timeline) BindsFlows(id TrackID) bool {
	return t.table.ofThread(&t.table.tracks[id])
}

// ofThread reports whether a track has the slices of a thread, as one recorder has seen them.
func (t *trackTable) ofThread(row *track) bool {
	return row.kind == ThreadTrack || row.kind == NamedTrack && t.specs[row.index].Role == RoleInput
}

// addOfInput adds an event of the current input, and its links.
func (b *Builder) addOfInput(ev *Event) error {
	out := b.adjust(ev)
	if out == nil {
		return nil
	}
	if err := b.add(out); err != nil {
		return err
	}
	return b.watch(ev)
}

// watch adds the links of an event of the current input of which its reader says nothing.
func (b *Builder) watch(ev *Event) error {
	if b.inputs.now == nil || b.inputs.now.Watch == nil {
		return nil
	}
	switch ev.Kind {
	case Slice, Begin, Instant:
		for _, key := range b.inputs.now.Watch(ev) {
			err := b.AddLink(&Link{Key: key, Track: ev.Track, Event: ev.Event, Offset: ev.Offset, TS: ev.TS})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// EventBase returns the index that the first event of the current input has on the timeline.
func (b *Builder) EventBase() uint32 { return b.inputs.base }

// Problems returns the log of the Builder.
func (b *Builder) Problems() *problem.Log { return b.opts.Problems }

// IsEmpty reports whether the Builder has nothing, and will have nothing but the one input that is read into it.
func (b *Builder) IsEmpty() bool { return b.next == 0 && b.inputs == nil }

// HasInputs reports whether the Builder takes several inputs.
func (b *Builder) HasInputs() bool { return b.inputs != nil }
