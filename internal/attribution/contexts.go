package attribution

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/suggest"
	"github.com/weft-trace/weft/internal/timeline"
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

	NumBuiltIn
)

var builtIn = [NumBuiltIn]string{
	TypeFrame: "Frame", TypeTrigger: "Trigger", TypeScript: "Script", TypeInputEvent: "InputEvent",
	TypeGraphicsFrame: "GraphicsFrame", TypeTab: "Tab",
}

// Scopes of the built-in types. Scopes keep apart ids that different producers make.
const (
	ScopeFrame       = "frame"
	ScopeWindow      = "window" // Firefox: innerWindowID
	scopeOrigin      = "origin" // the page of a self-profile, by its origin
	ScopeIsolate     = "isolate"
	scopeScript      = "script"
	ScopeLatency     = "latency"     // trace ids of input events
	scopeEventTiming = "eventtiming" // input events of which only the EventTiming is known
	scopeDOMEvent    = "domevent"    // Firefox: input events, by the microsecond in which they happened
	scopeGraphics    = "graphics"
	scopeTab         = "tab"
	scopeRequest     = "request" // OpenTelemetry: requests of one kind, by service and route

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
	viaRequest                    // the context of the network request that is handled
	ViaIsolate                    // garbage collection, which works for the isolate
	ViaDescendants                // named by what the slice consists of

	NumVia
)

var ViaNames = [NumVia]string{
	ViaExplicit: "explicit", ViaArgs: "args", ViaAsync: "async", ViaFlow: "flow", viaRequest: "request",
	ViaIsolate: "isolate", ViaDescendants: "descendants",
}

// String returns "explicit", "args", "async", "flow", "request", "isolate" or "descendants".
func (v Via) String() string {
	if int(v) < len(ViaNames) {
		return ViaNames[v]
	}
	return "via(" + strconv.Itoa(int(v)) + ")"
}

// SourceNames returns the names of all ways, in the order of their numbers.
func SourceNames() []string { return slices.Clone(ViaNames[1:]) }

// ParseSource is the inverse of Via.String.
func ParseSource(name string) (Via, error) {
	if i := slices.Index(ViaNames[:], name); i > 0 {
		return Via(i), nil
	}
	return 0, suggest.Unknown("source", name, ViaNames[1:])
}

// Global is the process of contexts that belong to no process.
const Global int64 = -1 << 63

// appendGlobal appends the id of a context that belongs to no process. Each input of a merged trace has its own such ids, so ids in
// an id space with a name carry that name as well: "7@second".
func appendGlobal(b, id []byte, idSpace string) []byte {
	if idSpace == "" {
		return append(b, id...)
	}
	b = append(b, id[:min(len(id), max(maxIDText-1-len(idSpace), 0))]...)
	return append(append(b, '@'), idSpace...)
}

// Identity tells contexts apart: two with one identity are one. The type is not part of it: an object can be a context
// of several types (attribution.md, The model).
type Identity struct {
	Scope   string
	ID      string // as written in the input, or as AppendGlobal has it; 0x1 and 1 differ
	Process int64  // pid, or Global
}

// String returns scope/id, with @pid after it if the context is local to a process.
func (i Identity) String() string {
	s := i.Scope + "/" + i.ID
	if i.Process != Global {
		s += "@" + strconv.FormatInt(i.Process, 10)
	}
	return s
}

// NodeID identifies a context, or an object that may be one; 0 means no context.
type NodeID uint32

// Node is a context or object.
type Node struct {
	Identity
	text    NodeID // the first node with this scope and id, whatever its process is
	Context bool   // it was a context somewhere, or is part of the tree of such
	IsFrame bool   // a frame of a document: implicit, no isolate
}

// Limits of what is kept of a trace in memory, see limits. A recording of 190 MB fills 4 % of them.
const (
	MaxNodes     = 1 << 18
	MaxTypes     = 1 << 7   // at most one of each is in effect, so a set has no more
	maxIDText    = 4096     // bytes of an id or url; longer ones are truncated
	MaxTableSize = 64 << 20 // bytes of nodes and texts

	nodeSize = 176 // bytes that a node takes beside its id, with its places in tables and in the tree
	textSize = 64  // bytes that a text takes beside itself
)

