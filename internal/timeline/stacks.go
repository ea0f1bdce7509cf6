package timeline

import (
	"iter"
	"slices"

	"github.com/weft-trace/weft/internal/problem"
)

// Frame is one function on a call stack. Line and Column count from 1; 0 means unknown.
type Frame struct {
	Function string
	File     string // the source; if unknown, the binary
	Line     int64
	Column   int64

	// Mapping is the binary with the frame's code, 0 if unknown. Address is the position in the binary, which tools need to find
	// the function and line of native code.
	Mapping MappingID
	Address uint64
}

// Mapping is a binary that contains native code.
type Mapping struct {
	Path    string
	BuildID string // hexadecimal digits, as in the input; "" if unknown
}

// MappingID identifies a binary; 0: unknown.
type MappingID uint32

// MaxStackDepth is the maximum number of frames of a call stack in the output; the innermost frames are kept. Deeper stacks are
// counted as problem.StackLimit.
const MaxStackDepth = 4096

const (
	// maxFrames and maxFrameBytes limit the frame table, and maxStackNodes the stack table.
	maxFrames     = 1 << 20
	maxFrameBytes = 64 << 20
	// maxMappings limits the table of binaries. Real traces have a few hundred.
	maxMappings   = 1 << 16
	maxStackNodes = 1 << 22
	// maxAppendedNodes limits the stack table if it needs no index; a stack then takes 16 bytes.
	maxAppendedNodes = 1 << 26
	// The output lists every stack with all its frames. Once the frames of all stacks reach maxStackRefs, further stacks keep
	// only their innermost shortStack frames, so that a small input whose stacks share their parents cannot cause a huge output.
	maxStackRefs = 1 << 24
	shortStack   = 64
)

// stackTable interns frames and call stacks. A stack is a frame on top of another stack, so stacks share common outer frames.
type stackTable struct {
	frames     []Frame
	frameBytes int
	byFrame    map[Frame]FrameID
	mappings   []Mapping
	byMapping  map[Mapping]MappingID
	nodes      []stackNode // by CallstackID-1
	byNode     map[stackKey]CallstackID
	reserved   map[CallstackID]*reservedStack
	refs       int // total number of frames of all stacks in the output
}

// stackKey identifies a stack by the caller's stack and its own innermost frame.
type stackKey struct {
	parent CallstackID
	frame  FrameID
}

// stackNode is a stack. If it has no frame, it was reserved and equals its parent.
type stackNode struct {
	stackKey
	depth uint32 // number of frames
	shown uint16 // number of frames in the output; 0: no event uses the stack
	event bool   // used by an event other than a sample
}

// reservedStack describes the events that use a stack whose frames are still unknown.
type reservedStack struct {
	uses  uint64
	event bool // as in stackNode
	first problem.Position
}

func newStackTable() *stackTable {
	return &stackTable{
		byFrame: map[Frame]FrameID{}, byMapping: map[Mapping]MappingID{}, byNode: map[stackKey]CallstackID{}, reserved: map[CallstackID]*reservedStack{},
	}
}

// Frame returns the id of a stack frame; equal frames have equal ids. If there are too many frames, it returns 0 (no frame).
func (b *Builder) Frame(f Frame) FrameID {
	s := b.stacks
	if id, ok := s.byFrame[f]; ok {
		return id
	}
	size := len(f.Function) + len(f.File)
	if len(s.frames) == maxFrames || s.frameBytes+size > maxFrameBytes {
		b.opts.Problems.Add(problem.StackLimit, problem.NoPosition, "too many frames")
		return 0
	}
	s.frameBytes += size
	s.frames = append(s.frames, f)
	id := FrameID(len(s.frames))
	s.byFrame[f] = id
	return id
}

