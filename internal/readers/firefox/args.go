package firefox

import "github.com/weft-trace/weft/internal/timeline"

// argKey identifies an argument that weft adds, mostly in the weft dictionary. Because it is a number, events need no
// map lookup.
type argKey uint8

const (
	keyMarker argKey = iota
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
	numArgKeys
)

var argKeys = [numArgKeys]string{
	keyMarker: "marker", keyCategory: "category",
	keyCauseTime: "cause_time", keyIncomplete: "incomplete", keyTab: "tab", keyTopWindow: "top_window", keySamples: "samples", keyThreadID: "thread_id",
	keyIPC: "ipc", keyTransferStart: "transfer_start", keyTransferEnd: "transfer_end", keyArrived: "arrived",
	keyWindow: "innerWindowID", keyFetchStart: "fetchStart", keyFile: "file", keyLine: "line", keyColumn: "column",
	keySize: "size", keyClassName: "className", keyTypeName: "typeName", keyCoarseType: "coarseType",
}

// beginArgs starts the arguments of an event that is not a marker.
func (c *converter) beginArgs() {
	c.enc.Reset()
	c.payload.inWeft = false
}

// wants reports whether the argument filter keeps an argument.
func (c *converter) wants(k argKey) bool { return c.opts.Args.KeepsText(argKeys[k]) }

// key adds the key of the next argument.
func (c *converter) key(k argKey) {
	if id := c.argIDs[k]; id != 0 {
		c.enc.KeyWithID(id)
		return
	}
	c.enc.Key([]byte(argKeys[k]))
	c.argIDs[k] = c.enc.KeyID()
}

// weftKey adds the key of the next value in the weft dictionary, which it opens if necessary.
func (c *converter) weftKey(k argKey) {
	if !c.payload.inWeft {
		c.payload.inWeft = true
		c.enc.OwnKey([]byte(timeline.OwnArgs))
		c.enc.BeginDict()
	}
	c.key(k)
}

// closeWeft closes the weft dictionary if it is open.
func (c *converter) closeWeft() {
	if c.payload.inWeft {
		c.payload.inWeft = false
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
