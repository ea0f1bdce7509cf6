package jsprofile

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// anonymous replaces an empty function name (C11).
const anonymous = "(anonymous)"

// stackTable resolves each stack of a profile once, however many samples and stacks refer to it.
type stackTable struct {
	p         *profile
	b         *timeline.Builder
	depths    []int32                // by stack: the number of its frames, or unknownDepth, onPath, badDepth
	outer     []int32                // by stack, if deeper than maxShown: the stack of its outermost maxShown frames; may be nil
	path      []int32                // scratch
	callstack []timeline.CallstackID // by stack, valid if known
	known     []bool
	frames    []timeline.FrameID // by frame; 0: not interned yet
}

const (
	unknownDepth int32 = 0
	onPath       int32 = -1
	badDepth     int32 = -2
)

func newStackTable(p *profile, b *timeline.Builder) *stackTable {
	return &stackTable{
		p: p, b: b,
		depths:    make([]int32, p.stacks.Len()),
		callstack: make([]timeline.CallstackID, p.stacks.Len()),
		known:     make([]bool, p.stacks.Len()),
		frames:    make([]timeline.FrameID, p.frames.Len()),
	}
}

// depth returns the number of frames of a stack. It returns 0 if the stack, a stack below it or one of their frames is unknown,
// or if the stacks form a cycle (C9).
func (t *stackTable) depth(id int32) int32 {
	path, depth := t.path[:0], unknownDepth
	for {
		if id < 0 || int(id) >= t.p.stacks.Len() || t.depths[id] == onPath {
			depth = badDepth
			break
		}
		if depth = t.depths[id]; depth != unknownDepth {
			break
		}
		s := t.p.stacks.At(int(id))
		if s.frame < 0 || int(s.frame) >= t.p.frames.Len() {
			depth = badDepth
		} else if s.parent == noIndex {
			depth = 1
		}
		if depth != unknownDepth {
			t.depths[id] = depth
			break
		}
		t.depths[id] = onPath
		path = append(path, id)
		id = s.parent
	}
	for _, id := range slices.Backward(path) {
		if depth > 0 {
			depth++
		}
		t.depths[id] = depth
		if depth > maxShown {
			t.setOuter(id, t.p.stacks.At(int(id)).parent)
		}
	}
	t.path = path
	return max(depth, 0)
}

// setOuter records the innermost shown entry of a deep stack; the entry of its parent must be recorded first. Searching
// for the entry at every sample could take hours.
func (t *stackTable) setOuter(id, parent int32) {
	if t.outer == nil {
		t.outer = make([]int32, t.p.stacks.Len())
	}
	if t.depths[parent] > maxShown {
		parent = t.outer[parent]
	}
	t.outer[id] = parent
}

// appendFrames appends the entries of a valid stack, outermost first, at most the outermost maxShown.
func (t *stackTable) appendFrames(dst []int32, id int32) []int32 {
	depth := int(t.depths[id])
	if depth > maxShown {
		id, depth = t.outer[id], maxShown
	}
	start := len(dst)
	dst = append(dst, make([]int32, depth)...)
	for i := start + depth - 1; i >= start; i-- {
		dst[i] = id
		id = t.p.stacks.At(int(id)).parent
	}
	return dst
}

// call returns the call stack of a valid stack.
func (t *stackTable) call(id int32) timeline.CallstackID {
	path := t.path[:0]
	for id != noIndex && !t.known[id] {
		path = append(path, id)
		id = t.p.stacks.At(int(id)).parent
	}
	var stack timeline.CallstackID
	if id != noIndex {
		stack = t.callstack[id]
	}
	for _, id := range slices.Backward(path) {
		stack = t.b.PushFrame(stack, t.frame(t.p.stacks.At(int(id)).frame))
		t.callstack[id], t.known[id] = stack, true
	}
	t.path = path
	return stack
}

func (t *stackTable) frame(id int32) timeline.FrameID {
	if t.frames[id] == 0 {
		f := t.p.frames.At(int(id))
		t.frames[id] = t.b.Frame(timeline.Frame{
			Function: cmp.Or(f.name, anonymous),
			File:     t.p.resource(f),
			Line:     int64(f.line),
			Column:   int64(f.column),
		})
	}
	return t.frames[id]
}

// resource returns the address of a frame's script, or "" if unknown (C10).
func (p *profile) resource(f *frame) string {
	if f.resource < 0 || int(f.resource) >= p.resources.Len() {
		return ""
	}
	return *p.resources.At(int(f.resource))
}
