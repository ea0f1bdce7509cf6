package trace

import (
	"errors"
	"iter"
	"slices"

	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/timeline"
)

// errStop ends a walk when the loop body breaks.
var errStop = errors.New("stop")

// Events returns all events in the order of a Perfetto trace: by time; at equal times, enclosing slices before inner ones, and
// producers of a flow before its consumers. It yields each slice once, at its start, with its final length and with the arguments
// and CPU time from its end.
//
// The next iteration overwrites the Event; Event.Clone copies it. Loops can end early, be repeated, and be nested. An error, from
// temporary files or from the trace's context, is yielded last, with a nil Event.
func (t *Trace) Events() iter.Seq2[*Event, error] {
	return func(yield func(*Event, error) bool) {
		t.describeTracks()
		t.names.prepare(t.tl())
		if t.rows == nil {
			t.rows = resolved.NewReader(t.tl())
		}
		r := eventReader{t: t}
		_, err := t.rows.Walk(timeline.ContextOf(&t.handle), resolved.Options{}, func(row *resolved.Row) error {
			r.fill(row)
			if !yield(&r.event, nil) {
				return errStop
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStop) {
			yield(nil, err)
		}
	}
}

// Lookup returns copies of the events with the given ids, omitting unknown ids. It makes one pass over the trace, up to the last
// of these events, so one call with many ids is faster than many calls.
func (t *Trace) Lookup(ids ...EventID) (map[EventID]*Event, error) {
	wanted := make(map[EventID]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	found := make(map[EventID]*Event, len(wanted))
	for ev, err := range t.Events() {
		if err != nil {
			return nil, err
		}
		if wanted[ev.ID] {
			found[ev.ID] = ev.Clone()
		}
		if len(found) == len(wanted) {
			break
		}
	}
	return found, nil
}

// eventReader converts rows to events.
type eventReader struct {
	t     *Trace
	event Event

	// Storage that event points to.
	args                 eventArgs
	cpuTime, cpuDuration Nanos
	stack                []Frame
}

var kinds = [...]Kind{resolved.Slice: Slice, resolved.Instant: Instant, resolved.Counter: Counter, resolved.Sample: Sample}

// fill converts row to r.event.
func (r *eventReader) fill(row *resolved.Row) {
	t, it, ev := r.t, row.Item, &r.event
	in, out := ev.FlowsIn[:0], ev.FlowsOut[:0]
	r.args = eventArgs{encoded: it.Args, end: row.EndArgs, tl: t.tl(), id: r.args.id[:0]}
	*ev = Event{
		Kind: kinds[row.Kind], ID: EventID(row.ID), Parent: EventID(row.Parent), Depth: row.Depth,
		Track: t.trackOf(it.Track, it.Lane), Time: Nanos(it.TS), Name: t.names.name(it), Category: t.names.category(it),
		Args:       Value{kind: DictKind, args: &r.args, tl: t.tl()},
		InputEvent: it.Event, InputByte: it.Offset,
	}
	if it.HasAsyncID() {
		r.args.id = append(r.args.id, NewArg("id", it.AsyncID))
		if it.AsyncScope != "" {
			r.args.id = append(r.args.id, NewArg("scope", it.AsyncScope))
		}
	}
	if it.DidNotEnd {
		r.args.id = append(r.args.id, NewArg(resolved.DidNotEndKey, true))
	}
	if at, known := it.ThreadTime.Nanos(); known {
		r.cpuTime, ev.CPUTime = at, &r.cpuTime
		if used, known := row.ThreadDuration.Nanos(); known {
			r.cpuDuration, ev.CPUDuration = used, &r.cpuDuration
		}
	}
	if it.Callstack != 0 {
		r.fillStack(it.Callstack)
		ev.Stack = r.stack
	}
	switch row.Kind {
	case resolved.Slice:
		if ev.Unfinished = it.Dur == timeline.NoTime; !ev.Unfinished {
			ev.Duration = it.Dur
		}
	case resolved.Counter, resolved.Sample:
		ev.Value = numberValue(it.Value)
	}
	for _, f := range row.FlowsIn {
		in = append(in, FlowIn{ID: FlowID(f.ID), From: EventID(f.From)})
	}
	for _, id := range row.FlowsOut {
		out = append(out, FlowID(id))
	}
	ev.FlowsIn, ev.FlowsOut = in, out
}

// fillStack converts a call stack to r.stack.
func (r *eventReader) fillStack(id timeline.CallstackID) {
	tl := r.t.tl()
	r.stack = r.stack[:0]
	for _, id := range slices.Backward(tl.Callstack(id)) { // the outermost frame comes first
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

// nameTable caches a timeline's interned names and categories as strings.
type nameTable struct {
	names, categories []string
}

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
