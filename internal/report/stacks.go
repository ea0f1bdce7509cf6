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

// anonymous is shown in the place of an empty function name.
const anonymous = "(anonymous)"

// Location returns where the function is defined, "url:line:column" as far as it is known.
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

// frameID and stackID are indexes into a stackTable; 0 is none.
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

	seen map[timeline.CallstackID]sampledStack
	path []timeline.FrameID // scratch
}

type stackNode struct {
	below stackID
	frame frameID
}

// sampledStack is a call stack of the timeline without the frames that are not functions.
type sampledStack struct {
	stack stackID
	// leaf is the innermost frame if that looks like a marker of weft, "(layout)": it is one if the state of the sample is
	// of that name, and then below is the stack.
	leaf  string
	below stackID
	state string // what V8's own frames say about the state; "" if they say nothing
}

func newStackTable() *stackTable {
	return &stackTable{
		frames: make([]Frame, 1),
		nodes:  make([]stackNode, 1),
		byName: map[Frame]frameID{},
		byNode: map[stackNode]stackID{},
		script: map[stackID]stackID{},
		seen:   map[timeline.CallstackID]sampledStack{},
	}
}

// add takes over a call stack of the timeline.
func (t *stackTable) add(tl *timeline.Timeline, id timeline.CallstackID) sampledStack {
	if id == 0 {
		return sampledStack{}
	}
	if s, ok := t.seen[id]; ok {
		return s
	}
	var s sampledStack
	t.path = tl.AppendCallstack(t.path[:0], id)
	for i, frame := range t.path {
		f := cleanFrame(tl.Frame(frame))
		if state, meta := metaFrames[f.Function]; meta && f.URL == "" {
			s.state = state
			continue
		}
		if i == len(t.path)-1 && f.URL == "" && strings.HasPrefix(f.Function, "(") && strings.HasSuffix(f.Function, ")") {
			s.leaf, s.below = f.Function[1:len(f.Function)-1], s.stack
		}
		s.stack = t.push(s.stack, f)
	}
	t.seen[id] = s
	return s
}

// cleanFrame returns a frame of the timeline.
func cleanFrame(f timeline.Frame) Frame {
	return Frame{Function: cmp.Or(f.Function, anonymous), URL: f.File, Line: f.Line, Column: f.Column}
}

// intern returns the id of a frame.
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

// scriptOf returns a stack of Firefox without the functions of the browser itself.
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

// isScript tells functions of script by where they are: those of the browser are in libraries and source files.
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

// list returns the frames of a stack, outermost first.
func (t *stackTable) list(id stackID) []Frame { return t.appendList(nil, id) }

func (t *stackTable) appendList(dst []Frame, id stackID) []Frame {
	start := len(dst)
	for ; id != 0; id = t.nodes[id].below {
		dst = append(dst, t.frame(id))
	}
	slices.Reverse(dst[start:])
	return dst
}

// stackOrder orders stacks frame by frame, outermost first, the unknown one last. It lists two stacks at a time: all stacks
// of a trace may be more frames than fit in memory.
type stackOrder struct {
	table *stackTable
	a, b  []Frame // scratch
}

func (o *stackOrder) compare(a, b stackID) int {
	if a == 0 || b == 0 {
		return CompareUnknown(a == 0, b == 0)
	}
	o.a, o.b = o.table.appendList(o.a[:0], a), o.table.appendList(o.b[:0], b)
	return slices.CompareFunc(o.a, o.b, compareFrames)
}