// Mapping returns the id of a binary; equal binaries have equal ids. It returns 0 for the zero Mapping or if there are too many.
func (b *Builder) Mapping(m Mapping) MappingID {
	s := b.stacks
	if id, ok := s.byMapping[m]; ok || m == (Mapping{}) {
		return id
	}
	size := len(m.Path) + len(m.BuildID)
	if len(s.mappings) == maxMappings || s.frameBytes+size > maxFrameBytes {
		b.opts.Problems.Add(problem.StackLimit, problem.NoPosition, "too many binaries")
		return 0
	}
	s.frameBytes += size
	s.mappings = append(s.mappings, m)
	id := MappingID(len(s.mappings))
	s.byMapping[m] = id
	return id
}

// PushFrame returns the id of the call stack in which parent, which may be 0, calls f. Equal stacks have equal ids. It returns
// parent if f is 0 or if there are too many stacks.
func (b *Builder) PushFrame(parent CallstackID, f FrameID) CallstackID {
	s := b.stacks
	parent = s.resolve(parent)
	if f == 0 {
		return parent
	}
	key := stackKey{parent, f}
	if id, ok := s.byNode[key]; ok {
		return id
	}
	if len(s.nodes) >= maxStackNodes {
		b.opts.Problems.Add(problem.StackLimit, problem.NoPosition, "too many stacks")
		return parent
	}
	id := s.add(key)
	s.byNode[key] = id
	return id
}

// AppendFrame is PushFrame for callers that create each stack only once: it adds a stack even if an equal one exists. This takes
// less time and allows tens of millions of stacks.
func (b *Builder) AppendFrame(parent CallstackID, f FrameID) CallstackID {
	s := b.stacks
	parent = s.resolve(parent)
	if f == 0 {
		return parent
	}
	if len(s.nodes) >= maxAppendedNodes {
		b.opts.Problems.Add(problem.StackLimit, problem.NoPosition, "too many stacks")
		return parent
	}
	return s.add(stackKey{parent, f})
}

func (s *stackTable) add(key stackKey) CallstackID {
	node := stackNode{stackKey: key, depth: 1}
	if key.parent != 0 {
		node.depth += s.node(key.parent).depth
	}
	s.nodes = append(s.nodes, node)
	return CallstackID(len(s.nodes))
}

// Callstack returns the id of a call stack, given its frames from outermost to innermost; equal stacks have equal ids. The empty
// stack is 0.
func (b *Builder) Callstack(outermostFirst []FrameID) CallstackID {
	var id CallstackID
	for _, f := range outermostFirst {
		id = b.PushFrame(id, f)
	}
	return id
}

// ReserveCallstack returns a new id that events can use for a call stack whose frames are still unknown. Without SetCallstack,
// the id means the empty stack. The id is 0 if there are too many stacks.
func (b *Builder) ReserveCallstack() CallstackID {
	s := b.stacks
	if len(s.nodes) >= maxStackNodes {
		return 0
	}
	s.nodes = append(s.nodes, stackNode{})
	id := CallstackID(len(s.nodes))
	s.reserved[id] = &reservedStack{}
	return id
}

// SetCallstack sets the stack of a reserved id. It must be called at most once.
func (b *Builder) SetCallstack(reserved, stack CallstackID) {
	s := b.stacks
	node, r := s.node(reserved), s.reserved[reserved]
	node.parent = s.resolve(stack)
	if r.uses > 0 && s.use(node.parent, r.event) {
		b.opts.Problems.AddN(problem.StackLimit, r.uses, r.first, "")
	}
	delete(s.reserved, reserved)
}

// CallstackUses returns the number of events that use a reserved id that SetCallstack has not set, and the position of the first
// such event.
func (b *Builder) CallstackUses(reserved CallstackID) (n uint64, first problem.Position) {
	r := b.stacks.reserved[reserved]
	return r.uses, r.first
}

// useCallstack must be called for each event with a call stack.
func (b *Builder) useCallstack(ev *Event) {
	s := b.stacks
	at := problem.Position{Event: int64(ev.Event), Offset: ev.Offset}
	isEvent := ev.Kind != Sample
	if r := s.reserved[ev.Callstack]; r != nil {
		r.event = r.event || isEvent
		if r.uses++; r.uses == 1 {
			r.first = at
		}
		return
	}
	if s.use(s.resolve(ev.Callstack), isEvent) {
		b.opts.Problems.Add(problem.StackLimit, at, "")
	}
}

