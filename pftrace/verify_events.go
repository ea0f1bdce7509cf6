package pftrace

import (
	"slices"

	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/schema"
)

// maxExtraValues is the maximum number of extra counter values per event (perfetto.md 7).
const maxExtraValues = 8

// trackEvent checks a TrackEvent. The parameter at is the time of the event if ok is true.
func (v *verifier) trackEvent(seq *verifySequence, at int64, ok bool) {
	v.report.Events++
	e := &v.event
	v.parsed(e.Parse(v.fields.Data))
	v.checkSequenceThread(seq)
	if seq != nil {
		v.checkFolded(seq)
	}
	v.checkReferences(seq, e)
	v.checkAnnotations(seq, e)
	if !e.HasTrackUUID && seq != nil && seq.Defaults.HasTrackUUID {
		e.TrackUUID, e.HasTrackUUID = seq.Defaults.TrackUUID, true
	}
	if len(e.OldFlows)+len(e.OldTerminating) > 0 {
		v.found(ruleFlowOldForm, "track %d", e.TrackUUID)
		// Which of the old ids end a flow does not matter: the form itself is reported, and the flow is treated as open.
		if len(e.Flows)+len(e.Terminating) == 0 {
			e.Flows = append(append(e.Flows, e.OldFlows...), e.OldTerminating...)
		}
	}
	if !v.fields.HasTimestamp && !e.HasTimeDelta && !e.HasTime {
		v.found(ruleTimestampMissing, "track %d", e.TrackUUID)
	}
	if ok {
		v.checkTimeOrder(at)
	}
	if e.Type == schema.TrackEvent_TypeSliceEnd && (e.Named || len(e.Categories)+len(e.CategoryIIDs) > 0) {
		v.found(ruleEndNamed, "track %d", e.TrackUUID)
	}
	if e.Type == schema.TrackEvent_TypeState {
		v.needsVersion(v.at, "state events: v57")
	}
	v.checkCounters(seq, e)
	v.checkFlowIDs(e)
	v.placeEvent(seq, e, at, ok)
}

// checkTimeOrder compares the time of an event or sample with earlier times.
func (v *verifier) checkTimeOrder(at int64) {
	if at < v.lastTime {
		v.found(ruleTimeOrder, "%d ns after %d ns", at, v.lastTime)
	}
	v.lastTime = max(v.lastTime, at)
}

// placeEvent passes the event to the checks that require time order.
func (v *verifier) placeEvent(seq *verifySequence, e *message.TrackEvent, at int64, ok bool) {
	if e.Type == schema.TrackEvent_TypeCounter || seq == nil {
		return
	}
	var track uint32
	if e.HasTrackUUID {
		track = v.useTrack(e.TrackUUID)
	} else {
		track = v.useThread(seq)
	}
	if !ok {
		v.loseOrder(track)
		return
	}
	o := orderedEvent{time: at, at: v.at, track: track, seq: seq.number}
	nests := true
	switch {
	case e.Type == schema.TrackEvent_TypeSliceBegin:
		o.kind = orderBegin
	case e.Type == schema.TrackEvent_TypeSliceEnd:
		o.kind = orderEnd
	case e.Type == schema.TrackEvent_TypeInstant:
		o.kind = orderInstant
	case e.Type == schema.TrackEvent_TypeUnspecified && e.Legacy.Phase == 'X' && e.Legacy.DurationUS >= 0:
		o.kind, o.end = orderComplete, at+1000*min(e.Legacy.DurationUS, (untilEnd-1-at)/1000)
		if !e.Legacy.HasDuration {
			v.found(ruleCompleteEvent, "no duration")
		}
		if t := &v.tracks.list[track]; e.HasTrackUUID && !t.hasComplete {
			t.hasComplete, t.complete = true, v.at
		}
	default:
		nests = false // other events without a type, which are defined by their legacy_event
	}
	if nests && !v.fields.Folded { // viewers ignore folded calls
		v.hold(o)
	}
	o.kind = orderFlow
	for _, o.flow = range e.Flows {
		v.hold(o)
	}
	o.kind = orderFlowEnd
	for _, o.flow = range e.Terminating {
		v.hold(o)
	}
}

