package chromejson

import (
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

const (
	// maxFrames and maxFrameText limit the dictionaries of stack frames and the ids that events use. maxSamples limits
	// the samples that wait until all threads of the trace have been read.
	maxFrames    = 1 << 20
	maxFrameText = 64 << 20
	maxSamples   = 1 << 20
)

// stacks collects the stack-frame dictionaries and the frame ids that events use (section 17). A dictionary may come
// before or after the events, so ids are resolved at the end of the input.
type stacks struct {
	frames  map[frameKey]*frame
	used    map[frameKey]timeline.CallstackID
	inOrder []usedFrame
	text    int // total bytes of text
	waiting []waitingSample
	path    []timeline.FrameID
}

// frameKey is a frame id in the dictionary of a process or in the trace's dictionary (process 0).
type frameKey struct {
	process timeline.TrackID
	id      string
}

// frame is an entry of a dictionary.
type frame struct {
	id     timeline.FrameID
	parent string
	state  frameState
	stack  timeline.CallstackID // including all parents, once resolved
}

// frameState is the progress of resolving a frame's stack.
type frameState uint8

const (
	unresolved frameState = iota
	resolving             // the frame is on the current path
	resolved
)

// usedFrame is a frame id that events use, with the stack reserved for it.
type usedFrame struct {
	key   frameKey
	stack timeline.CallstackID
}

// waitingSample is an element of the list samples that waits until its thread is known.
type waitingSample struct {
	tid    int64
	ts     timeline.Nanos
	offset int64
	stack  timeline.CallstackID
	weight timeline.Number
	name   string
	cpu    timeline.CPU
}

// stackFrames reads the trace's dictionary of stack frames.
func (rd *reader) stackFrames() error {
	return rd.doc.Members(func(id []byte, _ byte) error {
		kind, text, err := rd.value(readers.MaxAttribute)
		if err != nil {
			return err
		}
		if kind != jsonscan.Object {
			rd.problem(problem.StackFrameUnknown, "a frame that is not an object")
			return nil
		}
		rd.sub.Reset(text)
		rd.addFrame(0, string(id))
		rd.countNotes(&rd.sub.Notes)
		return nil
	})
}

// processFrames reads a process's dictionary from the M event stackFrames.
func (rd *reader) processFrames() {
	frames := rd.metadataMember("stackFrames")
	if frames.kind != jsonscan.Object {
		rd.invalidMetadata("stackFrames")
		return
	}
	process := rd.process()
	s := &rd.sub
	s.Reset(frames.text)
	s.Value()
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		id := string(key)
		if !startsObject(s) {
			s.Skip()
			continue
		}
		rd.addFrame(process, id)
	}
}

// addFrame reads one entry of a dictionary from rd.sub.
func (rd *reader) addFrame(process timeline.TrackID, id string) {
	var name, category, parent value
	s := &rd.sub
	s.Value()
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		v := value{}
		v.kind, v.text = s.Scalar()
		switch string(key) {
		case "name":
			name = v
		case "category":
			category = v
		case "parent":
			parent = v
		}
	}
	if s.Err() != nil {
		rd.problem(problem.StackFrameUnknown, string(clip([]byte(id))))
		return
	}
	if !rd.stacks.reserve(len(id) + len(parent.text)) {
		rd.problem(problem.StackLimit, "too many stack frames")
		return
	}
	rd.stacks.frames[frameKey{process, id}] = &frame{
		id:     rd.b.Frame(timeline.Frame{Function: string(name.name()), File: string(category.name())}),
		parent: string(parent.name()),
	}
}

// reserve accounts for one more frame or id with the given number of text bytes. It returns false at the limit.
func (st *stacks) reserve(text int) bool {
	if len(st.frames)+len(st.inOrder) >= maxFrames || st.text+text > maxFrameText {
		return false
	}
	st.text += text
	return true
}

// callstack returns the stack of an event, given as the id of its innermost frame or as a list of texts.
func (rd *reader) callstack(id, list field) timeline.CallstackID {
	ev := &rd.ev
	if ev.Seen&(1<<id|1<<list) == 0 {
		return 0
	}
	one, several := ev.get(id), ev.get(list)
	switch {
	case one.isID():
		if ev.has(list) {
			rd.problem(problem.StackAmbiguous, "")
		}
		return rd.stackOf(rd.process(), one.text)
	case several.kind == jsonscan.Array:
		return rd.inlineStack(several.text)
	case one.kind > jsonscan.Null || several.kind > jsonscan.Null:
		rd.problem(problem.StackFrameUnknown, "a stack that is neither an id nor a list")
	}
	return 0
}

