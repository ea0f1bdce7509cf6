package main

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/moment"
	escapes "github.com/weft-trace/weft/internal/printable"
	"github.com/weft-trace/weft/internal/timeline"
)

// text formats an item as a line of fields separated by tabs.
func (d *dumper) text(item *timeline.Item) []byte {
	b := moment.Append(d.buf[:0], item.TS-d.span.Start)
	b = append(b, '\t')
	switch {
	case item.Kind != timeline.ItemBegin:
	case item.Dur == timeline.NoTime:
		b = append(b, "open"...)
	default:
		b = moment.Append(b, item.Dur)
	}
	b = append(b, '\t')
	b = append(b, kindName(item.Kind)...)
	b = append(b, '\t')
	b = appendField(b, []byte(d.track(item).name))
	b = append(b, '\t')
	b = appendField(b, item.Name)
	b = append(b, '\t')
	b = appendField(b, item.Category)
	b = d.appendExtras(b, item)
	d.buf = append(b, '\n')
	return d.buf
}

func (d *dumper) appendExtras(b []byte, item *timeline.Item) []byte {
	b = strconv.AppendUint(append(b, "\tevent="...), uint64(item.Event), 10)
	if item.Kind == timeline.ItemCounter || item.Kind == timeline.ItemSample {
		b = appendNumber(append(b, "\tvalue="...), item.Value)
	}
	if n, ok := item.CPU.Number(); ok {
		b = strconv.AppendUint(append(b, "\tcpu="...), uint64(n), 10)
	}
	if at, ok := item.ThreadTime.Nanos(); ok {
		b = moment.Append(append(b, "\tthread_ts="...), at)
	}
	if item.AsyncID != "" {
		b = appendField(append(b, "\tid="...), []byte(item.AsyncID))
	}
	if item.AsyncScope != "" {
		b = appendField(append(b, "\tscope="...), []byte(item.AsyncScope))
	}
	if item.DidNotEnd {
		b = append(b, "\tdid_not_end=true"...)
	}
	for i := range item.Flows {
		flow := &item.Flows[i]
		b = append(b, "\tflow="...)
		b = strconv.AppendUint(b, flow.ID, 10)
		b = append(append(b, ':'), flowDirection(flow)...)
	}
	if item.Callstack != 0 {
		b = append(b, "\tstack="...)
		for i, id := range d.trace.Callstack(item.Callstack) {
			if i > 0 {
				b = append(b, ';')
			}
			b = appendField(b, []byte(d.trace.Frame(id).Function))
		}
	}
	if picture := d.trace.ScreenshotOf(item.Args); picture != nil {
		b = strconv.AppendInt(append(b, "\tscreenshot_bytes="...), int64(len(picture)), 10)
	}
	if d.hasArgs(item) {
		b = append(b, "\targs="...)
		start := len(b)
		b = d.appendArgs(b, item.Args)
		b = append(b[:start], escapes.JSON(b[start:])...)
	}
	if text := d.correlation(item); len(text) > 0 {
		b = appendField(append(b, "\tcorrelation="...), text)
	}
	return b
}

// hasArgs reports whether an item has arguments: Args may hold its correlation only.
func (d *dumper) hasArgs(item *timeline.Item) bool {
	for range d.trace.ArgList(item.Args) {
		return true
	}
	return false
}

// correlation returns the text by which an item belongs together with others.
func (d *dumper) correlation(item *timeline.Item) []byte {
	if item.Correlation != "" {
		return []byte(item.Correlation)
	}
	return d.trace.CorrelationOf(item.Args)
}

// flowDirection says how an event takes part in a flow: it starts it, ends it, or hands it on.
func flowDirection(f *timeline.FlowRef) string {
	switch {
	case f.Previous == timeline.NoOrdinal:
		return "out"
	case f.Terminating:
		return "in"
	}
	return "through"
}

