package attribution

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sort"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// found is what the first pass leaves to those that follow: what the events of the trace say about contexts.
type found struct {
	T          *timeline.Timeline
	workers    int
	Contexts   *Catalogue
	Evidence   *extsort.Sorter[Evidence] // by ordinal
	tracks     []track                   // by TrackID
	names      []nameInfo                // by NameID
	markers    map[string]*nameInfo      // by the names of markers that have others
	categories []categoryInfo            // by CategoryID
	Requests   requests
	inputs     inputs
	isolates   map[timeline.TrackID]NodeID // of the threads that collect garbage
	Explicit   map[timeline.TrackID]bool   // threads with explicit events, on which nothing is collected for isolates
	attributed bool                        // the trace holds an earlier attribution
	Own        ownTracks
	Runs       map[IsolateRun]bool // what threads do themselves

	hasLanes bool // see nested
	ofLanes  []timeline.Head
}

// pass is the first pass: it shows all events to the providers and keeps what they find.
type collecting struct {
	found     *found
	contexts  *Catalogue
	t         *timeline.Timeline
	problems  *problem.Log
	args      *timeline.ArgSelection
	providers []provider
	names     *contextNames

	open  map[uint32]openBegin // slices that have an end event, by the event that began them
	ends  [][]timeline.Nanos   // by TrackID of a thread: ends of its open slices as cost has them, the outermost first
	event event

	group   []timeline.Head // as it came
	known   []arguments     // about it; nil: not read yet
	inOrder bool            // what is shown of it comes in its order, see nested
	early   []int           // of the group: ends of what has not begun
	latest  arguments

	isolateOf map[timeline.TrackID]isolateChoice // of threads and of processes
	frames    map[NodeID]NodeID                  // isolate of every frame that runs scripts

	renumbered map[recordedPID]int64 // pids of processes that have others in the trace
	id         []byte                // see global
}

// ownTracks are the tracks that an earlier attribution has written, and what is on them.
type ownTracks struct {
	Tracks           []timeline.TrackID
	Slices, Instants int64
}

// see counts what is on such a track.
func (w *ownTracks) see(o *timeline.Head) {
	switch o.Kind {
	case timeline.ItemBegin:
		w.Slices++
	case timeline.ItemInstant:
		w.Instants++
	}
}

// openBegin is a slice whose end event has not come.
type openBegin struct {
	ordinal    uint64
	name       timeline.NameID
	late       bool           // the end event comes when cost has done with the slice
	threadTime timeline.Nanos // at its start; NoTime if unknown
}

// newPass prepares the first pass.
func newCollecting(t *timeline.Timeline, workers int) *collecting {
	f := &found{
		T: t, workers: workers, Contexts: newCatalogue(For(t.Memory())),
		Evidence: extsort.New(evidenceOrder, t.Memory()/16, t.TempDir()),
		tracks:   TracksOf(t), names: infosOf(t), markers: map[string]*nameInfo{}, categories: categoriesOf(t), Requests: newRequests(), inputs: newInputs(),
		isolates: map[timeline.TrackID]NodeID{}, Explicit: map[timeline.TrackID]bool{}, Runs: map[IsolateRun]bool{}, attributed: WasAttributed(t),
	}
	for id := range f.tracks {
		f.hasLanes = f.hasLanes || f.tracks[id].lane
		if f.tracks[id].Place == placeOwn {
			f.Own.Tracks = append(f.Own.Tracks, timeline.TrackID(id))
		}
	}
	for id := range f.tracks {
		if t.Role(timeline.TrackID(id)) == timeline.RoleMainProcess {
			f.Contexts.mainPIDs[f.tracks[id].idSpace] = f.tracks[id].pid
		}
	}
	names := new(contextNames)
	return &collecting{
		found: f, contexts: f.Contexts, t: t, problems: t.Problems(), providers: providers(t, names), names: names,
		args: t.SelectArgs(func(name string) bool { return factNames[name] }),
		open: map[uint32]openBegin{}, ends: make([][]timeline.Nanos, t.TrackCount()),
		isolateOf: map[timeline.TrackID]isolateChoice{}, frames: map[NodeID]NodeID{}, renumbered: renumberedProcesses(f),
	}
}

// recordedPID is a pid as events name it, in an id space.
type recordedPID struct {
	idSpace string
	pid     int64
}

// renumberedProcesses returns the pids of the processes that have another one than where they were recorded. Where inputs that share an id
// space have two processes of one pid, as containers do, a reference is taken for one to the process that has kept it.
func renumberedProcesses(f *found) map[recordedPID]int64 {
	renumbered, kept := map[recordedPID]int64{}, map[recordedPID]bool{}
	for id := range f.tracks {
		if f.T.TrackKind(timeline.TrackID(id)) != timeline.ProcessTrack {
			continue
		}
		p, tr := &f.tracks[id], f.T.Track(timeline.TrackID(id))
		switch {
		case !tr.Renumbered:
			kept[recordedPID{p.idSpace, p.pid}] = true
		case tr.RecordedPID >= 0: // references have −1 for the main process
			renumbered[recordedPID{p.idSpace, tr.RecordedPID}] = p.pid
		}
	}
	maps.DeleteFunc(renumbered, func(at recordedPID, _ int64) bool { return kept[at] })
	return renumbered
}

