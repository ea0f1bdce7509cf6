package report

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// StackTree shows which functions of a thread called which, and for how long: the data of a flame graph. Times are
// nanoseconds.
type StackTree struct {
	ThreadID
	Shows string         `json:"shows,omitempty"` // the url of the page or worker that it runs
	From  TreeBasis      `json:"from"`
	Total timeline.Nanos `json:"total_ns"` // total of all nodes
	// LeftOut is the time of the samples that are not in the tree: garbage collector samples, samples without a stack, and
	// samples in which the thread is not known to work.
	LeftOut []StateTime `json:"left_out,omitempty"`
	// Small is the number of callsites that are left out together with all they call: each takes at most a 2,000th of
	// Total.
	Small int `json:"small"`
	// Shared is the number of outermost functions that are left out because all stacks have them.
	Shared int `json:"shared,omitempty"`
	// Nodes lists the callsites: each is followed by the callsites inside it, longest first. A function that calls itself is
	// one node.
	Nodes []TreeNode `json:"nodes"`
}

// TreeBasis is the source of a StackTree.
type TreeBasis string

// The bases.
const (
	TreeOfSamples TreeBasis = "samples" // call stacks
	TreeOfSlices  TreeBasis = "slices"  // slices by name, in traces without call stacks
)

// TreeNode is a callsite or, in a tree of slices, all slices with the same name at one place of the tree. Work nested deeper than
// maxTreeDepth counts as self time of the innermost node around it.
type TreeNode struct {
	Frame
	Depth int            `json:"depth"` // 0: outermost
	Total timeline.Nanos `json:"total_ns"`
	Self  timeline.Nanos `json:"self_ns"`
	// Kind is the host or file of the code; for slices, one of Utilisation.Kinds.
	Kind string `json:"kind"`
}

// Limits of stack trees.
const (
	maxTrees      = 8
	maxTreeDepth  = 32
	maxCallDepth  = 1024    // of the whole trees by which recordings are compared
	maxTreeNodes  = 1 << 18 // of all slice trees, before small nodes are left out
	smallTreePart = 2000    // a node is small if it takes at most the whole divided by this
)

// treeBuilder is a tree under construction.
type treeBuilder struct {
	nodes []buildNode // the first is the root, which is not in the tree
}

type buildNode struct {
	parent   int32
	depth    int32
	frame    Frame
	kind     string
	self     timeline.Nanos
	total    timeline.Nanos
	children []int32
}

func newTreeBuilder() *treeBuilder { return &treeBuilder{nodes: make([]buildNode, 1)} }

// add adds a node below another one.
func (b *treeBuilder) add(parent int32, f Frame, kind string) int32 {
	id := int32(len(b.nodes))
	b.nodes = append(b.nodes, buildNode{parent: parent, depth: b.nodes[parent].depth + 1, frame: f, kind: kind})
	b.nodes[parent].children = append(b.nodes[parent].children, id)
	return id
}

// finish adds up totals and writes the nodes that are not too small, or all nodes, into t.
func (b *treeBuilder) finish(t *StackTree, all bool) {
	for i := len(b.nodes) - 1; i >= 0; i-- {
		n := &b.nodes[i]
		sum(&n.total, n.self)
		if i > 0 {
			sum(&b.nodes[n.parent].total, n.total)
		}
	}
	t.Total, t.Nodes = b.nodes[0].total, []TreeNode{}
	stack := []int32{0}
	for len(stack) > 0 {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		n := &b.nodes[at]
		if at != 0 {
			t.Nodes = append(t.Nodes, TreeNode{Frame: n.frame, Depth: int(n.depth) - 1, Total: n.total, Self: n.self, Kind: n.kind})
		}
		shown := slices.DeleteFunc(slices.Clone(n.children), func(id int32) bool { return !all && b.nodes[id].total <= t.Total/smallTreePart })
		t.Small += len(n.children) - len(shown)
		slices.SortStableFunc(shown, func(x, y int32) int {
			a, b := &b.nodes[x], &b.nodes[y]
			return cmp.Or(cmp.Compare(a.total, b.total), compareFrames(b.frame, a.frame))
		})
		stack = append(stack, shown...) // the last is taken first
	}
}

// stackTrees builds the trees of the threads whose samples have function stacks, busiest first.
func (p *Profiles) stackTrees(ctx context.Context) ([]StackTree, error) {
	trees := []StackTree{}
	for _, t := range p.Threads {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if tree := p.stackTree(t, nil); len(tree.Nodes) > 0 {
			trees = append(trees, tree)
		}
	}
	slices.SortStableFunc(trees, func(a, b StackTree) int { return cmp.Compare(b.Total, a.Total) })
	return trees[:min(len(trees), maxTrees)], nil
}

