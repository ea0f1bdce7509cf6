package attribution

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// Input is an input event: a click, a key, a movement.
type Input struct {
	ID    Identity
	Type  string         // MouseDown, GestureScrollUpdate, click, …
	Start timeline.Nanos // when it happened
	// Latency is the time from there to the pixels that answer it, or whatever its end is; NoTime if unknown.
	Latency timeline.Nanos
	// Presented is when these pixels were shown; NoTime if there are none, or it is not known.
	Presented timeline.Nanos
	// Dropped is set if nothing was shown in answer to it.
	Dropped bool
	// Interaction joins the events of one interaction, such as the press and the release of a key; 0: none.
	Interaction int64

	node NodeID
	from inputSource
}

// inputSource is the slice by which an input event is known. The best source decides its type, start and latency.
type inputSource uint8

const (
	fromTiming  inputSource = iota + 1 // EventTiming of Chrome, DOMEvent of Firefox
	fromStages                         // EventLatency
	fromLatency                        // InputLatency::…
)

// inputBegin is when an input event happened.
type inputBegin struct {
	idSpace string
	at      timeline.Nanos
}

// startedInput is the input event of a slice that begins when it happened.
type startedInput struct {
	node NodeID
	from inputSource
}

// staged is an input event whose stages on the way to the pixels are shown inside a slice.
type staged struct {
	node NodeID
	end  timeline.Nanos // of the slice
}

// Limits of what is kept of input events, beside maxTableSize, which these count towards.
const (
	maxInputs    = 1 << 18
	maxUnnamed   = 1 << 14 // slices that have begun and of which the trace id is not known yet
	InputSize    = 208     // bytes of an input event, with its place
	startSize    = 80
	stagesSize   = 64
	TimingSize   = 416 // twice: in the order of the input, and sorted; and in a table by its start
	asyncIDSize  = 64
	furtherSize  = 128 // of an input event whose id is reused
	MaxAsyncText = 256 // bytes of the id of an asynchronous slice; longer ones are truncated
)

// inputs holds the input events of a trace.
type inputs struct {
	List    []Input
	byNode  map[NodeID]int
	byStart map[inputBegin]startedInput // of those with a slice of their latency
	begun   map[uint64]Input            // such slices whose trace id is not known yet, by ordinal
	stages  map[timeline.TrackID]staged // the latest one of each track
	timings []timing
	types   map[string]TypeID           // of events of documents: click, keydown
	byKey   map[timingKey][]timing      // in the order of processing
	byBegin map[timingBegin]NodeID      // of several the one that is processed first
	ids     map[timeline.TrackID]string // of asynchronous slices that were read from a Perfetto trace of weft
	reused  map[NodeID]reusedID         // by the context that has the id as it is
	further map[happenedAt]NodeID       // events of reused ids
}

// reusedID is an id that several input events have. The first one has it as it is.
type reusedID struct {
	n      int // how many there are
	latest NodeID
}

// happenedAt is one of the input events of an id.
type happenedAt struct {
	id NodeID
	at timeline.Nanos
}

// timing is an EventTiming slice of Chrome: what the page measured of an event.
type timing struct {
	ordinal    uint64
	thread     timeline.TrackID // 0: unknown
	start, end timeline.Nanos
	processing timeline.Nanos // when its listeners were called first
	typ        TypeID
	name       string
	joins      int64 // interactionId
	id         Identity
	idSpace    string
	node       NodeID // 0 until it is known
}

// timingKey is what a dispatch and its timing have in common.
type timingKey struct {
	idSpace string // of the thread, which may be unknown
	thread  timeline.TrackID
	typ     TypeID
}

// timingBegin is their common key if the dispatch has the time of its event.
type timingBegin struct {
	timingKey
	start timeline.Nanos
}

func newInputs() inputs {
	return inputs{
		byNode: map[NodeID]int{}, byStart: map[inputBegin]startedInput{}, begun: map[uint64]Input{}, types: map[string]TypeID{},
		stages: map[timeline.TrackID]staged{},
		byKey:  map[timingKey][]timing{}, byBegin: map[timingBegin]NodeID{}, ids: map[timeline.TrackID]string{},
		reused: map[NodeID]reusedID{}, further: map[happenedAt]NodeID{},
	}
}

// happened returns the input event with an id that happened at a time. Ids are not always of one: EventTimings use theirs
// again, and developer tools that save a trace round trace ids, which are beyond 2^53, as other numbers. As with objects, a
// reused id is another context (attribution.md, rule 3): the second one is called ID#2.
func (in *inputs) happened(c *collecting, id NodeID, at timeline.Nanos) NodeID {
	first, known := in.byNode[id]
	if !known || in.List[first].Start == at {
		return id
	}
	key := happenedAt{id, at}
	if node, known := in.further[key]; known {
		return node
	}
	if !c.contexts.hasRoom(furtherSize) {
		return 0
	}
	n := max(1, in.reused[id].n) + 1
	of := c.contexts.Nodes[id].Identity
	node := c.contexts.nodeOf(of.Scope, fmt.Appendf(nil, "%s#%d", of.ID, n), of.Process)
	if node != 0 {
		in.reused[id], in.further[key] = reusedID{n, node}, node
	}
	return node
}

