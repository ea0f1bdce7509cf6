package perfetto

import (
	"errors"
	"fmt"

	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// eventType is TrackEvent.type.
type eventType uint8

const (
	typeNone    eventType = schema.TrackEvent_TypeUnspecified // the phase of the legacy event counts
	typeBegin   eventType = schema.TrackEvent_TypeSliceBegin
	typeEnd     eventType = schema.TrackEvent_TypeSliceEnd
	typeInstant eventType = schema.TrackEvent_TypeInstant
	typeCounter eventType = schema.TrackEvent_TypeCounter
	typeState   eventType = schema.TrackEvent_TypeState
)

// trackEvent is one parsed TrackEvent (perfetto.md 2). Its slices are reused from event to event; byte slices
// are parts of the packet.
type trackEvent struct {
	typ      eventType
	uuid     uint64
	hasUUID  bool
	nameIID  uint64
	name     []byte
	catIIDs  []uint64
	cats     [][]byte
	value    timeline.Number
	hasValue bool

	extraUUIDs   []uint64
	extraValues  []int64
	doubleUUIDs  []uint64
	doubleValues []float64

	flows       []uint64
	terminating []uint64
	oldFlows    []uint64 // the varint forms, used if there are no flows in fixed64 form
	oldTerm     []uint64

	callstack      []byte
	callstackIID   uint64
	annotations    [][]byte
	typed          []typedField
	sourceLocation []byte
	sourceIID      uint64
	task           []byte
	log            []byte
	correlation    []byte // correlation_id_str
	correlationIID uint64
	correlationNum uint64
	hasCorrelation bool
	weight         float64
	hasWeight      bool

	legacy    legacyEvent
	hasLegacy bool

	deltaUS, absoluteUS   int64
	hasDelta, hasAbsolute bool
	cpuDeltaUS, cpuUS     int64
	hasCPUDelta, hasCPU   bool
	instructions          bool // old instruction counts, which are not converted
	ts                    timeline.Nanos
	threadTime            timeline.Nanos
	category              []byte // joined; reused
	resolvedName          []byte
	track                 timeline.TrackID
	index                 uint32
}

// typedField is a field of TrackEvent beyond the common ones: an extension, or a message of a program of its own.
type typedField struct {
	number int
	typ    int
	value  uint64
	bytes  []byte
}

func (e *trackEvent) reset() {
	*e = trackEvent{
		catIIDs: e.catIIDs[:0], cats: e.cats[:0],
		extraUUIDs: e.extraUUIDs[:0], extraValues: e.extraValues[:0],
		doubleUUIDs: e.doubleUUIDs[:0], doubleValues: e.doubleValues[:0],
		flows: e.flows[:0], terminating: e.terminating[:0], oldFlows: e.oldFlows[:0], oldTerm: e.oldTerm[:0],
		annotations: e.annotations[:0], typed: e.typed[:0], category: e.category[:0],
		threadTime: timeline.NoTime,
	}
}

// parse reads the fields of a TrackEvent; what they mean is found out later.
func (e *trackEvent) parse(msg []byte) error {
	e.reset()
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.TrackEvent_CategoryIIDs:
			e.catIIDs = pfwire.AppendVarints(e.catIIDs, &r)
		case schema.TrackEvent_DebugAnnotations:
			e.annotations = append(e.annotations, r.Bytes())
		case schema.TrackEvent_LegacyEvent:
			e.hasLegacy = true
			if err := e.legacy.parse(r.Bytes()); err != nil {
				return fmt.Errorf("legacy_event: %w", err)
			}
		case schema.TrackEvent_Type:
			e.typ = eventType(min(r.Uint(), 255))
		case schema.TrackEvent_NameIID:
			e.nameIID = r.Uint()
		case schema.TrackEvent_TrackUUID:
			e.uuid, e.hasUUID = r.Uint(), true
		case schema.TrackEvent_ExtraCounterValues:
			e.extraValues = appendInts(e.extraValues, &r)
		case schema.TrackEvent_Categories:
			e.cats = append(e.cats, r.Bytes())
		case schema.TrackEvent_Name:
			e.name = r.Bytes()
		case schema.TrackEvent_CounterValue:
			e.value, e.hasValue = timeline.Int(r.Int()), true
		case schema.TrackEvent_DoubleCounterValue:
			e.value, e.hasValue = timeline.Float(r.Double()), true
		case schema.TrackEvent_ExtraCounterTrackUUIDs:
			e.extraUUIDs = pfwire.AppendVarints(e.extraUUIDs, &r)
		case schema.TrackEvent_ExtraDoubleCounterTrackUUIDs:
			e.doubleUUIDs = pfwire.AppendVarints(e.doubleUUIDs, &r)
		case schema.TrackEvent_ExtraDoubleCounterValues:
			e.doubleValues = appendDoubles(e.doubleValues, &r)
		case schema.TrackEvent_FlowIDs:
			e.flows = appendFixed64(e.flows, &r)
		case schema.TrackEvent_TerminatingFlowIDs:
			e.terminating = appendFixed64(e.terminating, &r)
		case schema.TrackEvent_FlowIDsOld:
			e.oldFlows = pfwire.AppendVarints(e.oldFlows, &r)
		case schema.TrackEvent_TerminatingFlowIDsOld:
			e.oldTerm = pfwire.AppendVarints(e.oldTerm, &r)
		default:
			e.parseRare(&r)
		}
	}
	return r.Err()
}

