package timeline

import "encoding/binary"

// Frame is one function on a call stack. Line and Column count from 1; 0 is unknown.
type Frame struct {
	Function string
	File     string
	Line     int64
	Column   int64
}

// stackTable interns frames and call stacks.
type stackTable struct {
	frames   []Frame
	byFrame  map[Frame]FrameID
	stacks   [][]FrameID // outermost first
	byFrames map[string]CallstackID
}

func newStackTable() *stackTable {
	return &stackTable{byFrame: map[Frame]FrameID{}, byFrames: map[string]CallstackID{}}
}

// Frame returns the id of a stack frame; equal frames have equal ids.
func (b *Builder) Frame(f Frame) FrameID {
	s := b.stacks
	if id, ok := s.byFrame[f]; ok {
		return id
	}
	s.frames = append(s.frames, f)
	id := FrameID(len(s.frames))
	s.byFrame[f] = id
	return id
}

// Callstack returns the id of a call stack, given from the outermost frame to the innermost; equal stacks have equal
// ids. The empty stack is 0.
func (b *Builder) Callstack(outermostFirst []FrameID) CallstackID {
	if len(outermostFirst) == 0 {
		return 0
	}
	s := b.stacks
	key := make([]byte, 0, 64)
	for _, f := range outermostFirst {
		key = binary.LittleEndian.AppendUint32(key, uint32(f))
	}
	if id, ok := s.byFrames[string(key)]; ok {
		return id
	}
	s.stacks = append(s.stacks, append([]FrameID(nil), outermostFirst...))
	id := CallstackID(len(s.stacks))
	s.byFrames[string(key)] = id
	return id
}

// Frame returns a stack frame; ids count from 1 to FrameCount.
func (t *Timeline) Frame(id FrameID) Frame { return t.stacks.frames[id-1] }

// FrameCount returns the number of stack frames.
func (t *Timeline) FrameCount() int { return len(t.stacks.frames) }

// Callstack returns the frames of a call stack, outermost first; ids count from 1 to CallstackCount.
func (t *Timeline) Callstack(id CallstackID) []FrameID { return t.stacks.stacks[id-1] }

// CallstackCount returns the number of call stacks.
func (t *Timeline) CallstackCount() int { return len(t.stacks.stacks) }
