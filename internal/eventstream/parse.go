package eventstream

import (
	"errors"
	"fmt"

	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/schema/weftv1"
	"github.com/weft-trace/weft/internal/wire"
)

// Event is an Event of a stream. Its byte slices are parts of the message that it was parsed from.
type Event struct {
	TS, Dur      int64
	HasDur       bool
	Kind         resolved.Kind
	Name         []byte
	Categories   [][]byte
	ID, Parent   uint64
	Depth        uint32
	Track        Place
	Args         [][]byte // Arg messages
	FlowsIn      []resolved.FlowIn
	FlowsOut     []uint64
	Contexts     []resolved.Context
	ThreadTS     int64
	HasThreadTS  bool
	ThreadDur    int64
	HasThreadDur bool
	IntValue     int64
	DoubleValue  float64
	IsDouble     bool
	Stack        []Frame
	CPU          uint64
	HasCPU       bool
	Input        uint64
	InputEvent   uint64
	InputByte    int64 // -1 if there is no such place
	knownKind    bool
	packed       wire.Packed
}

// Place is where an event is.
type Place struct {
	Path                    [][]byte
	PID, TID                int64
	HasPID, HasTID          bool
	MadeUp                  uint64
	ProcessName, ThreadName []byte
	AsyncID, AsyncScope     []byte
	Lane                    uint32
}

// Frame is a function on a call stack.
type Frame struct {
	Function, File []byte
	Line, Column   int64
}

// errMalformed is the error for a message that is not what it should be.
var errMalformed = errors.New("malformed message")

// maxMessageDepth is more than weft nests arguments: two levels of messages for each of theirs.
const maxMessageDepth = 2 * (maxArgDepth + 5)

// Parse decodes an Event. Fields that are not known are passed over.
func (e *Event) Parse(msg []byte) error {
	*e = Event{
		Categories: e.Categories[:0], Track: Place{Path: e.Track.Path[:0]}, Args: e.Args[:0], FlowsIn: e.FlowsIn[:0], FlowsOut: e.FlowsOut[:0],
		Contexts: e.Contexts[:0], Stack: e.Stack[:0], InputByte: -1,
	}
	r := wire.NewReader(msg)
	for r.Next() {
		if !e.known(r.Field(), r.Type()) {
			return fmt.Errorf("%w: field %d of an event has the wire type %d", errMalformed, r.Field(), r.Type())
		}
		if err := e.field(&r); err != nil {
			return err
		}
	}
	if err := r.Err(); err != nil {
		return fmt.Errorf("%w: %w", errMalformed, err)
	}
	return nil
}

// known reports whether a field of an event may have a wire type; others are those of a later revision.
func (e *Event) known(field, wireType int) bool {
	switch field {
	case weftv1.Event_DoubleValue:
		return wireType == wire.Fixed64
	case weftv1.Event_FlowsOut:
		return wireType == wire.Len || wireType == wire.Varint
	case weftv1.Event_Name, weftv1.Event_Categories, weftv1.Event_Track, weftv1.Event_ProcessName, weftv1.Event_ThreadName, weftv1.Event_Args,
		weftv1.Event_FlowsIn, weftv1.Event_Contexts, weftv1.Event_Stack, weftv1.Event_AsyncID, weftv1.Event_AsyncScope:
		return wireType == wire.Len
	}
	return field > weftv1.Event_InputByte || wireType == wire.Varint
}

// field decodes a field.
func (e *Event) field(r *wire.Reader) error {
	switch r.Field() {
	case weftv1.Event_TsNS:
		e.TS = r.Int()
	case weftv1.Event_DurNS:
		e.Dur, e.HasDur = r.Int(), true
	case weftv1.Event_Kind:
		if e.knownKind = r.Uint() > 0 && r.Uint() <= resolved.KindCount; e.knownKind {
			e.Kind = resolved.Kind(r.Uint())
		}
	case weftv1.Event_Name:
		e.Name = r.Bytes()
	case weftv1.Event_Categories:
		e.Categories = append(e.Categories, r.Bytes())
	case weftv1.Event_ID:
		e.ID = r.Uint()
	case weftv1.Event_ParentID:
		e.Parent = r.Uint()
	case weftv1.Event_Depth:
		e.Depth = uint32(r.Uint())
	case weftv1.Event_Args:
		e.Args = append(e.Args, r.Bytes())
		return checkArg(r.Bytes(), 0)
	case weftv1.Event_FlowsIn:
		return e.flowIn(r.Bytes())
	case weftv1.Event_FlowsOut:
		return e.flowsOut(r)
	case weftv1.Event_Contexts:
		return e.context(r.Bytes())
	case weftv1.Event_Stack:
		return e.frame(r.Bytes())
	case weftv1.Event_ThreadTsNS:
		e.ThreadTS, e.HasThreadTS = r.Int(), true
	case weftv1.Event_ThreadDurNS:
		e.ThreadDur, e.HasThreadDur = r.Int(), true
	case weftv1.Event_IntValue:
		e.IntValue, e.IsDouble = r.Int(), false
	case weftv1.Event_DoubleValue:
		e.DoubleValue, e.IsDouble = r.Double(), true
	case weftv1.Event_CPU:
		e.CPU, e.HasCPU = r.Uint(), true
	case weftv1.Event_Input:
		e.Input = r.Uint()
	case weftv1.Event_InputEvent:
		e.InputEvent = r.Uint()
	case weftv1.Event_InputByte:
		e.InputByte = r.Int()
	default:
		e.Track.field(r)
	}
	return nil
}