// checkCounters checks the value of a counter event and the extra values of any event.
func (v *verifier) checkCounters(seq *verifySequence, e *message.TrackEvent) {
	if e.Type == schema.TrackEvent_TypeCounter {
		if e.Values != 1 {
			v.found(ruleCounterValue, "track %d: %d values", e.TrackUUID, e.Values)
		}
		v.useCounter(e.TrackUUID)
	}
	if len(e.ExtraValues)+len(e.ExtraDoubleValues) > maxExtraValues {
		v.found(ruleExtraValues, "%d values", len(e.ExtraValues)+len(e.ExtraDoubleValues))
	}
	tracks, floatTracks := e.ExtraTracks, e.ExtraDoubleTracks
	if seq != nil && len(tracks) == 0 {
		tracks = seq.Defaults.ExtraTracks
	}
	if seq != nil && len(floatTracks) == 0 {
		floatTracks = seq.Defaults.ExtraDoubleTracks
	}
	v.checkExtraValues(len(e.ExtraValues), tracks)
	v.checkExtraValues(len(e.ExtraDoubleValues), floatTracks)
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

// checkFlowIDs checks the flow ids within an event.
func (v *verifier) checkFlowIDs(e *message.TrackEvent) {
	n := len(e.Flows) + len(e.Terminating)
	if n == 0 {
		return
	}
	if e.Type == schema.TrackEvent_TypeCounter {
		v.found(ruleFlowOnCounter, "track %d: %d ids", e.TrackUUID, n)
	}
	if n == 1 {
		return
	}
	ids := append(append(make([]uint64, 0, 16), e.Flows...), e.Terminating...)
	slices.Sort(ids)
	for i := 1; i < len(ids); i++ {
		if ids[i] == ids[i-1] {
			v.found(ruleFlowRepeated, "flow %d", ids[i])
			return
		}
	}
}

// checkSequenceThread checks that Perfetto does not assign weft's own events to the thread of their sequence. Events from other
// producers may belong to that thread.
func (v *verifier) checkSequenceThread(seq *verifySequence) {
	if seq != nil && seq.threaded && !seq.threadReported && (v.ownAll || v.own[seq.Key]) {
		seq.threadReported = true
		v.found(ruleSequenceThread, "thread %d of process %d", seq.Thread.TID, seq.Thread.PID)
	}
}

// checkFolded counts the calls after a slice that represents a recursion.
func (v *verifier) checkFolded(seq *verifySequence) {
	if missing := seq.folded.Pending(); !seq.folded.Follow(&v.fields) {
		v.found(ruleFoldedCalls, "missing calls: %d", missing)
	}
}

// checkReferences checks the interned ids of an event.
func (v *verifier) checkReferences(seq *verifySequence, e *message.TrackEvent) {
	v.useInterned(seq, message.InternedEventNames, e.NameIID)
	v.useInterned(seq, message.InternedEventNames, e.Legacy.NameIID)
	for _, iid := range e.CategoryIIDs {
		v.useInterned(seq, message.InternedCategories, iid)
	}
	v.useInterned(seq, message.InternedSourceLocations, e.SourceLocationIID)
	v.useInterned(seq, message.InternedCorrelationIDs, e.CorrelationIID)
	v.useCallstack(seq, e.CallstackIID)
	if e.Callstack != nil {
		v.checkInlineCallstack(e.Callstack)
	}
	if e.Log != nil {
		var l message.LogMessage
		v.parsed(l.Parse(e.Log))
		v.useInterned(seq, message.InternedSourceLocations, l.SourceLocationIID())
		v.useInterned(seq, message.InternedLogMessages, l.BodyIID())
	}
}

// ownDictionary is the name of the annotation that holds weft's additions to an event (perfetto.md 9).
const ownDictionary = "weft"

// checkAnnotations checks the debug annotations of an event.
func (v *verifier) checkAnnotations(seq *verifySequence, e *message.TrackEvent) {
	dictionaries := 0
	for _, msg := range e.Annotations {
		if v.annotation(seq, msg, true) {
			dictionaries++
		}
	}
	if dictionaries > 1 {
		v.found(ruleAnnotationRepeated, "%d dictionaries", dictionaries)
	}
}

// annotation checks a debug annotation and all annotations nested in it. It reports whether the annotation is weft's dictionary.
// checkStructure has already limited the recursion depth.
func (v *verifier) annotation(seq *verifySequence, msg []byte, needsName bool) (own bool) {
	var a message.Annotation
	v.parsed(a.Parse(msg))
	name := a.Name
	if a.NameIID != 0 {
		name, _ = v.useInterned(seq, message.InternedAnnotationNames, a.NameIID)
	}
	v.useInterned(seq, message.InternedValueTypeNames, a.TypeNameIID)
	v.useInterned(seq, message.InternedStringValues, a.TextIID)
	for m := a.Members(); m.Next(); {
		v.annotation(seq, m.Bytes(), a.Kind == message.DictAnnotation)
	}
	if needsName && a.NameIID == 0 && len(a.Name) == 0 {
		v.found(ruleAnnotationName, "an annotation of %d bytes", len(msg))
	}
	if a.Values != 1 {
		v.found(ruleAnnotationValue, "%d values", a.Values)
	}
	return a.Kind == message.DictAnnotation && string(name) == ownDictionary
}
