package chromejson

import (
	"bytes"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// collectProfile hands an event to the Assembler if it is a piece of a profile (profile-calls.md 2). The profile gets
// all of a piece; the event of a head is kept as well.
func (rd *reader) collectProfile(name string) (taken bool) {
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
	taken = rd.opts.Profiles.Add(name, &ev)
	rd.b.SetAside(rd.opts.Profiles.Held())
	return taken
}

// isWholeProfile reports whether the event is a whole profile as old versions of Chrome wrote it, and was collected.
func (rd *reader) isWholeProfile() bool {
	name := rd.ev.get(fieldName).text
	return string(name) == v8profile.WholeName && rd.collectProfile(v8profile.WholeName)
}

// sampling notes of the prepared event what the calls of its thread depend on (profile-calls.md 5).
func (rd *reader) sampling() {
	if rd.opts.Profiles == nil {
		return
	}
	s := &rd.out.Sampling
	if rd.ev.traced {
		s.TraceID = rd.traceID()
	}
	s.Skip = rd.ev.ph == 'I' && s.TraceID == 0
}

// traceID returns the id of the recorded stack of the current event, 0 if it has none.
func (rd *reader) traceID() uint64 {
	args := rd.ev.get(fieldArgs)
	if args.kind != jsonscan.Object {
		return 0
	}
	ids := v8profile.ScanTraceIDs(&rd.sub, args.text)
	return ids.ID()
}

// holdsTraceID reports whether the text of args may hold the id of a recorded stack.
func holdsTraceID(args []byte) bool { return bytes.Contains(args, []byte(v8profile.TraceIDKey)) }

// shownElsewhere notes that the prepared instant belongs to its thread, though it is on another track.
func (rd *reader) shownElsewhere() {
	if rd.ev.has(fieldTid) {
		rd.out.Sampling.Thread = rd.thread()
	}
}

// writtenBy notes which thread wrote the prepared event, which is not on that thread's track.
func (rd *reader) writtenBy() {
	if rd.ev.has(fieldTid) {
		rd.out.Sampling = timeline.Sampling{Thread: rd.thread(), Skip: true}
	}
}