// inlineStack reads a list of frame texts, innermost first.
func (rd *reader) inlineStack(text []byte) timeline.CallstackID {
	s := &rd.sub
	s.Reset(text)
	s.Value()
	path := rd.stacks.path[:0]
	tooMany, unknown := false, 0
	for s.Elem() {
		kind, text := s.Scalar()
		name := (value{kind, text}).name()
		switch {
		case name == nil:
			unknown++
		case len(path) == timeline.MaxStackDepth:
			tooMany = true
		default:
			path = append(path, rd.b.Frame(timeline.Frame{Function: string(name)}))
		}
	}
	if unknown > 0 {
		rd.log.AddN(problem.StackFrameUnknown, uint64(unknown), rd.position(), "a frame that is not a text")
	}
	if tooMany {
		rd.problem(problem.StackLimit, "")
	}
	rd.stacks.path = path
	slices.Reverse(path)
	return rd.b.Callstack(path)
}

// stackOf returns the stack of a frame id; its frames are set at the end of the input.
func (rd *reader) stackOf(process timeline.TrackID, id []byte) timeline.CallstackID {
	st := &rd.stacks
	stack, ok := st.used[frameKey{process, string(id)}]
	if ok {
		return stack
	}
	if st.reserve(len(id)) {
		stack = rd.b.ReserveCallstack()
	}
	if stack == 0 {
		rd.problem(problem.StackLimit, "too many stacks")
		return 0
	}
	key := frameKey{process, string(id)}
	st.used[key] = stack
	st.inOrder = append(st.inOrder, usedFrame{key, stack})
	return stack
}

// resolveStacks sets the frames of the stacks that events use. A process may have its own dictionary.
func (rd *reader) resolveStacks() {
	st := &rd.stacks
	for i := range st.inOrder {
		u := &st.inOrder[i]
		uses, first := rd.b.CallstackUses(u.stack)
		if uses == 0 {
			continue
		}
		if first.Event >= rd.index { // a sample, which is not an event
			first.Event = -1
		}
		f := st.frames[u.key]
		if f == nil {
			u.key.process = 0
			f = st.frames[u.key]
		}
		if f == nil {
			rd.log.AddN(problem.StackFrameUnknown, uses, first, string(clip([]byte(u.key.id))))
			continue
		}
		rd.followParents(u.key.process, f, first)
		rd.b.SetCallstack(u.stack, f.stack)
	}
}

// followParents resolves the stacks of a frame and all its parents. It breaks a cycle at the frame that closes it.
func (rd *reader) followParents(process timeline.TrackID, f *frame, at problem.Position) {
	var path []*frame // from f outwards
	var stack timeline.CallstackID
	for f.state == unresolved {
		f.state = resolving
		path = append(path, f)
		if f.parent == "" {
			break
		}
		parent := rd.stacks.frames[frameKey{process, f.parent}]
		if parent == nil {
			rd.log.Add(problem.StackFrameUnknown, at, string(clip([]byte(f.parent))))
			break
		}
		if parent.state == resolving {
			rd.log.Add(problem.StackFrameCycle, at, string(clip([]byte(f.parent))))
			break
		}
		f = parent
	}
	if f.state == resolved {
		stack = f.stack
	}
	for _, f := range slices.Backward(path) {
		stack = rd.b.PushFrame(stack, f.id)
		f.state, f.stack = resolved, stack
	}
}

// endStackOfComplete turns the stack at the end of an X into an argument: a slice stores only the stack at its start.
func (rd *reader) endStackOfComplete() {
	ev := &rd.ev
	if ev.Seen&(1<<fieldEsf|1<<fieldEstack) == 0 {
		return
	}
	rd.weftValue("esf", ev.get(fieldEsf))
	if v := ev.get(fieldEstack); v.kind == jsonscan.Array {
		rd.weftKey("estack")
		rd.EncodeText(v.text)
		rd.notes()
	}
}

// sampleFields are the fields of a P that a sample can represent.
const sampleFields = 1<<fieldPh | 1<<fieldName | 1<<fieldTs | 1<<fieldPid | 1<<fieldTid | 1<<fieldSf | 1<<fieldStack

// profileEvent adds a P event. Pieces of V8 profiles are collected or kept unchanged (section 17); other events with a stack
// are samples. Data that a sample cannot represent, mainly arguments, goes into an additional instant.
func (rd *reader) profileEvent() error {
	ev := &rd.ev
	name := string(ev.get(fieldName).name())
	if rd.collectProfile(name) {
		return nil
	}
	rd.encodeDeferred()
	stack := rd.callstack(fieldSf, fieldStack)
	if stack == 0 || name == "Profile" || name == "ProfileChunk" {
		return rd.otherWithStack(rd.roleTrack(rd.thread(), timeline.RoleOther), stack)
	}
	out := rd.prepare(timeline.Sample, rd.thread())
	out.Category = nil
	out.Callstack = stack
	out.Value = timeline.Int(1)
	if err := rd.b.Add(out); err != nil || ev.Seen&^sampleFields == 0 {
		return err
	}
	return rd.otherWithStack(rd.roleTrack(rd.thread(), timeline.RoleOther), stack)
}

