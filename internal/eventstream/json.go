package eventstream

import (
	"slices"
	"strconv"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/timeline"
)

// Lines encodes events of one timeline as JSON lines. It is not safe for concurrent use.
type Lines struct {
	tl    *timeline.Timeline
	buf   []byte
	stack []timeline.FrameID // scratch
}

// NewLines returns a Lines for a timeline.
func NewLines(tl *timeline.Timeline) *Lines { return &Lines{tl: tl} }

// Event returns an event as a JSON object and a newline, valid until the next call. Its members are the fields of weft.v1.Event,
// ordered by number: kinds in lower case, 64-bit integers as numbers, arguments as an object. Empty members are omitted.
func (l *Lines) Event(row *resolved.Row) []byte {
	it := row.Item
	b := appendTimeMembers(l.buf[:0], row)
	b = appendCategoryMembers(b, it.Category)
	b = appendPlaceMembers(b, row)
	if row.HasArgs() {
		b = row.AppendArgs(append(b, `,"args":`...))
	}
	b = appendLinkMembers(b, row)
	b = appendValueMembers(b, row)
	if it.Callstack != 0 {
		b = l.appendStack(b, it.Callstack)
	}
	b = appendTailMembers(b, row)
	l.buf = append(b, "}\n"...)
	return l.buf
}

// appendTimeMembers starts an object with times, kind and name.
func appendTimeMembers(b []byte, row *resolved.Row) []byte {
	it := row.Item
	b = strconv.AppendInt(append(b, `{"ts_ns":`...), int64(it.TS), 10)
	if row.Kind == resolved.Slice && it.Dur != timeline.NoTime {
		b = strconv.AppendInt(append(b, `,"dur_ns":`...), int64(it.Dur), 10)
	}
	b = jsonscan.AppendString(append(b, `,"kind":`...), row.Kind.String())
	return appendMember(b, `,"name":`, string(it.Name))
}

// appendPlaceMembers appends the id, nesting and track of an event.
func appendPlaceMembers(b []byte, row *resolved.Row) []byte {
	b = strconv.AppendUint(append(b, `,"id":`...), row.ID, 10)
	b = appendNumber(b, `,"parent_id":`, row.Parent)
	b = appendNumber(b, `,"depth":`, uint64(row.Depth))
	return appendTrackMembers(b, row.Track)
}

// appendMember appends a text unless it is empty.
func appendMember(b []byte, name, text string) []byte {
	if text == "" {
		return b
	}
	return jsonscan.AppendString(append(b, name...), text)
}

// appendNumber appends a number unless it is 0.
func appendNumber(b []byte, name string, v uint64) []byte {
	if v == 0 {
		return b
	}
	return strconv.AppendUint(append(b, name...), v, 10)
}

func appendCategoryMembers(b, list []byte) []byte {
	n := 0
	for category := range resolved.Categories(list) {
		b = jsonscan.AppendString(append(b, [2]string{`,"categories":[`, ","}[min(n, 1)]...), category)
		n++
	}
	if n > 0 {
		b = append(b, ']')
	}
	return b
}

func appendTrackMembers(b []byte, t *resolved.Track) []byte {
	for i, name := range t.Path {
		b = jsonscan.AppendString(append(b, [2]string{`,"track":[`, ","}[min(i, 1)]...), name)
	}
	if len(t.Path) > 0 {
		b = append(b, ']')
	}
	if t.HasPID {
		b = strconv.AppendInt(append(b, `,"pid":`...), t.PID, 10)
	}
	if t.HasTID {
		b = strconv.AppendInt(append(b, `,"tid":`...), t.TID, 10)
	}
	b = appendMember(b, `,"process_name":`, t.ProcessName)
	return appendMember(b, `,"thread_name":`, t.ThreadName)
}

// appendLinkMembers appends flows and contexts.
func appendLinkMembers(b []byte, row *resolved.Row) []byte {
	b = appendList(b, `,"flows_in":`, row.FlowsIn, func(b []byte, f *resolved.FlowIn) []byte {
		b = strconv.AppendUint(append(b, `,"id":`...), f.ID, 10)
		return strconv.AppendUint(append(b, `,"from":`...), f.From, 10)
	})
	for i, id := range row.FlowsOut {
		b = strconv.AppendUint(append(b, [2]string{`,"flows_out":[`, ","}[min(i, 1)]...), id, 10)
	}
	if len(row.FlowsOut) > 0 {
		b = append(b, ']')
	}
	if len(row.Contexts) > 0 {
		b = row.AppendContexts(append(b, `,"contexts":`...))
	}
	return b
}

// appendValueMembers appends CPU times and the value.
func appendValueMembers(b []byte, row *resolved.Row) []byte {
	it := row.Item
	if at, ok := it.ThreadTime.Nanos(); ok {
		b = strconv.AppendInt(append(b, `,"thread_ts_ns":`...), int64(at), 10)
	}
	if used, ok := row.ThreadDuration.Nanos(); ok {
		b = strconv.AppendInt(append(b, `,"thread_dur_ns":`...), int64(used), 10)
	}
	switch {
	case row.Kind != resolved.Counter && row.Kind != resolved.Sample:
	case it.Value.IsInt():
		b = strconv.AppendInt(append(b, `,"int_value":`...), it.Value.Int(), 10)
	default:
		b = jsonscan.AppendDouble(append(b, `,"double_value":`...), it.Value.Float())
	}
	return b
}

// appendStack appends the frames of a call stack, innermost first.
func (l *Lines) appendStack(b []byte, id timeline.CallstackID) []byte {
	l.stack = l.tl.AppendCallstack(l.stack[:0], id)
	slices.Reverse(l.stack)
	return appendList(b, `,"stack":`, l.stack, func(b []byte, id *timeline.FrameID) []byte {
		f := l.tl.Frame(*id)
		b = appendMember(b, `,"function":`, f.Function)
		b = appendMember(b, `,"file":`, f.File)
		b = appendNumber(b, `,"line":`, uint64(max(f.Line, 0)))
		return appendNumber(b, `,"column":`, uint64(max(f.Column, 0)))
	})
}

// appendObject appends an object. members appends its members, each starting with a comma.
func appendObject(b []byte, members func([]byte) []byte) []byte {
	n := len(b)
	if b = members(b); len(b) == n {
		b = append(b, '{')
	} else {
		b[n] = '{'
	}
	return append(b, '}')
}

// appendTailMembers appends the members after the stack.
func appendTailMembers(b []byte, row *resolved.Row) []byte {
	it, t := row.Item, row.Track
	b = appendMember(b, `,"async_id":`, t.AsyncID)
	b = appendMember(b, `,"async_scope":`, t.AsyncScope)
	b = appendNumber(b, `,"lane":`, uint64(t.Lane))
	if cpu, ok := it.CPU.Number(); ok {
		b = strconv.AppendUint(append(b, `,"cpu":`...), uint64(cpu), 10)
	}
	b = appendNumber(b, `,"made_up":`, uint64(t.MadeUp))
	b = appendNumber(b, `,"input_event":`, uint64(it.Event))
	if it.Offset >= 0 {
		b = strconv.AppendInt(append(b, `,"input_byte":`...), it.Offset, 10)
	}
	return b
}