// CallTrees returns the whole trees of all threads.
func (p *Profiles) CallTrees() (trees []StackTree) {
	for _, t := range p.Threads {
		trees = append(trees, p.stackTree(t, &TreeView{}))
	}
	return trees
}

// TreeView requests a call tree of samples as a table.
type TreeView struct {
	Table string // "tree", "callers" or "callees"; "": like "tree", but with all functions, however little time they took
	// Function selects by name the functions whose callees or callers are shown. A function that calls itself counts once.
	Function func(name string) bool
}

// The tables of call trees.
const (
	treeTable    = "tree"
	callersTable = "callers"
	calleesTable = "callees"
)

// TreeTables returns the names of the call tree tables, with the tables about individual functions first.
func TreeTables() []string { return []string{callersTable, calleesTable, treeTable} }

// stackTree builds the tree of a thread in the requested view. If view is nil, it builds the tree for a flame graph.
func (p *Profiles) stackTree(t *Thread, view *TreeView) StackTree {
	tree := StackTree{ThreadID: t.ThreadID, Shows: t.shows, From: TreeOfSamples}
	byStack, left := map[stackID]timeline.Nanos{}, map[stateID]*StateTime{}
	works := make([]bool, len(t.observations))
	for part := range t.busy() {
		for i := part.first; i < part.last; i++ {
			works[i] = true
		}
	}
	for i := range t.observations {
		o := &t.observations[i]
		if works[i] && o.stack != 0 && t.states.class(o.state) != ClassGC {
			all := byStack[o.stack]
			sum(&all, o.dur)
			byStack[o.stack] = all
			continue
		}
		s := left[o.state]
		if s == nil {
			s = &StateTime{State: t.states.name(o.state), Class: t.states.class(o.state).String()}
			left[o.state] = s
		}
		s.Samples += int64(o.count)
		sum(&s.Time, o.dur)
	}
	for _, s := range left {
		tree.LeftOut = append(tree.LeftOut, *s)
	}
	slices.SortFunc(tree.LeftOut, func(a, b StateTime) int { return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(a.State, b.State)) })
	paths := p.functionPaths(slices.Sorted(maps.Keys(byStack)), t.Source)
	b := newTreeBuilder()
	all := view != nil && view.Table == ""
	switch {
	case view != nil && (view.Table == callersTable || view.Table == calleesTable):
		paths.about(b, p.stacks, view, byStack)
		b.finish(&tree, false)
		return tree
	case !all:
		tree.Shared = paths.shared(p.stacks)
	}
	levels := maxTreeDepth
	if all {
		levels = maxCallDepth
	}
	nodes := make([]int32, len(paths.steps)) // of the tree, by step
	for i := 1; i < len(paths.steps); i++ {
		step := &paths.steps[i]
		nodes[i] = nodes[step.parent] // steps that are not in the tree count as part of the innermost step that is
		if depth := int(step.depth) - tree.Shared; depth > 0 && depth <= levels {
			nodes[i] = b.add(nodes[step.parent], p.stacks.frames[step.frame], "")
		}
	}
	for i, id := range paths.ids {
		sum(&b.nodes[nodes[paths.at[i]]].self, byStack[id])
	}
	b.setOrigins()
	b.finish(&tree, all)
	return tree
}

// about builds the tree of the callees or callers of some functions, with these functions outermost.
func (p *functionPaths) about(b *treeBuilder, stacks *stackTable, view *TreeView, byStack map[stackID]timeline.Nanos) {
	known, totals, nodes := map[treeStep]int32{}, make([]timeline.Nanos, len(p.steps)), make([]int32, len(p.steps))
	node := func(parent int32, frame uint32) int32 {
		step := treeStep{parent, frame}
		if id, ok := known[step]; ok || b.nodes[parent].depth >= maxTreeDepth {
			return cmp.Or(id, parent)
		}
		id := b.add(parent, stacks.frames[frame], "")
		known[step] = id
		return id
	}
	for i, id := range p.ids {
		sum(&totals[p.at[i]], byStack[id])
	}
	self := slices.Clone(totals)
	for i, step := range slices.Backward(p.steps[1:]) {
		sum(&totals[step.parent], totals[i+1])
	}
	for i := 1; i < len(p.steps); i++ {
		step := &p.steps[i]
		around := nodes[step.parent]
		switch {
		case around == 0 && !view.Function(stacks.frames[step.frame].Function):
		case view.Table == calleesTable:
			nodes[i] = node(around, step.frame)
			sum(&b.nodes[nodes[i]].self, self[i])
		case around != 0:
			nodes[i] = around // already in the total of the outermost such function
		default:
			at := node(0, step.frame)
			nodes[i] = at
			for up := step.parent; up != 0; up = p.steps[up].parent {
				next := node(at, p.steps[up].frame)
				if next == at {
					break
				}
				at = next
			}
			sum(&b.nodes[at].self, totals[i])
		}
	}
}

