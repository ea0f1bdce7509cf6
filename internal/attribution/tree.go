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

const (
	maxTreeDepth = 200
	maxMembers   = 64 // objects of one context
)

// build joins the objects that form one context and builds the tree (attribution.md, The types). It adds edges in input order
// and skips those that would create a cycle.
func (c *Catalogue) build(ctx context.Context, problems *problem.Log) error {
	c.logical = make([]NodeID, len(c.Nodes))
	for i := range c.logical {
		c.logical[i] = NodeID(i)
	}
	c.isMain = make(map[int64]bool, len(c.mainPIDs))
	for _, pid := range c.mainPIDs {
		c.isMain[pid] = true
	}
	slices.SortStableFunc(c.links, func(a, b link) int {
		return cmp.Compare(c.Snapshots[a.from].Event, c.Snapshots[b.from].Event)
	})
	targets := make([]NodeID, len(c.links))
	for i := range c.links {
		if i%(1<<12) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		l := &c.links[i]
		from := &c.Snapshots[l.from]
		to, ok := c.resolve(&l.to)
		if !ok {
			problems.Add(problem.UnresolvedReference, problem.Position{Event: int64(from.Event), Offset: -1},
				l.to.Scope+"/"+l.to.Id)
			continue
		}
		targets[i] = to
		c.Nodes[to].Context = true
		if l.sibling && !c.join(from.Node, to) {
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
		from := &c.Snapshots[l.from]
		if growing.createsCycle(from.Node, targets[i]) {
			problems.Add(problem.ParentCycle, problem.Position{Event: int64(from.Event), Offset: -1}, c.Nodes[from.Node].Identity.String())
			growing.setParent(from.Node, 0)
			continue
		}
		from.parent = targets[i]
		growing.setParent(from.Node, targets[i])
	}
	return c.findEdges(ctx)
}

// growingTree is the tree formed by the edges so far.
type growingTree struct {
	contexts *Catalogue
	latest   []NodeID // by NodeID: the parent of every object
	above    []NodeID // by logical node: the parent of its first member with a parent
}

func newGrowingTree(c *Catalogue) *growingTree {
	return &growingTree{contexts: c, latest: make([]NodeID, len(c.Nodes)), above: make([]NodeID, len(c.Nodes))}
}

// setParent changes the parent of an object.
func (g *growingTree) setParent(node, parent NodeID) {
	g.latest[node] = parent
	logical := g.contexts.LogicalOf(node)
	g.above[logical] = 0
	for _, m := range g.contexts.MembersOf(logical) {
		if g.latest[m] != 0 {
			g.above[logical] = g.contexts.LogicalOf(g.latest[m])
			return
		}
	}
}

// createsCycle reports whether the given parent would make an object its own ancestor.
func (g *growingTree) createsCycle(from, parent NodeID) bool {
	self, n := g.contexts.LogicalOf(from), g.contexts.LogicalOf(parent)
	for range maxTreeDepth {
		if n == self {
			return true
		}
		if n = g.above[n]; n == 0 {
			return false
		}
	}
	return true // the tree would be too deep
}

// join makes two objects members of the same logical node. It returns false if the node would have too many members.
func (c *Catalogue) join(a, b NodeID) bool {
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

func (c *Catalogue) rootOf(n NodeID) NodeID {
	for c.logical[n] != n {
		c.logical[n] = c.logical[c.logical[n]]
		n = c.logical[n]
	}
	return n
}

// before orders the members of a logical node: first members in the main process, then by pid and id.
func (c *Catalogue) before(a, b NodeID) bool {
	x, y := &c.Nodes[a], &c.Nodes[b]
	if main := c.isMain[x.Process]; main != c.isMain[y.Process] {
		return main
	}
	if x.Process != y.Process {
		return x.Process < y.Process
	}
	if x.ID != y.ID {
		return x.ID < y.ID
	}
	return x.Scope < y.Scope
}

// findMembers sets c.logical to the representatives, and c.members for nodes with several members.
func (c *Catalogue) findMembers() {
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

// MembersOf returns the members of a logical node, the representative first.
func (c *Catalogue) MembersOf(logical NodeID) []NodeID {
	if list := c.members[logical]; list != nil {
		return list
	}
	return []NodeID{logical}
}

// LogicalOf returns the logical node of an object.
func (c *Catalogue) LogicalOf(n NodeID) NodeID {
	if int(n) < len(c.logical) {
		return c.logical[n]
	}
	return n
}

// Parent returns the parent of a logical node at ts, or 0 for a root.
func (c *Catalogue) Parent(logical NodeID, ts timeline.Nanos) NodeID {
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

// nodeMap maps nodes to nodes, by NodeID; it may be shorter than the list of nodes.
type nodeMap []NodeID

// at returns the value for a node, or 0 if there is none.
func (m nodeMap) at(n NodeID) NodeID {
	if int(n) < len(m) {
		return m[n]
	}
	return 0
}

// ownParent returns the parent according to snapshots, ignoring isolates.
func (c *Catalogue) ownParent(logical NodeID, ts timeline.Nanos) NodeID {
	if int(logical) >= len(c.edges) {
		return 0
	}
	parent, _, _ := edgeAt(c.edges[logical], ts)
	return parent
}

// edge is the parent of a logical node from a point in time onwards.
type edge struct {
	from   timeline.Nanos
	parent NodeID
}

// edgeAt returns the parent at ts, and the period around ts in which the parent does not change. The first edge also
// applies to earlier times.
func edgeAt(edges []edge, ts timeline.Nanos) (parent NodeID, since, until timeline.Nanos) {
	if len(edges) == 0 {
		return 0, math.MinInt64, LastTime
	}
	i := 0
	if len(edges) > 1 {
		i = max(sort.Search(len(edges), func(i int) bool { return edges[i].from > ts })-1, 0)
	}
	since, until = math.MinInt64, LastTime
	if i > 0 {
		since = edges[i].from
	}
	if i+1 < len(edges) {
		until = edges[i+1].from
	}
	return edges[i].parent, since, until
}

// memberEdge is an edge from the snapshots of one member of a logical node.
type memberEdge struct {
	edge
	member int
}

// findEdges finds the parents of every logical node over time: at each time, the parent of its first member that has one.
func (c *Catalogue) findEdges(ctx context.Context) error {
	c.edges = make([][]edge, len(c.Nodes))
	var changes []memberEdge
	var parents []NodeID // by member
	for i := range c.Nodes {
		if i%(1<<12) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		logical := NodeID(i)
		if c.logical[i] != logical {
			continue
		}
		members := c.MembersOf(logical)
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
			list = appendEdge(list, edge{ch.from, c.LogicalOf(cmp.Or(parents...))})
		}
		c.edges[logical] = list
		c.treeChanges = c.treeChanges || len(list) > 1
	}
	return nil
}

// memberEdges appends the parents of all members over time, or nothing if no member has a parent. At LastTime each member has
// its last known parent.
func (c *Catalogue) memberEdges(changes []memberEdge, members []NodeID) []memberEdge {
	any := false
	for i, m := range members {
		if int(m) >= len(c.States) {
			continue
		}
		for _, s := range c.States[m] {
			parent := c.Snapshots[s.Snapshot].parent
			any = any || parent != 0
			changes = append(changes, memberEdge{edge{s.From, parent}, i})
		}
		changes = append(changes, memberEdge{edge{LastTime, c.Snapshots[c.At(m, LastTime)].parent}, i})
	}
	if !any {
		return changes[:0]
	}
	slices.SortStableFunc(changes, func(a, b memberEdge) int { return cmp.Compare(a.from, b.from) })
	return changes
}

// appendEdge appends an edge, unless the last edge has the same parent. If the last edge has the same time, appendEdge replaces
// its parent instead.
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

// chainSpan returns the period around ts in which the ancestors of a logical node do not change.
func (c *Catalogue) chainSpan(logical NodeID, ts timeline.Nanos) (since, until timeline.Nanos) {
	since, until = math.MinInt64, LastTime
	for _, n := range c.Ancestors(logical, ts) {
		if int(n) < len(c.edges) {
			_, from, to := edgeAt(c.edges[n], ts)
			since, until = max(since, from), min(until, to)
		}
	}
	return since, until
}

// plantIsolates inserts isolates into the tree (attribution.md, rule 9): between the frames that run in them and the frames'
// parents. A logical node with several frames runs in the isolate of the first one.
func (c *Catalogue) plantIsolates(ctx context.Context, frames map[NodeID]NodeID) error {
	if len(frames) == 0 {
		return nil
	}
	c.runsIn, c.above = make(nodeMap, len(c.Nodes)), make(nodeMap, len(c.Nodes))
	order := make([]NodeID, 0, len(frames))
	for _, frame := range slices.Sorted(maps.Keys(frames)) {
		if logical := c.LogicalOf(frame); c.runsIn[logical] == 0 {
			c.runsIn[logical] = frames[frame]
			order = append(order, logical)
		}
	}
	slices.Sort(order)
	common := map[NodeID]NodeID{} // by isolate: the common ancestor of the parents of its frames
	for i, frame := range order {
		if i%(1<<10) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		own, isolate := c.ownParent(frame, LastTime), c.runsIn[frame]
		if own != 0 && c.runsIn[own] == isolate {
			continue
		}
		if before, several := common[isolate]; several {
			own = c.commonAncestor(before, own, LastTime)
		}
		common[isolate] = own
	}
	for _, isolate := range slices.Sorted(maps.Keys(common)) {
		if above := common[isolate]; above != 0 && !c.isAncestor(isolate, above, LastTime) {
			c.above[isolate] = above
		}
	}
	return nil
}

// Ancestors returns a logical node and its ancestors. The result is valid until the next call.
func (c *Catalogue) Ancestors(logical NodeID, ts timeline.Nanos) []NodeID {
	c.chain = c.appendAncestors(c.chain[:0], logical, ts)
	return c.chain
}

// appendAncestors appends a logical node and its ancestors, and marks them as visited by this walk.
func (c *Catalogue) appendAncestors(chain []NodeID, logical NodeID, ts timeline.Nanos) []NodeID {
	c.Walks++
	for n := logical; n != 0 && len(chain) < maxTreeDepth; n = c.Parent(n, ts) {
		if int(n) >= len(c.visited) {
			c.visited = append(c.visited, make([]uint32, len(c.Nodes)-len(c.visited))...)
		}
		if c.visited[n] == c.Walks {
			break // edges from different times can form a cycle
		}
		c.visited[n] = c.Walks
		chain = append(chain, n)
	}
	return chain
}

// isAncestor reports whether two logical nodes are the same or the first is an ancestor of the second.
func (c *Catalogue) isAncestor(above, below NodeID, ts timeline.Nanos) bool {
	if above == below {
		return true
	}
	if c.Parent(below, ts) == 0 {
		return false
	}
	return slices.Contains(c.Ancestors(below, ts), above)
}

// commonAncestor returns the lowest common ancestor of two logical nodes, which may be one of them. It returns 0 if their
// roots differ or either is 0.
func (c *Catalogue) commonAncestor(a, b NodeID, ts timeline.Nanos) NodeID {
	if a == b || a == 0 || b == 0 {
		return min(a, b)
	}
	c.other = c.appendAncestors(c.other[:0], b, ts)
	c.chain = c.appendAncestors(c.chain[:0], a, ts)
	for _, n := range c.other {
		if c.visited[n] == c.Walks {
			return n
		}
	}
	return 0
}

// PageOf returns the outermost frame among a context and its ancestors, or the root of the context's tree if there is no such
// frame.
func (c *Catalogue) PageOf(node NodeID, ts timeline.Nanos) NodeID {
	page, root := NodeID(0), node
	for _, n := range c.Ancestors(node, ts) {
		root = n
		if c.Nodes[n].IsFrame {
			page = n
		}
	}
	return cmp.Or(page, root)
}

// UrlOf returns the last known url of a context, or "" if there is none.
func (c *Catalogue) UrlOf(node NodeID) string {
	if n := &c.Nodes[node]; n.Scope == scopeScript {
		return n.ID
	}
	return c.Url(node, LastTime)
}
