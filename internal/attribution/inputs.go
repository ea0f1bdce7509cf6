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

// Input is an input event: a click, key press or pointer movement.
type Input struct {
	ID    Identity
	Type  string         // MouseDown, GestureScrollUpdate, click, …
	Start timeline.Nanos // time of the event
	// Latency is the time from Start to the resulting frame, or to the end of the slice that measures it; NoTime if unknown.
	Latency timeline.Nanos
	// Presented is the time of the resulting frame; NoTime if there is none or it is unknown.
	Presented timeline.Nanos
	// Dropped is set if the event did not result in a frame.
	Dropped bool
	// Interaction is equal for events of one interaction, such as the press and the release of a key; 0: none.
	Interaction int64

	node NodeID
	from inputSource
}

// inputSource is the kind of slice that describes an input event, best last. The best source determines type, start and latency.
type inputSource uint8

const (
	fromTiming  inputSource = iota + 1 // Chrome's EventTiming, Firefox's DOMEvent
	fromStages                         // EventLatency
	fromLatency                        // InputLatency::…
)

// inputBegin is the time of an input event in an id space.
type inputBegin struct {
	idSpace string
	at      timeline.Nanos
}

// startedInput is the input event of a slice that starts at the time of the event.
type startedInput struct {
	node NodeID
	from inputSource
}

// staged is an input event with a slice that contains its stages on the way to the screen.
type staged struct {
	node NodeID
	end  timeline.Nanos // of the slice
}

// Limits of input events, and sizes in bytes that count towards MaxTableSize.
const (
	maxInputs    = 1 << 18
	maxUnnamed   = 1 << 14 // latency slices without a trace id so far
	InputSize    = 208     // an input event, with its map entry
	startSize    = 80
	stagesSize   = 64
	TimingSize   = 416 // a timing, stored in input order and again sorted, and its entry in byBegin
	asyncIDSize  = 64
	furtherSize  = 128 // an input event with a reused id
	MaxAsyncText = 256 // bytes of an asynchronous slice's id; longer ids are truncated
)

// inputs holds the input events of a trace.
type inputs struct {
	List    []Input
	byNode  map[NodeID]int
	byStart map[inputBegin]startedInput // input events with a latency slice
	unnamed map[uint64]Input            // latency slices whose trace id has not been read yet, by ordinal
	stages  map[timeline.TrackID]staged // the latest input event with stages on each track
	timings []timing
	types   map[string]TypeID           // types of DOM events: click, keydown
	byKey   map[timingKey][]timing      // in order of processing
	byBegin map[timingBegin]NodeID      // the input event of the first timing in order of processing
	ids     map[timeline.TrackID]string // ids of asynchronous slices in Perfetto traces that weft wrote
	reused  map[NodeID]reusedID         // by the first context with the id
	further map[happenedAt]NodeID       // further events with a reused id
}

// reusedID describes an id that several input events share.
type reusedID struct {
	n      int // number of input events
	latest NodeID
}

// happenedAt identifies one of the input events that share an id.
type happenedAt struct {
	id NodeID
	at timeline.Nanos
}

// timing is a Chrome EventTiming slice: the page's measurement of an event.
type timing struct {
	ordinal    uint64
	thread     timeline.TrackID // 0: unknown
	start, end timeline.Nanos
	processing timeline.Nanos // time of the first listener call
	typ        TypeID
	name       string
	joins      int64 // interactionId
	id         Identity
	idSpace    string
	node       NodeID // 0 until finish
}

// timingKey is equal for a dispatch and its timing.
type timingKey struct {
	idSpace string
	thread  timeline.TrackID
	typ     TypeID
}

// timingBegin is equal for a dispatch and its timing if the dispatch has the time of its event.
type timingBegin struct {
	timingKey
	start timeline.Nanos
}

