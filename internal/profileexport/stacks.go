package profileexport

import (
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// FrameID identifies a frame; 0 means no frame.
type FrameID uint32

// Memory limits. The largest recordings have about 100,000 distinct stacks.
const (
	maxFrames    = 1 << 20
	maxFrameText = 64 << 20 // bytes
	maxStacks    = 1 << 22
	maxDepth     = timeline.MaxStackDepth
	maxRefs      = 1 << 26 // frames of all stacks together, as in files
	maxSums      = 1 << 20
)

// stackTable interns frames and stacks. A stack is a frame on top of another stack.
type stackTable struct {
	frames  []Frame // by FrameID
	byFrame map[Frame]FrameID
	text    int
	nodes   []stackNode // by StackID
	byNode  map[stackKey]StackID
	refs    int

	known  map[timeline.CallstackID]StackID
	framed []FrameID // by timeline.FrameID
	path   []timeline.FrameID
}

type stackKey struct {
	below StackID
	frame FrameID
}

type stackNode struct {
	stackKey
	depth uint32
}

func newStackTable() *stackTable {
	return &stackTable{
		frames: make([]Frame, 1), byFrame: map[Frame]FrameID{}, nodes: make([]stackNode, 1), byNode: map[stackKey]StackID{},
		known: map[timeline.CallstackID]StackID{},
	}
}

// others replaces frames beyond the limits.
var others = Frame{Name: "(others)"}

// anonymous replaces an empty name.
const anonymous = "(anonymous)"

// frame returns the id of a frame. If there are too many frames, it returns the id of others.
func (t *stackTable) frame(f Frame) FrameID {
	if id, ok := t.byFrame[f]; ok {
		return id
	}
	if size := len(f.Name) + len(f.File); f != others && (len(t.frames) >= maxFrames || t.text+size > maxFrameText) {
		return t.frame(others)
	}
	t.text += len(f.Name) + len(f.File)
	id := FrameID(len(t.frames))
	t.frames = append(t.frames, f)
	t.byFrame[f] = id
	return id
}

// push returns the stack with the frame f on top of another stack. If the new stack would exceed a limit, push returns the other
// stack and false.
func (t *stackTable) push(below StackID, f FrameID) (StackID, bool) {
	key := stackKey{below, f}
	if id, ok := t.byNode[key]; ok {
		return id, true
	}
	depth := t.nodes[below].depth + 1
	if depth > maxDepth || len(t.nodes) >= maxStacks || t.refs+int(depth) > maxRefs {
		return below, false
	}
	t.refs += int(depth)
	id := StackID(len(t.nodes))
	t.nodes = append(t.nodes, stackNode{key, depth})
	t.byNode[key] = id
	return id, true
}

// sampled returns the stack for a call stack of the timeline. The result whole is false if the stack is truncated.
func (t *stackTable) sampled(tl *timeline.Timeline, id timeline.CallstackID) (stack StackID, whole bool) {
	if id == 0 {
		return 0, true
	}
	if stack, ok := t.known[id]; ok {
		return stack, true
	}
	if t.framed == nil {
		t.framed = make([]FrameID, tl.FrameCount()+1)
	}
	t.path = tl.AppendCallstack(t.path[:0], id)
	for _, frame := range t.path {
		if t.framed[frame] == 0 {
			t.framed[frame] = t.frame(frameOf(tl.Frame(frame)))
		}
		if stack, whole = t.push(stack, t.framed[frame]); !whole {
			return stack, false
		}
	}
	t.known[id] = stack
	return stack, true
}

// isIdle reports whether a stack belongs to an idle thread: empty, or marked as idle by V8.
func (t *stackTable) isIdle(stack StackID) bool {
	return stack == 0 || t.frames[t.nodes[stack].frame] == Frame{Name: idleFunction}
}

// appendList appends the frames of a stack, outermost first.
func (t *stackTable) appendList(dst []FrameID, id StackID) []FrameID {
	start := len(dst)
	for ; id != 0; id = t.nodes[id].below {
		dst = append(dst, t.nodes[id].frame)
	}
	slices.Reverse(dst[start:])
	return dst
}
