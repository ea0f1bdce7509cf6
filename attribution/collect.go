package attribution

import (
	"context"
	"maps"
	"slices"
	"sort"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// found is what the first pass leaves to those that follow: what the events of the trace say about contexts.
type found struct {
	t          *timeline.Timeline
	workers    int
	contexts   *catalogue
	evidence   *extsort.Sorter[evidence] // by ordinal
	places     []place                   // by TrackID
	names      []nameInfo                // by NameID
	markers    map[string]*nameInfo      // by the names of markers that have others
	categories []categoryInfo            // by CategoryID
	requests   requests
	inputs     inputs
	isolates   map[timeline.TrackID]NodeID // of the threads that collect garbage
	explicit   map[timeline.TrackID]bool   // threads with explicit events, on which nothing is collected for isolates
	attributed bool                        // the trace holds an earlier attribution
	own        ownTracks

	hasLanes bool // see nested
	ofLanes  []timeline.Occurrence
}

// collector is the first pass: it shows all events to the providers and keeps what they find.
type collector struct {
	found     *found
	contexts  *catalogue
	t         *timeline.Timeline
	problems  *problem.Log
	args      *timeline.ArgSelection
	providers []provider

	open map[uint32]openBegin // slices that have an end event, by the event that began them
	ends [][]timeline.Nanos   // by TrackID of a thread: ends of its open slices as cost has them, the outermost first
	seen seen

	group   []timeline.Occurrence // as it came
	known   []facts               // about it; nil: not read yet
	inOrder bool                  // what is shown of it comes in its order, see nested
	early   []int                 // of the group: ends of what has not begun
	latest  facts

	isolateOf map[timeline.TrackID]isolateChoice // of threads and of processes
	frames    map[NodeID]NodeID                  // isolate of every frame that runs scripts
}

// ownTracks are the tracks that an earlier attribution has written, and what is on them.
type ownTracks struct {
	tracks           []timeline.TrackID
	slices, instants int64
}

// see counts what is on such a track.
func (w *ownTracks) see(o *timeline.Occurrence) {
	switch o.Kind {
	case timeline.OccursSlice:
		w.slices++
	case timeline.OccursInstant:
		w.instants++
	}
}

// openBegin is a slice whose end event has not come.
type openBegin struct {
	ordinal    uint64
	name       timeline.NameID
	late       bool           // the end event comes when cost has done with the slice
	threadTime timeline.Nanos // at its begin; NoTime if unknown
}

// newCollector prepares the first pass.
func newCollector(t *timeline.Timeline, workers int) *collector {
	f := &found{
		t: t, workers: workers, contexts: newCatalogue(limitsFor(t.Memory())),
		evidence: extsort.New(evidenceCodec, compareEvidence, t.Memory()/16, t.TempDir()),
		places:   findPlaces(t), names: infosOf(t), markers: map[string]*nameInfo{}, categories: categoriesOf(t), requests: newRequests(), inputs: newInputs(),
		isolates: map[timeline.TrackID]NodeID{}, explicit: map[timeline.TrackID]bool{}, attributed: wasAttributed(t),
	}
	for id := range f.places {
		f.hasLanes = f.hasLanes || f.places[id].lane
		if f.places[id].role == roleOwn {
			f.own.tracks = append(f.own.tracks, timeline.TrackID(id))
		}
	}
	f.contexts.findMain(t, f.places)
	return &collector{
		found: f, contexts: f.contexts, t: t, problems: t.Problems(), providers: providers(t),
		args: t.SelectArgs(func(name string) bool { return factNames[name] }),
		open: map[uint32]openBegin{}, ends: make([][]timeline.Nanos, t.TrackCount()),
		isolateOf: map[timeline.TrackID]isolateChoice{}, frames: map[NodeID]NodeID{},
	}
}

// run shows all events to the providers and then puts the catalogue in order.
func (c *collector) run(ctx context.Context) error {
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
	for _, thread := range slices.Sorted(maps.Keys(c.found.isolates)) {
		c.found.isolates[thread] = c.isolate(thread)
	}
	c.contexts.finish()
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
func (c *collector) showAll(ctx context.Context) error {
	if c.found.workers > 1 {
		return timeline.PreparedAhead(ctx, c.t, c.read, c.show)
	}
	return c.t.Occurrences(ctx, true, func(group []timeline.Occurrence) error { return c.show(group, nil) })
}

// walk calls fn for everything that happens at each time, without arguments, in the order in which slices nest; see nested.
func (f *found) walk(ctx context.Context, fn func(group []timeline.Occurrence, inOrder bool) error) error {
	inNesting := func(group []timeline.Occurrence) error { return fn(f.nested(group)) }
	if f.workers > 1 {
		return f.t.OccurrencesAhead(ctx, false, inNesting)
	}
	return f.t.Occurrences(ctx, false, inNesting)
}

// read reads the facts about an occurrence, in place of those about another one.
func (c *collector) read(o *timeline.Occurrence, f *facts) {
	if f.any {
		*f = facts{}
	}
	if role := c.found.places[o.Track].role; len(o.Args) > 0 && role != roleOwn && role != roleNone {
		f.any = true
		f.read(c.args, o.Args)
	}
}

// show shows everything that happens at one time to the providers. End events come before what starts, but those of slices
// that have no length after it. known are the facts; nil: they are not read yet.
func (c *collector) show(group []timeline.Occurrence, known []facts) error {
	c.group, c.known = group, known
	group, c.inOrder = c.found.nested(group)
	c.early = c.early[:0]
	for i := range group {
		if o := &group[i]; o.Kind == timeline.OccursEnd {
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
func (c *collector) factsOf(o *timeline.Occurrence, at int) *facts {
	if c.known == nil {
		c.read(o, &c.latest)
		return &c.latest
	}
	if !c.inOrder {
		at = sort.Search(len(c.group), func(i int) bool { return c.group[i].Ordinal >= o.Ordinal })
	}
	return &c.known[at]
}

func (c *collector) occurrence(o *timeline.Occurrence, at int) error {
	if err := c.t.ReadArgs(o); err != nil {
		return err
	}
	s := &c.seen
	s.Occurrence, s.ordinal, s.place, s.name = o, o.Ordinal, &c.found.places[o.Track], &c.found.names[o.Name]
	s.call = c.found.categories[o.Category].call
	switch {
	case s.place.role == roleOwn:
		c.found.own.see(o)
		return nil
	case s.place.role == roleNone:
		return nil
	case o.Kind == timeline.OccursEnd:
		begun, ok := c.open[o.BeginEvent]
		if !ok {
			return nil
		}
		delete(c.open, o.BeginEvent)
		if err := c.lateCPU(&begun, o.ThreadTime); err != nil {
			return err
		}
		if len(o.Args) == 0 && !o.Deletion {
			return nil
		}
		s.ordinal, s.name = begun.ordinal, &c.found.names[begun.name]
	case o.Kind == timeline.OccursSlice && o.End != timeline.NoTime:
		late := s.place.role == roleThread && c.endsLate(s.place.thread, o)
		if !o.Complete {
			c.open[o.Event] = openBegin{o.Ordinal, o.Name, late, o.ThreadTime}
		}
	}
	s.facts = c.factsOf(o, at)
	if name := s.facts.marker; name != nil {
		s.name = c.found.markerInfo(name)
		if err := c.add(evidence{ordinal: s.ordinal, kind: ownCategory, value: int64(s.name.category)}); err != nil {
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
func (c *collector) costFacts(s *seen) error {
	if s.facts.hasCPU {
		if err := c.add(evidence{ordinal: s.ordinal, kind: usedCPU, value: int64(s.facts.cpu)}); err != nil {
			return err
		}
	}
	if s.facts.hasStack && (s.name.category == CategoryStyle || s.name.category == CategoryLayout) {
		return c.add(evidence{ordinal: s.ordinal, kind: hasStack})
	}
	return nil
}

// endsLate follows the slices of a thread and reports whether the end event of one that begins comes when cost has done
// with the slice: it is cut at the end of the slice around it (attribution.md, Cost), or it has no length, so that other
// slices begin before its end event.
func (c *collector) endsLate(thread timeline.TrackID, o *timeline.Occurrence) bool {
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
func (c *collector) lateCPU(s *openBegin, end timeline.Nanos) error {
	if !s.late || s.threadTime == timeline.NoTime || end == timeline.NoTime || end < s.threadTime {
		return nil
	}
	return c.add(evidence{ordinal: s.ordinal, kind: usedCPU, value: int64(sum(end, -s.threadTime))})
}

// add adds evidence.
func (c *collector) add(e evidence) error { return c.found.evidence.Add(e) }

// own says that a slice or instant names a context in its arguments.
func (c *collector) own(s *seen, typ TypeID, node NodeID) error {
	if node == 0 {
		return nil
	}
	c.contexts.nodes[node].context = true
	return c.add(evidence{ordinal: s.ordinal, kind: ownContext, typ: typ, node: node})
}

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

// isolate returns the isolate whose garbage a thread collects (attribution.md, rule 9): the one that it names; if it names
// none or several, the only one of the process; else one that is made up.
func (c *collector) isolate(thread timeline.TrackID) NodeID {
	if own := c.isolateOf[thread]; own.node != 0 && !own.several {
		return own.node
	}
	p := &c.found.places[thread]
	if of := c.isolateOf[p.process]; p.process != 0 && of.node != 0 && !of.several {
		return of.node
	}
	tr := c.t.Track(thread)
	id := appendThreadName(nil, p.pid, tr.InputID)
	n := c.contexts.node(ScopeIsolate, id, p.pid)
	c.contexts.nodes[n].context = n != 0
	return n
}
