package perfetto

import (
	"slices"

	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// collectProfile adds the current event, a legacy event of phase P, to the pieces if the event is a piece of a profile
// (profile-calls.md 2). It reports whether the piece then contains everything in the event, which is not true of the event
// that starts a profile (its head).
//
// Chrome writes data as JSON text. A piece with data in another form stays an event, as does a head with an unknown
// thread. weft writes no events of this phase, so its instants are not read as profiles.
func (r *reader) collectProfile() (complete bool, err error) {
	e := &r.ev
	i := slices.Index(pieceNames[:], string(e.resolvedName))
	if r.profiles == nil || i < 0 {
		return false, nil
	}
	name := pieceName(i)
	process := r.eventProcess()
	thread, known := r.sampledThread()
	if process == 0 || !known && name != chunkPiece {
		return false, nil
	}
	r.text = r.text[:0]
	switch data := r.metadataValue(v8profile.DataKey); data.Kind {
	case message.JSONAnnotation, message.TextAnnotation:
		if text := r.validText(data.text); len(text) > 0 {
			r.text = append(append(append(r.text, `{"data":`...), text...), '}')
		}
	default:
		if name != headPiece {
			return false, nil
		}
	}
	p := piece{
		ts: e.ts, clock: r.samplerOffset(), event: e.index, name: name, process: process, thread: thread, at: r.offset,
		id: e.Legacy.ID, hasID: e.Legacy.IDKind != message.NoID,
	}
	return name != headPiece, r.pieces.Add(&p, r.text)
}

// sampledThread returns the thread of the current event. It returns false if the thread is unknown, or if the event is
// on the additional track of a thread whose id was reused.
func (r *reader) sampledThread() (thread timeline.TrackID, ok bool) {
	if uuid, _ := r.eventUUID(); uuid != 0 {
		if t := r.tracks.find(uuid); t != nil && t.kind != undeclaredTrack {
			return t.id, t.kind == threadTrack && t.id == t.represents
		}
	} else if _, reused := r.tracks.writers[r.seq]; reused && !r.ev.overridesThread() {
		return 0, false
	}
	process, tid, ok := r.sequenceThread()
	if !ok {
		return 0, false
	}
	return r.thread(process, tid), true
}

// samplerOffset returns the offset from V8's sampler times, in µs on the MONOTONIC clock, to trace time.
func (r *reader) samplerOffset() timeline.Nanos {
	at := pfwire.Stamp{Clock: pfwire.Clock{ID: pfwire.ClockMonotonic, Machine: r.fields.Sequence.Machine}, Nanos: int64(r.ev.ts)}
	ts, err := r.state.Clocks.TraceTime(at)
	if err != nil {
		return 0
	}
	return timeline.Nanos(ts) - r.ev.ts
}

// recordTraceID reads the id of a recorded stack from an argument of the current event (profile-calls.md 5).
func (r *reader) recordTraceID(a *annotation) {
	switch ids := &r.traceIDs; string(a.name) {
	case v8profile.BeginDataKey:
		ids.HasBeginData = true
		ids.BeginData = r.traceIDIn(a)
	case v8profile.DataKey:
		ids.Data = r.traceIDIn(a)
	case v8profile.TraceIDKey:
		ids.Direct = unsigned(a.Scalar)
	}
}

// traceIDIn returns the id in a dictionary or in JSON text, or 0.
func (r *reader) traceIDIn(a *annotation) (id uint64) {
	switch a.Kind {
	case message.JSONAnnotation, message.TextAnnotation:
		return v8profile.ScanTraceID(&r.scan, a.text)
	case message.NestedAnnotation:
		return nestedTraceID(a.text)
	case message.DictAnnotation:
		for m := a.Members(); m.Next(); {
			member := annotation{}
			if err := member.Parse(m.Bytes()); err == nil && string(r.annotationName(&member)) == v8profile.TraceIDKey {
				id = unsigned(member.Scalar)
			}
		}
	}
	return id
}

// annotationName returns the name of an annotation without counting problems.
func (r *reader) annotationName(a *annotation) []byte {
	if a.NameIID == 0 {
		return a.Name
	}
	name, _ := r.seq.Interned.Text(message.InternedAnnotationNames, a.NameIID)
	return name
}

// unsigned returns the value of a nonnegative integer annotation, otherwise 0.
func unsigned(v message.Scalar) uint64 {
	switch v.Kind {
	case message.UintAnnotation:
		return v.Uint()
	case message.IntAnnotation:
		return uint64(max(v.Int(), 0))
	}
	return 0
}

// nestedTraceID returns the id in a NestedValue, or 0.
func nestedTraceID(msg []byte) (id uint64) {
	var dict, value message.NestedValue
	if dict.Parse(msg) != nil || dict.Kind != message.DictAnnotation {
		return 0
	}
	for keys, values := dict.Keys(), dict.Values(); keys.Next() && values.Next(); {
		if string(keys.Bytes()) == v8profile.TraceIDKey && value.Parse(values.Bytes()) == nil && value.Kind == message.IntAnnotation {
			id = uint64(max(value.Int(), 0))
		}
	}
	return id
}

// setSampling sets the properties of r.out that its thread's calls depend on (profile-calls.md 5). Perfetto's instants
// correspond to phase I of Chrome's JSON.
func (r *reader) setSampling() {
	if r.profiles == nil || r.out.Kind == timeline.End {
		return
	}
	s := &r.out.Sampling
	s.TraceID = r.traceIDs.ID()
	e := &r.ev
	s.Skip = s.TraceID == 0 && (e.Type == schema.TrackEvent_TypeInstant || e.Type == schema.TrackEvent_TypeUnspecified && e.HasLegacy && e.Legacy.Phase == 'I')
}
