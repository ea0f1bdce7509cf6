// Package profilecalls turns the samples of a V8 CPU profile into calls: functions with a start and a duration.
//
// A sample is the stack at one moment. It is only a guess that a function ran from one sample to the next. Alone makes this guess
// for a profile without a trace. Builder makes it for a thread of a trace: it processes the thread's events and the samples as
// one sequence in time order, because an event and a function on one thread cannot overlap without nesting, so events limit where
// calls can begin and end. Its rules are exactly those in the trace engine of Chrome DevTools, or a refinement of them.
//
// Package v8profile models the profile.
package profilecalls

import (
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// MaxStack bounds the work for one sample: only this many outermost frames of a stack become calls. V8 samples at most 255.
const MaxStack = 1024

// Call is a finished call.
type Call struct {
	Node v8profile.NodeIndex
	TS   timeline.Nanos
	Dur  timeline.Nanos
	// Sample is the index in the profile of the sample that began the call, or -1 if an event's trace id began it.
	Sample int
	// Samples is the number of samples during the call.
	Samples int64
	// Order numbers the calls of a thread from 0 without gaps, in order of creation: by start, outer calls first.
	Order int64
	// Positions lists the known positions of the samples in which the function was innermost, sorted by line and column.
	Positions []Position
}

// noStack is the stack without frames.
const noStack = v8profile.NoNode

// Frames holds the stacks of a profile in a form that is fast to compare, without frames that never become calls: pseudo
// functions and V8's own native code. Frames are immutable; several Builders may share them.
type Frames struct {
	profile *v8profile.Profile
	nodes   []frame
	tooDeep []bool // nodes without a frame because MaxStack frames are below them; nil: none

	functionCount int // number of different values of frame.function
}

// frame is a node as a frame of stacks. For a node that is not a frame, it has only the top and height of the stack below.
type frame struct {
	top      v8profile.NodeIndex // the node itself, or the innermost frame below it; noStack if there is none
	up       v8profile.NodeIndex // the frame below top
	height   int32               // number of frames up to top
	function uint32              // equal for equal functions, see identities
}

// height returns the number of frames in a stack.
func (f *Frames) height(stack v8profile.NodeIndex) int {
	if stack == noStack {
		return 0
	}
	return int(f.nodes[stack].height)
}

// outer returns the given number of outermost frames of a stack, as a stack.
func (f *Frames) outer(stack v8profile.NodeIndex, height int) v8profile.NodeIndex {
	for f.height(stack) > height {
		stack = f.nodes[stack].up
	}
	return stack
}

// nativeURL is the url of the functions in V8's own runtime.
const nativeURL = "native V8Runtime"

// NewFrames prepares the stacks of a profile.
func NewFrames(p *v8profile.Profile) *Frames {
	f := &Frames{profile: p, nodes: make([]frame, p.NodeCount())}
	functions, count := identities(p)
	f.functionCount = count
	for i := range f.nodes {
		n := v8profile.NodeIndex(i)
		node := p.Node(n)
		below := frame{top: noStack, up: noStack}
		if node.Parent != v8profile.NoNode {
			below = f.nodes[node.Parent]
		}
		f.nodes[i] = below
		switch {
		case p.Meta(n) || p.Function(node.Function).URL == nativeURL:
		case below.height == MaxStack:
			if f.tooDeep == nil {
				f.tooDeep = make([]bool, len(f.nodes))
			}
			f.tooDeep[i] = true
		default:
			f.nodes[i] = frame{top: n, up: below.top, height: below.height + 1, function: functions[node.Function]}
		}
	}
	return f
}

// identities numbers the functions. Functions with the same script, name and line have the same number, whatever their column
// and url (profile-calls.md 5).
func identities(p *v8profile.Profile) (numbers []uint32, count int) {
	type key struct {
		script, name string
		line         int32
	}
	known := map[key]uint32{}
	numbers = make([]uint32, p.FunctionCount())
	for i := range numbers {
		fn := p.Function(v8profile.FunctionIndex(i))
		k := key{fn.ScriptID, fn.Name, fn.Line}
		n, ok := known[k]
		if !ok {
			n = uint32(len(known))
			known[k] = n
		}
		numbers[i] = n
	}
	return numbers, len(known)
}
