package attribution

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/internal/timeline"
)

// SnapshotID identifies a state of an object; 0 means no state.
type SnapshotID uint32

// Snapshot is the state of an object from a point in time onwards.
type Snapshot struct {
	Node   NodeID
	parent NodeID // 0: none
	TS     timeline.Nanos
	Event  uint32
	change change
	Url    string
	Class  string

	Category string // of the object
	Pid      int64  // process of a frame, according to the browser; Global or 0: unknown
}

// change is the kind of event about an object.
type change uint8

const (
	created  change = iota + 1 // its life begins: N
	changed                    // a snapshot: O
	deleted                    // its life ends: D
	followed                   // the browser reports a frame, without creation or deletion events
)

// reference is the name by which a snapshot refers to another object.
type reference struct {
	Scope, Id string
	process   int64  // pid, mainProcess or Global
	IDSpace   string // the id space, if the id belongs to no process
}

// mainProcess is the pid that references use for the browser's main process.
const mainProcess int64 = -1

// link is a reference that is resolved once all objects have been collected.
type link struct {
	from    SnapshotID
	to      reference
	sibling bool // joins the two objects; otherwise it names the parent
}

// maxSnapshots bounds the number of object states, and the number of references in them.
const maxSnapshots = 1 << 18

// Catalogue holds the objects of a trace, their states over time, and the tree that they form.
type Catalogue struct {
	Limits  Limits
	Types   []string // by TypeID
	ByType  map[string]TypeID
	Nodes   []Node // by NodeID; Nodes[0] is unused
	byID    index  // of nodes
	byText  index  // the first node of each scope and id
	key     []byte
	strings map[string]string // scopes, urls and classes
	Size    int               // bytes of nodes and strings
	dropped uint64            // number of entries beyond the limits

	Snapshots     []Snapshot // by SnapshotID
	droppedStates uint64     // number of states and references beyond the limits
	links         []link
	Entered       map[NodeID]enteredAs // explicit contexts
	classes       map[NodeID]string    // classes of contexts without snapshots
	names         map[NodeID]string    // names of contexts without a url, see contextNames

	// InputTimes holds the times of input events, relative to the start of the trace.
	InputTimes map[NodeID]timeline.Nanos

	States [][]state    // by NodeID; in time order
	last   []SnapshotID // by NodeID: the last valid snapshot; 0: none
	epochs []timeline.Nanos

	logical []NodeID // by NodeID: the representative of the logical node
	members map[NodeID][]NodeID
	runsIn  nodeMap        // logical frame → the isolate that it runs in
	above   nodeMap        // isolate → its parent frame
	sizes   map[NodeID]int // number of members, for logical nodes with several
	edges   [][]edge       // by logical node: its parents, in time order
	chain   []NodeID
	other   []NodeID
	visited []uint32 // by NodeID: the latest walk that visited it
	Walks   uint32

	treeChanges bool // a node has different parents at different times

	mainPIDs map[string]int64 // the browser's main process, by id space
	isMain   map[int64]bool   // the pids in mainPIDs; set by build
}

// state is a snapshot and the time from which it is valid.
type state struct {
	From     timeline.Nanos
	Snapshot SnapshotID
}

func newCatalogue(limits Limits) *Catalogue {
	c := &Catalogue{
		Limits: limits, Types: slices.Clone(builtIn[:]), ByType: map[string]TypeID{}, Nodes: make([]Node, 1), strings: map[string]string{},
		Entered: map[NodeID]enteredAs{}, Snapshots: make([]Snapshot, 1), classes: map[NodeID]string{}, InputTimes: map[NodeID]timeline.Nanos{},
		members: map[NodeID][]NodeID{}, sizes: map[NodeID]int{}, mainPIDs: map[string]int64{},
	}
	for id, name := range builtIn {
		if id > 0 {
			c.ByType[name] = TypeID(id)
		}
	}
	return c
}

// addState adds a state of an object and returns its id, or 0 if there are too many.
func (c *Catalogue) addState(s Snapshot) SnapshotID {
	if s.Node == 0 {
		return 0 // counted when the node was dropped
	}
	if len(c.Snapshots) >= c.Limits.Of(maxSnapshots) {
		c.droppedStates++
		return 0
	}
	c.Snapshots = append(c.Snapshots, s)
	return SnapshotID(len(c.Snapshots) - 1)
}