// latest returns the input event with an id that began last.
func (in *inputs) latest(id NodeID) NodeID {
	if r, known := in.reused[id]; known {
		return r.latest
	}
	return id
}

// add keeps the details of an input event. Of several slices of one kind the first one counts, and the longest latency.
func (in *inputs) add(c *collecting, i Input) {
	if at, ok := in.byNode[i.node]; ok {
		was := &in.List[at]
		switch {
		case i.from > was.from:
			was.Type, was.Start, was.Latency, was.from = i.Type, i.Start, i.Latency, i.from
			c.contexts.classes[i.node] = i.Type
		case i.from == was.from:
			was.Latency = max(was.Latency, i.Latency) // NoTime is less than any time
		}
		if was.Interaction == 0 {
			was.Interaction = i.Interaction
		}
		return
	}
	if !c.contexts.mayGrow(len(in.List), c.contexts.Room.Of(maxInputs)) || !c.contexts.hasRoom(InputSize) {
		return
	}
	i.Presented = timeline.NoTime
	c.contexts.classes[i.node] = i.Type
	in.byNode[i.node] = len(in.List)
	in.List = append(in.List, i)
}

// typeOf numbers the types of events of documents; 0 if there are too many.
func (in *inputs) typeOf(c *collecting, name []byte) TypeID {
	if id, ok := in.types[string(name)]; ok {
		return id
	}
	if !c.contexts.mayGrow(len(in.types), MaxTypes) {
		return 0
	}
	id := TypeID(len(in.types) + 1)
	in.types[strings.Clone(string(name))] = id
	return id
}

// chromeInput finds input events in traces of Chrome (attribution.md, rule 8): by the trace id of their latency, and where
// there is none by the EventTiming of the page.
type chromeInput struct{}

func (chromeInput) see(c *collecting, s *event) error {
	in, f := &c.found.inputs, s.facts
	switch {
	case s.Kind == timeline.ItemBegin && (s.name.event == producers.InputLatency || s.name.event == producers.EventLatency):
		in.begin(c, s)
	case s.name.event == producers.StagePresented || s.name.event == producers.StageTerminated:
		in.stage(s)
	}
	switch {
	case f.traceID != nil:
		node := in.identify(c, s, c.node(ScopeLatency, f.traceID, Global, s.place.idSpace))
		if s.place.Place != PlaceThread && s.place.Place != placeAsync {
			return nil
		}
		return c.own(s, TypeInputEvent, node)
	case s.name.event == producers.EventTiming && s.Kind == timeline.ItemBegin && f.hasTimes && f.eventType != nil:
		in.timing(c, s)
	case s.name.event == producers.EventDispatch && f.eventType != nil && s.Kind == timeline.ItemBegin:
		happened := f.happened
		if happened != 0 {
			happened += int64(s.place.moved)
		}
		return c.add(Evidence{ordinal: s.ordinal, kind: dispatches, Type: in.typeOf(c, f.eventType), value: happened})
	}
	return nil
}

// begin keeps a slice that shows the latency of an input event.
func (in *inputs) begin(c *collecting, s *event) {
	i := Input{Start: s.TS, Latency: timeline.NoTime, from: fromStages}
	if s.name.event == producers.InputLatency {
		i.Type, i.from = strings.TrimPrefix(s.name.name, producers.InputLatencyPrefix), fromLatency
	}
	if s.End != timeline.NoTime {
		i.Latency = s.End - s.TS
	}
	if c.contexts.mayGrow(len(in.begun), maxUnnamed) {
		in.begun[s.ordinal] = i
	}
}

// identify returns the input event of a slice with a trace id, and keeps what the slice has about it if that shows its latency.
// EventLatency has the trace id and the type of the event in its own arguments (attribution.md, rule 8).
func (in *inputs) identify(c *collecting, s *event, id NodeID) NodeID {
	i, ok := in.begun[s.ordinal]
	if !ok {
		return in.latest(id)
	}
	delete(in.begun, s.ordinal)
	node := in.happened(c, id, i.Start)
	if node == 0 {
		return 0
	}
	i.node, i.ID = node, c.contexts.Nodes[node].Identity
	if i.from == fromStages {
		i.Type = c.contexts.Keep(s.facts.stagesType)
		_, known := in.stages[s.Track]
		if i.Latency != timeline.NoTime && (known || c.contexts.hasRoom(stagesSize)) {
			in.stages[s.Track] = staged{node: node, end: i.Start + i.Latency}
		}
	}
	in.add(c, i)
	begin := inputBegin{s.place.idSpace, i.Start}
	if known, ok := in.byStart[begin]; known.from < i.from && (ok || c.contexts.hasRoom(startSize)) {
		in.byStart[begin] = startedInput{node, i.from}
	}
	return node
}

