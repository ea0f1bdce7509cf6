package perfetto

import (
	"fmt"
	"strconv"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// legacyEvent is TrackEvent.legacy_event (perfetto.md 2): what Chrome's JSON phases have beyond a TrackEvent.
type legacyEvent struct {
	nameIID        uint64 // used if the event has no name of its own
	phase          byte
	hasDuration    bool
	durationUS     int64
	hasCPUDuration bool
	cpuDurationUS  int64
	idKind         idKind
	id             uint64
	scope          []byte
	hasBindID      bool
	bindID         uint64
	bindEnclosing  bool
	direction      uint64 // 1 in, 2 out, 3 both
	instantScope   uint64 // 1 global, 2 process, 3 thread
	hasPID, hasTID bool
	pid            int32
	tid            int64
	instructions   bool // a count of instructions, which is not converted
}

type idKind uint8

const (
	noID idKind = iota
	unscopedID
	localID
	globalID
)

func (l *legacyEvent) parse(msg []byte) error {
	*l = legacyEvent{}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.TrackEventLegacyEvent_NameIID:
			l.nameIID = r.Uint()
		case schema.TrackEventLegacyEvent_Phase:
			l.phase = byte(min(r.Uint(), 255))
		case schema.TrackEventLegacyEvent_DurationUS:
			l.durationUS, l.hasDuration = r.Int(), true
		case schema.TrackEventLegacyEvent_ThreadDurationUS:
			l.cpuDurationUS, l.hasCPUDuration = r.Int(), true
		case schema.TrackEventLegacyEvent_UnscopedID:
			l.id, l.idKind = r.Uint(), unscopedID
		case schema.TrackEventLegacyEvent_IDScope:
			l.scope = r.Bytes()
		case schema.TrackEventLegacyEvent_BindID:
			l.bindID, l.hasBindID = r.Uint(), true
		case schema.TrackEventLegacyEvent_LocalID:
			l.id, l.idKind = r.Uint(), localID
		case schema.TrackEventLegacyEvent_GlobalID:
			l.id, l.idKind = r.Uint(), globalID
		case schema.TrackEventLegacyEvent_BindToEnclosing:
			l.bindEnclosing = r.Bool()
		case schema.TrackEventLegacyEvent_FlowDirection:
			l.direction = r.Uint()
		case schema.TrackEventLegacyEvent_InstantEventScope:
			l.instantScope = r.Uint()
		case schema.TrackEventLegacyEvent_PIDOverride:
			l.pid, l.hasPID = int32(r.Uint()), true
		case schema.TrackEventLegacyEvent_TIDOverride:
			l.tid, l.hasTID = r.Int(), true
		case schema.TrackEventLegacyEvent_ThreadInstructionDelta:
			l.instructions = true
		}
	}
	return r.Err()
}

