package chromejson

import (
	"bytes"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// collectProfile passes a piece of a profile to the Assembler (profile-calls.md 2). It reports whether the profile contains all
// data of the event; the event that starts a profile contains more.
func (rd *reader) collectProfile(name string) (complete bool) {
	if rd.opts.Profiles == nil || !v8profile.IsEventName(name) {
		return false
	}
	ev := v8profile.Event{
		Process: int64(rd.process()), Thread: int64(rd.thread()), TS: rd.ev.ts, Offset: rd.opts.Offset, At: rd.position(),
	}
	if id, _, ok := rd.ev.id(); ok {
		ev.ID = string(id.text)
	}
	if args := rd.ev.get(fieldArgs); args.kind == jsonscan.Object {
		ev.Args = args.text
	}
	complete = rd.opts.Profiles.Add(name, &ev)
	rd.b.ReserveMemory(rd.opts.Profiles.Held())
	return complete
}

// isWholeProfile reports whether the event is a whole profile from an old version of Chrome, and collects it.
func (rd *reader) isWholeProfile() bool {
	name := rd.ev.get(fieldName).text
	return string(name) == v8profile.WholeName && rd.collectProfile(v8profile.WholeName)
}

// setSampling records in the prepared event the data that its thread's calls depend on (profile-calls.md 5).
func (rd *reader) setSampling() {
	if rd.opts.Profiles == nil {
		return
	}
	s := &rd.out.Sampling
	if rd.ev.traced {
		s.TraceID = rd.traceID()
	}
	s.Skip = rd.ev.ph == 'I' && s.TraceID == 0
}

// traceID returns the id of the current event's recorded stack, or 0.
func (rd *reader) traceID() uint64 {
	args := rd.ev.get(fieldArgs)
	if args.kind != jsonscan.Object {
		return 0
	}
	ids := v8profile.ScanTraceIDs(&rd.sub, args.text)
	return ids.ID()
}

// holdsTraceID reports whether the text of args may contain the id of a recorded stack.
func holdsTraceID(args []byte) bool { return bytes.Contains(args, []byte(v8profile.TraceIDKey)) }

// setThread records in the prepared instant, which is on another track, the event's thread.
func (rd *reader) setThread() {
	if rd.ev.has(fieldTid) {
		rd.out.Sampling.Thread = rd.thread()
	}
}

// setWriter records which thread wrote the prepared event; the event is not on the track of that thread.
func (rd *reader) setWriter() {
	if rd.ev.has(fieldTid) {
		rd.out.Sampling = timeline.Sampling{Thread: rd.thread(), Skip: true}
	}
}
