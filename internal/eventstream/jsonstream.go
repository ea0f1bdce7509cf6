package eventstream

import (
	"math"
	"strconv"

	"github.com/weft-trace/weft/internal/jsontext"
	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/schema/weftv1"
	"github.com/weft-trace/weft/internal/timeline"
)

// AppendLine appends an event of a stream as the object on a line that Lines writes for the same event of its trace.
func (e *Event) AppendLine(b []byte) []byte {
	row := e.Row()
	b = appendTimeMembers(b, row)
	for i, category := range e.Categories {
		b = jsontext.AppendString(append(b, [2]string{`,"categories":[`, ","}[min(i, 1)]...), category)
	}
	if len(e.Categories) > 0 {
		b = append(b, ']')
	}
	b = appendPlaceMembers(b, row)
	if len(e.Args) > 0 {
		b = append(b, `,"args":{`...)
		for i, msg := range e.Args {
			b = appendArgJSON(b, msg, i > 0, true)
		}
		b = append(b, '}')
	}
	b = appendLinkMembers(b, row)
	b = appendValueMembers(b, row)
	for i := range e.Stack {
		f := &e.Stack[i]
		b = append(b, [2]string{`,"stack":[`, ","}[min(i, 1)]...)
		b = appendFrameObject(b, string(f.Function), string(f.File), f.Line, f.Column)
	}
	if len(e.Stack) > 0 {
		b = append(b, ']')
	}
	return append(appendTailMembers(b, row, e.Input), "}\n"...)
}

// Row returns the event as a row of no timeline, without categories, arguments and stack.
func (e *Event) Row() *resolved.Row {
	it := &timeline.Item{Name: e.Name}
	it.Event, it.Offset = uint32(e.InputEvent), e.InputByte
	it.TS, it.Dur = timeline.Nanos(e.TS), timeline.NoTime
	if e.HasDur {
		it.Dur = timeline.Nanos(e.Dur)
	}
	if it.Value = timeline.Int(e.IntValue); e.IsDouble {
		it.Value = timeline.Float(e.DoubleValue)
	}
	if e.HasThreadTS {
		it.ThreadTime = timeline.NewCPUTime(timeline.Nanos(e.ThreadTS))
	}
	if e.HasCPU && e.CPU <= math.MaxInt32 {
		it.CPU = timeline.NewCPU(uint32(e.CPU))
	}
	row := &resolved.Row{
		Kind: e.Kind, Item: it, ID: e.ID, Parent: e.Parent, Depth: int(e.Depth), Track: e.Track.track(),
		FlowsIn: e.FlowsIn, FlowsOut: e.FlowsOut, Contexts: e.Contexts,
	}
	if e.HasThreadDur {
		row.ThreadDuration = timeline.NewCPUTime(timeline.Nanos(e.ThreadDur))
	}
	return row
}

func (p *Place) track() *resolved.Track {
	t := &resolved.Track{
		PID: p.PID, TID: p.TID, HasPID: p.HasPID, HasTID: p.HasTID, MadeUp: uint8(p.MadeUp), ProcessName: string(p.ProcessName),
		ThreadName: string(p.ThreadName), AsyncID: string(p.AsyncID), AsyncScope: string(p.AsyncScope), Lane: p.Lane,
	}
	for _, name := range p.Path {
		t.Path = append(t.Path, string(name))
	}
	return t
}

// appendArgJSON appends an argument that was checked: its key if it is in a dictionary, and its value.
func appendArgJSON(b, msg []byte, follows, keyed bool) []byte {
	var a Arg
	_ = a.Parse(msg)
	if follows {
		b = append(b, ',')
	}
	if keyed {
		b = append(jsontext.AppendString(b, a.Key), ':')
	}
	switch a.Kind {
	case weftv1.Arg_Int:
		return strconv.AppendInt(b, int64(a.Bits), 10)
	case weftv1.Arg_Uint:
		return strconv.AppendUint(b, a.Bits, 10)
	case weftv1.Arg_Double:
		return jsontext.AppendDouble(b, a.Double)
	case weftv1.Arg_Bool:
		return strconv.AppendBool(b, a.Bits != 0)
	case weftv1.Arg_String:
		return jsontext.AppendString(b, a.Bytes)
	case weftv1.Arg_Pointer:
		return append(strconv.AppendUint(append(b, `"0x`...), a.Bits, 16), '"')
	case weftv1.Arg_JSON:
		return resolved.AppendRawJSON(b, a.Bytes)
	case weftv1.Arg_Dict:
		return append(appendMembersJSON(append(b, '{'), &a, true), '}')
	case weftv1.Arg_Array:
		return append(appendMembersJSON(append(b, '['), &a, false), ']')
	}
	return append(b, "null"...)
}

func appendMembersJSON(b []byte, list *Arg, keyed bool) []byte {
	follows := false
	list.Members(func(msg []byte) bool {
		b = appendArgJSON(b, msg, follows, keyed)
		follows = true
		return true
	})
	return b
}
