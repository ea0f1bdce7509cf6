package trace

import (
	"errors"
	"iter"
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// errStop ends a walk whose loop was left.
var errStop = errors.New("stop")

// Events returns all events in the order in which a Perfetto trace holds them: by time, at one time enclosing slices
// before those in them, and producers of flows before their consumers. A slice comes once, when it begins, with its
// final length and with the arguments and the CPU time that its end brings.
//
// The Event is overwritten by the next one; Event.Clone keeps it. The loop may be left early, started again, and run inside
// another one. An error, which can only be one of temporary files or that of the trace's context, comes as the last pair, with a
// nil Event.
func (t *Trace) Events() iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		ends, err := t.takeEnds()
		if err != nil {
			yield(nil, err)
			return
		}
		defer t.putEnds(ends)
		t.describeTracks()
		t.names.prepare(t.tl)
		r := eventReader{t: t, ends: ends, yield: yield}
		if err := timeline.WalkNested(t.ctx, t.tl, r.item); err != nil && !errors.Is(err, errStop) {
			yield(nil, err)
		}
	}
}

// eventReader turns the items of a walk into events.
type eventReader struct {
	t     *Trace
	ends  *sliceEnds
	yield func(*Event, error) bool
	event Event

	// What the event points to.
	args                 eventArgs
	cpuTime, cpuDuration Nanos
	stack                []Frame
}

func (r *eventReader) item(it *timeline.Item, open *timeline.OpenSlices[EventID]) error {
	if it.Kind == timeline.ItemEnd {
		return nil
	}
	ev := &r.event
	r.fill(it)
	ev.Depth = open.Len()
	if ev.Kind == Slice {
		ev.Depth--
		*open.Innermost() = ev.ID
		if err := r.applyEnd(); err != nil {
			return err
		}
	}
	if ev.Depth > 0 {
		ev.Parent = *open.At(ev.Depth - 1)
	}
	if !r.yield(ev, nil) {
		return errStop
	}
	return nil
}

// fill makes an event of an item, but for its place in the nesting.
func (r *eventReader) fill(it *timeline.Item) {
	t, ev := r.t, &r.event
	in, out := ev.FlowsIn[:0], ev.FlowsOut[:0]
	r.args = eventArgs{encoded: it.Args, of: t.tl, id: r.args.id[:0]}
	*ev = Event{
		Track: t.trackOf(it.Track, it.Lane), Time: Nanos(it.TS), Name: t.names.name(it), Category: t.names.category(it),
		Args:       Value{kind: DictKind, args: &r.args, of: t.tl},
		InputEvent: it.Event, InputByte: it.Offset,
	}
	if it.Ordinal != timeline.NoOrdinal {
		ev.ID = EventID(it.Ordinal + 1)
	}
	if it.AsyncID != "" {
		r.args.id = append(r.args.id, NewArg("id", it.AsyncID))
		if it.AsyncScope != "" {
			r.args.id = append(r.args.id, NewArg("scope", it.AsyncScope))
		}
	}
	if it.DidNotEnd {
		r.args.id = append(r.args.id, NewArg(didNotEndKey, true))
	}
	if at, known := it.ThreadTime.Nanos(); known {
		r.cpuTime, ev.CPUTime = Nanos(at), &r.cpuTime
	}
	if it.Callstack != 0 {
		r.fillStack(it.Callstack)
		ev.Stack = r.stack
	}
	switch it.Kind {
	case timeline.ItemBegin:
		ev.Kind, ev.Unfinished = Slice, it.Dur == timeline.NoTime
		if !ev.Unfinished {
			ev.Duration = Nanos(it.Dur)
		}
	case timeline.ItemInstant:
		ev.Kind = Instant
	case timeline.ItemCounter:
		ev.Kind, ev.Value = Counter, numberValue(it.Value)
	case timeline.ItemSample:
		ev.Kind, ev.Value = Sample, numberValue(it.Value)
	}
	for _, f := range it.Flows {
		if f.Previous != timeline.NoOrdinal {
			in = append(in, FlowIn{ID: FlowID(f.ID), From: EventID(f.Previous + 1)})
		}
		if !f.Terminating {
			out = append(out, FlowID(f.ID))
		}
	}
	ev.FlowsIn, ev.FlowsOut = in, out
}

// fillStack makes frames of a call stack.
func (r *eventReader) fillStack(id timeline.CallstackID) {
	tl := r.t.tl
	r.stack = r.stack[:0]
	for _, id := range slices.Backward(tl.Callstack(id)) { // the outermost comes first
		f := tl.Frame(id)
		frame := Frame{Function: f.Function, File: f.File, Line: f.Line, Column: f.Column, Address: f.Address}
		if f.Mapping != 0 {
			frame.Binary = tl.Mapping(f.Mapping).Path
		}
		r.stack = append(r.stack, frame)
	}
}

func numberValue(n timeline.Number) Value {
	if n.IsInt() {
		return intValue(n.Int())
	}
	return NewValue(n.Float())
}

// nameTable holds the interned names and categories of a timeline as strings, which are made when they are needed.
type nameTable struct {
	names, categories []string
}

// prepare makes room for the names and categories of a timeline.
func (n *nameTable) prepare(tl *timeline.Timeline) {
	if n.names == nil {
		n.names, n.categories = make([]string, tl.NameCount()+1), make([]string, tl.CategoryCount()+1)
	}
}

func (n *nameTable) name(it *timeline.Item) string {
	return interned(n.names, uint32(it.NameID), it.Name)
}

func (n *nameTable) category(it *timeline.Item) string {
	return interned(n.categories, uint32(it.CategoryID), it.Category)
}

func interned(table []string, id uint32, text []byte) string {
	if len(text) == 0 {
		return ""
	}
	if id == 0 || int(id) >= len(table) {
		return string(text)
	}
	if table[id] == "" {
		table[id] = string(text)
	}
	return table[id]
}
