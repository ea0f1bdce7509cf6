package perfetto

import (
	"fmt"
	"strconv"

	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
)

// legacyEvent converts an event without a type according to its phase, as chrome-json.md specifies.
func (r *reader) legacyEvent() error {
	e := &r.ev
	switch e.Legacy.Phase {
	case 'B', 'E':
		e.track = r.eventTrack()
		if e.Legacy.Phase == 'E' {
			return r.addEvent(timeline.End)
		}
		return r.addEvent(timeline.Begin)
	case 'X':
		return r.legacyComplete()
	case 'i', 'I', 'R':
		e.track = r.instantTrack()
		return r.addEvent(timeline.Instant)
	case 'T':
		if e.Legacy.HasDuration && e.Legacy.IDKind == message.NoID {
			return r.legacyState()
		}
		return r.legacyAsync()
	case 'b', 'e', 'n', 'S', 'p', 'F':
		return r.legacyAsync()
	case 's', 't', 'f':
		return r.legacyFlow()
	case 'C':
		return r.legacyCounter()
	case 'N', 'O', 'D':
		return r.legacyObject()
	case 'M':
		r.legacyMetadata()
		return nil
	}
	return r.legacyOther()
}

// legacyComplete converts phase X.
func (r *reader) legacyComplete() error {
	e := &r.ev
	l := &e.Legacy
	if !l.HasDuration {
		r.add(problem.CompleteWithoutDuration, "")
		return r.droppedBindID()
	}
	dur, ok := r.legacyDuration()
	if !ok {
		return r.droppedBindID()
	}
	e.track = r.eventTrack()
	r.encodeArgs(nil)
	r.fillEvent(timeline.Slice)
	r.out.Dur = dur
	if l.HasThreadTime && l.ThreadDurationUS >= 0 && l.ThreadDurationUS <= maxMicros {
		r.out.ThreadDur = timeline.NewCPUTime(timeline.Nanos(l.ThreadDurationUS) * 1000)
	}
	r.out.InOrder = r.seqInfo.byWeft // weft writes slices with the same start in nesting order
	return r.addOut()
}

// legacyDuration returns the duration, which events give in microseconds. It counts an invalid duration and returns false.
func (r *reader) legacyDuration() (timeline.Nanos, bool) {
	switch us := r.ev.Legacy.DurationUS; {
	case us < 0:
		r.add(problem.SliceNegativeDuration, "")
		return 0, false
	case us > maxMicros:
		r.add(problem.EventInvalidDuration, strconv.FormatInt(us, 10))
		return 0, false
	default:
		return timeline.Nanos(us) * 1000, true
	}
}

// maxMicros limits durations in microseconds to 143 years, so that a time plus a duration does not overflow in nanoseconds.
const maxMicros = 1 << 52

// instantTrack returns the track of an instant according to its scope (chrome-json.md 10).
func (r *reader) instantTrack() timeline.TrackID {
	switch r.ev.Legacy.InstantScope {
	case schema.TrackEventLegacyEvent_ScopeGlobal:
		return r.b.GlobalInstants()
	case schema.TrackEventLegacyEvent_ScopeProcess:
		if process := r.eventProcess(); process != 0 {
			return r.b.ProcessInstants(process)
		}
	}
	return r.eventTrack()
}

// legacyAsync converts the asynchronous phases, whose track depends on the id.
func (r *reader) legacyAsync() error {
	e := &r.ev
	l := &e.Legacy
	if l.IDKind == message.NoID {
		r.add(problem.AsyncMissingID, "")
		return r.droppedBindID()
	}
	key := timeline.AsyncKey{
		Category: e.category, ID: idText(l.ID), IsText: true, Scope: r.validText(l.Scope), Process: r.eventProcess(),
	}
	if key.Process == 0 && l.IDKind != message.GlobalID {
		r.add(problem.AsyncMissingPid, "")
		return r.droppedBindID()
	}
	switch l.IDKind {
	case message.LocalID:
		key.Kind = timeline.AsyncLocal
	case message.GlobalID:
		key.Kind = timeline.AsyncGlobal
	case message.UnscopedID:
		key.Kind = timeline.AsyncPlain
	}
	kind := timeline.Begin
	switch l.Phase {
	case 'S', 'T', 'p', 'F':
		key.Kind = key.Kind.Legacy()
	}
	switch l.Phase {
	case 'e', 'F':
		kind = timeline.End
	case 'n', 'T', 'p':
		kind = timeline.Instant
	}
	e.track = r.b.Async(&key)
	r.noThreadTime("async event")
	return r.addEvent(kind)
}

// idText formats an id as Chrome's JSON does.
func idText(id uint64) []byte { return fmt.Appendf(nil, "0x%x", id) }

// legacyFlow converts the phases s, t and f (chrome-json.md 15).
func (r *reader) legacyFlow() error {
	e := &r.ev
	l := &e.Legacy
	id, ok := l.ID, l.IDKind != message.NoID
	if !ok && l.HasBindID {
		id, ok = l.BindID, true
	}
	if !ok {
		r.add(problem.FlowMissingID, "")
		return nil
	}
	if len(e.Annotations) > 0 {
		r.notConverted("arguments of a legacy flow event")
	}
	r.noThreadTime("flow event")
	f := timeline.FlowEvent{
		Space: timeline.FlowV1, Binding: timeline.BindEnclosing, Track: r.eventTrack(), Event: e.index,
		Offset: r.offset, TS: e.ts, ID: id, Name: e.resolvedName, Category: e.category,
	}
	switch l.Phase {
	case 's':
		f.Role = timeline.FlowStart
	case 't':
		f.Role = timeline.FlowContinue
	case 'f':
		f.Role = timeline.FlowEnd
		if !l.BindToEnclosing {
			f.Binding = timeline.BindNext
		}
	}
	return r.b.AddFlow(&f)
}

// bindIDRoles maps the flow_direction of a bind_id to its role.
var bindIDRoles = [...]timeline.FlowRole{1: timeline.FlowEnd, 2: timeline.FlowStart, 3: timeline.FlowContinue}

// addBindID adds the flow end of a legacy bind_id.
func (r *reader) addBindID() error {
	l := &r.ev.Legacy
	if l.FlowDirection < 1 || l.FlowDirection > 3 {
		r.add(problem.FlowWithoutDirection, "")
		return nil
	}
	return r.addFlow(timeline.FlowV2, bindIDRoles[l.FlowDirection], l.BindID, 0)
}

// droppedBindID adds the flow start of a dropped event, because this start ends an earlier flow with the same id
// (chrome-json.md 15).
func (r *reader) droppedBindID() error {
	e := &r.ev
	l := &e.Legacy
	if !l.HasBindID || l.FlowDirection != 2 && l.FlowDirection != 3 {
		return nil
	}
	return r.b.AddFlow(&timeline.FlowEvent{
		Space: timeline.FlowV2, Role: bindIDRoles[l.FlowDirection], Binding: timeline.BindNothing,
		Event: e.index, Offset: r.offset, TS: e.ts, ID: l.BindID,
	})
}
