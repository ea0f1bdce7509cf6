package merge

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// A Stage puts the events of the inputs of a job on one timeline, each input where the plan places it. Each is read into its
// own Builder (Next), and the Stage translates times, event indexes, tracks, machines and links from there to the Builder of
// the whole. Inputs do not share ids: if two inputs have a process 1, each has tracks of its own, unless the plan makes the
// two one process.
type Stage struct {
	job      *Job
	whole    *timeline.Builder
	view     *timeline.Timeline // of whole
	leftOut  []bool             // by input of the job
	dropArgs map[string]bool    // names of arguments that were read only for links
	parts    []*part            // in the order in which they were read

	processes   map[timeline.ProcessKey][]process
	of          map[timeline.TrackID]*part // by process: the input that created it
	taken       map[taken]bool
	renumbered  map[timeline.TrackID]bool  // processes whose numbers were already taken
	slices      map[timeline.TrackID]*part // by thread: the input with its slices on the thread's track
	sampled     map[timeline.TrackID]*part // by thread: the input with its samples on it
	lastMachine uint32                     // the highest number assigned so far
}

// process is a process that an input created.
type process struct {
	part  *part
	track timeline.TrackID
}

// taken identifies a process or thread on a machine by its number.
type taken struct {
	kind    timeline.TrackKind
	machine uint32
	number  int64
}

// part is an input being read, and the Intake of its Builder.
type part struct {
	*Stage
	b      *timeline.Builder
	input  int // of the job
	name   string
	offset Nanos
	base   uint32             // the index of its first event on the timeline
	first  timeline.TrackID   // the first track that it can have created
	own    []timeline.TrackID // its processes, some of which earlier inputs created
	links  func(ev *timeline.Event) []string

	places     []timeline.TrackID                    // by track: the track for its slices; 0: not decided yet
	companions map[timeline.TrackID]timeline.TrackID // by thread: the separate thread with its samples
	machines   map[uint32]uint32                     // the output's numbers of its further machines
	event      timeline.Event                        // scratch
	args       timeline.Args                         // scratch
}

// NewStage returns a Stage for the inputs of a job that are not left out. dropArgs are the names of arguments to drop from
// the output.
func NewStage(job *Job, whole *timeline.Builder, leftOut []bool, dropArgs []string) *Stage {
	s := &Stage{
		job: job, whole: whole, view: whole.View(), leftOut: leftOut, dropArgs: map[string]bool{},
		processes: map[timeline.ProcessKey][]process{}, of: map[timeline.TrackID]*part{}, taken: map[taken]bool{}, renumbered: map[timeline.TrackID]bool{},
		slices: map[timeline.TrackID]*part{}, sampled: map[timeline.TrackID]*part{},
	}
	for _, name := range dropArgs {
		if timeline.IsOwnName(name) {
			name = "_" + name // as readers store it
		}
		s.dropArgs[name] = true
	}
	if job.Machines {
		s.lastMachine = uint32(len(job.Plan.Machines))
		for i, name := range job.Plan.Machines {
			whole.NameMachine(uint32(i+1), name)
		}
	}
	return s
}

// Next returns the Builder for the next input, whose times will be moved by an offset. seen is for Job.Watch. Call End after
// its events.
func (s *Stage) Next(input int, offset Nanos, seen []bool) *timeline.Builder {
	name := s.job.Sources[input].Name
	p := &part{
		Stage: s, input: input, name: name, offset: offset, first: timeline.TrackID(s.view.TrackCount()), links: s.job.Watch(s.view, seen),
		companions: map[timeline.TrackID]timeline.TrackID{}, machines: map[uint32]uint32{},
	}
	opts := timeline.PartOptions{Intake: p, Moved: offset, IDSpaces: name + "/"}
	if n := len(s.parts); n > 0 {
		last := s.parts[n-1]
		p.base, opts.Suffix = last.base+last.b.NextEvent(), " ("+name+")"
		if space := s.job.Plan.IDSpace(input); space != s.job.Plan.IDSpace(s.parts[0].input) {
			opts.IDSpace = s.job.Sources[space].Name
			opts.IDSpaces = opts.IDSpace + "/"
		}
	}
	s.parts = append(s.parts, p)
	p.b = s.whole.Part(opts)
	return p.b
}

