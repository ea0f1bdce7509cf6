package attribution

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/suggest"
)

// TypeID identifies a type of contexts, in the order of first use. The built-in types have fixed numbers.
type TypeID uint16

// The built-in types (attribution.md, The types). All others are made by explicit events.
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
	ScopeOrigin      = "origin" // the page of a self-profile, by its origin
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

// The ways, see attribution.md, The model.
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
	return 0, suggest.Unknown("source", name, viaNames[1:])
}

// Global is the process of contexts that belong to no process.
const Global int64 = -1 << 63

// Identity tells contexts apart: two with one identity are one. The type is no part of it: an object can be a context
// of several types (attribution.md, The model).
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

// node is a context or object.
type node struct {
	Identity
	text    NodeID // the first node with this scope and id, whatever its process is
	context bool   // it was a context somewhere, or is part of the tree of such
	isFrame bool   // a frame of a document: implicit, no isolate
}

// Limits of what is kept of a trace in memory, see limits. A recording of 190 MB fills 4 % of them.
const (
	maxNodes     = 1 << 18
	maxTypes     = 1 << 7   // at most one of each is in effect, so a set has no more
	maxIDText    = 4096     // bytes of an id or url; longer ones are cut
	maxTableSize = 64 << 20 // bytes of nodes and texts

	nodeSize = 176 // bytes that a node takes beside its id, with its places in tables and in the tree
	textSize = 64  // bytes that a text takes beside itself
)

// table holds the types, nodes and texts of a trace.
type table struct {
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
}

func newTable(most limits) *table {
	t := &table{most: most, types: slices.Clone(builtIn[:]), byType: map[string]TypeID{}, nodes: make([]node, 1), strings: map[string]string{}}
	for id, name := range builtIn {
		if id > 0 {
			t.byType[name] = TypeID(id)
		}
	}
	return t
}

// hasRoom reports whether size bytes more may be taken, and counts what may not.
func (t *table) hasRoom(size int) bool {
	if t.size+size > t.most.table {
		t.dropped++
		return false
	}
	t.size += size
	return true
}

// mayGrow reports whether one more may be added to n values of which there are at most some, and counts what may not.
func (t *table) mayGrow(n, most int) bool {
	if n >= most {
		t.dropped++
		return false
	}
	return true
}

// keep returns a copy of a text that is shared by all that are equal; "" if there is no room.
func (t *table) keep(text []byte) string {
	if len(text) > maxIDText {
		text = text[:maxIDText]
	}
	if s, ok := t.strings[string(text)]; ok {
		return s
	}
	if len(text) == 0 || !t.hasRoom(len(text)+textSize) {
		return ""
	}
	s := strings.Clone(string(text))
	t.strings[s] = s
	return s
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
	t.key = append(append(t.key[:0], scope...), id...)
	text := len(t.key)
	t.key = binary.LittleEndian.AppendUint64(t.key, uint64(process))
	hash := t.byID.hash(t.key)
	if n := t.byID.find(hash, func(n uint32) bool { return t.nodes[n].is(scope, id, process) }); n != 0 {
		return NodeID(n)
	}
	if len(t.nodes) >= t.most.nodes || !t.hasRoom(len(id)+nodeSize) {
		t.dropped++
		return 0
	}
	kept := t.keep([]byte(scope))
	if kept != scope {
		return 0 // too long, or there is no room
	}
	n := NodeID(len(t.nodes))
	t.nodes = append(t.nodes, node{Identity: Identity{kept, string(id), process}})
	t.byID.add(hash, uint32(n))

	hash = t.byText.hash(t.key[:text])
	first := t.byText.find(hash, func(f uint32) bool { return t.nodes[f].Scope == scope && t.nodes[f].ID == string(id) })
	if first == 0 {
		first = uint32(n)
		t.byText.add(hash, first)
	}
	t.nodes[n].text = NodeID(first)
	return n
}

// is reports whether a node has an identity.
func (n *node) is(scope string, id []byte, process int64) bool {
	return n.Process == process && n.ID == string(id) && n.Scope == scope
}

// find returns a node that is there already.
func (t *table) find(scope, id string, process int64) (NodeID, bool) {
	t.key = append(append(t.key[:0], scope...), id...)
	t.key = binary.LittleEndian.AppendUint64(t.key, uint64(process))
	n := t.byID.find(t.byID.hash(t.key), func(n uint32) bool {
		return t.nodes[n].Process == process && t.nodes[n].ID == id && t.nodes[n].Scope == scope
	})
	return NodeID(n), n != 0
}