// treeStep leads from a node to one of its callees.
type treeStep struct {
	parent int32
	frame  uint32
}

// functionPaths represents stacks by their functions. A function that calls itself appears once. Functions known only by their
// address are merged into one for each library.
type functionPaths struct {
	stackPart
	at    []int32 // the innermost step of each stack of the part
	steps []pathStep
}

// pathStep is a function on a path. The first step is empty; the outermost functions follow it.
type pathStep struct {
	treeStep
	depth int32
	ends  bool // it is the innermost function of some stack
	calls int32
	last  int32 // the last step that it calls
}

// functionPaths returns the paths of stacks.
func (p *Profiles) functionPaths(ids []stackID, source string) functionPaths {
	paths := functionPaths{stackPart: p.stacks.part(ids), steps: make([]pathStep, 1)}
	paths.at = make([]int32, len(paths.ids))
	known := map[treeStep]int32{}
	for i, id := range paths.ids {
		parent := int32(0)
		if below := paths.below[i]; below >= 0 {
			parent = paths.at[below]
		}
		frame := p.stacks.function(p.stacks.nodes[id].frame, source)
		if f := p.stacks.frames[frame]; strings.HasPrefix(f.Function, "0x") {
			frame = p.stacks.intern(Frame{Function: fileOf(f.URL), URL: f.URL})
		}
		step := treeStep{parent, uint32(frame)}
		at, ok := known[step]
		switch {
		case parent != 0 && paths.steps[parent].frame == uint32(frame):
			at = parent
		case !ok:
			at = int32(len(paths.steps))
			known[step] = at
			paths.steps = append(paths.steps, pathStep{treeStep: step, depth: paths.steps[parent].depth + 1})
			paths.steps[parent].calls++
			paths.steps[parent].last = at
		}
		paths.at[i] = at
	}
	for i, id := range paths.ids {
		if _, ok := slices.BinarySearch(ids, id); ok {
			paths.steps[paths.at[i]].ends = true
		}
	}
	return paths
}

// shared returns the number of outermost functions that all stacks have and that are not script: they are uninformative, and a
// tree has a limited number of levels. Each stack has at least one more function.
func (p *functionPaths) shared(stacks *stackTable) (n int) {
	for at := &p.steps[0]; at.calls == 1; n++ {
		at = &p.steps[at.last]
		if at.ends || stacks.frames[at.frame].isScript() {
			break
		}
	}
	return n
}

// setOrigins sets the origin of each node's code: the host or, if more than two thirds of the self time is on one host, the file.
func (b *treeBuilder) setOrigins() {
	times, all := map[string]timeline.Nanos{}, timeline.Nanos(0)
	for i := range b.nodes[1:] {
		n := &b.nodes[i+1]
		t := times[hostOf(n.frame.URL)]
		sum(&t, n.self)
		times[hostOf(n.frame.URL)] = t
		sum(&all, n.self)
	}
	origin := hostOf
	for _, t := range times {
		if t > all/3*2 {
			origin = fileOf
		}
	}
	for i := range b.nodes[1:] {
		b.nodes[i+1].kind = origin(b.nodes[i+1].frame.URL)
	}
}

// NativeOrigin is the kind of functions without a file.
const NativeOrigin = "(native)"

// hostOf returns the host of a url, or its scheme if it has no host; for other locations, the file.
func hostOf(url string) string {
	scheme, host, _ := producers.SplitURL(url)
	switch {
	case host != "":
		return host
	case strings.Contains(url, "://"):
		return scheme + ":"
	}
	return fileOf(url)
}