// stage reads the last stage of an input event on its way to the pixels: it says when these were shown, or that there are
// none.
func (in *inputs) stage(s *event) {
	of, ok := in.stages[s.Track]
	if !ok || s.isEnd() || s.TS > of.end {
		return
	}
	at, ok := in.byNode[of.node]
	if !ok {
		return
	}
	i := &in.List[at]
	switch {
	case s.name.event == producers.StageTerminated:
		i.Dropped = i.Presented == timeline.NoTime
	case s.Kind == timeline.ItemInstant:
		i.Presented, i.Dropped = max(i.Presented, s.TS), false
	case s.End != timeline.NoTime:
		i.Presented, i.Dropped = max(i.Presented, s.End), false
	}
}

// timing keeps an EventTiming slice. Whether its input has a trace id is known only when all events are.
func (in *inputs) timing(c *collecting, s *event) {
	ms := s.facts.processing - s.facts.timeStamp
	if !(math.Abs(ms) < 1e9) {
		return
	}
	t := timing{
		ordinal: s.ordinal, thread: s.Thread, start: s.TS, end: s.End, typ: in.typeOf(c, s.facts.eventType), joins: s.facts.interaction,
		processing: Add(s.TS, timeline.Nanos(math.Round(ms*1e6))), name: c.contexts.Keep(s.facts.eventType), idSpace: s.place.idSpace,
		id: Identity{Scope: scopeEventTiming, ID: c.t.AsyncID(s.Track), Process: s.place.pid},
	}
	if id := s.facts.asyncID; id != nil { // only the outermost slice of an id has it
		id = id[:min(len(id), MaxAsyncText)]
		if _, known := in.ids[s.Track]; known || c.contexts.hasRoom(asyncIDSize+MaxAsyncText) {
			in.ids[s.Track] = string(id)
		}
	}
	if t.id.ID == "" {
		t.id.ID = in.ids[s.Track]
	}
	if t.id.ID == "" {
		t.id.ID = strconv.FormatInt(int64(s.TS), 10)
	}
	t.id.ID = strings.Clone(t.id.ID[:min(len(t.id.ID), MaxAsyncText)])
	if c.contexts.mayGrow(len(in.timings), c.contexts.Room.Of(maxInputs)) && c.contexts.hasRoom(TimingSize+len(t.id.ID)) {
		in.timings = append(in.timings, t)
	}
}

// finish finds the input of every EventTiming, and sorts them so that dispatches find theirs.
func (in *inputs) finish(c *collecting) error {
	for i := range in.timings {
		t := &in.timings[i]
		if t.node = in.byStart[inputBegin{t.idSpace, t.start}].node; t.node == 0 {
			t.node = in.happened(c, c.node(t.id.Scope, []byte(t.id.ID), t.id.Process, t.idSpace), t.start)
		}
		if t.node == 0 {
			continue
		}
		input := Input{
			ID: c.contexts.Nodes[t.node].Identity, Type: t.name, Start: t.start, Latency: timeline.NoTime, Interaction: t.joins, node: t.node, from: fromTiming,
		}
		if t.end != timeline.NoTime {
			input.Latency = t.end - t.start
		}
		in.add(c, input)
		c.contexts.Nodes[t.node].Context = true
		if err := c.add(Evidence{ordinal: t.ordinal, kind: ownContext, Type: TypeInputEvent, Node: t.node}); err != nil {
			return err
		}
		key := timingKey{t.idSpace, t.thread, t.typ}
		in.byKey[key] = append(in.byKey[key], *t)
	}
	for key, list := range in.byKey {
		slices.SortStableFunc(list, func(a, b timing) int { return cmp.Compare(a.processing, b.processing) })
		for i := range list {
			begin := timingBegin{key, list[i].start}
			if _, known := in.byBegin[begin]; !known {
				in.byBegin[begin] = list[i].node
			}
		}
	}
	in.timings, in.begun, in.stages, in.reused, in.further = nil, nil, nil, nil, nil
	return nil
}

// maxDispatchDistance is how far the dispatch of an event may be from the time at which its processing began.
const maxDispatchDistance = 1000 * timeline.Microsecond

// dispatched returns the input of which an event of a type was dispatched at a time, or 0: the one at the event's own time,
// otherwise the nearest processing.
func (f *found) dispatched(thread timeline.TrackID, typ TypeID, ts, happened timeline.Nanos) NodeID {
	in, key := &f.inputs, timingKey{f.tracks[thread].idSpace, thread, typ}
	list := in.byKey[key]
	if len(list) == 0 {
		key.thread = 0
		list = in.byKey[key]
	}
	if happened != 0 {
		if started := in.byStart[inputBegin{key.idSpace, happened}]; started.node != 0 {
			return started.node
		}
		if node := in.byBegin[timingBegin{key, happened}]; node != 0 {
			return node
		}
	}
	i, _ := slices.BinarySearchFunc(list, ts, func(t timing, ts timeline.Nanos) int { return cmp.Compare(t.processing, ts) })
	best, distance := NodeID(0), maxDispatchDistance+1
	if i > 0 && ts-list[i-1].processing < distance {
		best, distance = list[i-1].node, ts-list[i-1].processing
	}
	if i < len(list) && list[i].processing-ts < distance {
		best = list[i].node
	}
	return best
}
