package resolved

import (
	"bytes"
	"encoding/json"
	"iter"
	"strconv"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/timeline"
)

// maxJSONDepth exceeds the nesting that any reader preserves (chrome-json.md 3).
const maxJSONDepth = 1000

// AppendArgs appends the arguments of an event as a JSON object: 64-bit integers as numbers, addresses as hexadecimal strings,
// and raw JSON from the input unchanged.
func (r *Row) AppendArgs(b []byte) []byte { return appendArgs(b, r.tl, r.Args()) }

// AppendArgs is like Row.AppendArgs, for the arguments of an event that is not a row.
func AppendArgs(b []byte, tl *timeline.Timeline, args timeline.Args) []byte {
	return appendArgs(b, tl, tl.ArgList(args))
}

func appendArgs(b []byte, tl *timeline.Timeline, args iter.Seq[timeline.Arg]) []byte {
	sep := byte('{')
	for arg := range args {
		b = jsonscan.AppendString(append(b, sep), arg.Key)
		b = appendJSON(append(b, ':'), tl, &arg, 1)
		sep = ','
	}
	if sep == '{' {
		b = append(b, sep)
	}
	return append(b, '}')
}

// AppendValue appends the value of an argument as JSON.
func AppendValue(b []byte, tl *timeline.Timeline, arg timeline.Arg) []byte {
	return appendJSON(b, tl, &arg, 1)
}

func appendJSON(b []byte, tl *timeline.Timeline, arg *timeline.Arg, depth int) []byte {
	switch arg.Kind {
	case timeline.ArgBool, timeline.ArgInt, timeline.ArgUint:
		return arg.AppendText(b)
	case timeline.ArgPointer:
		return append(arg.AppendText(append(b, '"')), '"')
	case timeline.ArgDouble:
		return jsonscan.AppendDouble(b, arg.Double())
	case timeline.ArgString:
		return jsonscan.AppendString(b, arg.Text())
	case timeline.ArgJSON:
		return AppendRawJSON(b, arg.Text())
	case timeline.ArgDict, timeline.ArgArray:
		return appendMembers(b, tl, arg, depth)
	}
	return append(b, "null"...)
}

func appendMembers(b []byte, tl *timeline.Timeline, list *timeline.Arg, depth int) []byte {
	if depth == maxJSONDepth {
		return append(b, `"…"`...)
	}
	open, closing := byte('{'), byte('}')
	if list.Kind == timeline.ArgArray {
		open, closing = '[', ']'
	}
	sep := open
	for member := range tl.Members(*list) {
		b = append(b, sep)
		if list.Kind == timeline.ArgDict {
			b = append(jsonscan.AppendString(b, member.Key), ':')
		}
		b = appendJSON(b, tl, &member, depth+1)
		sep = ','
	}
	if sep == open {
		b = append(b, open)
	}
	return append(b, closing)
}

// AppendRawJSON appends JSON text from an input on one line; invalid JSON becomes a string.
func AppendRawJSON(b, text []byte) []byte {
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		return jsonscan.AppendString(b, text)
	}
	return append(b, bytes.ToValidUTF8(line.Bytes(), []byte("\uFFFD"))...)
}

// AppendContexts appends the contexts of an event as a JSON array of objects whose members are named as in weft.v1.Context.
func (r *Row) AppendContexts(b []byte) []byte {
	for i := range r.Contexts {
		b = append(b, "[,"[min(i, 1)])
		b = r.Contexts[i].appendJSON(b)
	}
	if len(r.Contexts) == 0 {
		b = append(b, '[')
	}
	return append(b, ']')
}

func (c *Context) appendJSON(b []byte) []byte {
	b = jsonscan.AppendString(append(b, `{"type":`...), c.Type)
	if c.ID != "" {
		b = jsonscan.AppendString(append(b, `,"id":`...), c.ID)
	}
	if c.Name != "" {
		b = jsonscan.AppendString(append(b, `,"name":`...), c.Name)
	}
	if c.Via != 0 {
		b = jsonscan.AppendString(append(b, `,"via":`...), c.Via.String())
	}
	if c.Hops != 0 {
		b = strconv.AppendInt(append(b, `,"hops":`...), int64(c.Hops), 10)
	}
	for i, id := range c.Candidates {
		b = jsonscan.AppendString(append(b, [2]string{`,"candidates":[`, ","}[min(i, 1)]...), id)
	}
	if len(c.Candidates) > 0 {
		b = append(b, ']')
	}
	return append(b, '}')
}
