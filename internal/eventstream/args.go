package eventstream

import (
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/schema/weftv1"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// maxArgDepth is the maximum number of levels of dictionaries and arrays that are written as messages; deeper levels become JSON
// text. A level needs two nested messages, and the protobuf libraries for C++, Java and Python reject more than 100 nested
// messages.
const maxArgDepth = 45

// appendArg appends an argument in the given field.
func (e *Encoder) appendArg(b []byte, field int, arg *timeline.Arg, depth int) []byte {
	b, mark := wire.BeginMessage(b, field)
	if len(arg.Key) > 0 {
		b = appendText(b, weftv1.Arg_Key, arg.Key)
	}
	return wire.EndMessage(e.appendValue(b, arg, depth), mark)
}

// appendValue appends the value of an argument, or nothing for null.
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

// Limits for the parts of a truncated event, which add up to less than MaxRecord.
const (
	maxTruncatedText  = 256 << 10 // each name
	maxTruncatedNames = 8 << 20   // of tracks and categories, together
	maxTruncatedArgs  = 24 << 20  // all arguments
	maxTruncatedRest  = 8 << 20   // contexts, flows, and the stack, each
	minTruncatedArg   = 64        // bytes of an argument, however many there are
)

// appendTruncated is appendEvent for an event that is too large: long texts are truncated, arguments beyond their share become truncated
// texts, and whatever does not fit is dropped.
func (e *Encoder) appendTruncated(b []byte, row *resolved.Row) []byte {
	it, track := *row.Item, *row.Track
	it.Name, it.NameID, it.CategoryID = truncateText(it.Name, maxTruncatedText), 0, 0
	it.Category = truncateText(it.Category, maxTruncatedNames)
	track.Encoded = [2][]byte{}
	track.Path = nil
	names := 0
	for _, name := range row.Track.Path {
		name = string(truncateText([]byte(name), maxTruncatedText))
		if names += len(name); names <= maxTruncatedNames {
			track.Path = append(track.Path, name)
		}
	}
	for _, text := range []*string{&track.ProcessName, &track.ThreadName, &track.AsyncID, &track.AsyncScope} {
		*text = string(truncateText([]byte(*text), maxTruncatedText))
	}
	short := *row
	short.Item, short.Track = &it, &track
	b = e.appendHead(b, &short)
	b = e.appendTruncatedArgs(b, row)
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

// appendWhole appends as many whole fields as fit.
func appendWhole(b, fields []byte) []byte {
	if len(fields) <= maxTruncatedRest {
		return append(b, fields...)
	}
	end := 0
	for r := wire.NewReader(fields); r.Next() && end+len(r.Raw()) <= maxTruncatedRest; {
		end += len(r.Raw())
	}
	return append(b, fields[:end]...)
}

func (e *Encoder) appendTruncatedArgs(b []byte, row *resolved.Row) []byte {
	count := 0
	for range row.Args() {
		count++
	}
	each, start := max(maxTruncatedArgs/max(count, 1), minTruncatedArg), len(b)
	for arg := range row.Args() {
		n := len(b)
		if b = e.appendArg(b, weftv1.Event_Args, &arg, 1); len(b)-n > each {
			text := resolved.AppendValue(nil, e.tl, arg)
			if arg.Kind == timeline.ArgString || arg.Kind == timeline.ArgJSON {
				text = arg.Text()
			}
			var mark int
			b, mark = wire.BeginMessage(b[:n], weftv1.Event_Args)
			b = appendText(b, weftv1.Arg_Key, truncateText(arg.Key, min(each/2, maxTruncatedText)))
			b = wire.EndMessage(appendText(b, weftv1.Arg_String, truncateText(text, each/2)), mark)
		}
		if len(b)-start > maxTruncatedArgs+maxTruncatedText {
			return b[:n]
		}
	}
	return b
}

// truncateText truncates a text between two characters and appends an ellipsis.
func truncateText(text []byte, n int) []byte {
	if len(text) <= n {
		return text
	}
	for n = max(n-len("…"), 0); n > 0 && !utf8.RuneStart(text[n]); n-- {
	}
	return append(text[:n:n], "…"...)
}
