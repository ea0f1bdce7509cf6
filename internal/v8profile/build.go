package v8profile

import (
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// build builds a Profile from the draft. The profile starts at the given time and stores its samples in the given spool. If the
// draft has no nodes, build returns nil. Errors come from temporary files.
func (d *draft) build(start timeline.Nanos, to *spool) (*Profile, error) {
	if len(d.nodes) == 0 {
		return nil, nil
	}
	if !inRange(start) {
		start = 0
		d.dropTimes()
	}
	p := &Profile{
		Start: start, Collector: NoNode, Program: NoNode, Idle: NoNode,
		texts: d.textList, ticks: d.ticks, samples: sampleList{spool: to, lines: d.lines.known(), columns: d.columns.known()},
	}
	d.replaceLostRoot()
	at := d.tree(p)
	p.functions = d.list
	p.End = timeline.NoTime
	if end, ok := d.end.in(d.legacy); ok {
		p.End = end
	}
	p.meta()
	if err := p.importSamples(d, at); err != nil {
		return nil, err
	}
	p.traceIDs = d.traceIDs
	for id, s := range d.traceIDs {
		if n := nodeOf(d, at, slot(s)); n != NoNode {
			p.traceIDs[id] = uint32(n)
		} else {
			delete(p.traceIDs, id)
		}
	}
	return p, nil
}

// inRange reports whether times can be added to a start without overflow.
func inRange(start timeline.Nanos) bool { return -maxTime <= start && start <= maxTime }

// dropTimes drops the samples whose times are relative to an out-of-range start.
func (d *draft) dropTimes() {
	if !d.absolute {
		d.found.tooFar += min(d.samples.n, d.times.n)
		d.times = column{}
	}
}

// nodeOf returns the node of a slot, or NoNode if the tree does not contain it.
func nodeOf(d *draft, at []NodeIndex, s slot) NodeIndex {
	if i := d.node(s); i >= 0 {
		return at[i]
	}
	return NoNode
}

// tree numbers the nodes in the order of NodeIndex. It returns the index of each node of the draft, or NoNode for nodes outside
// the tree.
func (d *draft) tree(p *Profile) []NodeIndex {
	from, children := d.childLists()
	at := slices.Repeat([]NodeIndex{NoNode}, len(d.nodes))
	p.nodes = make([]Node, 0, len(d.nodes)+1)

	type visit struct {
		node   int32
		parent NodeIndex
	}
	var stack []visit
	add := func(i int32, parent NodeIndex) {
		n, depth := &d.nodes[i], int32(-1)
		if parent != NoNode {
			depth = p.nodes[parent].Depth + 1
		}
		at[i] = NodeIndex(len(p.nodes))
		p.nodes = append(p.nodes, Node{
			ID: n.id, Function: n.function, Parent: parent, Depth: depth, Hits: max(n.hits, 0), deopt: n.deopt, ticks: n.ticks,
		})
		for _, c := range children[from[i]:from[i+1]] {
			stack = append(stack, visit{c, at[i]})
		}
	}
	root := d.root()
	add(root, NoNode)
	for len(stack) > 0 {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if at[v.node] != NoNode {
			d.found.doubled++
			continue
		}
		add(v.node, v.parent)
	}
	for i := range at {
		if at[i] == NoNode && d.counts(int32(i)) {
			d.found.unreachable++
		}
	}
	for i := len(p.nodes) - 1; i >= 0; i-- {
		n := &p.nodes[i]
		n.end = max(n.end, NodeIndex(i)+1)
		if n.Parent != NoNode {
			p.nodes[n.Parent].end = max(p.nodes[n.Parent].end, n.end)
		}
	}
	return at
}

// replaceLostRoot adds a root to a profile whose start was lost because a ring buffer overwrote the first pieces: the
// first remaining node then has an unknown parent. All nodes with unknown parents become children of the new root,
// which keeps at least the inner parts of their stacks.
func (d *draft) replaceLostRoot() {
	first := &d.nodes[0]
	if first.parent == noSlot || d.node(first.parent) >= 0 || first.hasChildren {
		return
	}
	d.lostRoot = true
	root := functionKey{name: d.text([]byte("(root)")), line: -1, column: -1}
	d.nodes = append(d.nodes, draftNode{
		slot: noSlot, parent: noSlot, parentAt: -1, hits: first.hits, function: d.function(root),
	})
}

// root returns the root: the first node, or its replacement.
func (d *draft) root() int32 {
	if d.lostRoot {
		return int32(len(d.nodes) - 1)
	}
	if s := d.nodes[0].slot; s != noSlot {
		return d.defined[s]
	}
	return 0
}

// counts reports whether a node is valid, because no later node with the same id has replaced it.
func (d *draft) counts(i int32) bool {
	s := d.nodes[i].slot
	return s == noSlot || d.defined[s] == i
}

// childLists returns the children of all nodes: node i has children[from[i]:from[i+1]]. It uses the parent links only
// if the first node has no list of children (profile-calls.md 3).
func (d *draft) childLists() (from []uint32, children []int32) {
	if d.nodes[0].hasChildren {
		return d.listedChildren()
	}
	root := d.root()
	parent := make([]int32, len(d.nodes))
	from = make([]uint32, len(d.nodes)+2)
	for i := range d.nodes {
		n := &d.nodes[i]
		parent[i] = n.parentAt
		if n.parent != noSlot {
			parent[i] = d.node(n.parent)
			if d.lostRoot && parent[i] < 0 {
				parent[i] = root
				d.found.adopted++
			}
		}
		if parent[i] >= 0 && int32(i) != root && d.counts(int32(i)) {
			from[parent[i]+2]++
		} else {
			parent[i] = -1
		}
	}
	for i := 2; i < len(from); i++ {
		from[i] += from[i-1]
	}
	children = make([]int32, from[len(from)-1])
	for i, par := range parent {
		if par >= 0 {
			children[from[par+1]] = int32(i)
			from[par+1]++
		}
	}
	return from[:len(from)-1], children
}

// listedChildren is childLists for nodes that list their children.
func (d *draft) listedChildren() (from []uint32, children []int32) {
	from = make([]uint32, len(d.nodes)+1)
	children = make([]int32, 0, len(d.child))
	for i := range d.nodes {
		if d.counts(int32(i)) {
			for _, s := range d.child[d.nodes[i].children.from:d.nodes[i].children.to] {
				if c := d.node(s); c >= 0 {
					children = append(children, c)
				} else {
					d.found.unreachable++
				}
			}
		}
		from[i+1] = uint32(len(children))
	}
	return from, children
}

// meta finds the pseudo functions: the first child of the root with each name (profile-calls.md 3).
func (p *Profile) meta() {
	for c := NodeIndex(1); c < p.nodes[0].end; c = p.nodes[c].end {
		var meta *NodeIndex
		switch p.FunctionOf(c).Name {
		case "(garbage collector)":
			meta = &p.Collector
		case "(program)":
			meta = &p.Program
		case "(idle)":
			meta = &p.Idle
		default:
			continue
		}
		if *meta == NoNode {
			*meta = c
		}
	}
}