// refer adds a reference from a snapshot.
func (c *Catalogue) refer(from SnapshotID, to reference, sibling bool) {
	if from == 0 {
		return
	}
	if len(c.links) >= c.Limits.Of(maxSnapshots) {
		c.droppedStates++
		return
	}
	to.Scope, to.Id = c.Keep([]byte(to.Scope)), c.Keep([]byte(to.Id))
	c.links = append(c.links, link{from, to, sibling})
}

// Finish orders the states of all objects (attribution.md, rule 3): N and D events separate the lives of an object. If a life has
// no N event, its first snapshot also applies to the time before that snapshot.
func (c *Catalogue) Finish() {
	order := make([]SnapshotID, 0, len(c.Snapshots)-1)
	for id := range c.Snapshots[1:] {
		order = append(order, SnapshotID(id+1))
	}
	slices.SortFunc(order, func(a, b SnapshotID) int {
		x, y := &c.Snapshots[a], &c.Snapshots[b]
		return cmp.Or(cmp.Compare(x.Node, y.Node), cmp.Compare(x.TS, y.TS), cmp.Compare(x.Event, y.Event), cmp.Compare(a, b))
	})
	c.States, c.last = make([][]state, len(c.Nodes)), make([]SnapshotID, len(c.Nodes))
	for len(order) > 0 {
		node := c.Snapshots[order[0]].Node
		n := 1
		for n < len(order) && c.Snapshots[order[n]].Node == node {
			n++
		}
		c.States[node] = c.objectStates(order[:n])
		c.last[node] = lastKnown(c.States[node])
		order = order[n:]
	}
}

// lives returns the states of an identity whose events all have the same class.
func (c *Catalogue) lives(changes []SnapshotID) []state {
	var out []state
	alive := false
	before := timeline.Nanos(math.MinInt64) // the end of the previous life
	for _, id := range changes {
		s := &c.Snapshots[id]
		switch s.change {
		case created:
			alive = true
			out = append(out, state{s.TS, 0})
		case deleted:
			alive, before = false, s.TS
			out = append(out, state{s.TS, 0})
		default:
			from := s.TS
			if !alive {
				from, alive = before, true
			}
			out = append(out, state{from, id})
		}
	}
	return out
}

// At returns the snapshot of an object that is valid at ts, or 0 if there is none. At LastTime it returns the latest
// snapshot, even if the object was deleted.
func (c *Catalogue) At(node NodeID, ts timeline.Nanos) SnapshotID {
	if int(node) >= len(c.States) {
		return 0
	}
	states := c.States[node]
	if ts == LastTime {
		return c.last[node]
	}
	i, _ := slices.BinarySearchFunc(states, ts, func(s state, ts timeline.Nanos) int {
		if s.From <= ts {
			return -1
		}
		return 1
	})
	if i == 0 {
		return 0
	}
	return states[i-1].Snapshot
}

// lastKnown returns the last valid snapshot, or 0 if there was none.
func lastKnown(states []state) SnapshotID {
	for _, s := range slices.Backward(states) {
		if s.Snapshot != 0 {
			return s.Snapshot
		}
	}
	return 0
}

// markContexts marks objects with a url or references as contexts; explicitEvents marks objects that were entered, and
// build marks objects that are referenced. Old Chrome traces contain many other objects.
func (c *Catalogue) markContexts() {
	for i := range c.Snapshots[1:] {
		if s := &c.Snapshots[i+1]; s.Url != "" {
			c.Nodes[s.Node].Context = true
		}
	}
	for _, l := range c.links {
		c.Nodes[c.Snapshots[l.from].Node].Context = true
	}
}

// findEpochs collects the times at which the state of any context changes. Between two successive times every context has one
// snapshot and one parent.
func (c *Catalogue) findEpochs() {
	for node, states := range c.States {
		if !c.Nodes[node].Context {
			continue
		}
		for _, s := range states {
			c.epochs = append(c.epochs, s.From)
		}
	}
	slices.Sort(c.epochs)
	c.epochs = slices.Compact(c.epochs)
}

// resolve returns the object that a reference names, or false if the object is unknown or has no states.
func (c *Catalogue) resolve(r *reference) (NodeID, bool) {
	pid := r.process
	if pid == mainProcess {
		main, known := c.mainPIDs[r.IDSpace]
		if !known {
			return 0, false
		}
		pid = main
	}
	n, ok := NodeID(0), false
	if pid != Global {
		n, ok = c.Find(r.Scope, r.Id, pid)
	}
	if !ok {
		n, ok = c.Find(r.Scope, string(appendGlobal(nil, []byte(r.Id), r.IDSpace)), Global)
	}
	if !ok || int(n) >= len(c.States) {
		return 0, false
	}
	return n, len(c.States[n]) > 0
}

