package pftrace

import (
	"slices"

	"github.com/weft-trace/weft/internal/wire"
)

// Types of a TrackEvent (spec perfetto.md 2.2).
const (
	typeBegin   = 1
	typeEnd     = 2
	typeInstant = 3
	typeCounter = 4
	typeState   = 5
)

// maxExtraValues is the number of extra counter values that an event may have (spec perfetto.md 7.1).
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
	if e.kind == typeEnd && e.named {
		v.found(ruleEndNamed, "track %d", e.track)
	}
	if e.kind == typeState {
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
	if e.kind == typeCounter || seq == nil {
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
	case typeBegin:
		o.kind = orderBegin
	case typeEnd:
		o.kind = orderEnd
	default:
		o.kind = orderInstant
	}
	// Events without a type say in their legacy_event what they are: their nesting is not followed.
	if e.kind == typeBegin || e.kind == typeEnd || e.kind == typeInstant {
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
	if e.kind == typeCounter {
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
	if e.kind == typeCounter {
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
		case 9:
			e.kind = r.Uint()
		case 11:
			e.track, e.hasTrack = r.Uint(), true
		case 22, 23: // categories, name
			e.named = true
		case 30, 44: // counter_value, double_counter_value
			e.counter++
		case 12:
			e.extra += countVarints(&r)
		case 46:
			e.extraFloat += countFixed64(&r)
		case 31:
			e.extraTracks = AppendVarints(e.extraTracks, &r)
		case 45:
			e.extraFloatTracks = AppendVarints(e.extraFloatTracks, &r)
		case 47:
			e.flows = appendFixed64(e.flows, &r)
		case 48:
			e.flowEnds = appendFixed64(e.flowEnds, &r)
		case 36, 42: // flow_ids_old, terminating_flow_ids_old
			e.oldFlows = true
			oldFlows = AppendVarints(oldFlows, &r)
		case 1, 16: // timestamp_delta_us, timestamp_absolute_us
			e.timed = true
		case 4:
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
	case 10:
		e.named = true
		v.useInterned(seq, InternedEventNames, r.Uint())
	case 3:
		e.named = true
		if r.Type() != wire.Len {
			v.useInterned(seq, InternedCategories, r.Uint())
			return
		}
		for p := wire.NewPacked(r.Bytes()); p.Next(); {
			v.useInterned(seq, InternedCategories, p.Uint())
		}
	case 34:
		v.useInterned(seq, InternedSourceLocations, r.Uint())
	case 54:
		v.useInterned(seq, InternedCorrelationIDs, r.Uint())
	case 56:
		v.useCallstack(seq, r.Uint())
	case 55:
		v.checkInlineCallstack(r.Bytes())
	case 6: // legacy_event
		for l := wire.NewReader(r.Bytes()); l.Next(); {
			if l.Field() == 1 {
				v.useInterned(seq, InternedEventNames, l.Uint())
			}
		}
	case 21: // log_message
		for l := wire.NewReader(r.Bytes()); l.Next(); {
			switch l.Field() {
			case 1:
				v.useInterned(seq, InternedSourceLocations, l.Uint())
			case 2:
				v.useInterned(seq, InternedLogMessages, l.Uint())
			}
		}
	}
}

// ownDictionary is the name of the annotation that holds what weft adds to an event (spec perfetto.md 9).
const ownDictionary = "weft"

// annotation checks a debug annotation and all that is nested in it. It reports whether it is weft's dictionary. The
// recursion is bounded by checkStructure.
func (v *verifier) annotation(seq *verifySequence, msg []byte, needsName bool) (own bool) {
	named, dictionary := false, false
	values, last := 0, 0
	for r := wire.NewReader(msg); r.Next(); {
		switch field := r.Field(); field {
		case 1:
			named = named || r.Uint() != 0
			name, _ := v.useInterned(seq, InternedAnnotationNames, r.Uint())
			own = string(name) == ownDictionary
		case 10:
			named = named || len(r.Bytes()) > 0
			own = string(r.Bytes()) == ownDictionary
		case 13:
			v.useInterned(seq, InternedValueTypeNames, r.Uint())
		case 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 14, 17:
			if field != last || field != 11 && field != 12 { // of a list all elements are one value
				values++
			}
			last = field
			dictionary = dictionary || field == 11
			switch field {
			case 11:
				v.annotation(seq, r.Bytes(), true)
			case 12:
				v.annotation(seq, r.Bytes(), false)
			case 17:
				v.useInterned(seq, InternedStringValues, r.Uint())
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
