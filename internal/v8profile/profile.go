// Package v8profile models sampled V8 CPU profiles: the tree of functions, and the node at the top of the stack at each
// sample.
//
// All sources result in the same Profile:
//
//   - trace events from Chrome and Node: Assembler joins the head (Profile) and the pieces (ProfileChunk) of each profile,
//     and reads the whole profiles from old versions (CpuProfile);
//   - .cpuprofile files from DevTools and Node, current or legacy: Read.
//
// Package profilecalls makes calls from samples; this package does not know tracks or slices.
package v8profile

import (
	"github.com/weft-trace/weft/internal/timeline"
)

// NodeIndex identifies a node in its Profile. Nodes are numbered in the order of DevTools' walk: the root is 0, parents
// come before their children, and children are in the reverse of their order in the profile (profile-calls.md 3). The
// indexes of a subtree are contiguous.
type NodeIndex int32

// NoNode identifies no node.
const NoNode NodeIndex = -1

// FunctionIndex identifies a function in its Profile. Nodes for the same function on different call paths share it.
type FunctionIndex uint32

// Node is a function on one particular call path.
type Node struct {
	ID       int64 // as in the input
	Function FunctionIndex
	Parent   NodeIndex // NoNode for the root
	Depth    int32     // -1 for the root, 0 for the functions at the bottom of stacks
	Hits     int64     // samples with this node at the top of the stack

	end   NodeIndex // one past the last node of the subtree
	deopt textIndex
	ticks tickRange
}

// Function is the description of a function in a call frame.
type Function struct {
	Name     string // empty if anonymous
	URL      string
	ScriptID string
	CodeType string // JS, wasm, other; empty if unknown
	Line     int32  // of its start, counted from 0; -1 if unknown
	Column   int32  // of its start, counted from 0; -1 if unknown
}

// LineTicks is the number of samples on a line of a function.
type LineTicks struct {
	Line  int32 // counted from 1
	Ticks int64
}

// Profile is a profile with its samples in time order. It is immutable and safe for concurrent use.
type Profile struct {
	// Start is the time that the first delta is relative to.
	Start timeline.Nanos
	// Closing is the end of the last sample, one mean interval after its time (profile-calls.md 3). It does not depend
	// on the end time that the profiler recorded.
	Closing timeline.Nanos
	// End is the end time that the profiler recorded, or timeline.NoTime.
	End timeline.Nanos

	// Collector, Program and Idle are the nodes of V8's pseudo functions (garbage collector), (program) and (idle), or
	// NoNode.
	Collector, Program, Idle NodeIndex

	nodes     []Node
	functions []Function
	texts     []string
	ticks     []LineTicks

	samples  sampleList
	traceIDs map[uint64]uint32 // nodes
}

// NodeCount returns the number of nodes, including the root.
func (p *Profile) NodeCount() int { return len(p.nodes) }

// Node returns a node.
func (p *Profile) Node(n NodeIndex) *Node { return &p.nodes[n] }

// FunctionCount returns the number of different call frames.
func (p *Profile) FunctionCount() int { return len(p.functions) }

// Function returns a function.
func (p *Profile) Function(f FunctionIndex) *Function { return &p.functions[f] }

// FunctionOf returns the function of a node.
func (p *Profile) FunctionOf(n NodeIndex) *Function { return &p.functions[p.nodes[n].Function] }

// DeoptReason returns the reason why V8 discarded optimized code of a node, or "" if it did not.
func (p *Profile) DeoptReason(n NodeIndex) string { return p.texts[p.nodes[n].deopt] }

// LineTicks returns the sampled lines of a node's function.
func (p *Profile) LineTicks(n NodeIndex) []LineTicks {
	r := p.nodes[n].ticks
	return p.ticks[r.from:r.to]
}

// Contains reports whether the subtree of top, which includes top, contains a node.
func (p *Profile) Contains(top, n NodeIndex) bool { return top <= n && n < p.nodes[top].end }

// Meta reports whether a node is not a function: the root, (garbage collector), (program) or (idle).
func (p *Profile) Meta(n NodeIndex) bool {
	return n == 0 || n == p.Program || n == p.Idle || n == p.Collector
}

// MaxDepth returns the number of calls on the longest call path, or 0 for a profile without calls.
func (p *Profile) MaxDepth() int32 {
	deepest := int32(-1)
	for i := range p.nodes {
		deepest = max(deepest, p.nodes[i].Depth)
	}
	return deepest + 1
}

// Totals returns the number of samples in the subtree of each node.
func (p *Profile) Totals() []int64 {
	totals := make([]int64, len(p.nodes))
	for i := len(p.nodes) - 1; i >= 0; i-- {
		totals[i] += p.nodes[i].Hits
		if parent := p.nodes[i].Parent; parent != NoNode {
			totals[parent] += totals[i]
		}
	}
	return totals
}

// TraceID returns the node at the top of the stack that V8 recorded with an event's trace id.
func (p *Profile) TraceID(id uint64) (n NodeIndex, ok bool) {
	node, ok := p.traceIDs[id]
	return NodeIndex(node), ok
}