// parseRare reads a field that few events have.
func (e *trackEvent) parseRare(r *wire.Reader) {
	switch r.Field() {
	case schema.TrackEvent_TimestampDeltaUS:
		e.deltaUS, e.hasDelta = r.Int(), true
	case schema.TrackEvent_TimestampAbsoluteUS:
		e.absoluteUS, e.hasAbsolute = r.Int(), true
	case schema.TrackEvent_ThreadTimeDeltaUS:
		e.cpuDeltaUS, e.hasCPUDelta = r.Int(), true
	case schema.TrackEvent_ThreadTimeAbsoluteUS:
		e.cpuUS, e.hasCPU = r.Int(), true
	case schema.TrackEvent_ThreadInstructionCountDelta, schema.TrackEvent_ThreadInstructionCountAbsolute:
		e.instructions = true
	case schema.TrackEvent_TaskExecution:
		e.task = r.Bytes()
	case schema.TrackEvent_LogMessage:
		e.log = r.Bytes()
	case schema.TrackEvent_SourceLocation:
		e.sourceLocation = r.Bytes()
	case schema.TrackEvent_SourceLocationIID:
		e.sourceIID = r.Uint()
	case schema.TrackEvent_CorrelationID:
		e.correlationNum, e.hasCorrelation = r.Uint(), true
	case schema.TrackEvent_CorrelationIDStr:
		e.correlation = r.Bytes()
	case schema.TrackEvent_CorrelationIDStrIID:
		e.correlationIID = r.Uint()
	case schema.TrackEvent_Callstack:
		e.callstack = r.Bytes()
	case schema.TrackEvent_CallstackIID:
		e.callstackIID = r.Uint()
	case schema.TrackEvent_CallstackWeight:
		e.weight, e.hasWeight = r.Double(), true
	default:
		e.typed = append(e.typed, typedField{number: r.Field(), typ: r.Type(), value: r.Uint(), bytes: r.Bytes()})
	}
}

// trackEvent translates the event that was parsed.
func (r *reader) trackEvent(stamp pfwire.Stamp, stampErr error) error {
	e := &r.ev
	e.index = r.nextIndex()
	if r.seq == nil {
		r.add(problem.PacketInvalidState, "an event without sequence id")
		return nil
	}
	stamp, stampErr = r.oldTimes(stamp, stampErr)
	// Counters are brought up to date before the time is looked at: an incremental one needs every value.
	counted := r.extraCounters()
	var ok bool
	if e.ts, ok = r.traceTime(stamp, stampErr); !ok {
		return nil
	}
	if e.instructions || e.hasLegacy && e.legacy.instructions {
		r.notConverted("TrackEvent instruction counts")
	}
	r.resolveText()
	if err := r.dispatch(); err != nil {
		return err
	}
	for _, c := range counted {
		if err := r.addCounter(c.track, c.value); err != nil {
			return err
		}
	}
	return nil
}

// oldTimes applies the times in microseconds that events had before packets had timestamps (perfetto.md 15).
func (r *reader) oldTimes(stamp pfwire.Stamp, err error) (pfwire.Stamp, error) {
	e, thread := &r.ev, &r.seq.Thread
	us, old := int64(0), true
	switch {
	case e.hasDelta && thread.Known:
		thread.TimeUS += e.deltaUS
		us = thread.TimeUS
	case e.hasAbsolute:
		us = e.absoluteUS
	default:
		old = false
	}
	switch {
	case e.hasCPUDelta && thread.Known:
		thread.CPUUS += e.cpuDeltaUS
		e.threadTime = timeline.Nanos(thread.CPUUS) * 1000
	case e.hasCPU:
		e.threadTime = timeline.Nanos(e.cpuUS) * 1000
	}
	if !old || !errors.Is(err, pfwire.ErrNoTimestamp) {
		return stamp, err
	}
	return pfwire.Stamp{Clock: pfwire.Clock{ID: pfwire.ClockMonotonic}, Nanos: us * 1000}, nil
}