// field decodes a field about a track.
func (p *Place) field(r *wire.Reader) {
	switch r.Field() {
	case weftv1.Event_Track:
		p.Path = append(p.Path, r.Bytes())
	case weftv1.Event_PID:
		p.PID, p.HasPID = r.Int(), true
	case weftv1.Event_TID:
		p.TID, p.HasTID = r.Int(), true
	case weftv1.Event_ProcessName:
		p.ProcessName = r.Bytes()
	case weftv1.Event_ThreadName:
		p.ThreadName = r.Bytes()
	case weftv1.Event_AsyncID:
		p.AsyncID = r.Bytes()
	case weftv1.Event_AsyncScope:
		p.AsyncScope = r.Bytes()
	case weftv1.Event_Lane:
		p.Lane = uint32(r.Uint())
	case weftv1.Event_MadeUp:
		p.MadeUp = r.Uint()
	}
}

func (e *Event) flowIn(msg []byte) error {
	var f resolved.FlowIn
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case weftv1.FlowIn_ID:
			f.ID = r.Uint()
		case weftv1.FlowIn_From:
			f.From = r.Uint()
		}
	}
	e.FlowsIn = append(e.FlowsIn, f)
	return r.Err()
}

func (e *Event) flowsOut(r *wire.Reader) error {
	if r.Type() == wire.Varint {
		e.FlowsOut = append(e.FlowsOut, r.Uint())
		return nil
	}
	e.packed = wire.NewPacked(r.Bytes())
	for e.packed.Next() {
		e.FlowsOut = append(e.FlowsOut, e.packed.Uint())
	}
	return e.packed.Err()
}

func (e *Event) context(msg []byte) error {
	var c resolved.Context
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case weftv1.Context_Type:
			c.Type = string(r.Bytes())
		case weftv1.Context_ID:
			c.ID = string(r.Bytes())
		case weftv1.Context_Name:
			c.Name = string(r.Bytes())
		case weftv1.Context_Via:
			c.Via = resolved.Via(min(r.Uint(), 255))
		case weftv1.Context_Hops:
			c.Hops = int(uint32(r.Uint()))
		case weftv1.Context_Candidates:
			c.Candidates = append(c.Candidates, string(r.Bytes()))
		}
	}
	e.Contexts = append(e.Contexts, c)
	return r.Err()
}

func (e *Event) frame(msg []byte) error {
	var f Frame
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case weftv1.Frame_Function:
			f.Function = r.Bytes()
		case weftv1.Frame_File:
			f.File = r.Bytes()
		case weftv1.Frame_Line:
			f.Line = r.Int()
		case weftv1.Frame_Column:
			f.Column = r.Int()
		}
	}
	e.Stack = append(e.Stack, f)
	return r.Err()
}

// ArgKind says what the value of an Arg is: the number of its field, 0 for null.
type ArgKind int

// Arg is an Arg of a stream.
type Arg struct {
	Key    []byte
	Kind   ArgKind
	Bits   uint64  // of a number or truth value
	Double float64 // of a weftv1.Arg_Double
	Bytes  []byte  // of a text; the ArgList of a dictionary or array
}

// Parse decodes an Arg, without the members of a dictionary or array.
func (a *Arg) Parse(msg []byte) error {
	*a = Arg{}
	r := wire.NewReader(msg)
	for r.Next() {
		want := wire.Len
		switch f := r.Field(); f {
		case weftv1.Arg_Key:
			a.Key = r.Bytes()
		case weftv1.Arg_Int, weftv1.Arg_Uint, weftv1.Arg_Bool, weftv1.Arg_Pointer:
			a.Kind, a.Bits, want = ArgKind(f), r.Uint(), wire.Varint
		case weftv1.Arg_Double:
			a.Kind, a.Double, want = ArgKind(f), r.Double(), wire.Fixed64
		case weftv1.Arg_String, weftv1.Arg_JSON, weftv1.Arg_Dict, weftv1.Arg_Array:
			a.Kind, a.Bytes = ArgKind(f), r.Bytes()
		default:
			continue
		}
		if r.Type() != want {
			return fmt.Errorf("%w: field %d of an argument has the wire type %d", errMalformed, r.Field(), r.Type())
		}
	}
	return r.Err()
}

// Members calls fn for the members of a dictionary or array until it returns false.
func (a *Arg) Members(fn func(msg []byte) bool) {
	for r := wire.NewReader(a.Bytes); r.Next(); {
		if r.Field() == weftv1.ArgList_Args && r.Type() == wire.Len && !fn(r.Bytes()) {
			return
		}
	}
}

// checkArg checks an Arg and what is in it.
func checkArg(msg []byte, depth int) (err error) {
	if depth > maxMessageDepth {
		return fmt.Errorf("%w: arguments are nested deeper than %d levels", errMalformed, maxMessageDepth)
	}
	var a Arg
	if err := a.Parse(msg); err != nil {
		return err
	}
	if a.Kind != weftv1.Arg_Dict && a.Kind != weftv1.Arg_Array {
		return nil
	}
	r := wire.NewReader(a.Bytes)
	for err == nil && r.Next() {
		switch {
		case r.Field() != weftv1.ArgList_Args:
		case r.Type() != wire.Len:
			err = fmt.Errorf("%w: a member has the wire type %d", errMalformed, r.Type())
		default:
			err = checkArg(r.Bytes(), depth+1)
		}
	}
	return errors.Join(err, r.Err())
}
