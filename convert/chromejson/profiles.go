package chromejson

import (
	"bytes"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/timeline"
	"github.com/weft-trace/weft/v8profile"
)

// sampleTraceID is the name of the argument with the id under which V8 recorded the stack of an event (spec
// profile-calls.md 5.1).
const sampleTraceID = "sampleTraceId"

// collectProfile hands an event to the collector of profiles if it is a piece of one (spec profile-calls.md 2). All that
// a piece holds goes into the profile; the event of a head is kept beside.
func (rd *reader) collectProfile(name string) (taken bool) {
	if rd.opts.Profiles == nil {
		return false
	}
	var add func(*v8profile.Event)
	switch name {
	case "Profile":
		add = rd.opts.Profiles.Head
	case "ProfileChunk":
		add, taken = rd.opts.Profiles.Chunk, true
	case "CpuProfile":
		add, taken = rd.opts.Profiles.Whole, true
	default:
		return false
	}
	ev := v8profile.Event{
		Process: int64(rd.process()), Thread: int64(rd.thread()), TS: rd.ev.ts, At: rd.position(),
	}
	if id, _, ok := rd.ev.id(); ok {
		ev.ID = string(id.text)
	}
	if args := rd.ev.get(fieldArgs); args.kind == jsonscan.Object {
		ev.Args = args.text
	}
	add(&ev)
	return taken
}

// isWholeProfile reports whether the event is a whole profile as old versions of Chrome wrote it, and was collected.
func (rd *reader) isWholeProfile() bool {
	name := rd.ev.get(fieldName).text
	return len(name) == len("CpuProfile") && string(name) == "CpuProfile" && rd.collectProfile("CpuProfile")
}

// sampling says of the event prepared what the calls of its thread depend on (spec profile-calls.md 5.1).
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

// traceID returns args.beginData.sampleTraceId if there is a beginData, else args.sampleTraceId, else
// args.data.sampleTraceId; 0 if it is missing.
func (rd *reader) traceID() uint64 {
	args := rd.ev.get(fieldArgs)
	if args.kind != jsonscan.Object {
		return 0
	}
	s := &rd.sub
	s.Reset(args.text)
	var begin, own, data uint64
	hasBegin := false
	s.Value()
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch string(key) {
		case "beginData":
			hasBegin = true
			begin = traceIDIn(s)
		case "data":
			data = traceIDIn(s)
		case sampleTraceID:
			own = number(s)
		default:
			s.Skip()
		}
	}
	switch {
	case hasBegin:
		return begin
	case own != 0:
		return own
	}
	return data
}

// traceIDIn returns the id in the object that comes next, 0 if it has none.
func traceIDIn(s *jsonscan.Scanner) (id uint64) {
	switch kind, _ := s.Value(); kind {
	case jsonscan.Object:
		for key, ok := s.Key(); ok; key, ok = s.Key() {
			if string(key) == sampleTraceID {
				id = number(s)
			} else {
				s.Skip()
			}
		}
	case jsonscan.Array:
		for s.Elem() {
			s.Skip()
		}
	}
	return id
}

// number returns the value that comes next if it is an unsigned integer, else 0.
func number(s *jsonscan.Scanner) uint64 {
	kind, text := s.Scalar()
	if kind != jsonscan.Integer {
		return 0
	}
	n, _ := jsonscan.Uint64(text)
	return n
}

// holdsTraceID reports whether the text of args may hold the id of a recorded stack.
func holdsTraceID(args []byte) bool { return bytes.Contains(args, []byte(sampleTraceID)) }

// shownElsewhere says that the instant prepared is one of its thread, though it is shown on another track.
func (rd *reader) shownElsewhere() {
	if (rd.opts.Profiles != nil || rd.opts.Threads) && rd.ev.has(fieldTid) {
		rd.out.Sampling.Thread = rd.thread()
	}
}

// writtenBy says which thread wrote the event prepared, which is none of that thread's own.
func (rd *reader) writtenBy() {
	if rd.opts.Threads && rd.ev.has(fieldTid) {
		rd.out.Sampling = timeline.Sampling{Thread: rd.thread(), Skip: true}
	}
}
