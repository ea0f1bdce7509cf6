package chromejson

import (
	"strconv"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// flowID converts a flow id (section 15). Integers and hexadecimal strings, with or without 0x, are numbers; other
// strings are compared as text. It returns false for a missing id.
func flowID(v value) (num uint64, text []byte, ok bool) {
	switch v.kind {
	case jsonscan.Integer:
		if n, ok := jsonscan.Int64(v.text); ok {
			return uint64(n), nil, true
		}
		if n, ok := jsonscan.Uint64(v.text); ok {
			return n, nil, true
		}
		return 0, v.text, true
	case jsonscan.String:
		digits := v.text
		if len(digits) > 2 && digits[0] == '0' && digits[1]|0x20 == 'x' {
			digits = digits[2:]
		}
		if n, ok := hexadecimal(digits); ok {
			return n, nil, true
		}
		return 0, v.text, len(v.text) > 0
	}
	return 0, nil, false
}

// hexadecimal converts digits without a prefix. It returns false if they are missing, invalid or exceed 64 bits.
func hexadecimal(digits []byte) (n uint64, ok bool) {
	n, err := strconv.ParseUint(string(digits), 16, 64)
	return n, err == nil
}

func isTrue(v value) bool { return v.kind == jsonscan.True }

// flow adds an s, t or f event on the event's thread (section 15).
func (rd *reader) flow() error {
	ev := &rd.ev
	id, _, _ := ev.id()
	num, text, ok := flowID(id)
	if !ok {
		rd.problem(problem.FlowMissingID, "")
		return nil
	}
	f := rd.prepareFlow(timeline.FlowV1, num, text)
	f.Track = rd.thread()
	f.Name, f.Category = ev.get(fieldName).name(), ev.get(fieldCat).name()
	f.Binding = timeline.BindEnclosing
	switch ev.ph {
	case 's':
		f.Role = timeline.FlowStart
	case 't':
		f.Role = timeline.FlowContinue
	case 'f':
		f.Role = timeline.FlowEnd
		if string(ev.get(fieldBp).str()) != "e" {
			f.Binding = timeline.BindNext
		}
	}
	return rd.b.AddFlow(f)
}

// bindFields are the fields that add a flow end to an event.
const bindFields = 1<<fieldBindID | 1<<fieldFlowIn | 1<<fieldFlowOut

// bindID adds the flow end of an event with any of bindFields. The carrier, if any, is the event last added to the
// Builder. A start counts even without a carrier: it ends an earlier flow with the same id.
func (rd *reader) bindID(carrier bool) error {
	ev := &rd.ev
	in, out := isTrue(ev.get(fieldFlowIn)), isTrue(ev.get(fieldFlowOut))
	id := ev.get(fieldBindID)
	if !in && !out && (id.kind == jsonscan.Invalid || id.kind == jsonscan.Null) {
		return nil
	}
	num, text, ok := flowID(id)
	if !ok {
		if !rd.droppedCarrier(carrier) {
			rd.problem(problem.FlowMissingID, "bind_id")
		}
		return nil
	}
	if !carrier || !in && !out {
		if !rd.droppedCarrier(carrier) {
			rd.problem(problem.FlowWithoutDirection, "")
		}
		if !out {
			return nil
		}
	}
	f := rd.prepareFlow(timeline.FlowV2, num, text)
	if f.Binding = timeline.BindNothing; carrier {
		f.Track, f.Binding = rd.out.Track, timeline.BindCarrier
	}
	switch {
	case in && out:
		f.Role = timeline.FlowContinue
	case out:
		f.Role = timeline.FlowStart
	default:
		f.Role = timeline.FlowEnd
	}
	return rd.b.AddFlow(f)
}

// droppedCarrier reports whether the event could have carried a flow but was dropped for another reason that was
// already counted.
func (rd *reader) droppedCarrier(carrier bool) bool {
	switch rd.ev.ph {
	case 'X', 'b', 'n':
		return !carrier
	}
	return false
}

func (rd *reader) prepareFlow(space timeline.FlowSpace, id uint64, text []byte) *timeline.FlowEvent {
	rd.flo = timeline.FlowEvent{
		Space:  space,
		Event:  uint32(rd.index),
		Offset: rd.S.Start(),
		TS:     rd.ev.ts,
		ID:     id,
		IDText: text,
	}
	return &rd.flo
}