// appendField appends a text with escapes for tabs and line ends, so that it stays one field, for what terminals obey or hide, and for
// backslashes, so that the text can be had back.
func appendField(b, text []byte) []byte {
	if escapes.Plain(text) == len(text) && bytes.IndexByte(text, '\\') < 0 {
		return append(b, text...)
	}
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		switch {
		case r == '\t':
			b = append(b, `\t`...)
		case r == '\n':
			b = append(b, `\n`...)
		case r == '\r':
			b = append(b, `\r`...)
		case r == '\\':
			b = append(b, `\\`...)
		case r < ' ' || r == 0x7F || r == utf8.RuneError && size == 1:
			b = fmt.Appendf(b, `\x%02x`, text[0])
		case escapes.Special(r):
			b = append(b, escapes.Text(string(r))...)
		default:
			b = append(b, text[:size]...)
		}
		text = text[size:]
	}
	return b
}

// appendID appends the id of a process or thread as JSON.
func appendID(b []byte, id timeline.InputID) []byte {
	text, _ := id.MarshalJSON() // has no errors
	return append(b, text...)
}

// json formats an item as a JSON object on one line.
func (d *dumper) json(item *timeline.Item) []byte {
	b := append(d.buf[:0], `{"ts_ns":`...)
	b = strconv.AppendInt(b, int64(item.TS), 10)
	if item.Kind == timeline.ItemBegin && item.Dur != timeline.NoTime {
		b = strconv.AppendInt(append(b, `,"dur_ns":`...), int64(item.Dur), 10)
	}
	b = jsonscan.AppendString(append(b, `,"kind":`...), []byte(kindName(item.Kind)))
	track := d.track(item)
	b = jsonscan.AppendString(append(b, `,"track":`...), []byte(track.name))
	if track.hasPID {
		b = appendID(append(b, `,"pid":`...), track.pid)
	}
	if track.hasTID {
		b = appendID(append(b, `,"tid":`...), track.tid)
	}
	if item.Lane > 0 {
		b = strconv.AppendUint(append(b, `,"lane":`...), uint64(item.Lane), 10)
	}
	if len(item.Name) > 0 {
		b = jsonscan.AppendString(append(b, `,"name":`...), item.Name)
	}
	if len(item.Category) > 0 {
		b = jsonscan.AppendString(append(b, `,"category":`...), item.Category)
	}
	b = d.appendJSONExtras(b, item)
	b = strconv.AppendUint(append(b, `,"event":`...), uint64(item.Event), 10)
	if item.Offset >= 0 { // else it has no place of its own in the input
		b = strconv.AppendInt(append(b, `,"byte":`...), item.Offset, 10)
	}
	d.buf = append(b, "}\n"...)
	return d.buf
}

func (d *dumper) appendJSONExtras(b []byte, item *timeline.Item) []byte {
	if item.Kind == timeline.ItemCounter || item.Kind == timeline.ItemSample {
		b = appendNumber(append(b, `,"value":`...), item.Value)
	}
	if n, ok := item.CPU.Number(); ok {
		b = strconv.AppendUint(append(b, `,"cpu":`...), uint64(n), 10)
	}
	if at, ok := item.ThreadTime.Nanos(); ok {
		b = strconv.AppendInt(append(b, `,"thread_ts_ns":`...), int64(at), 10)
	}
	if item.AsyncID != "" {
		b = jsonscan.AppendString(append(b, `,"id":`...), []byte(item.AsyncID))
	}
	if item.AsyncScope != "" {
		b = jsonscan.AppendString(append(b, `,"scope":`...), []byte(item.AsyncScope))
	}
	if item.DidNotEnd {
		b = append(b, `,"did_not_end":true`...)
	}
	for i := range item.Flows {
		b = append(b, [2]string{`,"flows":[`, ","}[min(i, 1)]...)
		b = strconv.AppendUint(append(b, `{"id":`...), item.Flows[i].ID, 10)
		b = jsonscan.AppendString(append(b, `,"direction":`...), []byte(flowDirection(&item.Flows[i])))
		b = append(b, '}')
		if i == len(item.Flows)-1 {
			b = append(b, ']')
		}
	}
	for i, name := range d.inputFlows(item) {
		b = jsonscan.AppendString(append(b, [2]string{`,"input_flows":[`, ","}[min(i, 1)]...), []byte(name))
		if i == len(d.flowNames)-1 {
			b = append(b, ']')
		}
	}
	if item.Callstack != 0 {
		b = d.appendStack(append(b, `,"stack":`...), item.Callstack)
	}
	if picture := d.trace.ScreenshotOf(item.Args); picture != nil {
		b = strconv.AppendInt(append(b, `,"screenshot_bytes":`...), int64(len(picture)), 10)
	}
	if d.hasArgs(item) {
		b = d.appendArgs(append(b, `,"args":`...), item.Args)
	}
	if text := d.correlation(item); len(text) > 0 {
		b = jsonscan.AppendString(append(b, `,"correlation":`...), text)
	}
	return b
}