// pidOf returns the pid of the process that an event names by a pid.
func (c *collecting) pidOf(idSpace string, pid int64) int64 {
	if now, ok := c.renumbered[recordedPID{idSpace, pid}]; ok {
		return now
	}
	return pid
}

// node returns the context with an id of a process, or of the whole id space if the pid is Global; 0 if there are too many.
func (c *collecting) node(scope string, id []byte, pid int64, idSpace string) NodeID {
	if pid != Global {
		return c.contexts.nodeOf(scope, id, pid)
	}
	return c.contexts.nodeOf(scope, c.global(id, idSpace), Global)
}

// global returns an id that belongs to no process as an id of the trace. It is valid until the next call.
func (c *collecting) global(id []byte, idSpace string) []byte {
	if idSpace == "" {
		return id
	}
	c.id = appendGlobal(c.id[:0], id, idSpace)
	return c.id
}

// collect is the first pass over a timeline.
func collect(ctx context.Context, t *timeline.Timeline, workers int) (*found, error) {
	c := newCollecting(t, workers)
	if err := c.run(ctx); err != nil {
		return nil, errors.Join(err, c.found.Evidence.Close())
	}
	return c.found, nil
}

// run shows all events to the providers and then puts the catalogue in order.
func (c *collecting) run(ctx context.Context) error {
	for _, p := range c.providers {
		if p, ok := p.(starter); ok {
			p.start(c)
		}
	}
	if err := c.showAll(ctx); err != nil {
		return err
	}
	if err := c.found.inputs.finish(c); err != nil {
		return err
	}
	for i := range c.found.inputs.List {
		in := &c.found.inputs.List[i]
		c.contexts.Happened[in.node] = in.Start - c.t.Start()
	}
	for _, thread := range slices.Sorted(maps.Keys(c.found.isolates)) {
		c.found.isolates[thread] = c.isolate(thread)
	}
	c.names.finish(c)
	c.contexts.Finish()
	c.contexts.markContexts()
	if err := c.contexts.build(ctx, c.problems); err != nil {
		return err
	}
	c.contexts.classify()
	if err := c.contexts.plantIsolates(ctx, c.frames); err != nil {
		return err
	}
	c.contexts.findEpochs()
	return nil
}

// showAll shows all events to the providers. With several workers, a goroutine of its own reads the facts about them.
func (c *collecting) showAll(ctx context.Context) error {
	if c.found.workers > 1 {
		return timeline.PreparedAhead(ctx, c.t, c.read, c.show)
	}
	return c.t.Occurrences(ctx, true, func(group []timeline.Head) error { return c.show(group, nil) })
}

// walk calls fn for everything that happens at each time, without arguments, in the order in which slices nest; see nested.
func (f *found) walk(ctx context.Context, fn func(group []timeline.Head, inOrder bool) error) error {
	inNesting := func(group []timeline.Head) error { return fn(f.nested(group)) }
	if f.workers > 1 {
		return f.T.OccurrencesAhead(ctx, false, inNesting)
	}
	return f.T.Occurrences(ctx, false, inNesting)
}

// read reads the facts about an occurrence, in place of those about another one.
func (c *collecting) read(o *timeline.Head, f *arguments) {
	if f.any {
		*f = arguments{}
	}
	if place := c.found.tracks[o.Track].Place; len(o.Args) > 0 && place != placeOwn && place != placeNone {
		f.any = true
		f.read(c.args, o.Args)
	}
}

// show shows everything that happens at one time to the providers. Ends come before starts, except ends of slices without length,
// which come after their starts. known are the facts; nil: they are not read yet.
func (c *collecting) show(group []timeline.Head, known []arguments) error {
	c.group, c.known = group, known
	group, c.inOrder = c.found.nested(group)
	c.early = c.early[:0]
	for i := range group {
		if o := &group[i]; o.Kind == timeline.ItemEnd {
			if _, ok := c.open[o.BeginEvent]; !ok {
				c.early = append(c.early, i)
				continue
			}
		}
		if err := c.occurrence(&group[i], i); err != nil {
			return err
		}
	}
	for _, i := range c.early {
		if err := c.occurrence(&group[i], i); err != nil {
			return err
		}
	}
	return nil
}

// factsOf returns the facts about an occurrence of the group, by its place there.
func (c *collecting) factsOf(o *timeline.Head, at int) *arguments {
	if c.known == nil {
		c.read(o, &c.latest)
		return &c.latest
	}
	if !c.inOrder {
		at = sort.Search(len(c.group), func(i int) bool { return c.group[i].Ordinal >= o.Ordinal })
	}
	return &c.known[at]
}