// legacyEvent translates an event without type by its phase, as chrome-json.md says for the phase of that letter.
func (r *reader) legacyEvent() error {
	e := &r.ev
	switch e.legacy.phase {
	case 'B', 'E':
		e.track = r.eventTrack()
		if e.legacy.phase == 'E' {
			return r.addEvent(timeline.End)
		}
		return r.addEvent(timeline.Begin)
	case 'X':
		return r.legacyComplete()
	case 'i', 'I', 'R':
		e.track = r.instantTrack()
		return r.addEvent(timeline.Instant)
	case 'T':
		if e.legacy.hasDuration && e.legacy.idKind == noID {
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

// legacyComplete translates phase X.
func (r *reader) legacyComplete() error {
	e := &r.ev
	l := &e.legacy
	if !l.hasDuration {
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
	if l.hasCPUDuration && l.cpuDurationUS >= 0 && l.cpuDurationUS <= maxMicros {
		r.out.ThreadDur = timeline.NewCPUTime(timeline.Nanos(l.cpuDurationUS) * 1000)
	}
	if err := r.b.Add(&r.out); err != nil {
		return err
	}
	return r.addFlows()
}

// legacyDuration returns the duration, which is in microseconds; false if it cannot be one, which is counted.
func (r *reader) legacyDuration() (timeline.Nanos, bool) {
	switch us := r.ev.legacy.durationUS; {
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

// maxMicros is the largest duration in microseconds whose nanoseconds, added to a time, cannot overflow: 146 years.
const maxMicros = 1 << 52

// instantTrack finds the track of an instant by its scope (chrome-json.md 10).
func (r *reader) instantTrack() timeline.TrackID {
	switch r.ev.legacy.instantScope {
	case schema.TrackEventLegacyEvent_ScopeGlobal:
		return r.b.GlobalInstants()
	case schema.TrackEventLegacyEvent_ScopeProcess:
		if process := r.eventProcess(); process != 0 {
			return r.b.ProcessInstants(process)
		}
	}
	return r.eventTrack()
}

// legacyAsync translates the asynchronous phases. Their track is that of their id.
func (r *reader) legacyAsync() error {
	e := &r.ev
	l := &e.legacy
	if l.idKind == noID {
		r.add(problem.AsyncMissingID, "")
		return r.droppedBindID()
	}
	key := timeline.AsyncKey{
		Category: e.category, ID: l.idText(), IsText: true, Scope: r.validText(l.scope), Process: r.eventProcess(),
	}
	if key.Process == 0 && l.idKind != globalID {
		r.add(problem.AsyncMissingPid, "")
		return r.droppedBindID()
	}
	switch l.idKind {
	case localID:
		key.Kind = timeline.AsyncLocal
	case globalID:
		key.Kind = timeline.AsyncGlobal
	case unscopedID:
		key.Kind = timeline.AsyncPlain
	}
	kind := timeline.Begin
	switch l.phase {
	case 'S', 'T', 'p', 'F':
		key.Kind = key.Kind.Legacy()
	}
	switch l.phase {
	case 'e', 'F':
		kind = timeline.End
	case 'n', 'T', 'p':
		kind = timeline.Instant
	}
	e.track = r.b.Async(&key)
	r.noThreadTime("async event")
	return r.addEvent(kind)
}

// idText writes an id as Chrome's JSON does.
func (l *legacyEvent) idText() []byte { return []byte(idText(l.id)) }

func idText(id uint64) string { return fmt.Sprintf("0x%x", id) }

// legacyFlow translates the phases s, t and f (chrome-json.md 15).
func (r *reader) legacyFlow() error {
	e := &r.ev
	l := &e.legacy
	id, ok := l.id, l.idKind != noID
	if !ok && l.hasBindID {
		id, ok = l.bindID, true
	}
	if !ok {
		r.add(problem.FlowMissingID, "")
		return nil
	}
	if len(e.annotations) > 0 {
		r.notConverted("arguments of a legacy flow event")
	}
	r.noThreadTime("flow event")
	f := timeline.FlowEvent{
		Space: timeline.FlowV1, Binding: timeline.BindEnclosing, Track: r.eventTrack(), Event: e.index,
		Offset: r.offset, TS: e.ts, ID: id, Name: e.resolvedName, Category: e.category,
	}
	switch l.phase {
	case 's':
		f.Role = timeline.FlowStart
	case 't':
		f.Role = timeline.FlowContinue
	case 'f':
		f.Role = timeline.FlowEnd
		if !l.bindEnclosing {
			f.Binding = timeline.BindNext
		}
	}
	return r.b.AddFlow(&f)
}

// bindIDRoles has the role of a bind_id by the flow_direction beside it.
var bindIDRoles = [...]timeline.FlowRole{1: timeline.FlowEnd, 2: timeline.FlowStart, 3: timeline.FlowContinue}

// addBindID adds the flow end that a legacy bind_id stands for.
func (r *reader) addBindID() error {
	l := &r.ev.legacy
	if l.direction < 1 || l.direction > 3 {
		r.add(problem.FlowWithoutDirection, "")
		return nil
	}
	return r.addFlow(timeline.FlowV2, bindIDRoles[l.direction], l.bindID)
}

// droppedBindID adds the start of a flow that the event would have carried, had it not been dropped: it ends the flow that
// had its id before (chrome-json.md 15).
func (r *reader) droppedBindID() error {
	e := &r.ev
	l := &e.legacy
	if !l.hasBindID || l.direction != 2 && l.direction != 3 {
		return nil
	}
	return r.b.AddFlow(&timeline.FlowEvent{
		Space: timeline.FlowV2, Role: bindIDRoles[l.direction], Binding: timeline.BindNothing,
		Event: e.index, Offset: r.offset, TS: e.ts, ID: l.bindID,
	})
}
