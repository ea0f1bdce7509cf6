package chromejson

import (
	"bytes"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// event adds the scanned event, and its flow end if it has one. It counts and drops events without a usable phase or time.
// Errors come from the Builder.
func (rd *reader) event() error {
	ev := &rd.ev
	if ev.duplicates > 0 {
		rd.log.AddN(problem.JSONDuplicateKey, uint64(ev.duplicates), rd.position(), "in an event")
	}
	if ev.Seen == 0 && bytes.IndexByte(rd.S.Since(), '"') < 0 { // {}, without even an unknown member
		rd.problem(problem.JSONEmptyEvent, "")
		return nil
	}
	if !ev.scanPhase() {
		rd.problem(problem.EventMissingPhase, "")
		return nil
	}
	if ev.ph == 'M' {
		return rd.metadataEvent()
	}
	if !rd.timestamp() {
		return nil
	}
	if ev.ph != 'v' && ev.ph != 'P' {
		rd.encodeDeferred()
	}
	added, err := rd.phase()
	if err == nil && ev.Seen&bindFields != 0 {
		err = rd.bindID(added)
	}
	return err
}

// phase adds the event according to its phase; it contains the only switch on the phase (section 1). It reports
// whether it added an event that can carry a flow end.
func (rd *reader) phase() (carrier bool, err error) {
	switch rd.ev.ph {
	case 'X':
		return rd.complete()
	case 'B':
		return true, rd.threadEvent(timeline.Begin)
	case 'E':
		return false, rd.threadEvent(timeline.End)
	case 'i', 'I', 'R':
		return false, rd.instant()
	case 'b':
		return rd.async(timeline.Begin)
	case 'e':
		_, err = rd.async(timeline.End)
		return false, err
	case 'n':
		return rd.async(timeline.Instant)
	case 's', 't', 'f':
		return false, rd.flow()
	case 'C':
		return false, rd.counter()
	case 'S':
		return false, rd.legacyAsync(timeline.Begin)
	case 'F':
		return false, rd.legacyAsync(timeline.End)
	case 'p':
		return false, rd.legacyAsync(timeline.Instant)
	case 'T':
		// A T with a duration and without an id is a thread state. A duration alone is not enough: Node writes a duration on
		// every event (section 12).
		if rd.ev.has(fieldDur) && !rd.ev.has(fieldID) && !rd.ev.has(fieldID2) {
			return false, rd.threadState()
		}
		return false, rd.legacyAsync(timeline.Instant)
	case 'N', 'O', 'D':
		return false, rd.objectEvent()
	case 'v':
		return false, rd.memoryDump()
	case 'V':
		rd.weftProcess()
		return false, rd.other(rd.roleTrack(0, timeline.RoleOther))
	case 'c':
		rd.weftProcess()
		if err := rd.add(timeline.Instant, rd.roleTrack(0, timeline.RoleClockSync)); err != nil {
			return false, err
		}
		return false, rd.syncLink()
	case 'P':
		return false, rd.profileEvent()
	case '(', ')', '=':
		return false, rd.other(rd.roleTrack(rd.thread(), timeline.RoleOther))
	}
	rd.problem(problem.EventUnknownPhase, string(rd.ev.letter()))
	return false, rd.other(rd.roleTrack(rd.thread(), timeline.RoleOther))
}

// prepare sets the fields that all events share.
func (rd *reader) prepare(kind timeline.Kind, track timeline.TrackID) *timeline.Event {
	// Set fields one by one: the compiler would build a composite literal elsewhere and copy it.
	out := &rd.out
	*out = timeline.Event{}
	out.Kind, out.Track = kind, track
	out.Event, out.Offset = uint32(rd.index), rd.S.Start()
	out.TS = rd.ev.ts
	out.Name, out.Category = rd.ev.get(fieldName).name(), rd.ev.get(fieldCat).name()
	return out
}

// send adds the prepared event, with its arguments and the additions that weft makes to events of all kinds.
func (rd *reader) send() error {
	ev := &rd.ev
	if ev.Seen&(1<<fieldCname|instructionFields) != 0 {
		rd.instructionCount("ticount", ev.get(fieldTicount))
		rd.instructionCount("tidelta", ev.get(fieldTidelta))
		rd.weftValue("cname", ev.get(fieldCname))
	}
	rd.out.Args = rd.encoded()
	if err := rd.b.Add(&rd.out); err != nil {
		return err
	}
	return rd.clues.Event(&rd.out)
}

func (rd *reader) add(kind timeline.Kind, track timeline.TrackID) error {
	rd.prepare(kind, track)
	return rd.send()
}

// instructionFields become arguments next to the members of args, which may have the same names.
const instructionFields = 1<<fieldTicount | 1<<fieldTidelta

// instructionCount adds a count of retired instructions as an argument.
func (rd *reader) instructionCount(name string, v value) {
	if v.kind == jsonscan.Integer && rd.args.KeepsText(name) {
		rd.closeWeft()
		rd.Enc.Key([]byte(name))
		rd.EncodeInteger(v.text)
	}
}

// complete adds an X event (section 9).
func (rd *reader) complete() (bool, error) {
	if rd.isWholeProfile() {
		return false, nil
	}
	if !rd.ev.has(fieldDur) {
		rd.problem(problem.CompleteWithoutDuration, "")
		return false, nil
	}
	dur, ok := rd.duration()
	if !ok {
		return false, nil
	}
	out := rd.prepare(timeline.Slice, rd.thread())
	out.Dur = dur
	markTask(out)
	if producers.IsGPUWork(out.Category) {
		rd.b.SetStream(out.Track)
	}
	cpuStart, cpuDur := rd.threadTime(fieldTts), rd.threadTime(fieldTdur)
	if cpuStart == timeline.NoTime && cpuDur != timeline.NoTime {
		// Perfetto's thread time is a point in time and cannot represent a duration alone.
		rd.weftKey("tdur")
		rd.Enc.Int(int64(cpuDur))
		cpuDur = timeline.NoTime
	}
	out.ThreadTS, out.ThreadDur = timeline.NewCPUTime(cpuStart), timeline.NewCPUTime(cpuDur)
	out.Callstack = rd.callstack(fieldSf, fieldStack)
	rd.endStackOfComplete()
	rd.setSampling()
	return true, rd.send()
}

// markTask records whether a slice is a task, and whether it is a loop task.
func markTask(out *timeline.Event) {
	out.Task, out.LoopTask = producers.IsTask(out.Name), producers.IsLoopTask(out.Name)
}

// threadEvent adds a B, an E or an instant of a thread.
func (rd *reader) threadEvent(kind timeline.Kind) error {
	out := rd.prepare(kind, rd.thread())
	if kind == timeline.Begin {
		markTask(out)
	}
	if kind == timeline.Instant && rd.isScreenshot() {
		rd.screenshot()
	}
	out.ThreadTS = timeline.NewCPUTime(rd.threadTime(fieldTts))
	if kind == timeline.End && rd.ev.Seen&(1<<fieldEsf|1<<fieldEstack) != 0 {
		out.Callstack = rd.callstack(fieldEsf, fieldEstack)
	} else {
		out.Callstack = rd.callstack(fieldSf, fieldStack)
	}
	rd.setSampling()
	return rd.send()
}

// instant adds an i, I or R event (section 10).
func (rd *reader) instant() error {
	if rd.isWholeProfile() {
		return nil
	}
	scope := rd.ev.get(fieldS)
	letter := byte('?')
	switch text := scope.str(); {
	case len(text) > 0:
		letter = text[0]
	case scope.kind == jsonscan.Invalid, scope.kind == jsonscan.Null, scope.kind == jsonscan.String:
		letter = 't'
	}
	switch letter {
	case 't':
	case 'p':
		if !rd.hasPid() {
			rd.problem(problem.InstantMissingPid, "")
			return nil
		}
		rd.prepare(timeline.Instant, rd.b.ProcessInstants(rd.process()))
		rd.out.Callstack = rd.callstack(fieldSf, fieldStack)
		rd.setSampling()
		rd.setThread()
		return rd.send()
	case 'g':
		rd.prepare(timeline.Instant, rd.b.GlobalInstants())
		rd.out.Callstack = rd.callstack(fieldSf, fieldStack)
		rd.setSampling()
		rd.setThread()
		rd.weftProcess()
		return rd.send()
	default:
		rd.problem(problem.InstantUnknownScope, string(clip(scope.text)))
	}
	return rd.threadEvent(timeline.Instant)
}

// weftProcess adds, as arguments, the process and thread ids of an event whose track belongs to the whole trace.
func (rd *reader) weftProcess() {
	rd.weftID("pid", fieldPid)
	rd.weftID("tid", fieldTid)
}

// weftID adds a nonzero process or thread id as an argument.
func (rd *reader) weftID(name string, f field) {
	v := rd.ev.get(f)
	if v.kind == jsonscan.Integer && string(v.text) == "0" {
		return
	}
	rd.weftValue(name, v)
}

// threadState adds a T event that is a thread state (section 1).
func (rd *reader) threadState() error {
	dur, ok := rd.duration()
	if !ok {
		return nil
	}
	rd.prepare(timeline.Slice, rd.roleTrack(rd.thread(), timeline.RoleThreadState))
	rd.out.Dur = dur
	return rd.send()
}

// other adds an instant for an event that the model cannot represent, with its phase, id, duration and stack.
func (rd *reader) other(track timeline.TrackID) error {
	return rd.otherWithStack(track, rd.callstack(fieldSf, fieldStack))
}

func (rd *reader) otherWithStack(track timeline.TrackID, stack timeline.CallstackID) error {
	rd.prepare(timeline.Instant, track).Callstack = stack
	rd.weftKey("ph")
	rd.Enc.String(rd.ev.letter())
	if id, kind, ok := rd.ev.id(); ok {
		rd.weftEventID(id, kind)
		rd.weftValue("scope", rd.ev.get(fieldScope))
		if kind == timeline.AsyncPlain && rd.ev.has(fieldID2) {
			rd.secondID()
		}
	} else if rd.ev.has(fieldID2) {
		rd.secondID()
	}
	rd.weftTime("dur", fieldDur)
	rd.weftTime("tts", fieldTts)
	return rd.send()
}

// weftEventID adds an id unchanged: as id or, if it is local or global, in id2.
func (rd *reader) weftEventID(id value, kind timeline.AsyncIDKind) {
	if _, fits := jsonscan.Int64(id.text); id.kind == jsonscan.Integer && !fits {
		if _, fits = jsonscan.Uint64(id.text); !fits {
			id.kind = jsonscan.String // too large for a number
		}
	}
	if kind == timeline.AsyncPlain {
		rd.weftValue("id", id)
		return
	}
	rd.weftKey("id2")
	rd.Enc.BeginDict()
	if kind == timeline.AsyncLocal {
		rd.Enc.Key([]byte("local"))
	} else {
		rd.Enc.Key([]byte("global"))
	}
	rd.Encode(id.kind, id.text, 1)
	rd.Enc.EndDict()
}

// secondID adds the id in id2 if weft does not use it as the event's id: the meaning of a second id is unknown. If id2 contains
// no id, secondID adds {}.
func (rd *reader) secondID() {
	if id := rd.ev.get(fieldID2Global); id.isID() {
		rd.weftEventID(id, timeline.AsyncGlobal)
		return
	}
	if id := rd.ev.get(fieldID2Local); id.isID() {
		rd.weftEventID(id, timeline.AsyncLocal)
		return
	}
	rd.weftKey("id2")
	rd.Enc.String([]byte("{}"))
}

// weftTime adds a nonzero time as an argument. (Node writes dur and tts on every event.)
func (rd *reader) weftTime(name string, f field) {
	if t, ok := rd.ev.get(f).nanos(); ok && t != 0 {
		rd.weftKey(name)
		rd.Enc.Int(int64(t))
	}
}

// objectEvent adds an N, O or D event: the creation, a snapshot or the deletion of an object. Scope and id distinguish objects
// within a process or, if the id is global, in the whole trace (section 17).
func (rd *reader) objectEvent() error {
	ev := &rd.ev
	id, kind, ok := ev.id()
	if !ok {
		rd.problem(problem.AsyncMissingID, "")
		return nil
	}
	parent := timeline.TrackID(0)
	if kind != timeline.AsyncGlobal {
		parent = rd.process()
	}
	name, class := ev.get(fieldName).name(), ev.get(fieldName).name()
	if ev.ph == 'O' {
		class = rd.baseType(class)
	}
	out := rd.prepare(timeline.Instant, rd.objectsTrack(parent, string(class), string(ev.get(fieldScope).str())))
	switch ev.ph {
	case 'N':
		out.Kind = timeline.Begin
	case 'D':
		out.Kind, out.KeepEnd = timeline.End, true
		rd.setWriter()
	case 'O':
		if rd.isScreenshot() {
			rd.screenshot()
		} else {
			rd.unpackSnapshot()
		}
	}
	rd.buf = append(append(append(rd.buf[:0], name...), ' '), id.text...)
	if out.Screenshot == nil {
		out.Name = rd.buf
	}
	rd.weftEventID(id, timeline.AsyncPlain) // the track's parent shows whether it is global
	rd.weftValue("scope", ev.get(fieldScope))
	if kind == timeline.AsyncPlain && ev.has(fieldID2) {
		rd.secondID()
	}
	return rd.send()
}

// objectsTrack returns the track for objects of a class and scope. Tracks of the same class share a name, so viewers show them
// as one.
func (rd *reader) objectsTrack(parent timeline.TrackID, class, scope string) timeline.TrackID {
	key := objectsKey{parent, class, scope}
	id, ok := rd.objects[key]
	if !ok {
		id = rd.b.NewTrack(parent, timeline.ObjectsSpec(class))
		rd.objects[key] = id
	}
	return id
}

// objectsKey identifies the track for objects of a class and scope.
type objectsKey struct {
	parent       timeline.TrackID
	class, scope string
}

// baseType returns the class under which the object of a snapshot was created: base_type in the snapshot, or the given
// class.
func (rd *reader) baseType(class []byte) []byte {
	args := rd.ev.get(fieldArgs)
	if args.kind != jsonscan.Object || !bytes.Contains(args.text, []byte(`"base_type"`)) {
		return class
	}
	s := &rd.sub
	s.Reset(args.text)
	s.Value()
	if !seekMember(s, "snapshot") {
		return class
	}
	if !startsObject(s) {
		return class
	}
	s.Value()
	if !seekMember(s, "base_type") {
		return class
	}
	if kind, text := s.Scalar(); kind == jsonscan.String && len(text) > 0 {
		return text
	}
	return class
}

// startsObject reports whether the next value of s is an object.
func startsObject(s *jsonscan.Scanner) bool {
	return bytes.HasPrefix(bytes.TrimLeft(s.Window(), " \t\r\n"), []byte("{"))
}

// seekMember moves s to the value of a member of its current object. It returns false if the object lacks it.
func seekMember(s *jsonscan.Scanner, name string) bool {
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		if string(key) == name {
			return true
		}
		s.Skip()
	}
	return false
}