// hasRoom reports whether size bytes more may be taken, and counts what may not.
func (c *Catalogue) hasRoom(size int) bool {
	if c.Size+size > c.Room.Of(MaxTableSize) {
		c.dropped++
		return false
	}
	c.Size += size
	return true
}

// mayGrow reports whether one more may be added to n values of which there are at most some, and counts what may not.
func (c *Catalogue) mayGrow(n, most int) bool {
	if n >= most {
		c.dropped++
		return false
	}
	return true
}

// Keep returns a copy of a text that is shared by all that are equal; "" if there is no room.
func (c *Catalogue) Keep(text []byte) string {
	if len(text) > maxIDText {
		text = text[:maxIDText]
	}
	if s, ok := c.strings[string(text)]; ok {
		return s
	}
	if len(text) == 0 || !c.hasRoom(len(text)+textSize) {
		return ""
	}
	s := strings.Clone(string(text))
	c.strings[s] = s
	return s
}

// TypeOf returns the id of a type; 0 if there are too many.
func (c *Catalogue) TypeOf(name []byte) TypeID {
	if id, ok := c.ByType[string(name)]; ok {
		return id
	}
	if len(c.Types) >= MaxTypes {
		c.dropped++
		return 0
	}
	id := TypeID(len(c.Types))
	text := strings.Clone(string(name))
	c.Types = append(c.Types, text)
	c.ByType[text] = id
	return id
}

// nodeOf returns the id of a context; 0 if there are too many.
func (c *Catalogue) nodeOf(scope string, id []byte, process int64) NodeID {
	if len(id) > maxIDText {
		id = id[:maxIDText]
	}
	c.key = append(append(c.key[:0], scope...), id...)
	text := len(c.key)
	c.key = binary.LittleEndian.AppendUint64(c.key, uint64(process))
	hash := c.byID.Hash(c.key)
	if n := c.byID.Find(hash, func(n uint32) bool { return c.Nodes[n].is(scope, id, process) }); n != 0 {
		return NodeID(n)
	}
	if len(c.Nodes) >= c.Room.Of(MaxNodes) || !c.hasRoom(len(id)+nodeSize) {
		c.dropped++
		return 0
	}
	kept := c.Keep([]byte(scope))
	if kept != scope {
		return 0 // too long, or there is no room
	}
	n := NodeID(len(c.Nodes))
	c.Nodes = append(c.Nodes, Node{Identity: Identity{kept, string(id), process}})
	c.byID.Add(hash, uint32(n))

	hash = c.byText.Hash(c.key[:text])
	first := c.byText.Find(hash, func(f uint32) bool { return c.Nodes[f].Scope == scope && c.Nodes[f].ID == string(id) })
	if first == 0 {
		first = uint32(n)
		c.byText.Add(hash, first)
	}
	c.Nodes[n].text = NodeID(first)
	return n
}

// is reports whether a node has an identity.
func (n *Node) is(scope string, id []byte, process int64) bool {
	return n.Process == process && n.ID == string(id) && n.Scope == scope
}

// Find returns a node that is there already.
func (c *Catalogue) Find(scope, id string, process int64) (NodeID, bool) {
	c.key = append(append(c.key[:0], scope...), id...)
	c.key = binary.LittleEndian.AppendUint64(c.key, uint64(process))
	n := c.byID.Find(c.byID.Hash(c.key), func(n uint32) bool {
		return c.Nodes[n].Process == process && c.Nodes[n].ID == id && c.Nodes[n].Scope == scope
	})
	return NodeID(n), n != 0
}

func (t *TypeSet) Add(typ TypeID) { t[typ>>6] |= 1 << (typ & 63) }

func (t *TypeSet) Has(typ TypeID) bool { return t[typ>>6]>>(typ&63)&1 != 0 }

// minus returns the types that are not in another set.
func (t *TypeSet) minus(o *TypeSet) (out TypeSet) {
	for i := range t {
		out[i] = t[i] &^ o[i]
	}
	return out
}

// Add returns a + b, or the nearest time that there is.
func Add(a, b timeline.Nanos) timeline.Nanos {
	switch s := a + b; {
	case a > 0 && b > 0 && s < 0:
		return math.MaxInt64
	case a < 0 && b < 0 && s >= 0:
		return math.MinInt64
	default:
		return s
	}
}

// TypeSet is a set of types.
type TypeSet [MaxTypes / 64]uint64