// fileOf returns the last part of the path of a url or file.
func fileOf(url string) string {
	if scheme, rest, ok := strings.Cut(url, ":"); ok && (scheme == "node" || scheme == "data" || scheme == "wasm") {
		if scheme == "node" {
			first, _, _ := strings.Cut(rest, "/")
			return "node:" + first
		}
		return scheme + ":"
	}
	if i := strings.IndexAny(url, "?#"); i >= 0 {
		url = url[:i]
	}
	if url = strings.TrimRight(url, "/"); url == "" {
		return NativeOrigin
	}
	return url[strings.LastIndexAny(url, `/\`)+1:]
}

// sliceTrees builds trees of the slices of threads, by name, during a walk.
type sliceTrees struct {
	tl     *timeline.Timeline
	use    *useCollector
	places []timeline.TrackID
	trees  map[timeline.TrackID]*sliceTree
	nodes  int
	names  map[string]uint32 // ids of names that are not interned, after the ids of interned ones
}

type sliceTree struct {
	treeBuilder
	known map[treeStep]int32
}

// openNode is an open slice.
type openNode struct {
	node    int32
	timed   bool
	ts, dur timeline.Nanos
	inside  timeline.Nanos
}

// newSliceTrees prepares the walk over the slices of the busiest threads.
func newSliceTrees(tl *timeline.Timeline, use *useCollector) *sliceTrees {
	c := &sliceTrees{tl: tl, use: use, places: use.places, trees: map[timeline.TrackID]*sliceTree{}, names: map[string]uint32{}}
	for i := range use.out.Threads[:min(len(use.out.Threads), maxTrees)] {
		c.trees[use.out.Threads[i].track] = &sliceTree{*newTreeBuilder(), map[treeStep]int32{}}
	}
	return c
}

func (c *sliceTrees) item(it *timeline.Item, open *timeline.OpenSlices[openNode]) error {
	tree := c.trees[c.places[it.Track]]
	if tree == nil || it.Kind != timeline.ItemBegin && it.Kind != timeline.ItemEnd || open.Len() == 0 {
		return nil
	}
	s, around := open.Innermost(), (*openNode)(nil)
	if n := open.Len(); n > 1 {
		around = open.At(n - 2)
	}
	if it.Kind == timeline.ItemBegin {
		*s = openNode{timed: hasEnd(&it.Head) && c.use.selected.Item(it), ts: it.TS}
		if around != nil {
			s.node = around.node
		}
		if s.timed {
			from, to := c.use.selected.Clip(it.TS, endOf(&it.Head))
			s.dur, s.node = to-from, c.nodeOf(tree, s.node, it)
		}
		return c.use.err
	}
	inside := s.inside
	if s.timed {
		sum(&tree.nodes[s.node].self, s.dur-s.inside)
		inside = s.dur
	}
	if around != nil {
		sum(&around.inside, inside)
	}
	return nil
}

// nodeOf returns the node of a slice that begins inside a slice of the parent node. A number after a # at the end of the name
// does not count: PyTorch numbers each step.
func (c *sliceTrees) nodeOf(tree *sliceTree, parent int32, it *timeline.Item) int32 {
	name, text := uint32(it.NameID), it.Name
	if i := bytes.LastIndexByte(text, '#'); i > 0 && i+1 < len(text) && len(bytes.Trim(text[i+1:], "0123456789")) == 0 {
		name, text = 0, append(text[:i:i], "#…"...) // one of many steps
	}
	if name == 0 && len(text) > 0 {
		id, ok := c.names[string(text)]
		if !ok {
			if c.nodes >= maxTreeNodes || len(c.names) >= maxTreeNodes {
				return parent
			}
			id = uint32(c.tl.NameCount() + 1 + len(c.names))
			c.names[string(text)] = id
		}
		name = id
	}
	step := treeStep{parent, name}
	if id, ok := tree.known[step]; ok {
		return id
	}
	if n := &tree.nodes[parent]; parent != 0 && n.frame.Function == string(text) {
		return parent // it is inside a slice of the same name
	}
	if tree.nodes[parent].depth >= maxTreeDepth || c.nodes >= maxTreeNodes {
		return parent
	}
	c.nodes++
	kind := otherKind
	if s := c.kindOf(it, tree.nodes[parent].kind); s != "" {
		kind = s
	}
	id := tree.add(parent, Frame{Function: cmp.Or(string(text), withoutKind)}, kind)
	tree.known[step] = id
	return id
}

// kindOf returns the kind of a slice. The parameter around is the kind of the slice around it.
func (c *sliceTrees) kindOf(it *timeline.Item, around string) string {
	s := openUse{category: it.CategoryID, name: it.NameID}
	if c.use.out.By == KindsOfWork {
		if s.work = c.use.workOf(it); s.work == producers.CategoryNone {
			return around
		}
	}
	return c.use.out.Kinds[c.use.kindOf(&s)]
}

// done returns the trees, busiest thread first.
func (c *sliceTrees) done() []StackTree {
	trees := []StackTree{}
	for i := range c.use.out.Threads {
		row := &c.use.out.Threads[i]
		b := c.trees[row.track]
		if b == nil {
			continue
		}
		tree := StackTree{ThreadID: row.ThreadID, Shows: row.Shows, From: TreeOfSlices}
		if b.finish(&tree, false); len(tree.Nodes) > 0 {
			trees = append(trees, tree)
		}
	}
	return trees
}
