package v8profile

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// build makes a Profile of the draft, starting at start. It returns nil if there is no node.
func (d *draft) build(start timeline.Nanos) *Profile {
	if len(d.nodes) == 0 {
		return nil
	}
	if !inRange(start) {
		start = 0
		d.dropTimes()
	}
	p := &Profile{
		Start: start, Collector: NoNode, Program: NoNode, Idle: NoNode,
		texts: d.textList, ticks: d.ticks,
	}
	d.replaceLostRoot()
	at := d.tree(p)
	p.functions = d.list
	p.End = timeline.NoTime
	if end, ok := d.end.in(d.legacy); ok {
		p.End = end
	}
	p.meta()
	p.samples(d, at)
	p.hits(d)
	p.repair()
	p.traceIDs = make(map[uint64]NodeIndex, len(d.traceIDs))
	for id, s := range d.traceIDs {
		if n := nodeOf(d, at, s); n != NoNode {
			p.traceIDs[id] = n
		}
	}
	return p
}

// inRange reports whether times can count from a start.
func inRange(start timeline.Nanos) bool { return -maxTime <= start && start <= maxTime }

// dropTimes leaves the samples out whose times count from a start that is out of range.
func (d *draft) dropTimes() {
	if !d.absolute {
		d.found.tooFar += min(len(d.samples), len(d.times))
		d.times = nil
	}
}

// nodeOf returns the node of a slot, NoNode if it has no place in the tree.
func nodeOf(d *draft, at []NodeIndex, s slot) NodeIndex {
	if i := d.node(s); i >= 0 {
		return at[i]
	}
	return NoNode
}

