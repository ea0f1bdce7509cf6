package attribution

import (
	"cmp"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// snapshotID identifies a state of an object; 0 is none.
type snapshotID uint32

// snapshot is what was known of an object from some time on.
type snapshot struct {
	node   NodeID
	parent NodeID // 0: none
	ts     timeline.Nanos
	event  uint32
	change change
	url    string
	class  string

	category string // of an object
	pid      int64  // of the process in which a frame is, as the browser says; Global or 0: unknown
}

// change says what happened to an object.
type change uint8

const (
	created  change = iota + 1 // its life begins: N
	changed                    // a snapshot: O
	deleted                    // its life ends: D
	followed                   // a frame that the browser reports; its life does not matter
)

// reference names another object in a snapshot.
type reference struct {
	scope, id string
	process   int64 // pid; mainProcess
}

// mainProcess is the pid -1 of references: the process of the browser.
const mainProcess int64 = -1

// link is a reference to be resolved when all objects are known.
type link struct {
	from    snapshotID
	to      reference
	sibling bool // joins the two objects; else it names the parent
}

// maxSnapshots bounds the states of objects that are kept, and the references in them.
const maxSnapshots = 1 << 18

// catalogue holds the objects of a trace, their states over time, and the tree that they form.
type catalogue struct {
	most    limits
	types   []string // by TypeID
	byType  map[string]TypeID
	nodes   []node // by NodeID; nodes[0] is none
	byID    index  // of nodes
	byText  index  // of those that are the first with their scope and id
	key     []byte
	strings map[string]string // scopes, urls and classes
	size    int               // bytes of nodes and strings
	dropped uint64            // what had no room

	snapshots []snapshot // by snapshotID
	unseen    uint64     // states that had no room
	links     []link
	entered   map[NodeID]enteredAs // of explicit contexts
	classes   map[NodeID]string    // of contexts without snapshots

	states [][]state    // by NodeID; in the order of time
	last   []snapshotID // by NodeID: the snapshot that was valid last, 0 if there was none
	epochs []timeline.Nanos

	logical []NodeID // by NodeID: the representative of the logical node
	members map[NodeID][]NodeID
	runsIn  nodeMap        // of frames, by logical node: the isolate that they run in
	above   nodeMap        // of isolates: the frame that they hang below
	sizes   map[NodeID]int // of logical nodes with several members
	edges   [][]edge       // by logical node: what is above it, in the order of time
	chain   []NodeID
	other   []NodeID
	visited []uint32 // by NodeID: the walk that has come by last
	walks   uint32

	treeChanges bool // something has different parents at different times

	mainPID int64
	hasMain bool
}

// state says that a snapshot is valid from some time on.
type state struct {
	from     timeline.Nanos
	snapshot snapshotID
}

func newCatalogue(most limits) *catalogue {
	c := &catalogue{
		most: most, types: slices.Clone(builtIn[:]), byType: map[string]TypeID{}, nodes: make([]node, 1), strings: map[string]string{},
		entered: map[NodeID]enteredAs{}, snapshots: make([]snapshot, 1), classes: map[NodeID]string{},
		members: map[NodeID][]NodeID{}, sizes: map[NodeID]int{},
	}
	for id, name := range builtIn {
		if id > 0 {
			c.byType[name] = TypeID(id)
		}
	}
	return c
}

// add adds a state of an object; 0 if there are too many.
func (c *catalogue) add(s snapshot) snapshotID {
	if s.node == 0 {
		return 0 // counted
	}
	if len(c.snapshots) >= c.most.snapshots {
		c.unseen++
		return 0
	}
	c.snapshots = append(c.snapshots, s)
	return snapshotID(len(c.snapshots) - 1)
}

// refer adds a reference in a snapshot.
func (c *catalogue) refer(from snapshotID, to reference, sibling bool) {
	if from == 0 {
		return
	}
	if len(c.links) >= c.most.snapshots {
		c.unseen++
		return
	}
	to.scope, to.id = c.keep([]byte(to.scope)), c.keep([]byte(to.id))
	c.links = append(c.links, link{from, to, sibling})
}

// finish puts the states of all objects in order (attribution.md, rule 3): the lives of an object are cut by N and D; before
// the first snapshot of a life the first one counts, if nothing said that the life began.
func (c *catalogue) finish() {
	order := make([]snapshotID, 0, len(c.snapshots)-1)
	for id := range c.snapshots[1:] {
		order = append(order, snapshotID(id+1))
	}
	slices.SortFunc(order, func(a, b snapshotID) int {
		x, y := &c.snapshots[a], &c.snapshots[b]
		return cmp.Or(cmp.Compare(x.node, y.node), cmp.Compare(x.ts, y.ts), cmp.Compare(x.event, y.event), cmp.Compare(a, b))
	})
	c.states, c.last = make([][]state, len(c.nodes)), make([]snapshotID, len(c.nodes))
	for len(order) > 0 {
		node := c.snapshots[order[0]].node
		n := 1
		for n < len(order) && c.snapshots[order[n]].node == node {
			n++
		}
		c.states[node] = c.objectStates(order[:n])
		c.last[node] = lastKnown(c.states[node])
		order = order[n:]
	}
}

// lives returns the states of one object.
func (c *catalogue) lives(changes []snapshotID) []state {
	var out []state
	alive := false
	before := timeline.Nanos(math.MinInt64) // the end of the life before
	for _, id := range changes {
		s := &c.snapshots[id]
		switch s.change {
		case created:
			alive = true
			out = append(out, state{s.ts, 0})
		case deleted:
			alive, before = false, s.ts
			out = append(out, state{s.ts, 0})
		default:
			from := s.ts
			if !alive {
				from, alive = before, true
			}
			out = append(out, state{from, id})
		}
	}
	return out
}

// at returns the snapshot of an object that is valid at a time, 0 if there is none; at lastTime that which was valid last,
// also of an object that was deleted: what it was called is known still.
func (c *catalogue) at(node NodeID, ts timeline.Nanos) snapshotID {
	if int(node) >= len(c.states) {
		return 0
	}
	states := c.states[node]
	if ts == lastTime {
		return c.last[node]
	}
	i, _ := slices.BinarySearchFunc(states, ts, func(s state, ts timeline.Nanos) int {
		if s.from <= ts {
			return -1
		}
		return 1
	})
	if i == 0 {
		return 0
	}
	return states[i-1].snapshot
}

// lastKnown returns the snapshot that was valid last, 0 if there was none.
func lastKnown(states []state) snapshotID {
	for _, s := range slices.Backward(states) {
		if s.snapshot != 0 {
			return s.snapshot
		}
	}
	return 0
}

// markContexts finds out which objects belong to contexts: those that were entered, those with a url or with references,
// and those that are referred to. Others, of which old traces of Chrome have many, are none.
func (c *catalogue) markContexts() {
	for i := range c.snapshots[1:] {
		if s := &c.snapshots[i+1]; s.url != "" {
			c.nodes[s.node].context = true
		}
	}
	for _, l := range c.links {
		c.nodes[c.snapshots[l.from].node].context = true
	}
}

// findEpochs finds the times at which something changes about contexts. Between two of them every context has one
// snapshot and one parent.
func (c *catalogue) findEpochs() {
	for node, states := range c.states {
		if !c.nodes[node].context {
			continue
		}
		for _, s := range states {
			c.epochs = append(c.epochs, s.from)
		}
	}
	slices.Sort(c.epochs)
	c.epochs = slices.Compact(c.epochs)
}

// resolve returns the object that a reference means.
func (c *catalogue) resolve(r *reference) (NodeID, bool) {
	pid := r.process
	if pid == mainProcess {
		if !c.hasMain {
			return 0, false
		}
		pid = c.mainPID
	}
	n, ok := c.find(r.scope, r.id, pid)
	if !ok {
		n, ok = c.find(r.scope, r.id, Global)
	}
	if !ok || int(n) >= len(c.states) {
		return 0, false
	}
	return n, len(c.states[n]) > 0
}

// classify gives contexts of which only begin and end are known the class that these say.
func (c *catalogue) classify() {
	for i := range c.snapshots[1:] {
		s := &c.snapshots[i+1]
		if c.nodes[s.node].context && c.classes[s.node] == "" && c.at(s.node, lastTime) == 0 {
			c.classes[s.node] = s.class
		}
	}
}

// url returns the url of a logical node at a time: that of its representative, else of another member.
func (c *catalogue) url(logical NodeID, ts timeline.Nanos) string {
	for _, m := range c.membersOf(logical) {
		if s := c.at(m, ts); s != 0 && c.snapshots[s].url != "" {
			return c.snapshots[s].url
		}
	}
	return ""
}

// pid returns the process in which a frame is at a time; false if it is not known.
func (c *catalogue) pid(logical NodeID, ts timeline.Nanos) (int64, bool) {
	s := c.at(logical, ts)
	if s == 0 || !c.nodes[logical].isFrame {
		return 0, false
	}
	if pid := c.snapshots[s].pid; pid != 0 && pid != Global {
		return pid, true
	}
	return 0, false
}

// class returns the class of a logical node, as url does.
func (c *catalogue) class(logical NodeID, ts timeline.Nanos) string {
	class, _ := c.classified(logical, ts)
	return class
}

// classified returns the class of a logical node and the member of which it is the class.
func (c *catalogue) classified(logical NodeID, ts timeline.Nanos) (class string, member NodeID) {
	for _, m := range c.membersOf(logical) {
		if s := c.at(m, ts); s != 0 && c.snapshots[s].class != "" {
			return c.snapshots[s].class, m
		}
	}
	return c.classes[logical], logical
}

// scopeWords stand before the ids of contexts for want of a class, where the ids alone are but numbers.
var scopeWords = map[string]string{ScopeIsolate: "isolate", ScopeGraphics: "frame", ScopeTab: "tab"}

// label is how a context is called: its url, else its class and id, else its id (attribution.md, What is written).
func (c *catalogue) label(node NodeID, ts timeline.Nanos) string {
	n := &c.nodes[node]
	if n.Scope == ScopeScript {
		return n.ID
	}
	logical := c.logicalOf(node)
	if url := c.url(logical, ts); url != "" {
		return url
	}
	if class, member := c.classified(logical, ts); class != "" {
		return class + " " + c.nodes[member].ID
	}
	if word := scopeWords[n.Scope]; word != "" {
		return word + " " + n.ID
	}
	return n.ID
}
