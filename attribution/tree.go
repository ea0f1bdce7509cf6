package attribution

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/problem"
	"github.com/weft-trace/weft/timeline"
)

// maxTreeDepth bounds the way from a context to its root, and maxMembers the objects that are one context, whatever the
// input says.
const (
	maxTreeDepth = 200
	maxMembers   = 64
)

// build joins the objects that are one context and makes the tree (spec contexts.md 6). Edges are taken in the order in
// which they stand in the input; one that would close a circle is left out.
func (c *catalogue) build(problems *problem.Log) {
	c.logical = make([]NodeID, len(c.nodes))
	for i := range c.logical {
		c.logical[i] = NodeID(i)
	}
	slices.SortStableFunc(c.links, func(a, b link) int {
		return cmp.Compare(c.snapshots[a.from].event, c.snapshots[b.from].event)
	})
	targets := make([]NodeID, len(c.links))
	for i := range c.links {
		l := &c.links[i]
		from := &c.snapshots[l.from]
		to, ok := c.resolve(&l.to)
		if !ok {
			problems.Add(problem.UnresolvedReference, problem.Position{Event: int64(from.event), Offset: -1},
				l.to.scope+"/"+l.to.id)
			continue
		}
		targets[i] = to
		c.nodes[to].context = true
		if l.sibling && !c.join(from.node, to) {
			c.dropped++
		}
	}
	c.findMembers()
	latest := map[NodeID]NodeID{} // the parent of every object, as the input goes on
	for i := range c.links {
		l := &c.links[i]
		if l.sibling || targets[i] == 0 {
			continue
		}
		from := &c.snapshots[l.from]
		if c.closesCircle(latest, from.node, targets[i]) {
			problems.Add(problem.ParentCycle, problem.Position{Event: int64(from.event), Offset: -1}, c.nodes[from.node].Identity.String())
			delete(latest, from.node)
			continue
		}
		from.parent = targets[i]
		latest[from.node] = targets[i]
	}
}

// join makes two objects members of one logical node, unless that has too many.
func (c *catalogue) join(a, b NodeID) bool {
	a, b = c.rootOf(a), c.rootOf(b)
	if a == b {
		return true
	}
	size := max(c.sizes[a], 1) + max(c.sizes[b], 1)
	if size > maxMembers {
		return false
	}
	if c.before(b, a) {
		a, b = b, a
	}
	c.logical[b], c.sizes[a] = a, size
	return true
}

func (c *catalogue) rootOf(n NodeID) NodeID {
	for c.logical[n] != n {
		c.logical[n] = c.logical[c.logical[n]]
		n = c.logical[n]
	}
	return n
}

// before is the order of the members of a logical node: those of the main process first, then by pid and id.
func (c *catalogue) before(a, b NodeID) bool {
	x, y := &c.nodes[a], &c.nodes[b]
	if c.hasMain && (x.Process == c.mainPID) != (y.Process == c.mainPID) {
		return x.Process == c.mainPID
	}
	if x.Process != y.Process {
		return x.Process < y.Process
	}
	if x.ID != y.ID {
		return x.ID < y.ID
	}
	return x.Scope < y.Scope
}

// findMembers makes logical point to the representatives, and lists the members of those that have several.
func (c *catalogue) findMembers() {
	for i := range c.logical {
		n := NodeID(i)
		if root := c.rootOf(n); root != n {
			if len(c.members[root]) == 0 {
				c.members[root] = []NodeID{root}
			}
			c.members[root] = append(c.members[root], n)
		}
	}
	for i := range c.logical {
		c.logical[i] = c.rootOf(NodeID(i))
	}
	for _, list := range c.members {
		slices.SortFunc(list, func(a, b NodeID) int {
			switch {
			case c.before(a, b):
				return -1
			case c.before(b, a):
				return 1
			}
			return 0
		})
	}
}

// membersOf returns the members of a logical node, the representative first.
func (c *catalogue) membersOf(logical NodeID) []NodeID {
	if list := c.members[logical]; list != nil {
		return list
	}
	return []NodeID{logical}
}

// logicalOf returns the logical node of an object.
func (c *catalogue) logicalOf(n NodeID) NodeID {
	if int(n) < len(c.logical) {
		return c.logical[n]
	}
	return n
}

