package pftrace

import (
	"slices"

	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// maxExtraValues is the number of extra counter values that an event may have (perfetto.md 7).
const maxExtraValues = 8

// verifyEvent is a TrackEvent, as far as the rules need it. One is used for all events; its slices are kept.
type verifyEvent struct {
	kind       uint64
	track      uint64
	hasTrack   bool
	named      bool // has a name or a category
	counter    int  // number of values
	timed      bool // has a time of the old forms
	extra      int  // number of extra values
	extraFloat int

	extraTracks, extraFloatTracks []uint64
	flows, flowEnds               []uint64
	oldFlows                      bool
}

func (e *verifyEvent) reset() {
	*e = verifyEvent{extraTracks: e.extraTracks[:0], extraFloatTracks: e.extraFloatTracks[:0],
		flows: e.flows[:0], flowEnds: e.flowEnds[:0]}
}

// trackEvent checks a TrackEvent. at is its time, if ok.
func (v *verifier) trackEvent(seq *verifySequence, at int64, ok bool) {
	v.report.Events++
	e := &v.event
	e.reset()
	v.parseEvent(seq, e)
	if !e.hasTrack && seq != nil && seq.Defaults.HasTrackUUID {
		e.track, e.hasTrack = seq.Defaults.TrackUUID, true
	}
	if !v.fields.HasTimestamp && !e.timed {
		v.found(ruleTimestampMissing, "track %d", e.track)
	}
	if ok {
		v.checkTimeOrder(at)
	}
	if e.kind == schema.TrackEvent_TypeSliceEnd && e.named {
		v.found(ruleEndNamed, "track %d", e.track)
	}
	if e.kind == schema.TrackEvent_TypeState {
		v.found(ruleNeedsVersion, "state events: v57")
	}
	v.checkCounters(seq, e)
	v.checkFlowIDs(e)
	v.placeEvent(seq, e, at, ok)
}

// checkTimeOrder compares the time of an event or sample with that of those before it.
func (v *verifier) checkTimeOrder(at int64) {
	if at < v.lastTime {
		v.found(ruleTimeOrder, "%d ns after %d ns", at, v.lastTime)
	}
	v.lastTime = max(v.lastTime, at)
}

// placeEvent hands the event to the checks that need the order of time.
func (v *verifier) placeEvent(seq *verifySequence, e *verifyEvent, at int64, ok bool) {
	if e.kind == schema.TrackEvent_TypeCounter || seq == nil {
		return
	}
	var track uint32
	if e.hasTrack {
		track = v.useTrack(e.track)
	} else {
		track = v.useThread(seq)
	}
	if !ok {
		v.loseOrder(track)
		return
	}
	o := orderedEvent{time: at, at: v.at, track: track, seq: seq.number}
	switch e.kind {
	case schema.TrackEvent_TypeSliceBegin:
		o.kind = orderBegin
	case schema.TrackEvent_TypeSliceEnd:
		o.kind = orderEnd
	default:
		o.kind = orderInstant
	}
	// Events without a type say in their legacy_event what they are: their nesting is not followed.
	if e.kind == schema.TrackEvent_TypeSliceBegin || e.kind == schema.TrackEvent_TypeSliceEnd || e.kind == schema.TrackEvent_TypeInstant {
		v.hold(o)
	}
	o.kind = orderFlow
	for _, o.flow = range e.flows {
		v.hold(o)
	}
	o.kind = orderFlowEnd
	for _, o.flow = range e.flowEnds {
		v.hold(o)
	}
}

// checkCounters checks the value of a counter event and the extra values of any event.
func (v *verifier) checkCounters(seq *verifySequence, e *verifyEvent) {
	if e.kind == schema.TrackEvent_TypeCounter {
		if e.counter != 1 {
			v.found(ruleCounterValue, "track %d: %d values", e.track, e.counter)
		}
		v.useCounter(e.track)
	}
	if e.extra+e.extraFloat > maxExtraValues {
		v.found(ruleExtraValues, "%d values", e.extra+e.extraFloat)
	}
	tracks, floatTracks := e.extraTracks, e.extraFloatTracks
	if seq != nil && len(tracks) == 0 {
		tracks = seq.Defaults.ExtraCounters
	}
	if seq != nil && len(floatTracks) == 0 {
		floatTracks = seq.Defaults.ExtraDoubleCounters
	}
	v.checkExtraValues(e.extra, tracks)
	v.checkExtraValues(e.extraFloat, floatTracks)
}

func (v *verifier) checkExtraValues(n int, tracks []uint64) {
	if n > len(tracks) {
		v.found(ruleExtraValues, "%d values for %d tracks", n, len(tracks))
		n = len(tracks)
	}
	for _, uuid := range tracks[:n] {
		v.useCounter(uuid)
	}
}

// checkFlowIDs checks the flow ids of one event by themselves.
func (v *verifier) checkFlowIDs(e *verifyEvent) {
	if e.oldFlows {
		v.found(ruleFlowOldForm, "track %d", e.track)
	}
	n := len(e.flows) + len(e.flowEnds)
	if n == 0 {
		return
	}
	if e.kind == schema.TrackEvent_TypeCounter {
		v.found(ruleFlowOnCounter, "track %d: %d ids", e.track, n)
	}
	if n == 1 {
		return
	}
	ids := append(append(make([]uint64, 0, 16), e.flows...), e.flowEnds...)
	slices.Sort(ids)
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] {
			v.found(ruleFlowRepeated, "flow %d", ids[i])
			return
		}
	}
}

