package timeline

import (
	"context"
	"iter"

	"github.com/weft-trace/weft/internal/schema"
)

// Occurrences calls fn for the slices, instants and end events of every timestamp, which are valid during the call. Ends come
// first, then the starts of each track, with enclosing slices before inner ones. A timestamp with more than a million records
// takes several calls. Arguments are read if args is set; arguments beyond a few MiB at one timestamp must be read with ReadArgs.
// It requires Nest.
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

// occurrences converts nested records to occurrences.
type occurrences struct {
	t       *Timeline
	args    bool
	ordinal uint64
	out     []Head

	// copied holds copies of arguments whose originals are valid only briefly, because they come from payloads on disk or from
	// templates. When copied is full, another chunk is started.
	copied      []byte
	copiedBytes int // in all chunks

	expanded []byte // scratch for the arguments of a template
}

const (
	// maxCopied limits the size of arguments in memory, not counting the last occurrence.
	maxCopied = 4 << 20
	// copiedChunk and reusedOut are the maximum buffer sizes kept for later groups; larger buffers are freed.
	copiedChunk = 256 << 10
	reusedOut   = 1 << 13
)

// reset removes all occurrences.
func (o *occurrences) reset() {
	if cap(o.out) > reusedOut || o.copiedBytes > copiedChunk {
		*o = occurrences{t: o.t, args: o.args, ordinal: o.ordinal}
		return
	}
	o.out, o.copied, o.copiedBytes = o.out[:0], o.copied[:0], 0
}

// append appends the occurrences of the next group.
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

// fill converts a record to an occurrence. out must be zero.
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
			o.copyArgs(out, o.expanded, r)
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
		o.copyArgs(out, p.args, r)
	default:
		out.Args = p.args
	}
	return nil
}

// copyArgs sets the arguments of an occurrence to a copy with the lifetime of the occurrence's group. If too much is already
// copied, it stores the record for ReadArgs instead.
func (o *occurrences) copyArgs(out *Head, args Args, r *record) {
	if o.copiedBytes > maxCopied {
		out.late = r
		return
	}
	if cap(o.copied)-len(o.copied) < len(args) {
		o.copied = make([]byte, 0, max(copiedChunk, len(args)))
	}
	n := len(o.copied)
	o.copied = append(o.copied, args...)
	o.copiedBytes += len(args)
	out.Args = o.copied[n:len(o.copied):len(o.copied)]
}

// ReadArgs reads requested arguments that are missing because the arguments at one timestamp do not fit into memory. They are
// valid until the next call. Errors come from temporary files.
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

// AsyncID returns an asynchronous track's id in the input, or "" for other tracks.
func (t *Timeline) AsyncID(id TrackID) string {
	if key := t.asyncKey(id); key != nil {
		return t.table.idText(key)
	}
	return ""
}

// AsyncScope returns the scope of an asynchronous track's id, or "" if the id has no scope or the track is not asynchronous.
func (t *Timeline) AsyncScope(id TrackID) string {
	if key := t.asyncKey(id); key != nil {
		return t.table.textOf(key.scope)
	}
	return ""
}

func (t *Timeline) asyncKey(id TrackID) *asyncKey {
	switch row := &t.table.tracks[id]; row.kind {
	case AsyncTrack:
		return &t.table.asyncs[row.index].key
	case NamedTrack:
		return t.table.specs[row.index].async
	}
	return nil
}

// ArgSelection is a set of argument names, for passes that need only a few arguments of many events.
type ArgSelection struct {
	t      *Timeline
	wanted []bool // by KeyID
}

// SelectArgs returns a selection of the names for which wanted returns true.
func (t *Timeline) SelectArgs(wanted func(name string) bool) *ArgSelection {
	s := &ArgSelection{t: t, wanted: make([]bool, t.keys.len()+1)}
	for id := range s.wanted {
		s.wanted[id] = wanted(string(t.keys.get(uint32(id))))
	}
	return s
}

// List is Timeline.ArgList without unselected arguments; arguments with uninterned names are always included.
func (s *ArgSelection) List(args Args) iter.Seq[Arg] {
	return s.t.annotations(args, schema.TrackEvent_DebugAnnotations, s.wanted)
}

// maxPathArgs limits the depth of the dictionaries and arrays that Paths visits.
const maxPathArgs = 4

// Paths calls fn for each value in args with its path, until fn returns false. A dictionary member adds a dot and its name to the
// path, and an array adds [].
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

// Members is Timeline.Members without unselected members, see List.
func (s *ArgSelection) Members(a Arg) iter.Seq[Arg] { return s.t.members(a, s.wanted) }
