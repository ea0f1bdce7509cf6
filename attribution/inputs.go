package attribution

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/timeline"
)

// Input is an input event: a click, a key, a movement.
type Input struct {
	ID    Identity
	Type  string         // MouseDown, GestureScrollUpdate, click, …
	Start timeline.Nanos // when it happened
	// Latency is the time from there to the pixels that answer it, or whatever its end is; NoTime if unknown.
	Latency timeline.Nanos

	node NodeID
}

// maxInputs bounds the input events of which details are kept.
const maxInputs = 1 << 18

// inputs holds the input events of a trace.
type inputs struct {
	list    []Input
	byNode  map[NodeID]int
	byStart map[timeline.Nanos]NodeID // of those with a latency slice
	begun   map[uint64]Input          // latency slices whose trace id is not known yet, by ordinal
	timings []timing
	types   map[string]TypeID // of events of documents: click, keydown
	byKey   map[timingKey][]timing
	ids     map[timeline.TrackID]string // of asynchronous slices that were read from a Perfetto trace of weft
}

// timing is an EventTiming slice of Chrome: what the page measured of an event.
type timing struct {
	ordinal    uint64
	thread     timeline.TrackID // 0: unknown
	start, end timeline.Nanos
	processing timeline.Nanos // when its listeners were called first
	typ        TypeID
	name       string
	id         Identity
	node       NodeID // 0 as long as it is not known
}

// timingKey is what a dispatch and its timing have in common.
type timingKey struct {
	thread timeline.TrackID
	typ    TypeID
}

func newInputs() inputs {
	return inputs{
		byNode: map[NodeID]int{}, byStart: map[timeline.Nanos]NodeID{}, begun: map[uint64]Input{}, types: map[string]TypeID{},
		byKey: map[timingKey][]timing{}, ids: map[timeline.TrackID]string{},
	}
}

// add keeps the details of an input event; the first ones count, and the longest latency.
func (in *inputs) add(c *collector, i Input) {
	if at, ok := in.byNode[i.node]; ok {
		in.list[at].Latency = max(in.list[at].Latency, i.Latency) // NoTime is less than any time
		return
	}
	if len(in.list) >= maxInputs {
		return
	}
	c.classes[i.node] = i.Type
	in.byNode[i.node] = len(in.list)
	in.list = append(in.list, i)
}

// typeOf numbers the types of events of documents.
func (in *inputs) typeOf(name []byte) TypeID {
	if id, ok := in.types[string(name)]; ok {
		return id
	}
	if len(in.types) >= maxTypes {
		return 0
	}
	id := TypeID(len(in.types) + 1)
	in.types[strings.Clone(string(name))] = id
	return id
}

// chromeInput finds input events in traces of Chrome (spec contexts.md S10): by the trace id of their latency, and where
// there is none by the EventTiming of the page.
type chromeInput struct{}

func (chromeInput) see(c *collector, s *seen) error {
	in, f := &c.inputs, &s.facts
	if s.name.event == inputLatency && s.Kind == timeline.OccursSlice {
		i := Input{Type: strings.TrimPrefix(s.name.name, inputLatencyPrefix), Start: s.TS, Latency: timeline.NoTime}
		if s.End != timeline.NoTime {
			i.Latency = s.End - s.TS
		}
		if len(in.begun) < maxInputs {
			in.begun[s.ordinal] = i
		}
	}
	switch {
	case f.traceID != nil:
		node := c.node(ScopeLatency, f.traceID, Global)
		if i, ok := in.begun[s.ordinal]; ok && node != 0 {
			delete(in.begun, s.ordinal)
			i.node, i.ID = node, c.nodes[node].Identity
			in.add(c, i)
			if _, ok := in.byStart[i.Start]; !ok {
				in.byStart[i.Start] = node
			}
		}
		if s.place.role != roleThread && s.place.role != roleAsync {
			return nil
		}
		return c.own(s, TypeInputEvent, node)
	case s.name.event == eventTiming && s.Kind == timeline.OccursSlice && f.hasTimes && f.eventType != nil:
		in.timing(c, s)
	case s.name.event == eventDispatch && f.eventType != nil && s.Kind == timeline.OccursSlice:
		return c.add(evidence{ordinal: s.ordinal, kind: dispatches, typ: in.typeOf(f.eventType)})
	}
	return nil
}

// timing keeps an EventTiming slice. Whether its input has a trace id is known only when all events are.
func (in *inputs) timing(c *collector, s *seen) {
	if len(in.timings) >= maxInputs {
		return
	}
	ms := s.facts.processing - s.facts.timeStamp
	if !(math.Abs(ms) < 1e9) {
		return
	}
	t := timing{
		ordinal: s.ordinal, thread: s.Thread, start: s.TS, end: s.End, typ: in.typeOf(s.facts.eventType),
		processing: s.TS + timeline.Nanos(math.Round(ms*1e6)), name: c.keep(s.facts.eventType),
		id: Identity{Scope: ScopeEventTiming, ID: c.t.AsyncID(s.Track), Process: s.place.pid},
	}
	if s.facts.asyncID != nil { // only the outermost slice of an id has it
		in.ids[s.Track] = string(s.facts.asyncID)
	}
	if t.id.ID == "" {
		t.id.ID = in.ids[s.Track]
	}
	if t.id.ID == "" {
		t.id.ID = strconv.FormatInt(int64(s.TS), 10)
	}
	in.timings = append(in.timings, t)
}

// finish finds the input of every EventTiming, and sorts them so that dispatches find theirs.
func (in *inputs) finish(c *collector) error {
	for i := range in.timings {
		t := &in.timings[i]
		if t.node = in.byStart[t.start]; t.node == 0 {
			t.node = c.node(t.id.Scope, []byte(t.id.ID), t.id.Process)
			input := Input{ID: t.id, Type: t.name, Start: t.start, Latency: timeline.NoTime, node: t.node}
			if t.end != timeline.NoTime {
				input.Latency = t.end - t.start
			}
			in.add(c, input)
		}
		if t.node == 0 {
			continue
		}
		c.nodes[t.node].context = true
		if err := c.add(evidence{ordinal: t.ordinal, kind: ownContext, typ: TypeInputEvent, node: t.node}); err != nil {
			return err
		}
		key := timingKey{t.thread, t.typ}
		in.byKey[key] = append(in.byKey[key], *t)
	}
	for _, list := range in.byKey {
		slices.SortStableFunc(list, func(a, b timing) int { return cmp.Compare(a.processing, b.processing) })
	}
	in.timings, in.begun = nil, nil
	return nil
}

// maxDispatchDistance is how far the dispatch of an event may be from the time at which its processing began.
const maxDispatchDistance = 1000 * timeline.Microsecond

// dispatched returns the input of which an event of a type was dispatched at a time; 0 if there is none. The nearest
// processing counts.
func (in *inputs) dispatched(thread timeline.TrackID, typ TypeID, ts timeline.Nanos) NodeID {
	list := in.byKey[timingKey{thread, typ}]
	if len(list) == 0 {
		list = in.byKey[timingKey{0, typ}]
	}
	i, _ := slices.BinarySearchFunc(list, ts, func(t timing, ts timeline.Nanos) int { return cmp.Compare(t.processing, ts) })
	best, distance := NodeID(0), timeline.Nanos(maxDispatchDistance+1)
	if i > 0 && ts-list[i-1].processing < distance {
		best, distance = list[i-1].node, ts-list[i-1].processing
	}
	if i < len(list) && list[i].processing-ts < distance {
		best = list[i].node
	}
	return best
}