// appendFixed64 appends the values of a repeated fixed64 field in its packed or its plain form.
func appendFixed64(to []uint64, r *wire.Reader) []uint64 {
	if r.Type() != wire.Len {
		return append(to, r.Uint())
	}
	b := r.Bytes()
	for ; len(b) >= 8; b = b[8:] {
		to = append(to, uint64(b[0])|uint64(b[1])<<8|uint64(b[2])<<16|uint64(b[3])<<24|
			uint64(b[4])<<32|uint64(b[5])<<40|uint64(b[6])<<48|uint64(b[7])<<56)
	}
	return to
}

// countFixed64 returns the number of values in a repeated fixed64 or double field.
func countFixed64(r *wire.Reader) int {
	if r.Type() == wire.Len {
		return len(r.Bytes()) / 8
	}
	return 1
}

// countVarints returns the number of values in a repeated varint field.
func countVarints(r *wire.Reader) int {
	if r.Type() != wire.Len {
		return 1
	}
	n := 0
	for p := wire.NewPacked(r.Bytes()); p.Next(); {
		n++
	}
	return n
}

// parseEvent reads the packet's TrackEvent into e. Interned ids and annotations are checked on the way.
func (v *verifier) parseEvent(seq *verifySequence, e *verifyEvent) {
	var oldFlows []uint64
	own := 0 // dictionaries of weft
	for r := wire.NewReader(v.fields.Data); r.Next(); {
		switch r.Field() {
		case schema.TrackEvent_Type:
			e.kind = r.Uint()
		case schema.TrackEvent_TrackUUID:
			e.track, e.hasTrack = r.Uint(), true
		case schema.TrackEvent_Categories, schema.TrackEvent_Name:
			e.named = true
		case schema.TrackEvent_CounterValue, schema.TrackEvent_DoubleCounterValue:
			e.counter++
		case schema.TrackEvent_ExtraCounterValues:
			e.extra += countVarints(&r)
		case schema.TrackEvent_ExtraDoubleCounterValues:
			e.extraFloat += countFixed64(&r)
		case schema.TrackEvent_ExtraCounterTrackUUIDs:
			e.extraTracks = pfwire.AppendVarints(e.extraTracks, &r)
		case schema.TrackEvent_ExtraDoubleCounterTrackUUIDs:
			e.extraFloatTracks = pfwire.AppendVarints(e.extraFloatTracks, &r)
		case schema.TrackEvent_FlowIDs:
			e.flows = appendFixed64(e.flows, &r)
		case schema.TrackEvent_TerminatingFlowIDs:
			e.flowEnds = appendFixed64(e.flowEnds, &r)
		case schema.TrackEvent_FlowIDsOld, schema.TrackEvent_TerminatingFlowIDsOld:
			e.oldFlows = true
			oldFlows = pfwire.AppendVarints(oldFlows, &r)
		case schema.TrackEvent_TimestampDeltaUS, schema.TrackEvent_TimestampAbsoluteUS:
			e.timed = true
		case schema.TrackEvent_DebugAnnotations:
			if v.annotation(seq, r.Bytes(), true) {
				own++
			}
		default:
			v.eventReference(seq, e, &r)
		}
	}
	if own > 1 {
		v.found(ruleAnnotationRepeated, "%d dictionaries", own)
	}
	if len(e.flows)+len(e.flowEnds) == 0 && len(oldFlows) > 0 {
		// Which of the old ids end a flow does not matter: the form itself is reported, and the flow is followed as open.
		e.flows = append(e.flows, oldFlows...)
	}
}