// classify sets the class of contexts that have only creation and deletion events.
func (c *Catalogue) classify() {
	for i := range c.Snapshots[1:] {
		s := &c.Snapshots[i+1]
		if c.Nodes[s.Node].Context && c.classes[s.Node] == "" && c.At(s.Node, LastTime) == 0 {
			c.classes[s.Node] = s.Class
		}
	}
}

// Url returns the url of a logical node at ts: the url of its first member that has a url, starting with the representative.
func (c *Catalogue) Url(logical NodeID, ts timeline.Nanos) string {
	for _, m := range c.MembersOf(logical) {
		if s := c.At(m, ts); s != 0 && c.Snapshots[s].Url != "" {
			return c.Snapshots[s].Url
		}
	}
	return ""
}

// Pid returns the pid of a frame's process at ts, or false if it is unknown.
func (c *Catalogue) Pid(logical NodeID, ts timeline.Nanos) (int64, bool) {
	s := c.At(logical, ts)
	if s == 0 || !c.Nodes[logical].IsFrame {
		return 0, false
	}
	if pid := c.Snapshots[s].Pid; pid != 0 && pid != Global {
		return pid, true
	}
	return 0, false
}

// Class returns the class of a logical node; like Url, it searches the members.
func (c *Catalogue) Class(logical NodeID, ts timeline.Nanos) string {
	class, _ := c.classified(logical, ts)
	return class
}

// classified returns the class of a logical node and the member that has it.
func (c *Catalogue) classified(logical NodeID, ts timeline.Nanos) (class string, member NodeID) {
	for _, m := range c.MembersOf(logical) {
		if s := c.At(m, ts); s != 0 && c.Snapshots[s].Class != "" {
			return c.Snapshots[s].Class, m
		}
	}
	return c.classes[logical], logical
}

// scopeWords are prefixes for the numeric ids of contexts without a class.
var scopeWords = map[string]string{ScopeIsolate: "isolate", scopeGraphics: "frame", scopeTab: "tab", ScopeWindow: "window"}

// Label returns the name of a context: its url, otherwise its class and id, otherwise the name from contextNames, otherwise
// its id (attribution.md, What is written).
func (c *Catalogue) Label(node NodeID, ts timeline.Nanos) string {
	n := &c.Nodes[node]
	if n.Scope == scopeScript {
		return n.ID
	}
	logical := c.LogicalOf(node)
	if url := c.Url(logical, ts); url != "" {
		return url
	}
	if class, member := c.classified(logical, ts); class != "" {
		if at, ok := c.InputTimes[node]; ok {
			return class + " @" + strconv.FormatInt(int64(at/1e6), 10) + " ms"
		}
		return class + " " + c.Nodes[member].ID
	}
	return c.nameOfID(node)
}

// nameOfID returns the name of a context with neither a url nor a class.
func (c *Catalogue) nameOfID(node NodeID) string {
	n := &c.Nodes[node]
	if name := c.names[node]; name != "" {
		return name
	}
	if n.Scope == ScopeFrame && n.IsFrame {
		return shortFrame(n.ID)
	}
	if word := scopeWords[n.Scope]; word != "" {
		return word + " " + n.ID
	}
	return n.ID
}

// sameText reports whether two nodes have the same scope and id: enter and leave events match by scope and id alone.
func (c *Catalogue) sameText(a, b NodeID) bool { return c.Nodes[a].text == c.Nodes[b].text }

// LabelOf returns the name of a context in the given state: its url, otherwise its Label. If the context has states but
// snapshot is 0, the name uses neither url nor class (attribution.md, rule 3).
func (c *Catalogue) LabelOf(node NodeID, snapshot SnapshotID) string {
	if snapshot == 0 {
		if int(node) < len(c.States) && lastKnown(c.States[node]) != 0 {
			return c.nameOfID(node)
		}
		return c.Label(node, LastTime)
	}
	if url := c.Snapshots[snapshot].Url; url != "" {
		return url
	}
	return c.Label(node, c.Snapshots[snapshot].TS)
}

// LastTime is later than everything in a trace. For this time, the catalogue returns the latest known state.
const LastTime timeline.Nanos = 1<<63 - 1
