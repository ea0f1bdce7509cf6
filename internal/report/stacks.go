package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/timeline"
)

// Frame is a function on a call stack. Line and Column count from 1; 0 is unknown.
type Frame struct {
	Function string `json:"function"`
	URL      string `json:"url,omitempty"`
	Line     int64  `json:"line,omitempty"`
	Column   int64  `json:"column,omitempty"`
}

// anonymous is shown instead of an empty function name.
const anonymous = "(anonymous)"

// Location returns where the function is defined, as "url:line:column" as far as known.
func (f Frame) Location() string {
	text := f.URL
	for _, n := range []int64{f.Line, f.Column} {
		if n <= 0 {
			break
		}
		text += ":" + strconv.FormatInt(n, 10)
	}
	return text
}

// frameID and stackID are indexes into a stackTable; 0 means none.
type (
	frameID uint32
	stackID uint32
)

// stackTable holds the stacks of all threads. A stack is a frame on top of another stack.
type stackTable struct {
	frames []Frame
	nodes  []stackNode
	byName map[Frame]frameID
	byNode map[stackNode]stackID
	script map[stackID]stackID // see scriptOf

	seen   []sampledStack         // by CallstackID
	calls  []timeline.CallstackID // scratch
	listed int                    // frames returned by list
	steps  int                    // visited stacks; tests check it
}

type stackNode struct {
	below stackID
	frame frameID
}

// sampledStack is a call stack of the timeline without the frames that are not functions.
type sampledStack struct {
	stack stackID
	known bool
	// marker means that the innermost frame looks like one of weft's markers, such as "(layout)". The frame is a marker if the
	// state of the sample has that name.
	marker bool
	state  metaState // the state according to V8's own frames
}

func newStackTable() *stackTable {
	return &stackTable{
		frames: make([]Frame, 1),
		nodes:  make([]stackNode, 1),
		byName: map[Frame]frameID{},
		byNode: map[stackNode]stackID{},
		script: map[stackID]stackID{},
	}
}

// add adds a call stack of the timeline with its callers, so that adding all the stacks on one path costs no more than adding
// the deepest.
func (t *stackTable) add(tl *timeline.Timeline, id timeline.CallstackID) sampledStack {
	if t.seen == nil {
		t.seen = make([]sampledStack, tl.CallstackCount()+1)
		t.seen[0].known = true
	}
	t.calls = t.calls[:0]
	at := id
	for ; !t.seen[at].known; at, _ = tl.Caller(at) {
		t.calls = append(t.calls, at)
	}
	t.steps += len(t.calls)
	s := t.seen[at]
	for _, id := range slices.Backward(t.calls) {
		if _, frame := tl.Caller(id); frame != 0 {
			s = t.callee(s, cleanFrame(tl.Frame(frame)))
		}
		t.seen[id] = s
	}
	return s
}

// callee returns the stack in which the innermost function of a stack calls f.
func (t *stackTable) callee(s sampledStack, f Frame) sampledStack {
	s.marker = false
	if state, meta := metaFrames[f.Function]; meta && f.URL == "" {
		s.state = state
		return s
	}
	s.marker = f.URL == "" && strings.HasPrefix(f.Function, "(") && strings.HasSuffix(f.Function, ")")
	s.stack = t.push(s.stack, f)
	return s
}

// marks reports whether the innermost frame of a stack is the marker of a state.
func (t *stackTable) marks(s sampledStack, state string) bool {
	return s.marker && t.frame(s.stack).Function == "("+state+")"
}

// cleanFrame converts a frame of the timeline.
func cleanFrame(f timeline.Frame) Frame {
	return Frame{Function: cmp.Or(f.Function, anonymous), URL: f.File, Line: f.Line, Column: f.Column}
}

// intern returns the id of a frame. It adds the frame if it is new.
func (t *stackTable) intern(f Frame) frameID {
	id, ok := t.byName[f]
	if !ok {
		id = frameID(len(t.frames))
		t.frames = append(t.frames, f)
		t.byName[f] = id
	}
	return id
}

// push returns the stack in which below calls f.
func (t *stackTable) push(below stackID, f Frame) stackID { return t.pushFrame(below, t.intern(f)) }

// pushFrame is push for the id of a frame.
func (t *stackTable) pushFrame(below stackID, frame frameID) stackID {
	node := stackNode{below, frame}
	id, ok := t.byNode[node]
	if !ok {
		id = stackID(len(t.nodes))
		t.nodes = append(t.nodes, node)
		t.byNode[node] = id
	}
	return id
}