// closesCircle reports whether an object would be above itself with this parent.
func (c *catalogue) closesCircle(latest map[NodeID]NodeID, from, parent NodeID) bool {
	self, n := c.logicalOf(from), c.logicalOf(parent)
	for range maxTreeDepth {
		if n == self {
			return true
		}
		above := NodeID(0)
		for _, m := range c.membersOf(n) {
			if above = latest[m]; above != 0 {
				break
			}
		}
		if above == 0 {
			return false
		}
		n = c.logicalOf(above)
	}
	return true // deeper than any tree may be
}

// parent returns the logical node above a logical node at a time, 0 for a root.
func (c *catalogue) parent(logical NodeID, ts timeline.Nanos) NodeID {
	if above, ok := c.above[logical]; ok {
		return above
	}
	own := c.ownParent(logical, ts)
	isolate := c.runsIn[logical]
	if isolate == 0 || own != 0 && c.runsIn[own] == isolate {
		return own
	}
	return isolate
}

// ownParent is parent as the snapshots say it, without isolates.
func (c *catalogue) ownParent(logical NodeID, ts timeline.Nanos) NodeID {
	list := c.members[logical]
	if list == nil {
		return c.logicalOf(c.snapshots[c.at(logical, ts)].parent)
	}
	for _, m := range list {
		if s := c.at(m, ts); s != 0 && c.snapshots[s].parent != 0 {
			return c.logicalOf(c.snapshots[s].parent)
		}
	}
	return 0
}

// lastTime is later than everything in a trace. Asked for this time, the catalogue tells the last that was known.
const lastTime timeline.Nanos = 1<<63 - 1

// plantIsolates puts isolates into the tree (spec contexts.md S12): above the frames that run in them, below what was
// above these.
func (c *catalogue) plantIsolates(frames map[NodeID]NodeID) {
	order := make([]NodeID, 0, len(frames))
	for frame, isolate := range frames {
		if logical := c.logicalOf(frame); c.runsIn[logical] == 0 {
			c.runsIn[logical] = isolate
			order = append(order, logical)
		}
	}
	slices.Sort(order)
	former := map[NodeID][]NodeID{} // of every isolate: what was above its frames
	for _, frame := range order {
		own, isolate := c.ownParent(frame, lastTime), c.runsIn[frame]
		if own == 0 || c.runsIn[own] != isolate {
			former[isolate] = append(former[isolate], own)
		}
	}
	isolates := make([]NodeID, 0, len(former))
	for isolate := range former {
		isolates = append(isolates, isolate)
	}
	slices.Sort(isolates)
	for _, isolate := range isolates {
		common := former[isolate][0]
		for _, n := range former[isolate][1:] {
			if common != 0 && n != 0 {
				common = c.commonAncestor(common, n, lastTime)
			} else {
				common = 0
			}
		}
		if common != 0 && !c.isAncestor(isolate, common, lastTime) {
			c.above[isolate] = common
		}
	}
}

// ancestors returns a logical node and all above it. The result is valid until the next call.
func (c *catalogue) ancestors(logical NodeID, ts timeline.Nanos) []NodeID {
	c.chain = c.chain[:0]
	c.walks++
	for n := logical; n != 0 && len(c.chain) < maxTreeDepth; n = c.parent(n, ts) {
		for int(n) >= len(c.visited) {
			c.visited = append(c.visited, make([]uint32, len(c.nodes)-len(c.visited))...)
		}
		if c.visited[n] == c.walks {
			break // edges of different times can form a circle
		}
		c.visited[n] = c.walks
		c.chain = append(c.chain, n)
	}
	return c.chain
}

// isAncestor reports whether a logical node is another one or above it.
func (c *catalogue) isAncestor(above, below NodeID, ts timeline.Nanos) bool {
	if above == below {
		return true
	}
	if c.parent(below, ts) == 0 {
		return false
	}
	return slices.Contains(c.ancestors(below, ts), above)
}

// commonAncestor returns the lowest logical node that is above two, or one of them; 0 if they have different roots.
func (c *catalogue) commonAncestor(a, b NodeID, ts timeline.Nanos) NodeID {
	if a == b {
		return a
	}
	ofA := slices.Clone(c.ancestors(a, ts))
	for _, n := range c.ancestors(b, ts) {
		if slices.Contains(ofA, n) {
			return n
		}
	}
	return 0
}