// now returns the input currently being read.
func (s *Stage) now() *part { return s.parts[len(s.parts)-1] }

// InputOf returns the job's input that the event with an index on the timeline came from, and the index of that input's first
// event.
func (s *Stage) InputOf(event int64) (input int, first int64) {
	after := sort.Search(len(s.parts), func(i int) bool { return int64(s.parts[i].base) > event })
	p := s.parts[max(after-1, 0)]
	return p.input, int64(p.base)
}

// Place returns the track for the slices and instants that the current input has on a track.
func (s *Stage) Place(track timeline.TrackID) timeline.TrackID { return s.now().place(track) }

// End completes the input of the last call of Next, after its events: it marks numbers that are already taken, labels the
// processes, and adds the input's attributes to the trace.
func (s *Stage) End() {
	p := s.now()
	p.b.RedirectThreads(p.place) // threads declared after their events
	ids := make([]taken, 0, s.view.TrackCount()-int(p.first))
	for id := p.first; int(id) < s.view.TrackCount(); id++ {
		t := s.view.Track(id)
		n := taken{t.Kind, s.view.Machine(id), t.InputID.Num}
		switch t.Kind {
		case timeline.ProcessTrack:
			s.of[id] = p
			p.own = append(p.own, id)
			if t.InputID.Text != "" {
				continue
			}
			if s.taken[n] {
				p.b.NumberTaken(id)
				s.renumbered[id] = true
			}
			s.taken[n] = true // within this input too: several of its machines may become one
		case timeline.ThreadTrack:
			if s.taken[n] {
				p.b.NumberTaken(id)
			}
			ids = append(ids, n)
		}
	}
	for _, n := range ids {
		s.taken[n] = true
	}
	for _, id := range p.own {
		p.b.SetInput(id, p.name)
		p.b.AddLabel(id, s.label(p))
		p.b.SetProcessName(id, math.MaxInt64, []byte(s.view.Track(id).Name)) // later inputs cannot rename it
	}
	p.describeSamples()
	for _, a := range p.b.Attributes() {
		key := a.Key
		a.Key = timeline.InputFacts + p.name + "." + key
		s.whole.SetOwnAttribute(a)
		if p.input == s.job.Plan.Reference {
			a.Key = key
			s.whole.SetOwnAttribute(a)
		}
	}
}

// Finish is called after the last input: it names and orders the processes, and records where the inputs come from.
func (s *Stage) Finish() {
	var firsts []uint32
	for _, p := range s.parts {
		firsts = append(firsts, uint32(p.base))
	}
	s.whole.SetInputs(firsts, s.job.LinkFlows)
	s.rankProcesses()
	s.whole.SetClocks(s.job.Plan.Clocks)
	s.describeInputs()
}

// Process returns the track of a process that an earlier input created. If there is none, this input creates it next.
func (p *part) Process(k timeline.ProcessKey) (timeline.TrackID, bool) {
	for _, other := range p.processes[k] {
		if p.job.Plan.Shares(other.part.input, p.input, k) {
			p.own = append(p.own, other.track)
			return other.track, true
		}
	}
	p.processes[k] = append(p.processes[k], process{p, timeline.TrackID(p.view.TrackCount())})
	return 0, false
}

// Machine returns the output's number for a machine of the input. If Job.Machines is set, the further machines of each input
// stay machines of their own; otherwise all are machine 0.
func (p *part) Machine(machine uint32, name string) uint32 {
	switch {
	case !p.job.Machines:
		return 0
	case machine == 0:
		return p.job.Plan.Inputs[p.input].Machine
	}
	out, ok := p.machines[machine]
	if !ok && p.lastMachine < timeline.MaxMachines {
		p.lastMachine++
		out = p.lastMachine
		p.machines[machine] = out
		p.whole.NameMachine(out, p.name)
	}
	if name != "" {
		p.whole.NameMachine(out, name+" ("+p.name+")")
	}
	return out
}

