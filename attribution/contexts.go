package attribution

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// TypeID identifies a type of contexts, in the order of first use. The built-in types have fixed numbers.
type TypeID uint16

// The built-in types (spec contexts.md 8). All others are made by explicit events.
const (
	TypeFrame         TypeID = iota + 1 // the frame or window of a document, or the isolate that collects its garbage
	TypeTrigger                         // the frame whose work provoked a garbage collection
	TypeScript                          // the script by its url
	TypeInputEvent                      // an input event, from its arrival to the pixels
	TypeGraphicsFrame                   // one frame of an animation
	TypeTab                             // a tab, where the format says so

	numBuiltIn
)

var builtIn = [numBuiltIn]string{
	TypeFrame: "Frame", TypeTrigger: "Trigger", TypeScript: "Script", TypeInputEvent: "InputEvent",
	TypeGraphicsFrame: "GraphicsFrame", TypeTab: "Tab",
}

// Scopes of the built-in types. Scopes keep apart ids that different producers make.
const (
	ScopeFrame       = "frame"
	ScopeWindow      = "window" // Firefox: innerWindowID
	ScopeIsolate     = "isolate"
	ScopeScript      = "script"
	ScopeLatency     = "latency"     // trace ids of input events
	ScopeEventTiming = "eventtiming" // input events of which only the EventTiming is known
	ScopeDOMEvent    = "domevent"    // Firefox: input events, by the microsecond in which they happened
	ScopeGraphics    = "graphics"
	ScopeTab         = "tab"

	scopePointer = "ptr" // of objects without scope
)

// Via says how a context came to a piece of work.
type Via uint8

// The ways, see spec contexts.md 2.
const (
	ViaExplicit    Via = iota + 1 // entered by an event of the input
	ViaArgs                       // named by an argument of the slice, or of one that encloses it
	ViaAsync                      // in effect where the asynchronous slice began
	ViaFlow                       // brought by a flow
	ViaRequest                    // that of the network request that is handled
	ViaIsolate                    // garbage collection, which works for the isolate
	ViaDescendants                // named by what the slice consists of

	numVia
)

var viaNames = [numVia]string{
	ViaExplicit: "explicit", ViaArgs: "args", ViaAsync: "async", ViaFlow: "flow", ViaRequest: "request",
	ViaIsolate: "isolate", ViaDescendants: "descendants",
}

// String returns "explicit", "args", "async", "flow", "request", "isolate" or "descendants".
func (v Via) String() string {
	if int(v) < len(viaNames) {
		return viaNames[v]
	}
	return "via(" + strconv.Itoa(int(v)) + ")"
}

// SourceNames returns the names of all ways, in the order of their numbers.
func SourceNames() []string { return slices.Clone(viaNames[1:]) }

// ParseSource is the inverse of Via.String.
func ParseSource(name string) (Via, error) {
	if i := slices.Index(viaNames[:], name); i > 0 {
		return Via(i), nil
	}
	return 0, fmt.Errorf("unknown source %q; use %s", name, strings.Join(viaNames[1:], ", "))
}

// Global is the process of contexts that belong to no process.
const Global int64 = -1 << 63

// Identity tells contexts apart: two with one identity are one. The type is no part of it: an object can be a context
// of several types (spec contexts.md 3).
type Identity struct {
	Scope   string
	ID      string // as written in the input; 0x1 and 1 differ
	Process int64  // pid, or Global
}

// String returns scope/id, with @pid behind it if the context is local to a process.
func (i Identity) String() string {
	s := i.Scope + "/" + i.ID
	if i.Process != Global {
		s += "@" + strconv.FormatInt(i.Process, 10)
	}
	return s
}

// NodeID identifies a context, or an object that may be one; 0 is none.
type NodeID uint32

// textID identifies scope and id of a node, without its process.
type textID uint32

// node is a context or object.
type node struct {
	Identity
	text    textID
	context bool // it was a context somewhere, or is part of the tree of such
	isFrame bool // a frame of a document: implicit, no isolate
}

// Limits of what is kept of a trace in memory. Real traces have a few thousand nodes at most.
const (
	maxNodes  = 1 << 20
	maxTypes  = 1 << 7 // at most one of each is in effect, so a set has no more
	maxIDText = 4096   // bytes of an id or url; longer ones are cut
)

// table holds the types and nodes of a trace.
type table struct {
	types   []string // by TypeID
	byType  map[string]TypeID
	nodes   []node // by NodeID; nodes[0] is none
	byID    map[Identity]NodeID
	texts   map[[2]string]textID
	dropped uint64 // nodes that had no room
}

func newTable() *table {
	t := &table{
		types: slices.Clone(builtIn[:]), byType: map[string]TypeID{},
		nodes: make([]node, 1), byID: map[Identity]NodeID{}, texts: map[[2]string]textID{},
	}
	for id, name := range builtIn {
		if id > 0 {
			t.byType[name] = TypeID(id)
		}
	}
	return t
}

// typeOf returns the id of a type; 0 if there are too many.
func (t *table) typeOf(name []byte) TypeID {
	if id, ok := t.byType[string(name)]; ok {
		return id
	}
	if len(t.types) >= maxTypes {
		t.dropped++
		return 0
	}
	id := TypeID(len(t.types))
	text := strings.Clone(string(name))
	t.types = append(t.types, text)
	t.byType[text] = id
	return id
}

// node returns the id of a context; 0 if there are too many.
func (t *table) node(scope string, id []byte, process int64) NodeID {
	if len(id) > maxIDText {
		id = id[:maxIDText]
	}
	if n, ok := t.byID[Identity{scope, string(id), process}]; ok { // makes no copy of id
		return n
	}
	if len(t.nodes) >= maxNodes {
		t.dropped++
		return 0
	}
	key := Identity{strings.Clone(scope), string(id), process}
	text, ok := t.texts[[2]string{key.Scope, key.ID}]
	if !ok {
		text = textID(len(t.texts) + 1)
		t.texts[[2]string{key.Scope, key.ID}] = text
	}
	n := NodeID(len(t.nodes))
	t.nodes = append(t.nodes, node{Identity: key, text: text})
	t.byID[key] = n
	return n
}

// find returns a node that is there already.
func (t *table) find(scope, id string, process int64) (NodeID, bool) {
	n, ok := t.byID[Identity{scope, id, process}]
	return n, ok
}
