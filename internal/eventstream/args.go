package eventstream

import (
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/schema/weftv1"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// maxArgDepth is how deep dictionaries and arrays lie in each other as messages; what is deeper is JSON text. Each takes two
// levels of messages, and the protobuf libraries of C++, Java and Python refuse more than 100.
const maxArgDepth = 45

// appendArg appends an argument as a field of the message around it.
func (e *Encoder) appendArg(b []byte, field int, arg *timeline.Arg, depth int) []byte {
	b, mark := wire.BeginMessage(b, field)
	if len(arg.Key) > 0 {
		b = appendText(b, weftv1.Arg_Key, arg.Key)
	}
	return wire.EndMessage(e.appendValue(b, arg, depth), mark)
}

// appendValue appends the value of an argument; null has none.
func (e *Encoder) appendValue(b []byte, arg *timeline.Arg, depth int) []byte {
	switch arg.Kind {
	case timeline.ArgBool:
		return wire.AppendBool(b, weftv1.Arg_Bool, arg.Bool())
	case timeline.ArgInt:
		return wire.AppendInt(b, weftv1.Arg_Int, arg.Int())
	case timeline.ArgUint:
		return wire.AppendUint(b, weftv1.Arg_Uint, arg.Uint())
	case timeline.ArgDouble:
		return wire.AppendDouble(b, weftv1.Arg_Double, arg.Double())
	case timeline.ArgString:
		return appendText(b, weftv1.Arg_String, arg.Text())
	case timeline.ArgPointer:
		return wire.AppendUint(b, weftv1.Arg_Pointer, arg.Uint())
	case timeline.ArgJSON:
		return appendText(b, weftv1.Arg_JSON, arg.Text())
	case timeline.ArgDict:
		return e.appendMembers(b, weftv1.Arg_Dict, arg, depth)
	case timeline.ArgArray:
		return e.appendMembers(b, weftv1.Arg_Array, arg, depth)
	}
	return b
}

func (e *Encoder) appendMembers(b []byte, field int, list *timeline.Arg, depth int) []byte {
	if depth > maxArgDepth {
		return appendText(b, weftv1.Arg_JSON, resolved.AppendValue(nil, e.tl, *list))
	}
	b, mark := wire.BeginMessage(b, field)
	for member := range e.tl.Members(*list) {
		b = e.appendArg(b, weftv1.ArgList_Args, &member, depth+1)
	}
	return wire.EndMessage(b, mark)
}

// What the parts of an event may take that is cut: together less than MaxRecord.
const (
	maxCutText  = 256 << 10 // each name
	maxCutNames = 8 << 20   // of tracks and categories, together
	maxCutArgs  = 24 << 20  // all arguments
	maxCutRest  = 8 << 20   // contexts, flows, and the stack, each
	minCutArg   = 64        // bytes that an argument may take, however many there are
)

// appendCut is appendEvent for an event that is too large: long texts are cut, arguments that take more than their share become
// texts that are cut, and what has no room then is left out.
func (e *Encoder) appendCut(b []byte, row *resolved.Row) []byte {
	it, track := *row.Item, *row.Track
	it.Name, it.NameID, it.CategoryID = cutText(it.Name, maxCutText), 0, 0
	it.Category = cutText(it.Category, maxCutNames)
	track.Encoded = [2][]byte{}
	track.Path = nil
	names := 0
	for _, name := range row.Track.Path {
		name = string(cutText([]byte(name), maxCutText))
		if names += len(name); names <= maxCutNames {
			track.Path = append(track.Path, name)
		}
	}
	for _, text := range []*string{&track.ProcessName, &track.ThreadName, &track.AsyncID, &track.AsyncScope} {
		*text = string(cutText([]byte(*text), maxCutText))
	}
	short := *row
	short.Item, short.Track = &it, &track
	b = e.appendHead(b, &short)
	b = e.appendCutArgs(b, row)
	b = appendWhole(b, appendFlows(nil, row))
	for i := range row.Contexts {
		b = appendWhole(b, appendContext(nil, &row.Contexts[i]))
	}
	b = appendThread(b, row)
	if it.Callstack != 0 {
		b = appendWhole(b, e.appendStack(nil, it.Callstack))
	}
	return appendTail(b, &short)
}

// appendWhole appends all fields, or as many as fit.
func appendWhole(b, fields []byte) []byte {
	if len(fields) <= maxCutRest {
		return append(b, fields...)
	}
	end := 0
	for r := wire.NewReader(fields); r.Next() && end+len(r.Raw()) <= maxCutRest; {
		end += len(r.Raw())
	}
	return append(b, fields[:end]...)
}

func (e *Encoder) appendCutArgs(b []byte, row *resolved.Row) []byte {
	count := 0
	for range row.Args() {
		count++
	}
	each, start := max(maxCutArgs/max(count, 1), minCutArg), len(b)
	for arg := range row.Args() {
		n := len(b)
		if b = e.appendArg(b, weftv1.Event_Args, &arg, 1); len(b)-n > each {
			text := resolved.AppendValue(nil, e.tl, arg)
			if arg.Kind == timeline.ArgString || arg.Kind == timeline.ArgJSON {
				text = arg.Text()
			}
			var mark int
			b, mark = wire.BeginMessage(b[:n], weftv1.Event_Args)
			b = appendText(b, weftv1.Arg_Key, cutText(arg.Key, min(each/2, maxCutText)))
			b = wire.EndMessage(appendText(b, weftv1.Arg_String, cutText(text, each/2)), mark)
		}
		if len(b)-start > maxCutArgs+maxCutText {
			return b[:n]
		}
	}
	return b
}

// cutText cuts a text that is too long, between two characters, and says so with three dots.
func cutText(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	for n = max(n-len("…"), 0); n > 0 && !utf8.RuneStart(text[n]); n-- {
	}
	return append(text[:n:n], "…"...)
}
