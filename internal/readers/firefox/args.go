package firefox

import "github.com/weft-trace/weft/internal/timeline"

// ownKey is an argument name that weft adds, mostly in the dictionary weft. It is a number to avoid a lookup for every
// event.
type ownKey uint8

const (
	keyMarker ownKey = iota
	keyCategory
	keyCauseTime
	keyIncomplete
	keyTab
	keyTopWindow
	keySamples
	keyThreadID
	keyIPC
	keyTransferStart
	keyTransferEnd
	keyArrived

	// Names that Firefox also uses.
	keyWindow
	keyFetchStart
	keyFile
	keyLine
	keyColumn
	keySize
	keyClassName
	keyTypeName
	keyCoarseType
	numOwnKeys
)

var ownKeys = [numOwnKeys]string{
	keyMarker: "marker", keyCategory: "category",
	keyCauseTime: "cause_time", keyIncomplete: "incomplete", keyTab: "tab", keyTopWindow: "top_window", keySamples: "samples", keyThreadID: "thread_id",
	keyIPC: "ipc", keyTransferStart: "transfer_start", keyTransferEnd: "transfer_end", keyArrived: "arrived",
	keyWindow: "innerWindowID", keyFetchStart: "fetchStart", keyFile: "file", keyLine: "line", keyColumn: "column",
	keySize: "size", keyClassName: "className", keyTypeName: "typeName", keyCoarseType: "coarseType",
}

// beginArgs starts the arguments of an event that is not a marker.
func (c *converter) beginArgs() {
	c.enc.Reset()
	c.payload.own = false
}

// wants reports whether the argument filter keeps an argument.
func (c *converter) wants(k ownKey) bool { return c.opts.Args.KeepsText(ownKeys[k]) }

// key names the next value of the arguments.
func (c *converter) key(k ownKey) {
	if id := c.ownIDs[k]; id != 0 {
		c.enc.KeyWithID(id)
		return
	}
	c.enc.Key([]byte(ownKeys[k]))
	c.ownIDs[k] = c.enc.KeyID()
}

// ownKey names the next value in the dictionary weft, and opens the dictionary if necessary.
func (c *converter) ownKey(k ownKey) {
	if !c.payload.own {
		c.payload.own = true
		c.enc.OwnKey([]byte(timeline.OwnArgs))
		c.enc.BeginDict()
	}
	c.key(k)
}

// closeOwn closes the dictionary.
func (c *converter) closeOwn() {
	if c.payload.own {
		c.payload.own = false
		c.enc.EndDict()
	}
}

// encodeNumber encodes a number, as an integer if it is one.
func (c *converter) encodeNumber(v float64) {
	if n := number(v); n.IsInt() {
		c.enc.Int(n.Int())
		return
	}
	c.enc.Double(v)
}
