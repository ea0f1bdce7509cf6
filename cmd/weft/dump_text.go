package main

import (
	"bytes"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/words"
)

// text formats an item as a line of tab-separated fields.
func (d *dumper) text(item *timeline.Item) []byte {
	b := selection.AppendMoment(d.buf[:0], item.TS-d.span.Start)
	b = append(b, '\t')
	switch {
	case item.Kind != timeline.ItemBegin:
	case item.Dur == timeline.NoTime:
		b = append(b, "open"...)
	default:
		b = selection.AppendMoment(b, item.Dur)
	}
	b = append(b, '\t')
	b = append(b, kindName(item.Kind)...)
	b = append(b, '\t')
	b = appendField(b, []byte(d.track(item)))
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
		b = selection.AppendMoment(append(b, "\tthread_ts="...), at)
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
		b = resolved.AppendArgs(b, d.trace, item.Args)
		b = append(b[:start], words.PrintableJSON(b[start:])...)
	}
	if text := d.correlation(item); len(text) > 0 {
		b = appendField(append(b, "\tcorrelation="...), text)
	}
	return b
}

// hasArgs reports whether an item has arguments; Args may contain only its correlation.
func (d *dumper) hasArgs(item *timeline.Item) bool {
	for range d.trace.ArgList(item.Args) {
		return true
	}
	return false
}

// correlation returns the text that connects an item with other items.
func (d *dumper) correlation(item *timeline.Item) []byte {
	if item.Correlation != "" {
		return []byte(item.Correlation)
	}
	return d.trace.CorrelationOf(item.Args)
}

// flowDirection returns whether an event starts ("out"), ends ("in") or continues ("through") a flow.
func flowDirection(f *timeline.FlowRef) string {
	switch {
	case f.Previous == timeline.NoOrdinal:
		return "out"
	case f.Terminating:
		return "in"
	}
	return "through"
}

// appendField escapes tabs, newlines, control characters and backslashes, so that the field stays on one line and can be unescaped.
func appendField(b, text []byte) []byte {
	if words.PlainPrefix(text) == len(text) && bytes.IndexByte(text, '\\') < 0 {
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
		case words.Special(r):
			b = append(b, words.Printable(string(r))...)
		default:
			b = append(b, text[:size]...)
		}
		text = text[size:]
	}
	return b
}

func appendNumber(b []byte, n timeline.Number) []byte {
	if n.IsInt() {
		return strconv.AppendInt(b, n.Int(), 10)
	}
	return jsonscan.AppendDouble(b, n.Float())
}