// unpackSnapshot re-encodes the arguments of an O with snapshot replaced by its members.
func (rd *reader) unpackSnapshot() {
	if rd.ev.get(fieldArgs).kind != jsonscan.Object || rd.args.KeepsNone() {
		return
	}
	rd.encodeAgain(func(jsonscan.Kind, []byte) {
		for key, ok := rd.keptKey(); ok; key, ok = rd.keptKey() {
			isSnapshot := string(key) == "snapshot"
			rd.Enc.Key(key)
			kind, text := rd.S.Value()
			if kind != jsonscan.Object || !isSnapshot {
				rd.Encode(kind, text, 1)
				continue
			}
			for key, ok := rd.S.Key(); ok; key, ok = rd.S.Key() {
				rd.Enc.Key(key)
				rd.EncodeNext(2)
			}
		}
	})
}

// syncLink adds a link from a clock sync to the clock syncs with the same id in other inputs.
func (rd *reader) syncLink() error {
	if rd.b.Observer() == nil {
		return nil
	}
	id := rd.metadataMember("sync_id").name()
	if len(id) == 0 {
		return nil
	}
	l := timeline.Link{
		Key: "sync:" + string(id), Role: timeline.LinkSync, Track: rd.out.Track, Event: rd.out.Event, Offset: rd.out.Offset, TS: rd.out.TS,
	}
	if issued, ok := rd.metadataMember("issue_ts").nanos(); ok {
		if issued, ok = addNanos(issued, rd.opts.Offset); ok && issued <= l.TS {
			l.Role, l.Issued = timeline.LinkSyncSent, issued
		}
	}
	return rd.b.AddLink(&l)
}
