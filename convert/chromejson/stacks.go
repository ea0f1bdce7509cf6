package chromejson

import (
	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/problem"
	"github.com/weft-trace/weft/timeline"
)

const (
	// maxFrames bounds the dictionaries of stack frames, maxStackDepth a call stack, maxSamples the samples that wait for
	// the threads of the trace to be known.
	maxFrames     = 1 << 20
	maxStackDepth = 1024
	maxSamples    = 1 << 20
)

// stacks holds the dictionaries of stack frames (spec 17.2).
type stacks struct {
	frames   map[frameKey]*frame
	deferred uint64                // events whose frame id could not be looked up because no dictionary was read
	global   bool                  // stackFrames was read
	byTid    map[int64]threadOfTid // of all threads that have events
	waiting  []waitingSample
	path     []timeline.FrameID
}

// frameKey is a frame's id in the dictionary of a process, or in that of the trace (process 0).
type frameKey struct {
	process timeline.TrackID
	id      string
}

// frame is an entry of a dictionary.
type frame struct {
	id     timeline.FrameID
	parent string
	stack  timeline.CallstackID // with all its parents; 0 if it was not needed yet
}

// threadOfTid is the thread that has a tid, if there is only one.
type threadOfTid struct {
	track     timeline.TrackID
	ambiguous bool
}

// waitingSample is an element of samples.
type waitingSample struct {
	tid    int64
	ts     timeline.Nanos
	offset int64
	stack  timeline.CallstackID
	weight timeline.Number
	name   string
}

func newStacks() stacks {
	return stacks{frames: map[frameKey]*frame{}, byTid: map[int64]threadOfTid{}}
}

// sawThread remembers the thread of a tid.
func (st *stacks) sawThread(tid int64, track timeline.TrackID) {
	t, ok := st.byTid[tid]
	if !ok {
		st.byTid[tid] = threadOfTid{track: track}
	} else if t.track != track {
		t.ambiguous = true
		st.byTid[tid] = t
	}
}

// stackFrames reads the dictionary of the trace.
func (rd *reader) stackFrames() error {
	rd.stacks.global = true
	return rd.topLevel(func(id string) error {
		kind, text, err := rd.value(maxAttribute)
		if err != nil {
			return err
		}
		if kind != jsonscan.Object {
			rd.problem(problem.StackFrameUnknown, "a frame that is no object")
			return nil
		}
		rd.sub.Reset(text)
		rd.addFrame(0, id)
		return nil
	})
}

// processFrames reads the dictionary of a process, from the M event stackFrames.
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
		if kind, _ := peekKind(s); kind != jsonscan.Object {
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
	if s.Err() != nil || len(rd.stacks.frames) >= maxFrames {
		rd.problem(problem.StackFrameUnknown, id)
		return
	}
	rd.stacks.frames[frameKey{process, id}] = &frame{
		id:     rd.b.Frame(timeline.Frame{Function: string(name.name()), File: string(category.name())}),
		parent: string(parent.name()),
	}
}

// callstack returns the stack of an event, given as the id of its innermost frame or as a list of texts.
func (rd *reader) callstack(id, list field) timeline.CallstackID {
	ev := &rd.ev
	if ev.seen&(1<<id|1<<list) == 0 {
		return 0
	}
	if v := ev.get(id); v.isID() {
		if ev.has(list) {
			rd.problem(problem.StackAmbiguous, "")
		}
		return rd.stackOf(v)
	}
	if v := ev.get(list); v.kind == jsonscan.Array {
		return rd.inlineStack(v.text)
	}
	return 0
}

// inlineStack reads a list of frame texts, the innermost first.
func (rd *reader) inlineStack(text []byte) timeline.CallstackID {
	s := &rd.sub
	s.Reset(text)
	s.Value()
	path := rd.stacks.path[:0]
	for s.Elem() {
		kind, text := s.Scalar()
		if name := (value{kind, text}).name(); name != nil && len(path) < maxStackDepth {
			path = append(path, rd.b.Frame(timeline.Frame{Function: string(name)}))
		}
	}
	rd.stacks.path = path
	return rd.reversed(path)
}

// reversed interns a stack that was collected from the innermost frame outwards.
func (rd *reader) reversed(path []timeline.FrameID) timeline.CallstackID {
	for i, j := 0, len(path)-1; i < j; i, j = i+1, j-1 {
		path[i], path[j] = path[j], path[i]
	}
	return rd.b.Callstack(path)
}

// stackOf returns the stack of a frame id. If no dictionary was read yet, the id is kept as an argument: the input
// cannot be read twice.
func (rd *reader) stackOf(id value) timeline.CallstackID {
	st := &rd.stacks
	process := rd.process()
	key := frameKey{process, string(id.text)}
	f := st.frames[key]
	if f == nil {
		key.process = 0
		f = st.frames[key]
	}
	switch {
	case f == nil && !st.global:
		st.deferred++
		rd.ownValue("sf", id)
		return 0
	case f == nil:
		rd.problem(problem.StackFrameUnknown, string(clip(id.text)))
		return 0
	case f.stack == 0:
		f.stack = rd.walk(key.process, f)
	}
	return f.stack
}