func newInputs() inputs {
	return inputs{
		byNode: map[NodeID]int{}, byStart: map[inputBegin]startedInput{}, unnamed: map[uint64]Input{}, types: map[string]TypeID{},
		stages: map[timeline.TrackID]staged{},
		byKey:  map[timingKey][]timing{}, byBegin: map[timingBegin]NodeID{}, ids: map[timeline.TrackID]string{},
		reused: map[NodeID]reusedID{}, further: map[happenedAt]NodeID{},
	}
}

// happened returns the input event with an id and a time. Ids are not always unique: EventTimings reuse theirs, and trace ids,
// which exceed 2^53, are rounded when developer tools save a trace. As with objects, each use of an id is a separate context
// (attribution.md, rule 3): the second context is called ID#2.
func (in *inputs) happened(c *collecting, id NodeID, at timeline.Nanos) NodeID {
	first, known := in.byNode[id]
	if !known || in.List[first].Start == at {
		return id
	}
	key := happenedAt{id, at}
	if node, known := in.further[key]; known {
		return node
	}
	if !c.contexts.reserve(furtherSize) {
		return 0
	}
	n := max(1, in.reused[id].n) + 1
	original := c.contexts.Nodes[id].Identity
	node := c.contexts.nodeOf(original.Scope, fmt.Appendf(nil, "%s#%d", original.ID, n), original.Process)
	if node != 0 {
		in.reused[id], in.further[key] = reusedID{n, node}, node
	}
	return node
}

// latest returns the latest input event with an id.
func (in *inputs) latest(id NodeID) NodeID {
	if r, known := in.reused[id]; known {
		return r.latest
	}
	return id
}

// add adds or updates an input event. If several slices of the same kind describe the event, the first slice and the longest
// latency count.
func (in *inputs) add(c *collecting, i Input) {
	if at, ok := in.byNode[i.node]; ok {
		old := &in.List[at]
		switch {
		case i.from > old.from:
			old.Type, old.Start, old.Latency, old.from = i.Type, i.Start, i.Latency, i.from
			c.contexts.classes[i.node] = i.Type
		case i.from == old.from:
			old.Latency = max(old.Latency, i.Latency) // NoTime is less than any time
		}
		if old.Interaction == 0 {
			old.Interaction = i.Interaction
		}
		return
	}
	if !c.contexts.mayGrow(len(in.List), c.contexts.Limits.Of(maxInputs)) || !c.contexts.reserve(InputSize) {
		return
	}
	i.Presented = timeline.NoTime
	c.contexts.classes[i.node] = i.Type
	in.byNode[i.node] = len(in.List)
	in.List = append(in.List, i)
}

// typeOf returns the number of a DOM event type, or 0 if there are too many.
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

// chromeInput finds input events in Chrome traces (attribution.md, rule 8): by the trace id of their latency slices, otherwise
// by the page's EventTiming.
type chromeInput struct{}

func (chromeInput) observe(c *collecting, s *event) error {
	in, f := &c.found.inputs, s.facts
	switch {
	case s.Kind == timeline.ItemBegin && (s.name.event == producers.InputLatency || s.name.event == producers.EventLatency):
		in.begin(c, s)
	case s.name.event == producers.StagePresented || s.name.event == producers.StageTerminated:
		in.stage(s)
	}
	switch {
	case f.traceID != nil:
		node := in.identify(c, s, c.node(ScopeLatency, f.traceID, Global, s.track.idSpace))
		if s.track.Place != PlaceThread && s.track.Place != placeAsync {
			return nil
		}
		return c.addContext(s, TypeInputEvent, node)
	case s.name.event == producers.EventTiming && s.Kind == timeline.ItemBegin && f.hasTimes && f.eventType != nil:
		in.timing(c, s)
	case s.name.event == producers.EventDispatch && f.eventType != nil && s.Kind == timeline.ItemBegin:
		happened := f.happened
		if happened != 0 {
			happened += int64(s.track.moved)
		}
		return c.add(Evidence{ordinal: s.ordinal, kind: dispatches, Type: in.typeOf(c, f.eventType), value: happened})
	}
	return nil
}