// eventReference checks a field of a TrackEvent that refers to interned data.
func (v *verifier) eventReference(seq *verifySequence, e *verifyEvent, r *wire.Reader) {
	switch r.Field() {
	case schema.TrackEvent_NameIID:
		e.named = true
		v.useInterned(seq, pfwire.InternedEventNames, r.Uint())
	case schema.TrackEvent_CategoryIIDs:
		e.named = true
		if r.Type() != wire.Len {
			v.useInterned(seq, pfwire.InternedCategories, r.Uint())
			return
		}
		for p := wire.NewPacked(r.Bytes()); p.Next(); {
			v.useInterned(seq, pfwire.InternedCategories, p.Uint())
		}
	case schema.TrackEvent_SourceLocationIID:
		v.useInterned(seq, pfwire.InternedSourceLocations, r.Uint())
	case schema.TrackEvent_CorrelationIDStrIID:
		v.useInterned(seq, pfwire.InternedCorrelationIDs, r.Uint())
	case schema.TrackEvent_CallstackIID:
		v.useCallstack(seq, r.Uint())
	case schema.TrackEvent_Callstack:
		v.checkInlineCallstack(r.Bytes())
	case schema.TrackEvent_LegacyEvent:
		for l := wire.NewReader(r.Bytes()); l.Next(); {
			if l.Field() == schema.TrackEventLegacyEvent_NameIID {
				v.useInterned(seq, pfwire.InternedEventNames, l.Uint())
			}
		}
	case schema.TrackEvent_LogMessage:
		for l := wire.NewReader(r.Bytes()); l.Next(); {
			switch l.Field() {
			case schema.LogMessage_SourceLocationIID:
				v.useInterned(seq, pfwire.InternedSourceLocations, l.Uint())
			case schema.LogMessage_BodyIID:
				v.useInterned(seq, pfwire.InternedLogMessages, l.Uint())
			}
		}
	}
}

// ownDictionary is the name of the annotation that holds what weft adds to an event (perfetto.md 9).
const ownDictionary = "weft"

// annotation checks a debug annotation and all that is nested in it. It reports whether it is weft's dictionary. The
// recursion is bounded by checkStructure.
func (v *verifier) annotation(seq *verifySequence, msg []byte, needsName bool) (own bool) {
	named, dictionary := false, false
	values, last := 0, 0
	for r := wire.NewReader(msg); r.Next(); {
		switch field := r.Field(); field {
		case schema.DebugAnnotation_NameIID:
			named = named || r.Uint() != 0
			name, _ := v.useInterned(seq, pfwire.InternedAnnotationNames, r.Uint())
			own = string(name) == ownDictionary
		case schema.DebugAnnotation_Name:
			named = named || len(r.Bytes()) > 0
			own = string(r.Bytes()) == ownDictionary
		case schema.DebugAnnotation_ProtoTypeNameIID:
			v.useInterned(seq, pfwire.InternedValueTypeNames, r.Uint())
		case schema.DebugAnnotation_BoolValue, schema.DebugAnnotation_UintValue, schema.DebugAnnotation_IntValue,
			schema.DebugAnnotation_DoubleValue, schema.DebugAnnotation_StringValue, schema.DebugAnnotation_PointerValue,
			schema.DebugAnnotation_NestedValue, schema.DebugAnnotation_LegacyJSONValue, schema.DebugAnnotation_DictEntries,
			schema.DebugAnnotation_ArrayValues, schema.DebugAnnotation_ProtoValue, schema.DebugAnnotation_StringValueIID:
			// Of a list all elements are one value.
			if field != last || field != schema.DebugAnnotation_DictEntries && field != schema.DebugAnnotation_ArrayValues {
				values++
			}
			last = field
			dictionary = dictionary || field == schema.DebugAnnotation_DictEntries
			switch field {
			case schema.DebugAnnotation_DictEntries:
				v.annotation(seq, r.Bytes(), true)
			case schema.DebugAnnotation_ArrayValues:
				v.annotation(seq, r.Bytes(), false)
			case schema.DebugAnnotation_StringValueIID:
				v.useInterned(seq, pfwire.InternedStringValues, r.Uint())
			}
		}
	}
	if needsName && !named {
		v.found(ruleAnnotationName, "an annotation of %d bytes", len(msg))
	}
	if values != 1 {
		v.found(ruleAnnotationValue, "%d values", values)
	}
	return own && dictionary
}