func (c *collecting) occurrence(o *timeline.Head, at int) error {
	if err := c.t.ReadArgs(o); err != nil {
		return err
	}
	s := &c.event
	s.Head, s.ordinal, s.place, s.name = o, o.Ordinal, &c.found.tracks[o.Track], &c.found.names[o.NameID]
	s.call = c.found.categories[o.CategoryID].call
	switch {
	case s.place.Place == placeOwn:
		c.found.Own.see(o)
		return nil
	case s.place.Place == placeNone:
		return nil
	case o.Kind == timeline.ItemEnd:
		begun, ok := c.open[o.BeginEvent]
		if !ok {
			return nil
		}
		delete(c.open, o.BeginEvent)
		at, _ := o.ThreadTime.Nanos()
		if err := c.lateCPU(&begun, at); err != nil {
			return err
		}
		if len(o.Args) == 0 && !o.Deletion {
			return nil
		}
		s.ordinal, s.name = begun.ordinal, &c.found.names[begun.name]
	case o.Kind == timeline.ItemBegin && o.End != timeline.NoTime:
		late := s.place.Place == PlaceThread && c.endsLate(s.place.Thread, o)
		if !o.Complete {
			at, _ := o.ThreadTime.Nanos()
			c.open[o.Event] = openBegin{o.Ordinal, o.NameID, late, at}
		}
	}
	s.facts = c.factsOf(o, at)
	if name := s.facts.marker; name != nil {
		s.name = c.found.markerInfo(name)
		if err := c.add(Evidence{ordinal: s.ordinal, kind: ownCategory, value: int64(s.name.Category)}); err != nil {
			return err
		}
	}
	for _, p := range c.providers {
		if err := p.see(c, s); err != nil {
			return err
		}
	}
	return c.costFacts(s)
}

// costFacts keeps what cost needs of the arguments.
func (c *collecting) costFacts(s *event) error {
	if s.facts.hasCPU {
		if err := c.add(Evidence{ordinal: s.ordinal, kind: usedCPU, value: int64(s.facts.cpu)}); err != nil {
			return err
		}
	}
	if s.facts.hasStack && (s.name.Category == producers.CategoryStyle || s.name.Category == producers.CategoryLayout) {
		return c.add(Evidence{ordinal: s.ordinal, kind: hasStack})
	}
	return nil
}

// endsLate follows the slices of a thread and reports whether the end event of one that begins comes when cost has done
// with the slice: it ends with the slice around it (attribution.md, Cost), or it has no length, so that other
// slices begin before its end event.
func (c *collecting) endsLate(thread timeline.TrackID, o *timeline.Head) bool {
	open := c.ends[thread]
	n := len(open)
	for n > 0 && open[n-1] <= o.TS {
		n--
	}
	end := o.End
	if n > 0 {
		end = min(end, open[n-1])
	}
	c.ends[thread] = append(open[:n], end)
	return end < o.End || end == o.TS
}

// lateCPU keeps the CPU time of a slice whose end event comes too late for cost.
func (c *collecting) lateCPU(s *openBegin, end timeline.Nanos) error {
	if !s.late || s.threadTime == timeline.NoTime || end == timeline.NoTime || end < s.threadTime {
		return nil
	}
	return c.add(Evidence{ordinal: s.ordinal, kind: usedCPU, value: int64(Add(end, -s.threadTime))})
}

// add adds evidence.
func (c *collecting) add(e Evidence) error { return c.found.Evidence.Add(e) }

// own records that a slice or instant names a context in its arguments.
func (c *collecting) own(s *event, typ TypeID, node NodeID) error {
	if node == 0 {
		return nil
	}
	c.contexts.Nodes[node].Context = true
	if run := (IsolateRun{s.Thread, node}); (typ == TypeFrame || typ == TypeScript) && s.place.Place == PlaceThread && !c.found.Runs[run] && c.contexts.hasRoom(runSize) {
		c.found.Runs[run] = true
	}
	return c.add(Evidence{ordinal: s.ordinal, kind: ownContext, Type: typ, Node: node})
}

// Run is a frame or script that a thread itself names in its slices, and not only through work that another thread has begun.
type IsolateRun struct {
	Thread timeline.TrackID
	Node   NodeID
}

// runSize is what a Run takes, with its place.
const runSize = 24

// isolateChoice is the isolate that a thread or process names, if it names only one.
type isolateChoice struct {
	node    NodeID
	several bool
}

func (c isolateChoice) with(node NodeID) isolateChoice {
	if c.node == 0 {
		c.node = node
	}
	c.several = c.several || c.node != node
	return c
}

// isolate returns the isolate whose garbage a thread collects (attribution.md, rule 9): the one that it names, or the only one of
// the process; otherwise an isolate made up for the thread.
func (c *collecting) isolate(thread timeline.TrackID) NodeID {
	if own := c.isolateOf[thread]; own.node != 0 && !own.several {
		return own.node
	}
	p := &c.found.tracks[thread]
	if of := c.isolateOf[p.process]; p.process != 0 && of.node != 0 && !of.several {
		return of.node
	}
	tr := c.t.Track(thread)
	id := appendThreadName(nil, p.pid, tr.InputID)
	n := c.node(ScopeIsolate, id, p.pid, p.idSpace)
	c.contexts.Nodes[n].Context = n != 0
	return n
}
