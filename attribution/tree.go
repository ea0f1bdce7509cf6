package attribution

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"sort"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// maxTreeDepth bounds the way from a context to its root, and maxMembers the objects that are one context, whatever the
// input says.
const (
	maxTreeDepth = 200
	maxMembers   = 64
)

// build joins the objects that are one context and makes the tree (attribution.md, The types). Edges are taken in the order in
// which they stand in the input; one that would close a circle is left out.
func (c *catalogue) build(ctx context.Context, problems *problem.Log) error {
	c.logical = make([]NodeID, len(c.nodes))
	for i := range c.logical {
		c.logical[i] = NodeID(i)
	}
	slices.SortStableFunc(c.links, func(a, b link) int {
		return cmp.Compare(c.snapshots[a.from].event, c.snapshots[b.from].event)
	})
	targets := make([]NodeID, len(c.links))
	for i := range c.links {
		if i%(1<<12) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
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
	growing := newGrowingTree(c)
	for i := range c.links {
		if i%(1<<12) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		l := &c.links[i]
		if l.sibling || targets[i] == 0 {
			continue
		}
		from := &c.snapshots[l.from]
		if growing.closesCircle(from.node, targets[i]) {
			problems.Add(problem.ParentCycle, problem.Position{Event: int64(from.event), Offset: -1}, c.nodes[from.node].Identity.String())
			growing.put(from.node, 0)
			continue
		}
		from.parent = targets[i]
		growing.put(from.node, targets[i])
	}
	return c.findEdges(ctx)
}

// growingTree is the tree as the input goes on.
type growingTree struct {
	contexts *catalogue
	latest   []NodeID // by NodeID: the parent of every object
	above    []NodeID // by logical node: the parent that counts of those of its members
}

func newGrowingTree(c *catalogue) *growingTree {
	return &growingTree{contexts: c, latest: make([]NodeID, len(c.nodes)), above: make([]NodeID, len(c.nodes))}
}

// put gives an object another parent.
func (g *growingTree) put(node, parent NodeID) {
	g.latest[node] = parent
	logical := g.contexts.logicalOf(node)
	g.above[logical] = 0
	for _, m := range g.contexts.membersOf(logical) {
		if g.latest[m] != 0 {
			g.above[logical] = g.contexts.logicalOf(g.latest[m])
			return
		}
	}
}

// closesCircle reports whether an object would be above itself with this parent.
func (g *growingTree) closesCircle(from, parent NodeID) bool {
	self, n := g.contexts.logicalOf(from), g.contexts.logicalOf(parent)
	for range maxTreeDepth {
		if n == self {
			return true
		}
		if n = g.above[n]; n == 0 {
			return false
		}
	}
	return true // deeper than any tree may be
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

// parent returns the logical node above a logical node at a time, 0 for a root.
func (c *catalogue) parent(logical NodeID, ts timeline.Nanos) NodeID {
	if above := c.above.at(logical); above != 0 {
		return above
	}
	own := c.ownParent(logical, ts)
	isolate := c.runsIn.at(logical)
	if isolate == 0 || own != 0 && c.runsIn.at(own) == isolate {
		return own
	}
	return isolate
}

// nodeMap is a node for each node, by NodeID; it may be shorter than the list of these.
type nodeMap []NodeID

// at returns the node of a node; 0 if it has none.
func (m nodeMap) at(n NodeID) NodeID {
	if int(n) < len(m) {
		return m[n]
	}
	return 0
}

// ownParent is parent as the snapshots say it, without isolates.
func (c *catalogue) ownParent(logical NodeID, ts timeline.Nanos) NodeID {
	if int(logical) >= len(c.edges) {
		return 0
	}
	parent, _, _ := edgeAt(c.edges[logical], ts)
	return parent
}

// edge says what is above a logical node from some time on.
type edge struct {
	from   timeline.Nanos
	parent NodeID
}

// edgeAt returns what is above a logical node at a time, and the time around that in which it stays the same. The first
// edge counts from the begin of all times.
func edgeAt(edges []edge, ts timeline.Nanos) (parent NodeID, since, until timeline.Nanos) {
	if len(edges) == 0 {
		return 0, math.MinInt64, lastTime
	}
	i := 0
	if len(edges) > 1 {
		i = max(sort.Search(len(edges), func(i int) bool { return edges[i].from > ts })-1, 0)
	}
	since, until = math.MinInt64, lastTime
	if i > 0 {
		since = edges[i].from
	}
	if i+1 < len(edges) {
		until = edges[i+1].from
	}
	return edges[i].parent, since, until
}

// memberEdge is an edge of one member of a logical node, as its snapshots say it.
type memberEdge struct {
	edge
	member int
}

// findEdges finds for every logical node what is above it at every time: the parent of its first member that has one.
func (c *catalogue) findEdges(ctx context.Context) error {
	c.edges = make([][]edge, len(c.nodes))
	var changes []memberEdge
	var parents []NodeID // of the members
	for i := range c.nodes {
		if i%(1<<12) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		logical := NodeID(i)
		if c.logical[i] != logical {
			continue
		}
		members := c.membersOf(logical)
		changes = c.memberEdges(changes[:0], members)
		if len(changes) == 0 {
			continue
		}
		parents = append(parents[:0], make([]NodeID, len(members))...)
		list := []edge{{from: math.MinInt64}}
		for k, ch := range changes {
			parents[ch.member] = ch.parent
			if k+1 < len(changes) && changes[k+1].from == ch.from {
				continue
			}
			list = appendEdge(list, edge{ch.from, c.logicalOf(firstParent(parents))})
		}
		c.edges[logical] = list
		c.treeChanges = c.treeChanges || len(list) > 1
	}
	return nil
}

// memberEdges appends the parents of all members over time, none if they never have one. At lastTime each has the last
// that is known.
func (c *catalogue) memberEdges(changes []memberEdge, members []NodeID) []memberEdge {
	any := false
	for i, m := range members {
		if int(m) >= len(c.states) {
			continue
		}
		for _, s := range c.states[m] {
			parent := c.snapshots[s.snapshot].parent
			any = any || parent != 0
			changes = append(changes, memberEdge{edge{s.from, parent}, i})
		}
		changes = append(changes, memberEdge{edge{lastTime, c.snapshots[c.at(m, lastTime)].parent}, i})
	}
	if !any {
		return changes[:0]
	}
	slices.SortStableFunc(changes, func(a, b memberEdge) int { return cmp.Compare(a.from, b.from) })
	return changes
}

// appendEdge appends an edge unless it is like the one before; one of the same time it replaces.
func appendEdge(list []edge, e edge) []edge {
	last := &list[len(list)-1]
	switch {
	case last.from == e.from:
		last.parent = e.parent
	case last.parent != e.parent:
		return append(list, e)
	}
	return list
}

// firstParent returns the first parent that there is, 0 if there is none.
func firstParent(parents []NodeID) NodeID {
	for _, p := range parents {
		if p != 0 {
			return p
		}
	}
	return 0
}

// chainSpan returns the time around ts in which nothing changes about what is above a logical node.
func (c *catalogue) chainSpan(logical NodeID, ts timeline.Nanos) (since, until timeline.Nanos) {
	since, until = math.MinInt64, lastTime
	for _, n := range c.ancestors(logical, ts) {
		if int(n) < len(c.edges) {
			_, from, to := edgeAt(c.edges[n], ts)
			since, until = max(since, from), min(until, to)
		}
	}
	return since, until
}

// lastTime is later than everything in a trace. Asked for this time, the catalogue tells the last that was known.
const lastTime timeline.Nanos = 1<<63 - 1

// plantIsolates puts isolates into the tree (attribution.md, rule 9): above the frames that run in them, below what was
// above these. A logical node of several frames runs in the isolate of the one that was seen first.
func (c *catalogue) plantIsolates(ctx context.Context, frames map[NodeID]NodeID) error {
	if len(frames) == 0 {
		return nil
	}
	c.runsIn, c.above = make(nodeMap, len(c.nodes)), make(nodeMap, len(c.nodes))
	order := make([]NodeID, 0, len(frames))
	for _, frame := range slices.Sorted(maps.Keys(frames)) {
		if logical := c.logicalOf(frame); c.runsIn[logical] == 0 {
			c.runsIn[logical] = frames[frame]
			order = append(order, logical)
		}
	}
	slices.Sort(order)
	common := map[NodeID]NodeID{} // of every isolate: the common ancestor of what was above its frames
	for i, frame := range order {
		if i%(1<<10) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		own, isolate := c.ownParent(frame, lastTime), c.runsIn[frame]
		if own != 0 && c.runsIn[own] == isolate {
			continue
		}
		if before, several := common[isolate]; several {
			own = c.commonAncestor(before, own, lastTime)
		}
		common[isolate] = own
	}
	for _, isolate := range slices.Sorted(maps.Keys(common)) {
		if above := common[isolate]; above != 0 && !c.isAncestor(isolate, above, lastTime) {
			c.above[isolate] = above
		}
	}
	return nil
}

// ancestors returns a logical node and all above it. The result is valid until the next call.
func (c *catalogue) ancestors(logical NodeID, ts timeline.Nanos) []NodeID {
	c.chain = c.appendAncestors(c.chain[:0], logical, ts)
	return c.chain
}

// appendAncestors appends a logical node and all above it, and marks them as visited by this walk.
func (c *catalogue) appendAncestors(chain []NodeID, logical NodeID, ts timeline.Nanos) []NodeID {
	c.walks++
	for n := logical; n != 0 && len(chain) < maxTreeDepth; n = c.parent(n, ts) {
		if int(n) >= len(c.visited) {
			c.visited = append(c.visited, make([]uint32, len(c.nodes)-len(c.visited))...)
		}
		if c.visited[n] == c.walks {
			break // edges of different times can form a circle
		}
		c.visited[n] = c.walks
		chain = append(chain, n)
	}
	return chain
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

// commonAncestor returns the lowest logical node that is above two, or one of them; 0 if they have different roots, or one
// of them is none.
func (c *catalogue) commonAncestor(a, b NodeID, ts timeline.Nanos) NodeID {
	if a == b || a == 0 || b == 0 {
		return min(a, b)
	}
	c.other = c.appendAncestors(c.other[:0], b, ts)
	c.chain = c.appendAncestors(c.chain[:0], a, ts)
	for _, n := range c.other {
		if c.visited[n] == c.walks {
			return n
		}
	}
	return 0
}