// resolveText finds the name and the categories of the event. Several categories are joined with commas, the interned
// ones first (perfetto.md 15).
func (r *reader) resolveText() {
	e := &r.ev
	e.resolvedName = r.validText(e.name)
	iid := e.nameIID
	if iid == 0 && e.hasLegacy && len(e.name) == 0 {
		iid = e.legacy.nameIID
	}
	if iid != 0 {
		e.resolvedName = r.internedText(pfwire.InternedEventNames, iid)
	}
	for _, iid := range e.catIIDs {
		text, ok := r.seq.Interned.Text(pfwire.InternedCategories, iid)
		if !ok {
			r.unknownIID(pfwire.InternedCategories, iid)
			text = fmt.Appendf(nil, "unknown(%d)", iid)
		}
		e.appendCategory(r.validText(text))
	}
	for _, text := range e.cats {
		e.appendCategory(r.validText(text))
	}
}

func (e *trackEvent) appendCategory(text []byte) {
	if len(e.category) > 0 {
		e.category = append(e.category, ',')
	}
	e.category = append(e.category, text...)
}

// dispatch adds the records that the event stands for, by its type, else by the phase of its legacy event.
func (r *reader) dispatch() error {
	e := &r.ev
	switch e.typ {
	case typeBegin, typeEnd, typeInstant:
		e.track = r.eventTrack()
		return r.addEvent(kindOf[e.typ])
	case typeCounter:
		return r.counterEvent()
	case typeState:
		return r.stateEvent()
	case typeNone:
		if e.hasLegacy {
			return r.legacyEvent()
		}
	}
	r.notConverted(fmt.Sprintf("TrackEvent of type %d", e.typ))
	return nil
}

var kindOf = [...]timeline.Kind{typeBegin: timeline.Begin, typeEnd: timeline.End, typeInstant: timeline.Instant}

// addEvent adds a record on the event's track, with everything that the event carries.
func (r *reader) addEvent(kind timeline.Kind) error {
	r.encodeArgs(nil)
	r.fillEvent(kind)
	if err := r.b.Add(&r.out); err != nil {
		return err
	}
	return r.addFlows()
}

// fillEvent prepares r.out. The arguments must be encoded.
func (r *reader) fillEvent(kind timeline.Kind) {
	e := &r.ev
	r.out = timeline.Event{
		Kind: kind, Track: e.track, Event: e.index, Offset: r.offset,
		TS: e.ts, ThreadTS: timeline.NewCPUTime(e.threadTime),
		Name: e.resolvedName, Category: e.category,
		Args:      r.b.Args().Args(),
		Callstack: r.eventCallstack(),
	}
	r.sampling()
}

// stateEvent translates an event of a state track: the state before ends, and the one that the name gives begins.
func (r *reader) stateEvent() error {
	e := &r.ev
	uuid, _ := r.eventUUID()
	t := r.tracks.get(r.b, uuid)
	e.track = t.id
	if t.stateOpen {
		r.out = timeline.Event{
			Kind: timeline.End, Track: t.id, Event: e.index, Offset: r.offset,
			TS: e.ts,
		}
		if err := r.b.Add(&r.out); err != nil {
			return err
		}
	}
	t.stateOpen = len(e.resolvedName) > 0
	if !t.stateOpen {
		return nil
	}
	return r.addEvent(timeline.Begin)
}

// addFlows adds the flow ends of the event, which attach to the record just added (perfetto.md 8).
func (r *reader) addFlows() error {
	e := &r.ev
	flows, terminating := e.flows, e.terminating
	if len(flows) == 0 && len(terminating) == 0 {
		flows, terminating = e.oldFlows, e.oldTerm
	}
	for _, id := range flows {
		if err := r.addFlow(timeline.FlowNative, timeline.FlowContinue, id); err != nil {
			return err
		}
	}
	for _, id := range terminating {
		if err := r.addFlow(timeline.FlowNative, timeline.FlowEnd, id); err != nil {
			return err
		}
	}
	if e.hasLegacy && e.legacy.hasBindID {
		return r.addBindID()
	}
	return nil
}

func (r *reader) addFlow(space timeline.FlowSpace, role timeline.FlowRole, id uint64) error {
	e := &r.ev
	return r.b.AddFlow(&timeline.FlowEvent{
		Space: space, Role: role, Binding: timeline.BindCarrier,
		Track: e.track, Event: e.index, Offset: r.offset, TS: e.ts, ID: id,
	})
}

// appendInts appends the values of a repeated int64 field.
func appendInts(to []int64, r *wire.Reader) []int64 {
	if r.Type() != wire.Len {
		return append(to, r.Int())
	}
	for p := wire.NewPacked(r.Bytes()); p.Next(); {
		to = append(to, int64(p.Uint()))
	}
	return to
}
