package timeline

import (
	"context"
	"iter"

	"github.com/weft-trace/weft/internal/schema"
)

// Occurrences calls fn for the slices, instants and end events of every timestamp, which are valid during the call:
// ends first, then the starts of each track, enclosing slices before slices in them. More than a million records
// at one time come in several calls. Arguments are read if they are asked for; ReadArgs reads those beyond some MiB at one
// time. Nest comes first.
func (t *Timeline) Occurrences(ctx context.Context, args bool, fn func(group []Head) error) error {
	o := occurrences{t: t, args: args}
	return t.groups(ctx, false, func(g *group) error {
		o.reset()
		if err := o.append(g); err != nil || len(o.out) == 0 {
			return err
		}
		return fn(o.out)
	})
}

// occurrences makes occurrences of nested records.
type occurrences struct {
	t       *Timeline
	args    bool
	ordinal uint64
	out     []Head

	// held are copies of arguments that are valid for a moment only, of payloads on disk and of templates. What does not fit
	// begins another chunk.
	held      []byte
	heldBytes int // in all chunks

	expanded []byte // arguments of a template
}

const (
	// maxHeld is how many bytes of arguments are held at once, but for the last ones.
	maxHeld = 4 << 20
	// heldChunk and keptOut are what is kept for the next groups: longer arguments, and more occurrences, are freed.
	heldChunk = 256 << 10
	keptOut   = 1 << 13
)

// reset forgets all occurrences.
func (o *occurrences) reset() {
	if cap(o.out) > keptOut || o.heldBytes > heldChunk {
		*o = occurrences{t: o.t, args: o.args, ordinal: o.ordinal}
		return
	}
	o.out, o.held, o.heldBytes = o.out[:0], o.held[:0], 0
}

// append appends the occurrences of a group, the one after the latest call's.
func (o *occurrences) append(g *group) error {
	for i := range g.len() {
		r := g.at(i)
		if !r.starts() && r.Kind() != End {
			continue
		}
		o.out = append(o.out, Head{})
		if err := o.fill(&o.out[len(o.out)-1], r, o.ordinal+uint64(i), g.mem == nil); err != nil {
			return err
		}
	}
	o.ordinal += uint64(g.len())
	return nil
}

// fill makes an item of a record. out is empty.
func (o *occurrences) fill(out *Head, r *record, ordinal uint64, onDisk bool) error {
	out.Ordinal, out.Event, out.Offset, out.Track, out.TS = ordinal, r.event, r.offset, r.track, r.ts
	out.Dur, out.End = NoTime, NoTime
	out.Deletion = r.flags&flagKeepEnd != 0
	at, used := r.threadTimes()
	out.ThreadTime = at
	if r.name&inlineBit == 0 {
		out.NameID = r.name
	}
	if r.category&inlineBit == 0 {
		out.CategoryID = r.category
	}
	switch r.Kind() {
	case End:
		out.Kind, out.BeginEvent = ItemEnd, r.BeginEvent()
	case Instant:
		out.Kind = ItemInstant
	default:
		out.Kind, out.Dur, out.Complete, out.DidNotEnd = ItemBegin, r.dur, r.Kind() == Slice, r.didNotEnd()
		if end, ends := r.end(); ends && r.flags&(flagClosed|flagMatched) != flagClosed {
			out.End = end
		}
		if r.Kind() == Slice {
			out.ThreadDuration = used
		}
	}
	if o.t.table.tracks[r.track].kind == ThreadTrack {
		out.Thread = r.track
	}
	if r.hasTemplate() {
		if o.args {
			o.expanded = o.t.templates.appendArgs(o.expanded[:0], r)
			o.hold(out, o.expanded, r)
		}
		return nil
	}
	if r.flags&flagSampling == 0 && (!o.args || r.flags&flagArgs == 0) {
		return nil
	}
	b, err := o.t.store.payload(r.payload)
	if err != nil {
		return err
	}
	p := decodePayload(b, r.flags)
	out.TraceID = p.sampling.TraceID
	if p.sampling.Thread != 0 {
		out.Thread = p.sampling.Thread
	}
	switch {
	case !o.args || len(p.args) == 0:
	case onDisk:
		o.hold(out, p.args, r)
	default:
		out.Args = p.args
	}
	return nil
}

