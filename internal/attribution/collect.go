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

// found is the result of the first pass: the facts about contexts in the events of the trace.
type found struct {
	T          *timeline.Timeline
	workers    int
	Contexts   *Catalogue
	Evidence   *extsort.Sorter[Evidence] // by ordinal
	tracks     []track                   // by TrackID
	names      []nameInfo                // by NameID
	markers    map[string]*nameInfo      // by marker name, for slices named after the label of their marker
	categories []categoryInfo            // by CategoryID
	Requests   requests
	inputs     inputs
	isolates   map[timeline.TrackID]NodeID // by thread: the isolate whose garbage it collects
	Explicit   map[timeline.TrackID]bool   // threads with explicit events, where garbage collection is not charged to isolates
	attributed bool                        // the trace contains an earlier attribution
	Own        ownTracks
	Runs       map[IsolateRun]bool // frames and scripts by the threads that run them

	hasLanes bool            // see nested
	reorder  []timeline.Head // buffer for nested
}

// collecting is the first pass: it passes all events to the providers and collects their findings.
type collecting struct {
	found     *found
	contexts  *Catalogue
	t         *timeline.Timeline
	problems  *problem.Log
	args      *timeline.ArgSelection
	providers []provider
	names     *contextNames

	open  map[uint32]openBegin // open slices that have an end event, by the number of their start event
	ends  [][]timeline.Nanos   // by TrackID of a thread: ends of its open slices as the cost pass computes them, outermost first
	event event

	group   []timeline.Head // in input order
	known   []arguments     // arguments of group; nil: not read yet
	inOrder bool            // group is processed in input order, see nested
	early   []int           // indexes in group of ends that precede their starts
	latest  arguments

	isolateOf map[timeline.TrackID]isolateChoice // by thread or process
	frames    map[NodeID]NodeID                  // isolate of every frame that runs scripts

	renumbered map[recordedPID]int64 // new pids of processes that weft renumbered
	id         []byte                // buffer for global
}

// ownTracks holds the tracks that an earlier attribution wrote, and the number of events on them.
type ownTracks struct {
	Tracks           []timeline.TrackID
	Slices, Instants int64
}

// observe counts an event on one of these tracks.
func (w *ownTracks) observe(o *timeline.Head) {
	switch o.Kind {
	case timeline.ItemBegin:
		w.Slices++
	case timeline.ItemInstant:
		w.Instants++
	}
}

// openBegin is a slice whose end event has not been read yet.
type openBegin struct {
	ordinal    uint64
	name       timeline.NameID
	late       bool           // the end event comes too late for the cost pass
	threadTime timeline.Nanos // at the start; NoTime if unknown
}

