package attribution

import (
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/words"
)

// TypeID identifies a context type. The built-in types have fixed numbers; others are numbered in order of first use.
type TypeID uint16

// The built-in types (attribution.md, The types). Explicit events define all others.
const (
	TypeFrame         TypeID = iota + 1 // the frame or window of a document, or the isolate that collects the document's garbage
	TypeTrigger                         // the frame whose work triggered a garbage collection
	TypeScript                          // a script, identified by its url
	TypeInputEvent                      // an input event, from its arrival to the resulting pixels
	TypeGraphicsFrame                   // an animation frame
	TypeTab                             // a browser tab

	NumBuiltIn
)

var builtIn = [NumBuiltIn]string{
	TypeFrame: "Frame", TypeTrigger: "Trigger", TypeScript: "Script", TypeInputEvent: "InputEvent",
	TypeGraphicsFrame: "GraphicsFrame", TypeTab: "Tab",
}

// Scopes of the built-in types. Scopes separate the ids of different producers.
const (
	ScopeFrame       = "frame"
	ScopeWindow      = "window" // Firefox: innerWindowID
	scopeOrigin      = "origin" // the page of a self-profile, by its origin
	ScopeIsolate     = "isolate"
	scopeScript      = "script"
	ScopeLatency     = "latency"     // trace ids of input events
	scopeEventTiming = "eventtiming" // input events identified only by their EventTiming
	scopeDOMEvent    = "domevent"    // Firefox: input events, by their time in microseconds
	scopeGraphics    = "graphics"
	scopeTab         = "tab"
	scopeRequest     = "request" // OpenTelemetry: requests of one kind, by service and route

	scopePointer = "ptr" // objects without scope
)

// Via is the source of the association between a context and a piece of work.
type Via uint8

// The sources, see attribution.md, The model.
const (
	ViaExplicit    Via = iota + 1 // entered by an event of the input
	ViaArgs                       // named by an argument of the slice or an enclosing one
	ViaAsync                      // in effect where the asynchronous slice started
	ViaFlow                       // propagated along a flow
	viaRequest                    // taken from the network request that the work handles
	ViaIsolate                    // the isolate of a garbage collection
	ViaDescendants                // named by inner slices

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

// SourceNames returns the names of all sources, in numeric order.
func SourceNames() []string { return slices.Clone(ViaNames[1:]) }

// ParseSource is the inverse of Via.String.
func ParseSource(name string) (Via, error) {
	if i := slices.Index(ViaNames[:], name); i > 0 {
		return Via(i), nil
	}
	return 0, words.Unknown("source", name, ViaNames[1:])
}

// Global is the Process of contexts that belong to no process.
const Global int64 = -1 << 63

// appendGlobal appends the id of a context that belongs to no process. Inputs of a merged trace may use the same id for
// different contexts, so the id includes the name of its id space: "7@second".
func appendGlobal(b, id []byte, idSpace string) []byte {
	if idSpace == "" {
		return append(b, id...)
	}
	b = append(b, id[:min(len(id), max(maxIDText-1-len(idSpace), 0))]...)
	return append(append(b, '@'), idSpace...)
}

// Identity identifies a context. The type is not part of it: an object can be a context of several types
// (attribution.md, The model).
type Identity struct {
	Scope   string
	ID      string // as in the input, or from appendGlobal; 0x1 and 1 differ
	Process int64  // pid, or Global
}

// String returns scope/id, followed by @pid if the context is local to a process.
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
	text    NodeID // the first node with this scope and id, in any process
	Context bool   // used as a context, or part of a context tree
	IsFrame bool   // a frame of a document; not an isolate
}

// Limits of the in-memory tables, scaled by Limits. A 190 MB recording fills 4 % of them.
const (
	MaxNodes     = 1 << 18
	MaxTypes     = 1 << 7   // also bounds the size of a set, which has at most one context of each type
	maxIDText    = 4096     // bytes of an id or url; longer ones are truncated
	MaxTableSize = 64 << 20 // bytes of nodes and texts

	nodeSize = 176 // bytes of a node without its id, including table entries and the tree
	textSize = 64  // overhead of a text in bytes
)

// reserve reserves size more bytes if they fit within the limit; otherwise it returns false and counts the loss.
func (c *Catalogue) reserve(size int) bool {
	if c.Size+size > c.Limits.Of(MaxTableSize) {
		c.dropped++
		return false
	}
	c.Size += size
	return true
}

// mayGrow reports whether a table of n values is below its limit; otherwise it counts the loss.
func (c *Catalogue) mayGrow(n, limit int) bool {
	if n >= limit {
		c.dropped++
		return false
	}
	return true
}

// Keep interns a text, truncated to maxIDText bytes, and returns the interned text. It returns "" if the text does not fit within
// the memory limit.
func (c *Catalogue) Keep(text []byte) string {
	text = text[:min(len(text), maxIDText)]
	if s, ok := c.strings[string(text)]; ok {
		return s
	}
	if len(text) == 0 || !c.reserve(len(text)+textSize) {
		return ""
	}
	s := strings.Clone(string(text))
	c.strings[s] = s
	return s
}

// TypeOf returns the id of a type, or 0 if there are too many.
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

// nodeOf returns the id of a context, or 0 if there are too many.
func (c *Catalogue) nodeOf(scope string, id []byte, process int64) NodeID {
	id = id[:min(len(id), maxIDText)]
	c.key = append(append(c.key[:0], scope...), id...)
	text := len(c.key)
	c.key = binary.LittleEndian.AppendUint64(c.key, uint64(process))
	hash := c.byID.Hash(c.key)
	if n := c.byID.Find(hash, func(n uint32) bool { return c.Nodes[n].is(scope, id, process) }); n != 0 {
		return NodeID(n)
	}
	if len(c.Nodes) >= c.Limits.Of(MaxNodes) || !c.reserve(len(id)+nodeSize) {
		c.dropped++
		return 0
	}
	kept := c.Keep([]byte(scope))
	if kept != scope {
		return 0 // truncated, or beyond the memory limit
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

// is reports whether a node has the given identity.
func (n *Node) is(scope string, id []byte, process int64) bool {
	return n.Process == process && n.ID == string(id) && n.Scope == scope
}

// Find returns the node with an identity, or false if there is none.
func (c *Catalogue) Find(scope, id string, process int64) (NodeID, bool) {
	c.key = append(append(c.key[:0], scope...), id...)
	c.key = binary.LittleEndian.AppendUint64(c.key, uint64(process))
	n := c.byID.Find(c.byID.Hash(c.key), func(n uint32) bool { return c.Nodes[n].Identity == Identity{scope, id, process} })
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

// Add returns a + b, or the nearest representable time.
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