// place returns the track for the slices and instants that an input has on a track. If another input owns a thread's track,
// they go on a separate track below it, because slices from two recorders do not nest.
func (p *part) place(track timeline.TrackID) timeline.TrackID {
	if int(track) < len(p.places) && p.places[track] != 0 {
		return p.places[track]
	}
	to := track
	if p.view.TrackKind(track) == timeline.ThreadTrack {
		if p.slices[track] == nil && p.owns(track) {
			p.slices[track] = p
		}
		if p.slices[track] != p {
			to = p.whole.NewTrack(track, timeline.TrackSpec{Name: p.name, Role: timeline.RoleInput, Subject: p.name})
		}
	}
	if n := int(track) + 1; n > len(p.places) {
		p.places = append(p.places, make([]timeline.TrackID, max(n, p.view.TrackCount())-len(p.places))...)
	}
	p.places[track] = to
	return to
}

// owns reports whether the input's slices go on the thread's own track: it has more of them than any other input, or as many
// and comes first.
func (p *part) owns(track timeline.TrackID) bool {
	process, thread, ok := p.b.IDs(track)
	if !ok {
		return true
	}
	plan := p.job.Plan
	own := plan.Detail(p.input, process, thread)
	for k := range p.leftOut {
		n := plan.Detail(k, process, thread)
		if n >= own && n > 0 && (n > own || k < p.input) && !p.leftOut[k] && plan.Shares(k, p.input, process) {
			return false
		}
	}
	return true
}

// SampleThread returns the thread for the input's samples of a thread and for their states. If an earlier input has samples
// of it, that is a separate thread, so that samples from two profilers are never added up.
func (p *part) SampleThread(track timeline.TrackID) timeline.TrackID {
	if owner := p.sampled[track]; owner == nil || owner == p || p.view.TrackKind(track) != timeline.ThreadTrack {
		return track
	}
	id, ok := p.companions[track]
	if !ok {
		t := p.view.Track(track)
		id = p.b.Thread(t.Parent, timeline.SamplesKey(t.InputID, p.name))
		p.companions[track], p.sampled[id] = id, p
	}
	return id
}

// Event adds an event to the whole, and the links that its reader does not know.
func (p *part) Event(ev *timeline.Event) error {
	ts, ok := p.moved(ev.TS, ev.Event, ev.Offset)
	if !ok {
		return nil
	}
	out := &p.event
	*out = *ev
	out.TS, out.Event = ts, ev.Event+p.base
	if len(p.dropArgs) > 0 && len(ev.Args) > 0 {
		p.args = ev.Args.AppendWithout(p.args[:0], func(arg []byte) bool { return p.dropArgs[string(p.view.Arg(arg).Key)] })
		out.Args = p.args
	}
	switch ev.Kind {
	case timeline.Slice, timeline.Begin, timeline.End, timeline.Instant:
		out.Track = p.place(ev.Track)
	case timeline.Sample:
		if p.sampled[ev.Track] == nil {
			p.sampled[ev.Track] = p
		}
		out.Track = p.SampleThread(ev.Track)
		if p.describeSamples() {
			out.Value, out.Name = timeline.Int(1), []byte("samples")
			p.whole.Problems().Add(problem.ProfileWeightDropped, problem.Position{Event: int64(out.Event), Offset: out.Offset}, p.name)
		}
	}
	if err := p.whole.Add(out); err != nil {
		return err
	}
	switch ev.Kind {
	case timeline.Slice, timeline.Begin, timeline.Instant:
		for _, key := range p.links(ev) {
			if err := p.Link(&timeline.Link{Key: key, Track: ev.Track, Event: ev.Event, Offset: ev.Offset, TS: ev.TS}); err != nil {
				return err
			}
		}
	}
	return nil
}

// moved converts a time of the input to the timeline; if the timeline has no such time, it reports a problem and returns
// false.
func (p *part) moved(ts Nanos, event uint32, at int64) (Nanos, bool) {
	to := ts + p.offset
	if to < 0 || ts > 0 && p.offset > 0 && to < ts {
		p.whole.Problems().Add(problem.EventNegativeTimestamp, problem.Position{Event: int64(event + p.base), Offset: at}, p.name)
		return 0, false
	}
	return to, true
}

