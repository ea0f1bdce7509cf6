// Package profilecalls turns the samples of a V8 CPU profile into calls: functions with a start and a duration.
//
// A sample says where the stack was at one moment; that a function was running from one sample to the next is a guess.
// Alone guesses for a profile that nothing else is known of. Builder guesses for a thread of a trace: it takes the
// thread's events and the samples as one sequence in time order, because an event and a function on one thread cannot
// overlap without nesting, and so the events narrow where calls can begin and end. Its rules are the ones of the trace
// engine of Chrome DevTools, call for call, or a refinement of them.
//
// Package v8profile has the model of the profile. What becomes of the calls is the caller's business.
package profilecalls

import (
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// MaxStack is the number of frames of a stack that become calls: the outermost ones. V8 itself samples 255 at most. It
// bounds the work for one sample.
const MaxStack = 1024

// Call is a finished call.
type Call struct {
	Node v8profile.NodeIndex
	TS   timeline.Nanos
	Dur  timeline.Nanos
	// Sample is the number in the profile of the sample that began the call, -1 if a trace event did, by its trace id.
	Sample int
	// Samples is how many samples were taken during the call.
	Samples int64
	// Order numbers the calls of a thread in the order in which they were created: by their starts, at equal starts the outer ones
	// first. It counts from 0 without gaps.
	Order int64
	// Positions are where in the function the samples were taken in which it was the innermost one, sorted by line and
	// column, as far as that is known.
	Positions []Position
}

// noStack is the stack without frames.
const noStack = v8profile.NoNode

// Frames holds, in a form that is quick to compare, the stacks of a profile as calls see them: without the frames that
// never become calls, which are the pseudo functions and V8's own native code. It never changes, and several Builders may
// share it.
type Frames struct {
	profile *v8profile.Profile
	nodes   []frame
	tooDeep []bool // nodes that have no frame because there are MaxStack below; nil: none

	functionCount int // different values of frame.function
}

// frame is a node as a frame of stacks. For a node that is not a frame it holds only top and height of the stack below.
type frame struct {
	top      v8profile.NodeIndex // the node itself, or the innermost frame below it; noStack if there is none
	up       v8profile.NodeIndex // the frame below top
	height   int32               // frames of the stack up to top
	function uint32              // equal for equal functions, see identities
}

// height returns the number of frames of a stack.
func (f *Frames) height(stack v8profile.NodeIndex) int {
	if stack == noStack {
		return 0
	}
	return int(f.nodes[stack].height)
}

// outer returns the stack of so many of the outermost frames of a stack, which has as many.
func (f *Frames) outer(stack v8profile.NodeIndex, height int) v8profile.NodeIndex {
	for f.height(stack) > height {
		stack = f.nodes[stack].up
	}
	return stack
}

// nativeURL is what V8 gives as url of functions of its own runtime.
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

// identities numbers the functions so that those which count as one have one number: equal script, name and line, but
// not column or url (profile-calls.md 5).
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