// samples reads the top-level samples. They identify threads by tid only, so they wait until all threads have been
// read.
func (rd *reader) samples() error {
	return rd.doc.Elements(func(byte) error {
		at := rd.position()
		kind, text, err := rd.value(readers.MaxAttribute)
		if err != nil {
			return err
		}
		if kind != jsonscan.Object {
			rd.log.Add(problem.JSONNotAnEvent, at, "in samples")
			return nil
		}
		rd.sub.Reset(text)
		err = rd.sample(at)
		rd.countNotes(&rd.sub.Notes)
		return err
	})
}

// sample reads one element of samples from rd.sub.
func (rd *reader) sample(at problem.Position) error {
	var cpu, tid, ts, name, sf, weight value
	s := &rd.sub
	s.Value()
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		v := value{}
		v.kind, v.text = s.Scalar()
		switch string(key) {
		case "tid":
			tid = v
		case "ts":
			ts = v
		case "name":
			name = v
		case "sf":
			sf = v
		case "weight":
			weight = v
		case "cpu":
			cpu = v
		default:
			rd.unknown(key)
		}
	}
	w := waitingSample{offset: at.Offset, name: string(name.name())}
	var ok bool
	if w.ts, ok = ts.nanos(); ok {
		w.ts, ok = addNanos(w.ts, rd.opts.Offset)
	}
	if !ok || w.ts < 0 {
		rd.log.Add(problem.EventInvalidTimestamp, at, "in samples")
		return nil
	}
	w.tid, _ = tid.identifier()
	if w.weight, ok = counterValue(weight); !ok {
		w.weight = timeline.Int(1)
		if weight.kind > jsonscan.Null {
			rd.log.Add(problem.CounterInvalidValue, at, "weight")
		}
	}
	if n, ok := jsonscan.Decimal(cpu.text, 0); ok && n >= 0 && n <= math.MaxUint32 {
		w.cpu = timeline.NewCPU(uint32(n))
	} else if cpu.kind > jsonscan.Null {
		rd.log.Add(problem.CounterInvalidValue, at, "cpu")
	}
	if id := sf.name(); id != nil {
		w.stack = rd.stackOf(0, id)
	}
	rd.stacks.waiting = append(rd.stacks.waiting, w)
	if len(rd.stacks.waiting) < maxSamples {
		return nil
	}
	return rd.flushWaiting()
}

// samplesProcess is the process of samples whose tid matches no thread, or several.
const samplesProcess = "samples"

// flushWaiting adds the waiting samples.
func (rd *reader) flushWaiting() error {
	if len(rd.stacks.waiting) == 0 {
		return nil
	}
	threads := rd.threadsByTid()
	for i := range rd.stacks.waiting {
		w := &rd.stacks.waiting[i]
		track := threads[w.tid].track
		if track == 0 {
			track = rd.b.Thread(rd.b.Process(timeline.ProcessKey{Text: samplesProcess}), timeline.ThreadKey{Num: w.tid})
		}
		rd.out = timeline.Event{
			Kind: timeline.Sample, Track: track, Event: uint32(rd.index), Offset: w.offset, TS: w.ts,
			Name: []byte(w.name), Value: w.weight, CPU: w.cpu, Callstack: w.stack,
		}
		if err := rd.b.Add(&rd.out); err != nil {
			return err
		}
	}
	rd.stacks.waiting = rd.stacks.waiting[:0]
	return nil
}

// threadOfTid is the thread with a given tid; track is 0 if there are several.
type threadOfTid struct {
	track timeline.TrackID
	used  bool
}

// threadsByTid returns the thread of each tid. Threads that have only metadata count only if no thread with
// events has the tid.
func (rd *reader) threadsByTid() map[int64]threadOfTid {
	byTid := map[int64]threadOfTid{}
	for _, th := range rd.b.Threads() {
		if th.Key.Text != "" {
			continue
		}
		switch last, ok := byTid[th.Key.Num]; {
		case !ok || th.Used && !last.used:
			byTid[th.Key.Num] = threadOfTid{th.Track, th.Used}
		case th.Used == last.used:
			byTid[th.Key.Num] = threadOfTid{used: last.used}
		}
	}
	return byTid
}