// describeSamples sets the trace's description of samples from the first input with samples. It reports whether this input's
// sample weights are incompatible with it.
func (p *part) describeSamples() (count bool) {
	own, _ := p.b.SampleDescription()
	all, described := p.whole.SampleDescription()
	switch {
	case own == timeline.SampleDescription{}:
	case described:
		return own.Counter != all.Counter || own.Unit != all.Unit
	default:
		p.whole.DescribeSamples(own)
	}
	return false
}

// Flow adds one end of a flow to the whole.
func (p *part) Flow(f *timeline.FlowEvent) error {
	ts, ok := p.moved(f.TS, f.Event, f.Offset)
	if !ok {
		return nil
	}
	out := *f
	out.TS, out.Event, out.Track = ts, f.Event+p.base, p.place(f.Track)
	if f.Space == timeline.FlowV1 {
		out.Fallback = p.b.RoleTrack(f.Track, timeline.RoleOther)
	}
	return p.whole.AddFlow(&out)
}

// flowRoles maps the targets of links to the roles of flow ends.
var flowRoles = [...]timeline.FlowRole{
	timeline.LinkOwn: timeline.FlowContinue, timeline.LinkToCaller: timeline.FlowServe, timeline.LinkToParent: timeline.FlowEnd,
	timeline.LinkToLinked: timeline.FlowReference,
}

// Link adds one end of a flow for an event that carries a key.
func (p *part) Link(l *timeline.Link) error {
	key := l.Key
	if key == "" {
		key = p.job.Plan.requests[p.input][l.Request]
	}
	if key == "" || l.Role >= timeline.LinkSync {
		return nil
	}
	return p.Flow(&timeline.FlowEvent{
		Space: timeline.FlowLink, Role: flowRoles[l.To], Binding: timeline.BindCarrier, Track: l.Track, Event: l.Event, Offset: l.Offset, TS: l.TS,
		IDText: []byte(key),
	})
}

// rankProcesses names the processes of all inputs and orders them: by input, then in their order within it.
func (s *Stage) rankProcesses() {
	var all []timeline.Track
	for id := range timeline.TrackID(s.view.TrackCount()) {
		if s.view.TrackKind(id) == timeline.ProcessTrack {
			all = append(all, s.view.Track(id))
		}
	}
	s.nameProcesses(all)
	places, last := make(map[timeline.TrackID]int, len(all)), 0
	for i := range all {
		of := s.of[all[i].ID]
		place, _ := s.job.Plan.Order(of.input, slices.Index(s.parts, of))
		places[all[i].ID], last = place, max(last, place)
	}
	slices.SortStableFunc(all, func(a, b timeline.Track) int {
		order := cmp.Compare(places[a.ID], places[b.ID])
		switch {
		case order != 0:
		case a.HasRank && b.HasRank:
			order = cmp.Compare(a.Rank, b.Rank)
		case a.HasRank:
			order = -1
		case b.HasRank:
			order = 1
		}
		return order
	})
	for i := range all {
		s.whole.SetSortIndex(all[i].ID, int32(i))
		place := places[all[i].ID]
		if place == 0 { // the first input keeps its ids; new ids must not collide with them
			place = last + 1
		}
		s.whole.SetAssignedBase(all[i].ID, int64(place))
	}
}