func newCollecting(t *timeline.Timeline, workers int) *collecting {
	f := &found{
		T: t, workers: workers, Contexts: newCatalogue(LimitsFor(t.Memory())),
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

// recordedPID is a pid as it appears in events, with its id space.
type recordedPID struct {
	idSpace string
	pid     int64
}

// renumberedProcesses maps recorded pids to the pids in the trace, for processes that weft renumbered. If inputs that share an
// id space have two processes with the same pid, as with containers, references mean the process that was not renumbered.
func renumberedProcesses(f *found) map[recordedPID]int64 {
	renumbered, unchanged := map[recordedPID]int64{}, map[recordedPID]bool{}
	for id := range f.tracks {
		if f.T.TrackKind(timeline.TrackID(id)) != timeline.ProcessTrack {
			continue
		}
		p, tr := &f.tracks[id], f.T.Track(timeline.TrackID(id))
		switch {
		case !tr.Renumbered:
			unchanged[recordedPID{p.idSpace, p.pid}] = true
		case tr.RecordedPID >= 0: // in references, −1 is the main process
			renumbered[recordedPID{p.idSpace, tr.RecordedPID}] = p.pid
		}
	}
	maps.DeleteFunc(renumbered, func(at recordedPID, _ int64) bool { return unchanged[at] })
	return renumbered
}

// pidOf returns the pid in the trace for a pid in an event's arguments.
func (c *collecting) pidOf(idSpace string, pid int64) int64 {
	if renumbered, ok := c.renumbered[recordedPID{idSpace, pid}]; ok {
		return renumbered
	}
	return pid
}

// node returns the context with an id that is local to a process or, if pid is Global, to the id space. It returns 0 if there are
// too many contexts.
func (c *collecting) node(scope string, id []byte, pid int64, idSpace string) NodeID {
	if pid != Global {
		return c.contexts.nodeOf(scope, id, pid)
	}
	return c.contexts.nodeOf(scope, c.global(id, idSpace), Global)
}

// global makes an id that belongs to no process unique in the trace. The result is valid until the next call.
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

// run passes all events to the providers, then completes the catalogue.
func (c *collecting) run(ctx context.Context) error {
	for _, p := range c.providers {
		if p, ok := p.(starter); ok {
			p.start(c)
		}
	}
	if err := c.observeAll(ctx); err != nil {
		return err
	}
	if err := c.found.inputs.finish(c); err != nil {
		return err
	}
	for i := range c.found.inputs.List {
		in := &c.found.inputs.List[i]
		c.contexts.InputTimes[in.node] = in.Start - c.t.Start()
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

// observeAll passes all events to the providers. With several workers, a separate goroutine reads the event arguments.
func (c *collecting) observeAll(ctx context.Context) error {
	if c.found.workers > 1 {
		return timeline.PreparedAhead(ctx, c.t, c.read, c.observeGroup)
	}
	return c.t.Occurrences(ctx, true, func(group []timeline.Head) error { return c.observeGroup(group, nil) })
}

// walk calls fn with all events of each timestamp, without arguments, in nesting order; see nested.
func (f *found) walk(ctx context.Context, fn func(group []timeline.Head, inOrder bool) error) error {
	inNesting := func(group []timeline.Head) error { return fn(f.nested(group)) }
	if f.workers > 1 {
		return f.T.OccurrencesAhead(ctx, false, inNesting)
	}
	return f.T.Occurrences(ctx, false, inNesting)
}

// read reads the arguments of an occurrence into f, which may still contain an earlier occurrence's.
func (c *collecting) read(o *timeline.Head, f *arguments) {
	if f.any {
		*f = arguments{}
	}
	if place := c.found.tracks[o.Track].Place; len(o.Args) > 0 && place != placeOwn && place != placeNone {
		f.any = true
		f.read(c.args, o.Args)
	}
}

// observeGroup passes all events of one timestamp to the providers: first ends, then starts, then ends of zero-length slices.
// known holds the events' arguments; nil: not read yet.
func (c *collecting) observeGroup(group []timeline.Head, known []arguments) error {
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

// factsOf returns the arguments of an occurrence, given its index in the group.
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
	s.Head, s.ordinal, s.track, s.name = o, o.Ordinal, &c.found.tracks[o.Track], &c.found.names[o.NameID]
	s.call = c.found.categories[o.CategoryID].call
	switch {
	case s.track.Place == placeOwn:
		c.found.Own.observe(o)
		return nil
	case s.track.Place == placeNone:
		return nil
	case o.Kind == timeline.ItemEnd:
		begin, ok := c.open[o.BeginEvent]
		if !ok {
			return nil
		}
		delete(c.open, o.BeginEvent)
		at, _ := o.ThreadTime.Nanos()
		if err := c.lateCPU(&begin, at); err != nil {
			return err
		}
		if len(o.Args) == 0 && !o.Deletion {
			return nil
		}
		s.ordinal, s.name = begin.ordinal, &c.found.names[begin.name]
	case o.Kind == timeline.ItemBegin && o.End != timeline.NoTime:
		late := s.track.Place == PlaceThread && c.endsLate(s.track.Thread, o)
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
		if err := p.observe(c, s); err != nil {
			return err
		}
	}
	return c.costFacts(s)
}

// costFacts adds, as evidence, the arguments that the cost pass needs.
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

// endsLate tracks the open slices of a thread. It reports whether the end event of a starting slice comes too late for the cost
// pass. This happens if the slice is cut at the end of the enclosing slice (attribution.md, Cost), or if it has no length, so
// that other slices start before its end event.
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

// lateCPU adds, as evidence, the CPU time of a slice whose end event comes too late for the cost pass.
func (c *collecting) lateCPU(s *openBegin, end timeline.Nanos) error {
	if !s.late || s.threadTime == timeline.NoTime || end == timeline.NoTime || end < s.threadTime {
		return nil
	}
	return c.add(Evidence{ordinal: s.ordinal, kind: usedCPU, value: int64(Add(end, -s.threadTime))})
}

func (c *collecting) add(e Evidence) error { return c.found.Evidence.Add(e) }

// addContext records that a slice or instant names a context in its arguments.
func (c *collecting) addContext(s *event, typ TypeID, node NodeID) error {
	if node == 0 {
		return nil
	}
	c.contexts.Nodes[node].Context = true
	if run := (IsolateRun{s.Thread, node}); (typ == TypeFrame || typ == TypeScript) && s.track.Place == PlaceThread && !c.found.Runs[run] && c.contexts.reserve(isolateRunSize) {
		c.found.Runs[run] = true
	}
	return c.add(Evidence{ordinal: s.ordinal, kind: ownContext, Type: typ, Node: node})
}

// IsolateRun is a frame or script that slices of a thread name in their arguments, not a propagated one.
type IsolateRun struct {
	Thread timeline.TrackID
	Node   NodeID
}

// isolateRunSize is the size of an IsolateRun, with its map entry.
const isolateRunSize = 24

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

// isolate returns the isolate whose garbage a thread collects (attribution.md, rule 9): the only one that the thread names,
// otherwise the only one that its process names, otherwise one invented for the thread.
func (c *collecting) isolate(thread timeline.TrackID) NodeID {
	if own := c.isolateOf[thread]; own.node != 0 && !own.several {
		return own.node
	}
	p := &c.found.tracks[thread]
	if own := c.isolateOf[p.process]; p.process != 0 && own.node != 0 && !own.several {
		return own.node
	}
	tr := c.t.Track(thread)
	id := appendThreadName(nil, p.pid, tr.InputID)
	n := c.node(ScopeIsolate, id, p.pid, p.idSpace)
	c.contexts.Nodes[n].Context = n != 0
	return n
}