func (s *stackTable) node(id CallstackID) *stackNode { return &s.nodes[id-1] }

// resolve returns the stack that a reserved id refers to; other ids are returned unchanged.
func (s *stackTable) resolve(id CallstackID) CallstackID {
	if id != 0 && s.node(id).frame == 0 {
		return s.node(id).parent
	}
	return id
}

// use marks a stack as used, by a sample or by another event, and reports whether the output lacks some of its frames.
func (s *stackTable) use(id CallstackID, event bool) (truncated bool) {
	if id == 0 {
		return false
	}
	node := s.node(id)
	if node.shown == 0 {
		node.shown = uint16(min(node.depth, MaxStackDepth))
		if s.refs+int(node.shown) > maxStackRefs {
			node.shown = uint16(min(node.depth, shortStack))
		}
		s.refs += int(node.shown)
	}
	node.event = node.event || event
	return uint32(node.shown) < node.depth
}

// Frame returns a stack frame; ids count from 1 to FrameCount.
func (t *Timeline) Frame(id FrameID) Frame { return t.stacks.frames[id-1] }

// Mapping returns a binary; ids count from 1 to MappingCount.
func (t *Timeline) Mapping(id MappingID) Mapping { return t.stacks.mappings[id-1] }

// MappingCount returns the number of binaries.
func (t *Timeline) MappingCount() int { return len(t.stacks.mappings) }

// FrameCount returns the number of stack frames.
func (t *Timeline) FrameCount() int { return len(t.stacks.frames) }

// Callstack returns the frames of a call stack, outermost first, limited to the innermost MaxStackDepth.
func (t *Timeline) Callstack(id CallstackID) []FrameID { return t.AppendCallstack(nil, id) }

// AppendCallstack appends the frames of a call stack, like Callstack.
func (t *Timeline) AppendCallstack(dst []FrameID, id CallstackID) []FrameID {
	s := t.stacks
	if id = s.resolve(id); id == 0 {
		return dst
	}
	start, shown := len(dst), s.node(id).shown
	if shown == 0 {
		shown = MaxStackDepth
	}
	for ; id != 0 && len(dst)-start < int(shown); id = s.node(id).parent {
		dst = append(dst, s.node(id).frame)
	}
	slices.Reverse(dst[start:])
	return dst
}

// Caller returns the caller's stack, 0 if there is none, and the innermost frame of a call stack; both are 0 for the empty stack.
// Unlike Callstack, following callers reaches all frames.
func (t *Timeline) Caller(id CallstackID) (caller CallstackID, frame FrameID) {
	if id = t.stacks.resolve(id); id == 0 {
		return 0, 0
	}
	node := t.stacks.node(id)
	return node.parent, node.frame
}

// Callstacks returns the call stacks that events use, in id order.
func (t *Timeline) Callstacks() iter.Seq[CallstackID] {
	return func(yield func(CallstackID) bool) {
		for i := range t.stacks.nodes {
			if t.stacks.nodes[i].shown > 0 && !yield(CallstackID(i+1)) {
				return
			}
		}
	}
}

// V8Idle is the function in V8 samples of an idle thread.
const V8Idle = "(idle)"

// IsIdle reports whether a call stack belongs to an idle thread: it is empty, or V8 marked it as idle.
func (t *Timeline) IsIdle(id CallstackID) bool {
	if id = t.stacks.resolve(id); id == 0 {
		return true
	}
	f := t.Frame(t.stacks.node(id).frame)
	return f.Function == V8Idle && f.File == ""
}

// OnlySampled reports whether only samples, and no other events, use a call stack. The stack must be in use.
func (t *Timeline) OnlySampled(id CallstackID) bool {
	s := t.stacks
	id = s.resolve(id)
	return id != 0 && !s.node(id).event
}

// CallstackCount returns the number of call stacks, including unused ones; their ids count from 1.
func (t *Timeline) CallstackCount() int { return len(t.stacks.nodes) }