// frame returns the innermost frame of a stack.
func (t *stackTable) frame(id stackID) Frame { return t.frames[t.nodes[id].frame] }

// scriptOf returns a Firefox stack without the browser's own functions.
func (t *stackTable) scriptOf(id stackID) stackID {
	var path []stackID
	for ; id != 0; id = t.nodes[id].below {
		if _, ok := t.script[id]; ok {
			break
		}
		path = append(path, id)
	}
	script := t.script[id]
	for _, id := range slices.Backward(path) {
		if f := t.frame(id); f.isScript() {
			script = t.push(script, f)
		}
		t.script[id] = script
	}
	return script
}

// isScript recognises script functions by their location: the browser's own are in libraries and source files.
func (f Frame) isScript() bool {
	return strings.Contains(f.URL, "://") || f.URL == "self-hosted" || strings.HasSuffix(f.URL, ".js")
}

// function returns the function of a frame: in Firefox, frames at different lines are one function.
func (t *stackTable) function(id frameID, source string) frameID {
	if f := t.frames[id]; source == sourceFirefox && f.Line != 0 {
		return t.intern(Frame{Function: f.Function, URL: f.URL})
	}
	return id
}

// Limits on lists of frames. Once the lists of a trace have maxListed frames, further lists have at most the shortList innermost
// frames.
const (
	maxListed = 1 << 22
	shortList = 64
)

// list returns the innermost frames of a stack, outermost first: at most as many as a conversion writes.
func (t *stackTable) list(id stackID) []Frame {
	most := timeline.MaxStackDepth
	if t.listed >= maxListed {
		most = shortList
	}
	var frames []Frame
	for ; id != 0 && len(frames) < most; id = t.nodes[id].below {
		frames = append(frames, t.frame(id))
	}
	t.listed += len(frames)
	t.steps += len(frames)
	slices.Reverse(frames)
	return frames
}

// stackPart is a part of a stackTable: some stacks and all stacks below them.
type stackPart struct {
	ids   []stackID // each comes after the one below it
	below []int32   // by index in ids: the index of the stack below; -1: none
}

// part returns the part with the given stacks. It visits each stack once, however many are on top of it.
func (t *stackTable) part(tops []stackID) stackPart {
	var p stackPart
	place := map[stackID]int32{0: -1}
	for _, id := range tops {
		for ; ; id = t.nodes[id].below {
			if _, ok := place[id]; ok {
				break
			}
			place[id] = 0
			p.ids = append(p.ids, id)
		}
	}
	t.steps += len(p.ids) + len(tops)
	slices.Sort(p.ids) // a stack has a higher id than the one below it
	p.below = make([]int32, len(p.ids))
	for i, id := range p.ids {
		place[id] = int32(i)
		p.below[i] = place[t.nodes[id].below]
	}
	return p
}

// depthFirst enters and leaves the stacks of a part, each inside the one below it. The function compare orders the stacks on top
// of the same stack.
func (p *stackPart) depthFirst(compare func(a, b int32) int, enter, leave func(i int32)) {
	order := make([]int32, len(p.ids)) // by the stack below
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int {
		if c := cmp.Compare(p.below[a], p.below[b]); c != 0 {
			return c
		}
		return compare(a, b)
	})
	next := make([]int32, len(p.ids)+1) // by the index of the stack below plus one: index in order
	for i, at := range slices.Backward(order) {
		next[p.below[at]+1] = int32(i)
	}
	open := []int32{-1}
	for {
		at := open[len(open)-1]
		if i := next[at+1]; int(i) < len(order) && p.below[order[i]] == at {
			next[at+1]++
			open = append(open, order[i])
			enter(order[i])
			continue
		}
		if open = open[:len(open)-1]; len(open) == 0 {
			return
		}
		leave(at)
	}
}

// sort sorts stacks by time, longest first, then frame by frame from the outermost, with the unknown stack last.
func (t *stackTable) sort(ids []stackID, time func(stackID) timeline.Nanos) {
	ranks := map[stackID]int{}
	p := t.part(ids)
	p.depthFirst(
		func(a, b int32) int { return compareFrames(t.frame(p.ids[a]), t.frame(p.ids[b])) },
		func(i int32) { ranks[p.ids[i]] = len(ranks) },
		func(int32) {})
	ranks[0] = len(ranks)
	slices.SortFunc(ids, func(a, b stackID) int { return cmp.Or(cmp.Compare(time(b), time(a)), cmp.Compare(ranks[a], ranks[b])) })
}