// appendStack appends the frames of a call stack, outermost first, as a JSON array of objects.
func (d *dumper) appendStack(b []byte, id timeline.CallstackID) []byte {
	b = append(b, '[')
	for i, frameID := range d.trace.Callstack(id) {
		if i > 0 {
			b = append(b, ',')
		}
		frame := d.trace.Frame(frameID)
		b = jsonscan.AppendString(append(b, `{"function":`...), []byte(frame.Function))
		if frame.File != "" {
			b = jsonscan.AppendString(append(b, `,"file":`...), []byte(frame.File))
		}
		if frame.Line > 0 {
			b = strconv.AppendInt(append(b, `,"line":`...), frame.Line, 10)
		}
		if frame.Column > 0 {
			b = strconv.AppendInt(append(b, `,"column":`...), frame.Column, 10)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// maxArgDepth is more than any reader keeps as structure (chrome-json.md 3).
const maxArgDepth = 1000

// appendArgs appends arguments as a JSON object.
func (d *dumper) appendArgs(b []byte, args timeline.Args) []byte {
	sep := byte('{')
	for arg := range d.trace.ArgList(args) {
		b = jsonscan.AppendString(append(b, sep), arg.Key)
		b = d.appendArg(append(b, ':'), arg, 1)
		sep = ','
	}
	if sep == '{' {
		b = append(b, sep)
	}
	return append(b, '}')
}

func (d *dumper) appendArg(b []byte, arg timeline.Arg, depth int) []byte {
	switch arg.Kind {
	case timeline.ArgBool:
		return strconv.AppendBool(b, arg.Bool())
	case timeline.ArgInt:
		return strconv.AppendInt(b, arg.Int(), 10)
	case timeline.ArgUint:
		return strconv.AppendUint(b, arg.Uint(), 10)
	case timeline.ArgPointer:
		return fmt.Appendf(b, `"0x%x"`, arg.Uint())
	case timeline.ArgDouble:
		return jsonscan.AppendDouble(b, arg.Double())
	case timeline.ArgString, timeline.ArgJSON: // the latter may be of any size, shape and damage: a text here
		return jsonscan.AppendString(b, arg.Text())
	}
	if depth == maxArgDepth {
		return append(b, `"…"`...)
	}
	first, open, closing := true, byte('{'), byte('}')
	if arg.Kind == timeline.ArgArray {
		open, closing = '[', ']'
	}
	b = append(b, open)
	for member := range d.trace.Members(arg) {
		if !first {
			b = append(b, ',')
		}
		first = false
		if arg.Kind == timeline.ArgDict {
			b = append(jsonscan.AppendString(b, member.Key), ':')
		}
		b = d.appendArg(b, member, depth+1)
	}
	return append(b, closing)
}

func appendNumber(b []byte, n timeline.Number) []byte {
	if n.IsInt() {
		return strconv.AppendInt(b, n.Int(), 10)
	}
	return jsonscan.AppendDouble(b, n.Float())
}