// begin records the start of a latency slice; identify adds its trace id.
func (in *inputs) begin(c *collecting, s *event) {
	i := Input{Start: s.TS, Latency: timeline.NoTime, from: fromStages}
	if s.name.event == producers.InputLatency {
		i.Type, i.from = strings.TrimPrefix(s.name.name, producers.InputLatencyPrefix), fromLatency
	}
	if s.End != timeline.NoTime {
		i.Latency = s.End - s.TS
	}
	if c.contexts.mayGrow(len(in.unnamed), maxUnnamed) {
		in.unnamed[s.ordinal] = i
	}
}

// identify returns the input event of a slice with a trace id, and adds the input event if the slice is a latency slice.
// EventLatency has the trace id and the type of the event in its own arguments (attribution.md, rule 8).
func (in *inputs) identify(c *collecting, s *event, id NodeID) NodeID {
	i, ok := in.unnamed[s.ordinal]
	if !ok {
		return in.latest(id)
	}
	delete(in.unnamed, s.ordinal)
	node := in.happened(c, id, i.Start)
	if node == 0 {
		return 0
	}
	i.node, i.ID = node, c.contexts.Nodes[node].Identity
	if i.from == fromStages {
		i.Type = c.contexts.Keep(s.facts.stagesType)
		_, known := in.stages[s.Track]
		if i.Latency != timeline.NoTime && (known || c.contexts.reserve(stagesSize)) {
			in.stages[s.Track] = staged{node: node, end: i.Start + i.Latency}
		}
	}
	in.add(c, i)
	begin := inputBegin{s.track.idSpace, i.Start}
	if known, ok := in.byStart[begin]; known.from < i.from && (ok || c.contexts.reserve(startSize)) {
		in.byStart[begin] = startedInput{node, i.from}
	}
	return node
}

// stage reads the last stage of an input event: the presentation of a frame, or termination without one.
func (in *inputs) stage(s *event) {
	latency, ok := in.stages[s.Track]
	if !ok || s.isEnd() || s.TS > latency.end {
		return
	}
	at, ok := in.byNode[latency.node]
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

// timing records an EventTiming slice. The input event of the slice is found only after the last event, because a latency slice
// may provide it.
func (in *inputs) timing(c *collecting, s *event) {
	ms := s.facts.processing - s.facts.timeStamp
	if !(math.Abs(ms) < 1e9) {
		return
	}
	t := timing{
		ordinal: s.ordinal, thread: s.Thread, start: s.TS, end: s.End, typ: in.typeOf(c, s.facts.eventType), joins: s.facts.interaction,
		processing: Add(s.TS, timeline.Nanos(math.Round(ms*1e6))), name: c.contexts.Keep(s.facts.eventType), idSpace: s.track.idSpace,
		id: Identity{Scope: scopeEventTiming, ID: c.t.AsyncID(s.Track), Process: s.track.pid},
	}
	if id := s.facts.asyncID; id != nil { // only the outermost slice with an id stores the id
		id = id[:min(len(id), MaxAsyncText)]
		if _, known := in.ids[s.Track]; known || c.contexts.reserve(asyncIDSize+MaxAsyncText) {
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
	if c.contexts.mayGrow(len(in.timings), c.contexts.Limits.Of(maxInputs)) && c.contexts.reserve(TimingSize+len(t.id.ID)) {
		in.timings = append(in.timings, t)
	}
}

// finish finds the input event of every EventTiming, and sorts the timings for dispatched.
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
	in.timings, in.unnamed, in.stages, in.reused, in.further = nil, nil, nil, nil, nil
	return nil
}

// maxDispatchDistance bounds the time between the dispatch of an event and the start of its processing.
const maxDispatchDistance = 1000 * timeline.Microsecond

// dispatched returns the input event that was dispatched at ts: the one that happened at the given time, otherwise the one
// whose processing starts nearest to ts. It returns 0 if there is none.
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
