package eventstream

import (
	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/schema/weftv1"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// Arguments make up most of an event. They are converted directly from the timeline's form, debug annotations, to weft.v1: one
// value each, after its name, as written by timeline.ArgsEncoder. Other forms are converted through timeline.Arg, with the same
// result. Without the direct conversion, an export of chrome-devtools-medium takes 1.20 times the CPU time.

// appendArgs appends the arguments of an event.
func (e *Encoder) appendArgs(b []byte, row *resolved.Row) []byte {
	if len(row.EndArgs) > 0 || row.Item.DidNotEnd {
		return e.appendJoined(b, row)
	}
	for r := wire.NewReader(row.Item.Args); r.Next(); {
		if msg := r.Bytes(); r.Field() == schema.TrackEvent_DebugAnnotations && len(msg) > 0 {
			b = e.appendAnnotation(b, weftv1.Event_Args, msg, 1)
		}
	}
	return b
}

// appendJoined appends the merged arguments of start and end. Inside appendArgs, its loop would move b to the heap.
func (e *Encoder) appendJoined(b []byte, row *resolved.Row) []byte {
	for arg := range row.Args() {
		b = e.appendArg(b, weftv1.Event_Args, &arg, 1)
	}
	return b
}

// appendAnnotation appends an annotation as an Arg in the given field.
func (e *Encoder) appendAnnotation(b []byte, field int, msg []byte, depth int) []byte {
	start := len(b)
	b, mark := wire.BeginMessage(b, field)
	r := wire.NewReader(msg)
	if !r.Next() {
		return wire.EndMessage(b, mark)
	}
	switch r.Field() {
	case schema.DebugAnnotation_NameIID:
		b = e.appendKey(b, r.Uint())
	case schema.DebugAnnotation_Name:
		b = appendText(b, weftv1.Arg_Key, r.Bytes())
	default: // in an array
		r = wire.NewReader(msg)
	}
	if !r.Next() {
		return wire.EndMessage(b, mark)
	}
	switch r.Field() {
	case schema.DebugAnnotation_BoolValue:
		b = wire.AppendBool(b, weftv1.Arg_Bool, r.Bool())
	case schema.DebugAnnotation_UintValue:
		b = wire.AppendUint(b, weftv1.Arg_Uint, r.Uint())
	case schema.DebugAnnotation_IntValue:
		b = wire.AppendInt(b, weftv1.Arg_Int, r.Int())
	case schema.DebugAnnotation_DoubleValue:
		b = wire.AppendDouble(b, weftv1.Arg_Double, r.Double())
	case schema.DebugAnnotation_StringValue:
		b = appendText(b, weftv1.Arg_String, r.Bytes())
	case schema.DebugAnnotation_StringValueIID:
		b = appendText(b, weftv1.Arg_String, e.tl.Value(uint32(r.Uint())))
	case schema.DebugAnnotation_DictEntries:
		return wire.EndMessage(e.appendEntries(b, weftv1.Arg_Dict, msg, r, depth), mark)
	case schema.DebugAnnotation_ArrayValues:
		return wire.EndMessage(e.appendEntries(b, weftv1.Arg_Array, msg, r, depth), mark)
	default:
		arg := e.tl.Arg(msg)
		return e.appendArg(b[:start], field, &arg, depth)
	}
	if r.Next() { // more than one value
		arg := e.tl.Arg(msg)
		return e.appendArg(b[:start], field, &arg, depth)
	}
	return wire.EndMessage(b, mark)
}

// appendKey appends the name of an argument, given its KeyID.
func (e *Encoder) appendKey(b []byte, id uint64) []byte {
	if id >= uint64(len(e.keys)) {
		return b
	}
	if e.keys[id] == nil {
		e.keys[id] = []byte{}
		if key := e.tl.Key(timeline.KeyID(id)); len(key) > 0 {
			e.keys[id] = appendText(e.keys[id], weftv1.Arg_Key, key)
		}
	}
	return append(b, e.keys[id]...)
}

// appendEntries appends the members of a dictionary or array, after r has read the first one.
func (e *Encoder) appendEntries(b []byte, as int, msg []byte, r wire.Reader, depth int) []byte {
	if depth > maxArgDepth {
		return appendText(b, weftv1.Arg_JSON, resolved.AppendValue(nil, e.tl, e.tl.Arg(msg)))
	}
	field := r.Field()
	b, mark := wire.BeginMessage(b, as)
	for ok := true; ok; ok = r.Next() {
		if member := r.Bytes(); r.Field() == field && len(member) > 0 {
			b = e.appendAnnotation(b, weftv1.ArgList_Args, member, depth+1)
		}
	}
	return wire.EndMessage(b, mark)
}
