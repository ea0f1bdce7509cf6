package eventstream

import (
	"bytes"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/schema/weftv1"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// Encoder appends events of one timeline as Records. It is not safe for concurrent use.
type Encoder struct {
	// Truncated counts the events that were truncated to MaxRecord.
	Truncated uint64

	tl         *timeline.Timeline
	event      []byte
	record     []byte
	names      []validity                  // by NameID
	categories [][]byte                    // by CategoryID: Event.categories, nil: not encoded yet
	frames     map[timeline.FrameID][]byte // Event.stack
	keys       [][]byte                    // by KeyID: Arg.key, nil: not encoded yet
	frameBytes int                         // total size of frames
	stack      []timeline.FrameID          // scratch
}

// validity records whether a text is valid UTF-8; 0: unknown.
type validity uint8

const (
	valid validity = iota + 1
	invalid
)

// maxFrameBytes limits the cache of encoded frames.
const maxFrameBytes = 1 << 20

// NewEncoder returns an Encoder for a timeline.
func NewEncoder(tl *timeline.Timeline) *Encoder {
	return &Encoder{
		tl: tl, names: make([]validity, tl.NameCount()+1), categories: make([][]byte, tl.CategoryCount()+1),
		keys:   make([][]byte, tl.KeyCount()+1),
		frames: map[timeline.FrameID][]byte{},
	}
}

// Event returns an event as a Record preceded by its length, valid until the next call. An event that is too large is truncated.
func (e *Encoder) Event(row *resolved.Row) []byte {
	e.event = e.appendEvent(e.event[:0], row)
	if len(e.event) > MaxRecord-maxHead {
		e.event = e.appendTruncated(e.event[:0], row)
		e.Truncated++
	}
	e.record = appendRecord(e.record[:0], weftv1.Record_Event, e.event)
	return e.record
}

// maxHead is an upper limit on the size of the tag and length of a message.
const maxHead = 16

// appendRecord appends a Record with a message, preceded by its length.
func appendRecord(b []byte, field int, message []byte) []byte {
	n := wire.SizeVarint(uint64(field)<<3) + wire.SizeVarint(uint64(len(message))) + len(message)
	return wire.AppendBytes(wire.AppendVarint(b, uint64(n)), field, message)
}

// appendEvent appends the fields of an Event ordered by number, like generated structs.
func (e *Encoder) appendEvent(b []byte, row *resolved.Row) []byte {
	b = e.appendHead(b, row)
	b = e.appendArgs(b, row)
	b = appendFlows(b, row)
	for i := range row.Contexts {
		b = appendContext(b, &row.Contexts[i])
	}
	b = appendThread(b, row)
	if row.Item.Callstack != 0 {
		b = e.appendStack(b, row.Item.Callstack)
	}
	return appendTail(b, row)
}

// appendHead appends the fields up to the track.
func (e *Encoder) appendHead(b []byte, row *resolved.Row) []byte {
	it := row.Item
	b = appendInt(b, weftv1.Event_TsNS, int64(it.TS))
	if row.Kind == resolved.Slice && it.Dur != timeline.NoTime {
		b = wire.AppendInt(b, weftv1.Event_DurNS, int64(it.Dur))
	}
	b = wire.AppendUint(b, weftv1.Event_Kind, uint64(row.Kind))
	if len(it.Name) > 0 {
		b = e.appendName(b, it)
	}
	if len(it.Category) > 0 {
		b = e.appendCategories(b, it)
	}
	b = wire.AppendUint(b, weftv1.Event_ID, row.ID)
	b = appendUint(b, weftv1.Event_ParentID, row.Parent)
	b = appendUint(b, weftv1.Event_Depth, uint64(row.Depth))
	if row.Track.Encoded[0] == nil {
		row.Track.Encoded = [2][]byte{appendTrack([]byte{}, row.Track), appendTrackTail([]byte{}, row.Track)}
	}
	return append(b, row.Track.Encoded[0]...)
}

// appendTrack appends the fields of a track.
func appendTrack(b []byte, t *resolved.Track) []byte {
	for _, name := range t.Path {
		b = appendText(b, weftv1.Event_Track, name)
	}
	if t.HasPID {
		b = wire.AppendInt(b, weftv1.Event_PID, t.PID)
	}
	if t.HasTID {
		b = wire.AppendInt(b, weftv1.Event_TID, t.TID)
	}
	b = appendString(b, weftv1.Event_ProcessName, t.ProcessName)
	return appendString(b, weftv1.Event_ThreadName, t.ThreadName)
}

// appendTrackTail appends the track fields with higher numbers.
func appendTrackTail(b []byte, t *resolved.Track) []byte {
	b = appendString(b, weftv1.Event_AsyncID, t.AsyncID)
	b = appendString(b, weftv1.Event_AsyncScope, t.AsyncScope)
	return appendUint(b, weftv1.Event_Lane, uint64(t.Lane))
}

func (e *Encoder) appendName(b []byte, it *timeline.Item) []byte {
	id := int(it.NameID)
	if id == 0 || id >= len(e.names) {
		return appendText(b, weftv1.Event_Name, it.Name)
	}
	if e.names[id] == 0 {
		if e.names[id] = invalid; utf8.Valid(it.Name) {
			e.names[id] = valid
		}
	}
	if e.names[id] == invalid {
		return appendText(b, weftv1.Event_Name, it.Name)
	}
	return wire.AppendBytes(b, weftv1.Event_Name, it.Name)
}

func (e *Encoder) appendCategories(b []byte, it *timeline.Item) []byte {
	id := int(it.CategoryID)
	if id == 0 || id >= len(e.categories) {
		return appendCategories(b, it.Category)
	}
	if e.categories[id] == nil {
		e.categories[id] = appendCategories([]byte{}, it.Category)
	}
	return append(b, e.categories[id]...)
}

func appendCategories(b, list []byte) []byte {
	for category := range resolved.Categories(list) {
		b = appendText(b, weftv1.Event_Categories, category)
	}
	return b
}

func appendFlows(b []byte, row *resolved.Row) []byte {
	for _, f := range row.FlowsIn {
		var mark int
		b, mark = wire.BeginMessage(b, weftv1.Event_FlowsIn)
		b = wire.AppendUint(appendUint(b, weftv1.FlowIn_ID, f.ID), weftv1.FlowIn_From, f.From)
		b = wire.EndMessage(b, mark)
	}
	if len(row.FlowsOut) > 0 {
		var mark int
		b, mark = wire.BeginMessage(b, weftv1.Event_FlowsOut)
		for _, id := range row.FlowsOut {
			b = wire.AppendVarint(b, id)
		}
		b = wire.EndMessage(b, mark)
	}
	return b
}

func appendContext(b []byte, c *resolved.Context) []byte {
	b, mark := wire.BeginMessage(b, weftv1.Event_Contexts)
	b = appendString(b, weftv1.Context_Type, c.Type)
	b = appendString(b, weftv1.Context_ID, c.ID)
	b = appendString(b, weftv1.Context_Name, c.Name)
	b = appendUint(b, weftv1.Context_Via, uint64(c.Via))
	b = appendUint(b, weftv1.Context_Hops, uint64(c.Hops))
	for _, id := range c.Candidates {
		b = appendText(b, weftv1.Context_Candidates, id)
	}
	return wire.EndMessage(b, mark)
}

// appendThread appends CPU times.
func appendThread(b []byte, row *resolved.Row) []byte {
	it := row.Item
	if at, ok := it.ThreadTime.Nanos(); ok {
		b = wire.AppendInt(b, weftv1.Event_ThreadTsNS, int64(at))
	}
	if used, ok := row.ThreadDuration.Nanos(); ok {
		b = wire.AppendInt(b, weftv1.Event_ThreadDurNS, int64(used))
	}
	return b
}

// appendStack appends the frames of a call stack, innermost first.
func (e *Encoder) appendStack(b []byte, id timeline.CallstackID) []byte {
	e.stack = e.tl.AppendCallstack(e.stack[:0], id)
	for i := len(e.stack) - 1; i >= 0; i-- {
		id := e.stack[i]
		encoded, ok := e.frames[id]
		if !ok {
			f := e.tl.Frame(id)
			encoded = appendFrame(nil, &f)
			if e.frameBytes += len(encoded); e.frameBytes > maxFrameBytes {
				clear(e.frames)
				e.frameBytes = len(encoded)
			}
			e.frames[id] = encoded
		}
		b = append(b, encoded...)
	}
	return b
}

func appendFrame(b []byte, f *timeline.Frame) []byte {
	b, mark := wire.BeginMessage(b, weftv1.Event_Stack)
	b = appendString(b, weftv1.Frame_Function, f.Function)
	b = appendString(b, weftv1.Frame_File, f.File)
	b = appendInt(b, weftv1.Frame_Line, f.Line)
	b = appendInt(b, weftv1.Frame_Column, f.Column)
	return wire.EndMessage(b, mark)
}

// appendTail appends the fields after the stack, and the value, which generated structs write last because it is in a oneof.
func appendTail(b []byte, row *resolved.Row) []byte {
	it := row.Item
	b = append(b, row.Track.Encoded[1]...)
	if cpu, ok := it.CPU.Number(); ok {
		b = wire.AppendUint(b, weftv1.Event_CPU, uint64(cpu))
	}
	b = appendUint(b, weftv1.Event_MadeUp, uint64(row.Track.MadeUp))
	b = appendUint(b, weftv1.Event_InputEvent, uint64(it.Event))
	if it.Offset >= 0 {
		b = wire.AppendUint(b, weftv1.Event_InputByte, uint64(it.Offset))
	}
	switch {
	case row.Kind != resolved.Counter && row.Kind != resolved.Sample:
	case it.Value.IsInt():
		b = wire.AppendInt(b, weftv1.Event_IntValue, it.Value.Int())
	default:
		b = wire.AppendDouble(b, weftv1.Event_DoubleValue, it.Value.Float())
	}
	return b
}

// appendUint appends a field without presence, which is omitted if it is 0.
func appendUint(b []byte, field int, v uint64) []byte {
	if v == 0 {
		return b
	}
	return wire.AppendUint(b, field, v)
}

func appendInt(b []byte, field int, v int64) []byte { return appendUint(b, field, uint64(v)) }

// appendString appends a text without presence, which is omitted if it is empty.
func appendString(b []byte, field int, text string) []byte {
	if text == "" {
		return b
	}
	return appendText(b, field, text)
}

// appendText appends a text. Bytes that are not UTF-8, which protobuf does not allow, become U+FFFD.
func appendText[T string | []byte](b []byte, field int, text T) []byte {
	n := len(b)
	b = append(wire.AppendVarint(wire.AppendTag(b, field, wire.Len), uint64(len(text))), text...)
	if written := b[len(b)-len(text):]; !utf8.Valid(written) {
		return wire.AppendBytes(b[:n], field, bytes.ToValidUTF8(written, []byte("\uFFFD")))
	}
	return b
}