// walk follows the parents of a frame. A cycle is cut where it closes.
func (rd *reader) walk(process timeline.TrackID, f *frame) timeline.CallstackID {
	path := rd.stacks.path[:0]
	onPath := map[*frame]bool{}
	for {
		onPath[f] = true
		path = append(path, f.id)
		if f.parent == "" || len(path) >= maxStackDepth {
			break
		}
		parent := rd.stacks.frames[frameKey{process, f.parent}]
		if parent == nil {
			rd.problem(problem.StackFrameUnknown, f.parent)
			break
		}
		if onPath[parent] {
			rd.problem(problem.StackFrameCycle, f.parent)
			break
		}
		f = parent
	}
	rd.stacks.path = path
	return rd.reversed(path)
}

// endStackOfComplete keeps the stack at the end of an X: a slice has room for that of its begin only.
func (rd *reader) endStackOfComplete() {
	ev := &rd.ev
	if ev.seen&(1<<fieldEsf|1<<fieldEstack) == 0 {
		return
	}
	rd.ownValue("esf", ev.get(fieldEsf))
	if v := ev.get(fieldEstack); v.kind == jsonscan.Array {
		rd.ownKey("estack")
		rd.enc.JSON(validText(v.text))
	}
}

// profileEvent adds a P: V8's Profile and ProfileChunk are kept as they are (spec 17.1), others with a stack are samples.
func (rd *reader) profileEvent() error {
	stack := rd.callstack(fieldSf, fieldStack)
	name := string(rd.ev.get(fieldName).name())
	if stack == 0 || name == "Profile" || name == "ProfileChunk" {
		return rd.otherWithStack(rd.child(rd.thread(), otherEvents), stack)
	}
	out := rd.prepare(timeline.Sample, rd.thread())
	out.Callstack = stack
	out.Value = timeline.Int(1)
	return rd.send()
}

// samples reads the top-level samples. Their threads are known by tid only, so they wait until all threads are known.
func (rd *reader) samples() error {
	rd.s.Advance(1)
	for {
		c, err := rd.s.Peek()
		if err != nil {
			return rd.ended(err)
		}
		switch c {
		case ',':
			rd.s.Advance(1)
			continue
		case ']':
			rd.s.Advance(1)
			return nil
		}
		at := rd.position()
		kind, text, err := rd.value(maxAttribute)
		if err != nil {
			return err
		}
		if kind != jsonscan.Object {
			rd.log.Add(problem.JSONNotAnEvent, at, "in samples")
			continue
		}
		rd.sub.Reset(text)
		if err := rd.sample(at); err != nil {
			return err
		}
	}
}

// sample reads one element of samples from rd.sub.
func (rd *reader) sample(at problem.Position) error {
	var tid, ts, name, sf, weight value
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
	}
	f := rd.stacks.frames[frameKey{0, string(sf.name())}]
	if f == nil {
		rd.log.Add(problem.StackFrameUnknown, at, string(clip(sf.name())))
		return nil
	}
	if f.stack == 0 {
		f.stack = rd.walk(0, f)
	}
	w.stack = f.stack
	rd.stacks.waiting = append(rd.stacks.waiting, w)
	if len(rd.stacks.waiting) < maxSamples {
		return nil
	}
	return rd.flushWaiting()
}

// flushSamples hands over what waited for the end of the input.
func (rd *reader) flushSamples() error {
	st := &rd.stacks
	switch {
	case st.deferred > 0 && st.global:
		rd.log.AddN(problem.StackFramesAfterEvents, st.deferred, problem.NoPosition, "")
	case st.deferred > 0:
		rd.log.AddN(problem.StackFrameUnknown, st.deferred, problem.NoPosition, "no stackFrames")
	}
	return rd.flushWaiting()
}

// samplesProcess is the process of samples whose tid is not that of one thread.
const samplesProcess = "samples"

// flushWaiting adds the samples that wait.
func (rd *reader) flushWaiting() error {
	for i := range rd.stacks.waiting {
		w := &rd.stacks.waiting[i]
		t, ok := rd.stacks.byTid[w.tid]
		if !ok || t.ambiguous {
			process := rd.b.Process(timeline.ProcessKey{Text: samplesProcess})
			t.track = rd.b.Thread(process, timeline.ThreadKey{Num: w.tid})
		}
		rd.out = timeline.Event{
			Kind: timeline.Sample, Track: t.track, Event: uint32(rd.index), Offset: w.offset, TS: w.ts,
			ThreadTS: timeline.NoTime, ThreadDur: timeline.NoTime,
			Name: []byte(w.name), Value: w.weight, Callstack: w.stack,
		}
		if err := rd.b.Add(&rd.out); err != nil {
			return err
		}
	}
	rd.stacks.waiting = rd.stacks.waiting[:0]
	return nil
}