// hold gives an occurrence a copy of its arguments, valid while its group is. If too many are held already, it gets the record that
// has them.
func (o *occurrences) hold(out *Head, args Args, r *record) {
	if o.heldBytes > maxHeld {
		out.late = r
		return
	}
	if cap(o.held)-len(o.held) < len(args) {
		o.held = make([]byte, 0, max(heldChunk, len(args)))
	}
	n := len(o.held)
	o.held = append(o.held, args...)
	o.heldBytes += len(args)
	out.Args = o.held[n:len(o.held):len(o.held)]
}

// ReadArgs reads requested arguments that are not there yet, because the arguments of all that happens at one time are too long to
// be held. They are valid until the next call. The error is one of the temporary files.
func (t *Timeline) ReadArgs(o *Head) error {
	switch {
	case o.late == nil:
		return nil
	case o.late.hasTemplate():
		o.Args = t.templates.appendArgs(nil, o.late)
		return nil
	}
	b, err := t.store.payload(o.late.payload)
	if err == nil {
		o.Args = decodePayload(b, o.late.flags).args
	}
	return err
}

// AsyncID returns the id of an asynchronous track as the input has it; "" for other tracks.
func (t *Timeline) AsyncID(id TrackID) string {
	switch row := &t.table.tracks[id]; row.kind {
	case AsyncTrack:
		return t.table.idText(&t.table.asyncs[row.index].key)
	case NamedTrack:
		if key := t.table.specs[row.index].async; key != nil {
			return t.table.idText(key)
		}
	}
	return ""
}

// AsyncScope returns the scope of the id of an asynchronous track; "" if it has none, and for other tracks.
func (t *Timeline) AsyncScope(id TrackID) string {
	switch row := &t.table.tracks[id]; row.kind {
	case AsyncTrack:
		return t.table.textOf(t.table.asyncs[row.index].key.scope)
	case NamedTrack:
		if key := t.table.specs[row.index].async; key != nil {
			return t.table.textOf(key.scope)
		}
	}
	return ""
}

// ArgSelection is a set of argument names, for passes that look at few of the arguments of many events.
type ArgSelection struct {
	t      *Timeline
	wanted []bool // by KeyID
}

// SelectArgs returns the selection of the names for which wanted is true.
func (t *Timeline) SelectArgs(wanted func(name string) bool) *ArgSelection {
	s := &ArgSelection{t: t, wanted: make([]bool, t.keys.len()+1)}
	for id := range s.wanted {
		s.wanted[id] = wanted(string(t.keys.get(uint32(id))))
	}
	return s
}

// List is Timeline.ArgList without arguments that are not selected; those whose name is not interned are never left out.
func (s *ArgSelection) List(args Args) iter.Seq[Arg] {
	return s.t.annotations(args, schema.TrackEvent_DebugAnnotations, s.wanted)
}

// maxPathArgs bounds how deep Paths looks into dictionaries and arrays.
const maxPathArgs = 4

// Paths calls fn for the values in arguments with their paths, in which members of a dictionary follow a dot, and the elements of an array
// have the path of the array with [] after it; until it returns false.
func (s *ArgSelection) Paths(args Args, fn func(path string, arg *Arg) bool) {
	for arg := range s.List(args) {
		if !s.paths("", &arg, 0, fn) {
			return
		}
	}
}

func (s *ArgSelection) paths(path string, arg *Arg, depth int, fn func(path string, arg *Arg) bool) bool {
	path += string(arg.Key)
	switch {
	case arg.Kind != ArgDict && arg.Kind != ArgArray:
		return fn(path, arg)
	case depth == maxPathArgs:
		return true
	case arg.Kind == ArgDict:
		path += "."
	default:
		path += "[]"
	}
	for member := range s.Members(*arg) {
		if !s.paths(path, &member, depth+1, fn) {
			return false
		}
	}
	return true
}

// Members is Timeline.Members, of an ArgDict as List.
func (s *ArgSelection) Members(a Arg) iter.Seq[Arg] { return s.t.members(a, s.wanted) }