// tree numbers the nodes in the order of NodeIndex. It returns where each node of the draft came to, NoNode for those
// that have no place in the tree.
func (d *draft) tree(p *Profile) []NodeIndex {
	from, children := d.childLists()
	at := make([]NodeIndex, len(d.nodes))
	for i := range at {
		at[i] = NoNode
	}
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

// replaceLostRoot gives a profile whose beginning was lost a new root. A ring buffer may have overwritten the first
// pieces: then the first node that is left has a parent, which is unknown. All nodes with unknown parents come under the
// new root, so that at least the inner parts of their stacks are kept.
func (d *draft) replaceLostRoot() {
	first := &d.nodes[0]
	if first.parent == noSlot || d.node(first.parent) >= 0 || first.hasChildren {
		return
	}
	d.lostRoot = true
	none := functionKey{name: d.text([]byte("(root)")), line: -1, column: -1}
	d.nodes = append(d.nodes, draftNode{
		slot: noSlot, parent: noSlot, parentAt: -1, hits: first.hits, function: d.function(none),
	})
}

// root returns the root among the nodes: the first, or the node that replaced it.
func (d *draft) root() int32 {
	if d.lostRoot {
		return int32(len(d.nodes) - 1)
	}
	if s := d.nodes[0].slot; s != noSlot {
		return d.defined[s]
	}
	return 0
}

// counts reports whether a node was not replaced by another one with its id.
func (d *draft) counts(i int32) bool {
	s := d.nodes[i].slot
	return s == noSlot || d.defined[s] == i
}

// childLists returns the children of all nodes: those of node i are children[from[i]:from[i+1]]. They are taken from
// the parent links only if the first node has no list of children (profile-calls.md 3).
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

// meta finds the pseudo functions: among the children of the root, the first of each name (profile-calls.md 3).
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

// samples takes the samples over: sorted by time, those with unknown nodes left out. Lines and columns move along, which
// DevTools forgets (profile-calls.md 3).
func (p *Profile) samples(d *draft, at []NodeIndex) {
	n := min(len(d.samples), len(d.times))
	p.times = d.times[:n:n]
	p.at = make([]NodeIndex, n)
	base := p.Start
	if d.absolute {
		base = d.offset
	}
	for i := range p.times {
		p.times[i] += base
	}
	for i, s := range d.samples[:n] {
		p.at[i] = nodeOf(d, at, s)
	}
	p.lines, p.columns = d.lines.first(n), d.columns.first(n)
	if d.found.backwards > 0 {
		p.sort()
	}
	p.close()
	p.leaveOutUnknown(d)
}

// first returns the first n positions, nil if all are unknown.
func (ps *positions) first(n int) []int32 {
	if ps.values == nil {
		return nil
	}
	ps.resizeTo(n)
	return ps.values
}

// sort sorts the samples by time. Samples of one time keep their order.
func (p *Profile) sort() {
	order := p.timeOrder()
	p.times = permuted(p.times, order)
	p.at = permuted(p.at, order)
	p.lines = permuted(p.lines, order)
	p.columns = permuted(p.columns, order)
}

// timeOrder returns the numbers of the samples in the order of time. Of a profile, few samples are earlier than one before
// them; only these are sorted.
func (p *Profile) timeOrder() []uint32 {
	before := func(a, b uint32) int {
		if c := cmp.Compare(p.times[a], p.times[b]); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	}
	kept, late := make([]uint32, 0, len(p.times)), []uint32(nil)
	for i := range uint32(len(p.times)) {
		if n := len(kept); n > 0 && p.times[i] < p.times[kept[n-1]] {
			late = append(late, i)
		} else {
			kept = append(kept, i)
		}
	}
	slices.SortFunc(late, before)
	order := make([]uint32, 0, len(p.times))
	for _, i := range kept {
		for len(late) > 0 && before(late[0], i) < 0 {
			order, late = append(order, late[0]), late[1:]
		}
		order = append(order, i)
	}
	return append(order, late...)
}

func permuted[T any](values []T, order []uint32) []T {
	if values == nil {
		return nil
	}
	out := make([]T, len(order))
	for i, from := range order {
		out[i] = values[from]
	}
	return out
}

// close computes the closing time, in whole microseconds as DevTools shows it, rounded to nearest.
func (p *Profile) close() {
	n := timeline.Nanos(len(p.times))
	if n == 0 {
		p.Closing = p.Start
		return
	}
	first, last := p.times[0], p.times[n-1]
	p.Closing = last
	if n > 1 {
		const micro = 1000
		interval := (last - first) / (n - 1)
		rest := (last - first) % (n - 1) // divided at the end only, so that nothing is rounded twice
		ts := last + interval
		whole := ts / micro * micro
		if 2*((ts-whole)*(n-1)+rest) >= micro*(n-1) {
			whole += micro
		}
		p.Closing = max(whole, last)
	}
}

// leaveOutUnknown removes samples whose node is not known.
func (p *Profile) leaveOutUnknown(d *draft) {
	kept := 0
	for i, n := range p.at {
		if n == NoNode {
			if p.index == nil {
				p.index = make([]uint32, len(p.at))
				for j := range i {
					p.index[j] = uint32(j)
				}
			}
			continue
		}
		if p.index != nil {
			p.times[kept], p.at[kept], p.index[kept] = p.times[i], n, uint32(i)
			if p.lines != nil {
				p.lines[kept] = p.lines[i]
			}
			if p.columns != nil {
				p.columns[kept] = p.columns[i]
			}
		}
		kept++
	}
	d.found.unknown += len(p.at) - kept
	p.times, p.at = p.times[:kept], p.at[:kept]
	if p.index != nil {
		p.index = p.index[:kept]
	}
	if p.lines != nil {
		p.lines = p.lines[:kept]
	}
	if p.columns != nil {
		p.columns = p.columns[:kept]
	}
}

// repair replaces single (program) samples between two samples of one bottom frame by the first of them: the profiler
// interrupted V8 at a place where it could not walk the stack (profile-calls.md 3).
func (p *Profile) repair() {
	if p.Program == NoNode || len(p.at) < 3 {
		return
	}
	bottom := make([]NodeIndex, len(p.nodes))
	for i := range p.nodes {
		bottom[i] = NodeIndex(i)
		if p.nodes[i].Depth > 0 {
			bottom[i] = bottom[p.nodes[i].Parent]
		}
	}
	system := func(n NodeIndex) bool { return n == p.Program || n == p.Idle || n == p.Collector }
	before := p.at[0] // as it was before any repair
	for i := 1; i < len(p.at)-1; i++ {
		n, next := p.at[i], p.at[i+1]
		if n == p.Program && !system(before) && !system(next) && bottom[before] == bottom[next] {
			p.at[i] = before
			if p.repaired == nil {
				p.repaired = make([]uint64, (len(p.at)+63)/64)
			}
			p.repaired[i/64] |= 1 << (i % 64)
		}
		before = n
	}
}

// hits counts the samples of the nodes, unless the profile says how many there are (profile-calls.md 3).
func (p *Profile) hits(d *draft) {
	if d.nodes[d.root()].hits >= 0 {
		return
	}
	for i := range p.nodes {
		p.nodes[i].Hits = 0
	}
	for _, n := range p.at {
		p.nodes[n].Hits++
	}
}