// nameProcesses makes process names unique. A name that occurs in several inputs gets the input's name; one that several
// processes of an input have gets the first label that distinguishes the process ("python (GPU 1)"), unless the full name
// does so anyway.
func (s *Stage) nameProcesses(all []timeline.Track) {
	type inputName struct {
		part *part
		name string
	}
	named := map[string]*part{}      // the only input with a process of that name; nil: several
	sharing := map[inputName]int{}   // number of an input's processes with the name
	labels := map[string]bool{}      // labels that all processes of an input share
	unique := timeline.UniqueNames{} // text ids
	for i := range all {
		t, of := &all[i], s.of[all[i].ID]
		sharing[inputName{of, t.Name}]++
		if other, ok := named[t.Name]; ok && other != of {
			named[t.Name] = nil
		} else {
			named[t.Name] = of
		}
	}
	for _, p := range s.parts {
		labels[s.label(p)] = true
	}
	for i := range all {
		t, of := &all[i], s.of[all[i].ID]
		_, prefix := s.job.Plan.Order(of.input, slices.Index(s.parts, of))
		name := t.Name
		if name != "" && named[name] == nil && prefix == "" {
			name += " (" + of.name + ")"
		}
		which := slices.IndexFunc(t.Labels, func(l string) bool { return !labels[l] })
		assigned := !s.renumbered[t.ID] && !t.InputID.IsPID()
		if name != "" && sharing[inputName{of, t.Name}] > 1 && which >= 0 && !assigned {
			name += " (" + t.Labels[which] + ")"
		}
		if name != "" {
			name = prefix + name + s.hostSuffix(of)
		}
		key := t.InputID
		if key.Text != "" {
			key, name = s.textID(t, name, unique)
		}
		s.whole.ShowProcess(t.ID, key, name)
	}
}

// label returns the label that marks the processes of an input in viewers: "rank 1", "input NAME".
func (s *Stage) label(p *part) string {
	if plan := s.job.Plan; plan.Ranked {
		return fmt.Sprintf("rank %d", plan.ranks[p.input])
	}
	return "input " + p.name
}

// hostSuffix returns the suffix for the names of an input's processes if several hosts share a machine in the output.
func (s *Stage) hostSuffix(p *part) string {
	if host := s.job.Plan.Inputs[p.input].Host; s.job.Plan.Hosts > 1 && host != "" && !s.job.Machines {
		return " @" + host
	}
	return ""
}

// textID returns a unique id in the output for a process whose id is a text: its name, with its input's name and a number if
// an earlier process has the same id. A number beyond 64 bits is kept, unless it is taken.
func (s *Stage) textID(t *timeline.Track, name string, unique timeline.UniqueNames) (timeline.ProcessKey, string) {
	key, of := t.InputID, s.of[t.ID].name
	if !key.IsNumber {
		key.Text = name
	} else if unique[key.Text] > 0 {
		s.whole.AddLabel(t.ID, "pid "+key.String()+" of "+of)
		key = timeline.ProcessKey{Text: cmp.Or(name, "pid "+key.Text)}
	}
	if suffix := " (" + of + ")"; unique[key.Text] > 0 && !strings.HasSuffix(key.Text, suffix) {
		key.Text += suffix
	}
	if key.Text = unique.Take(key.Text); !key.IsNumber {
		name = key.Text
	}
	return key, name
}

// describeInputs records in the trace where each input came from and where it was placed.
func (s *Stage) describeInputs() {
	for n, part := range s.parts {
		in, p := &s.job.Inputs[part.input], &s.job.Plan.Inputs[part.input]
		set := func(key string, a timeline.Attribute) {
			if a.Key = "weft.input." + strconv.Itoa(n) + "." + key; a.IsInt || a.Text != "" {
				s.whole.SetOwnAttribute(a)
			}
		}
		set("name", timeline.Attribute{Text: in.Name})
		set("file", timeline.Attribute{Text: in.File})
		set("format", timeline.Attribute{Text: in.Format})
		set("host", timeline.Attribute{Text: p.Host})
		set("clock", timeline.Attribute{Text: p.Clock})
		set("offset_ns", timeline.Attribute{Int: int64(p.Offset), IsInt: true})
		uncertainty := "uncertainty_ns"
		if p.AtLeast {
			uncertainty = "uncertainty_at_least_ns"
		}
		set(uncertainty, timeline.Attribute{Int: int64(p.Uncertainty()), IsInt: true})
		if part.input != s.job.Plan.Reference {
			set("by", timeline.Attribute{Text: p.Rule.String()})
			set("evidence", timeline.Attribute{Text: p.Evidence})
		}
	}
}
