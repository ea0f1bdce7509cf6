// Package v8profile is the model of a sampled V8 CPU profile: the tree of functions, and which node of it was at the top
// of the stack at which time.
//
// Profiles come from three places, which give the same Profile:
//
//   - trace events of Chrome and Node: Assembler joins the head (Profile) and the pieces (ProfileChunk) of each profile,
//     and takes the whole profiles that old versions wrote (CpuProfile);
//   - .cpuprofile files of DevTools and Node, in their present and in their legacy form: Read.
//
// Package profilecalls makes calls of samples; nothing here knows tracks or slices.
package v8profile

import (
	"github.com/weft-trace/weft/internal/timeline"
)

// NodeIndex identifies a node in its Profile. The nodes are numbered in the order in which DevTools walks the tree:
// the root is 0, parents come before their children, and children in the reverse of the order in which the profile lists
// them (profile-calls.md 3). The nodes of a subtree are numbered without gaps.
type NodeIndex int32

// NoNode is not a node.
const NoNode NodeIndex = -1

// FunctionIndex identifies a function in its Profile. Nodes of one function on several call paths share it.
type FunctionIndex uint32

// Node is a function on one particular call path.
type Node struct {
	ID       int64 // as in the input
	Function FunctionIndex
	Parent   NodeIndex // NoNode for the root
	Depth    int32     // -1 for the root, 0 for the functions at the bottom of stacks
	Hits     int64     // samples with this node at the top of the stack

	end   NodeIndex // after the last node of the subtree
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

// LineTicks says how many samples were on a line of a function.
type LineTicks struct {
	Line  int32 // counted from 1, as V8 writes it
	Ticks int64
}

// Profile is a profile in the order of time. It never changes, and may be read by several goroutines.
type Profile struct {
	// Start is the time from which the deltas of the samples count.
	Start timeline.Nanos
	// Closing is when the last sample ends: one mean interval after it (profile-calls.md 3). The end time that
	// the profiler recorded is not used.
	Closing timeline.Nanos
	// End is when the profiler ended by its own account, timeline.NoTime if it gives no end.
	End timeline.Nanos

	// Collector, Program and Idle are the nodes of V8's pseudo functions (garbage collector), (program) and (idle);
	// NoNode if the profile does not have them.
	Collector, Program, Idle NodeIndex

	nodes     []Node
	functions []Function
	texts     []string
	ticks     []LineTicks

	samples  sampleList
	traceIDs map[uint64]uint32 // nodes
}

// NodeCount returns the number of nodes, the root included. Node indexes count from 0 to that.
func (p *Profile) NodeCount() int { return len(p.nodes) }

// Node returns a node.
func (p *Profile) Node(n NodeIndex) *Node { return &p.nodes[n] }

// FunctionCount returns the number of different call frames.
func (p *Profile) FunctionCount() int { return len(p.functions) }

// Function returns a function.
func (p *Profile) Function(f FunctionIndex) *Function { return &p.functions[f] }

// FunctionOf returns the function of a node.
func (p *Profile) FunctionOf(n NodeIndex) *Function { return &p.functions[p.nodes[n].Function] }

// DeoptReason says why V8 threw away optimised code of a node; empty if it did not.
func (p *Profile) DeoptReason(n NodeIndex) string { return p.texts[p.nodes[n].deopt] }

// LineTicks returns the lines of a node's function on which samples were seen.
func (p *Profile) LineTicks(n NodeIndex) []LineTicks {
	r := p.nodes[n].ticks
	return p.ticks[r.from:r.to]
}

// Contains reports whether a node lies in the subtree of another one. A subtree contains its top.
func (p *Profile) Contains(top, n NodeIndex) bool { return top <= n && n < p.nodes[top].end }

// Meta reports whether a node stands for no function: the root, (garbage collector), (program) or (idle).
func (p *Profile) Meta(n NodeIndex) bool {
	return n == 0 || n == p.Program || n == p.Idle || n == p.Collector
}

// MaxDepth returns the number of nodes on the longest call path, the root included: one more than the depth of its last
// node, and so 0 for a profile without any call.
func (p *Profile) MaxDepth() int32 {
	deepest := int32(-1)
	for i := range p.nodes {
		deepest = max(deepest, p.nodes[i].Depth)
	}
	return deepest + 1
}

// Totals returns the number of samples of each node and all below it.
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

// TraceID returns the node that was at the top of the stack when an event with the given trace id was recorded.
func (p *Profile) TraceID(id uint64) (n NodeIndex, ok bool) {
	node, ok := p.traceIDs[id]
	return NodeIndex(node), ok
}
