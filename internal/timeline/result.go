package timeline

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// Timeline is a trace in time order. It must be closed, because data beyond the memory budget is in temporary files. It is not
// safe for concurrent use.
type Timeline struct {
	tables
	known
	attributes []Attribute
	pages      []Page
	store      store
	sampled    *sampleTable // in addition to the records in store
	flows      Attached[FlowRef]
	notes      Attached[Note]
	overlay    Overlay
	totals     Totals
	longTasks  longTasks
	segments   []segment
	events     ordinalSet // the records that Walk returns as events, except samples; see NumberEvents
	ids        *eventIDs  // nil before NumberEvents is called
	hides      bool       // some tracks are hidden

	hiddenArg func(Args) int // nil: all arguments are shown

	visited atomic.Int64 // number of record visits by all passes

	walking sync.Mutex // guards the problems of segments
	walked  int        // number of segments whose problems have been counted
}

// Passes returns how often a record was visited on average. This is the number of passes, unless records were added between
// passes. Tests check this number instead of times, because times vary too much.
func (t *Timeline) Passes() float64 {
	return float64(t.visited.Load()) / float64(max(t.store.len(), 1))
}

// groups runs a pass over all groups of the store. It stops when the context is done.
func (t *Timeline) groups(ctx context.Context, rewrite bool, fn func(g *group) error) error {
	t.visited.Add(int64(t.store.len()))
	n := 0
	return t.store.groups(rewrite, func(g *group) error {
		if n++; n%(1<<12) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		return fn(g)
	})
}

// section runs a pass over a section of the store.
func (t *Timeline) section(first, count int, fn func(g *group) error) error {
	t.visited.Add(int64(count))
	return t.store.section(first, count, fn)
}

// HasFlows reports whether the input has flow events in the given space.
func (t *Timeline) HasFlows(s FlowSpace) bool { return int(s) < len(t.spaces) && t.spaces[s] }

// Close frees the memory and removes the temporary files of the timeline.
func (t *Timeline) Close() error {
	err := errors.Join(t.store.close(), t.sampled.close())
	if t.flows != nil {
		err = errors.Join(err, t.flows.Close())
	}
	if t.notes != nil {
		err = errors.Join(err, t.notes.Close())
	}
	if t.overlay != nil {
		err = errors.Join(err, t.overlay.Close())
	}
	return err
}

// TimeUnit returns the largest unit, Microsecond or 1, that divides the times of all records.
func (t *Timeline) TimeUnit() Nanos { return unit(t.fractions.times) }

// ExtendTimeUnit makes TimeUnit take the time of an overlay event into account.
func (t *Timeline) ExtendTimeUnit(ts Nanos) {
	t.fractions.times = t.fractions.times || ts%Microsecond != 0
}

// ThreadTimeUnit is TimeUnit for thread CPU times.
func (t *Timeline) ThreadTimeUnit() Nanos { return unit(t.fractions.threadTimes) }

// ThreadTimesAreExactInDoubles reports whether all thread CPU times, and their differences, are between 0 and 2^53 ns.
func (t *Timeline) ThreadTimesAreExactInDoubles() bool { return !t.fractions.largeThreadTimes }

func unit(fractions bool) Nanos {
	if fractions {
		return 1
	}
	return Microsecond
}

// Problems returns the log for problems that the passes find.
func (t *Timeline) Problems() *problem.Log { return t.opts.Problems }

// Memory returns the memory budget for passes over the timeline.
func (t *Timeline) Memory() int64 { return t.opts.Memory }

// TempDir returns the directory for the passes' temporary files.
func (t *Timeline) TempDir() string { return t.opts.TempDir }

// Len returns the number of records and samples, including those that are not in the output.
func (t *Timeline) Len() int { return t.store.len() + t.sampled.len() }

// Attributes returns the facts about the whole trace in the order in which they were first set.
func (t *Timeline) Attributes() []Attribute { return t.attributes }

// SetAttribute sets a fact about the whole trace.
func (t *Timeline) SetAttribute(a Attribute) {
	if i := slices.IndexFunc(t.attributes, func(b Attribute) bool { return b.Key == a.Key }); i >= 0 {
		t.attributes[i] = a
	} else {
		t.attributes = append(t.attributes, a)
	}
}

// Name returns an interned event name. Ids count from 1 to NameCount.
func (t *Timeline) Name(id NameID) []byte { return t.names.get(uint32(id)) }

// NameCount returns the number of interned event names.
func (t *Timeline) NameCount() int { return t.names.len() }

// Category returns an interned category text, as written in the input. Ids count from 1 to CategoryCount.
func (t *Timeline) Category(id CategoryID) []byte { return t.categories.get(uint32(id)) }

// CategoryCount returns the number of interned category texts.
func (t *Timeline) CategoryCount() int { return t.categories.len() }

// Key returns an interned argument name. Ids count from 1 to KeyCount.
func (t *Timeline) Key(id KeyID) []byte { return t.keys.get(uint32(id)) }

// KeyCount returns the number of interned argument names.
func (t *Timeline) KeyCount() int { return t.keys.len() }

// InternKey returns the id of an argument name, for arguments that a pass adds, or 0 if the table is full.
func (t *Timeline) InternKey(name string) KeyID {
	id, _ := t.keys.intern([]byte(name))
	return KeyID(id)
}

// Track describes a track of the timeline.
type Track struct {
	ID     TrackID
	Kind   TrackKind
	Used   bool // an event is on this track or on a track below it
	Parent TrackID
	Name   string // of the process, thread or counter, or of the track itself

	InputID  InputID  // ProcessTrack, ThreadTrack: the id in the input
	PID      int32    // ProcessTrack: in the output; ThreadTrack: of its process
	TID      int64    // ThreadTrack: in the output
	Assigned bool     // the PID of the process or TID of the thread is an allocated number, because Perfetto cannot represent InputID
	Labels   []string // ProcessTrack
	Input    string   // ProcessTrack, with several inputs: name of the first input that has the process
	Facts    []Fact   // ThreadTrack

	RecordedPID int64 // ProcessTrack, if Renumbered: its number in the recording
	Moved       Nanos // ProcessTrack: how much later its events are than in the recording; times in their arguments are as recorded
	Renumbered  bool  // ProcessTrack: InputID is not RecordedPID, because another recording has a process with that number

	Rank    int32 // position among its siblings
	HasRank bool

	Counter *CounterKey // CounterTrack; its Name is empty
	Spec    *TrackSpec  // NamedTrack
}

// TrackCount returns the number of tracks; their ids run from 0, the root, to TrackCount-1.
func (t *Timeline) TrackCount() int { return len(t.table.tracks) }

// BusiestTrack returns the thread with the most slices and instants on its own track, among the threads of a machine. It returns
// false if there are none. It requires Nest.
func (t *Timeline) BusiestTrack(machine uint32) (TrackID, bool) {
	busiest, most := TrackID(0), uint64(0)
	for id := range t.table.tracks {
		row := &t.table.tracks[id]
		if row.kind != ThreadTrack || t.FirstLane(TrackID(id)) == 0 || t.Machine(TrackID(id)) != machine {
			continue
		}
		if n := t.table.threads[row.index].starts; n > most {
			busiest, most = TrackID(id), n
		}
	}
	return busiest, most > 0
}

// TrackUsed reports whether an event is on a track or below it, as in Track.Used.
func (t *Timeline) TrackUsed(id TrackID) bool { return t.table.tracks[id].used }

// TrackKind returns the kind of a track.
func (t *Timeline) TrackKind(id TrackID) TrackKind {
	if kind := t.table.tracks[id].kind; kind != undeclaredTrack {
		return kind
	}
	return NamedTrack
}

// TrackParent returns the parent of a track.
func (t *Timeline) TrackParent(id TrackID) TrackID { return t.table.tracks[id].parent }

// maxTrackDepth limits how many ancestors of a track are visited.
const maxTrackDepth = 100

// Above returns the track itself if it is of the given kind, and otherwise its closest ancestor of that kind. It returns 0 if
// there is none.
func (t *Timeline) Above(id TrackID, kind TrackKind) TrackID {
	for range maxTrackDepth {
		if id == 0 || t.TrackKind(id) == kind {
			return id
		}
		id = t.TrackParent(id)
	}
	return 0
}

// Track describes a track.
func (t *Timeline) Track(id TrackID) Track {
	row := &t.table.tracks[id]
	tr := Track{ID: id, Kind: row.kind, Used: row.used, Parent: row.parent}
	switch row.kind {
	case ProcessTrack:
		p := &t.table.processes[row.index]
		tr.Name, tr.Labels, tr.Rank, tr.HasRank = p.shownName(), p.labels, p.rank, p.hasRank
		tr.InputID, tr.PID, tr.Assigned, tr.Input = p.key, p.pid, p.assigned, p.input
		tr.RecordedPID, tr.Renumbered, tr.Moved = p.recorded, p.renumbered, p.moved
	case ThreadTrack:
		th := &t.table.threads[row.index]
		tr.Name, tr.Rank, tr.HasRank = th.key.nameOr(th.name.text), th.rank, th.hasRank
		tr.InputID, tr.TID, tr.Assigned, tr.Facts = th.key, th.tid, th.assigned, th.facts
		if t.table.tracks[row.parent].kind == ProcessTrack {
			tr.PID = t.table.process(row.parent).pid
		}
	case CounterTrack:
		tr.Name, tr.Counter = t.table.names[row.index], &t.table.counters[row.index]
	case NamedTrack:
		tr.Spec = &t.table.specs[row.index]
		tr.Name = tr.Spec.Name
		tr.Rank, tr.HasRank = tr.Spec.Rank, tr.Spec.Rank != 0
		if tr.Name == "" {
			tr.Name = t.ownName(id, row)
		}
	case AsyncTrack:
		tr.Name = t.ownName(id, row)
	case undeclaredTrack:
		tr.Kind, tr.Name, tr.Spec = NamedTrack, t.ownName(id, row), &TrackSpec{}
	}
	return tr
}

func (t *Timeline) ownName(id TrackID, row *track) string {
	if row.name != 0 {
		return string(t.Name(row.name))
	}
	return t.table.ownNames[id]
}

// nameTrack names a track after r, its first event.
func (t *Timeline) nameTrack(id TrackID, r *record) {
	if _, ok := t.table.ownNames[id]; ok {
		return
	}
	if r.flags&flagInlineName == 0 {
		t.table.tracks[id].name = r.name
		return
	}
	t.table.ownNames[id] = t.nameText(r)
}

// nameText returns the name of a record for messages and tracks.
func (t *Timeline) nameText(r *record) string {
	if r.flags&flagInlineName == 0 {
		return string(t.names.get(uint32(r.name)))
	}
	b, err := t.store.payload(r.payload)
	if err != nil {
		return ""
	}
	p := decodePayload(b, r.flags)
	return strings.Clone(string(p.name))
}

// count counts a problem at a record; its detail is the record's name.
func (t *Timeline) count(k problem.Kind, r *record) {
	detail := ""
	if t.opts.Problems.Wants(k) {
		detail = t.nameText(r)
	}
	t.opts.Problems.Add(k, problem.Position{Event: int64(r.event), Offset: r.offset}, detail)
}

// ArgKind is the type of an Arg.
type ArgKind uint8

// The kinds of arguments.
const (
	ArgBool ArgKind = iota + 1
	ArgInt
	ArgUint
	ArgDouble
	ArgString
	ArgPointer
	ArgJSON // a value as JSON text, except arrays, which are ArgArrays
	ArgDict
	ArgArray
)

// Arg is one argument, or one member of a dictionary or array.
type Arg struct {
	Key  []byte // empty in an array
	Kind ArgKind

	bits  uint64
	bytes []byte
}

// Bool returns the value of an ArgBool.
func (a *Arg) Bool() bool { return a.bits != 0 }

// Int returns the value of an ArgInt.
func (a *Arg) Int() int64 { return int64(a.bits) }

// Uint returns the value of an ArgUint or ArgPointer.
func (a *Arg) Uint() uint64 { return a.bits }

// Double returns the value of an ArgDouble.
func (a *Arg) Double() float64 { return math.Float64frombits(a.bits) }

// Text returns the value of an ArgString or ArgJSON.
func (a *Arg) Text() []byte { return a.bytes }

// AppendText appends a value as readable and searchable text; it appends nothing for dictionaries and arrays.
func (a *Arg) AppendText(b []byte) []byte {
	switch a.Kind {
	case ArgString, ArgJSON:
		return append(b, a.Text()...)
	case ArgBool:
		return strconv.AppendBool(b, a.Bool())
	case ArgInt:
		return strconv.AppendInt(b, a.Int(), 10)
	case ArgUint:
		return strconv.AppendUint(b, a.Uint(), 10)
	case ArgPointer:
		return strconv.AppendUint(append(b, "0x"...), a.Uint(), 16)
	case ArgDouble:
		return jsonscan.AppendDecimal(b, a.Double())
	}
	return b
}

// WithTrue returns a copy of an ArgDict, which may be empty, with an additional member whose value is true.
func (a Arg) WithTrue(key string) Arg {
	b, mark := wire.BeginMessage(bytes.Clone(a.bytes), schema.DebugAnnotation_DictEntries)
	b = wire.AppendString(b, schema.DebugAnnotation_Name, key)
	a.bytes = wire.EndMessage(wire.AppendBool(b, schema.DebugAnnotation_BoolValue, true), mark)
	return a
}

// CorrelationCount returns the number of texts that group slices; their ids count from 1.
func (t *Timeline) CorrelationCount() int { return t.correlated.len() }

// Correlation returns a text that groups slices.
func (t *Timeline) Correlation(id uint32) []byte { return t.correlated.get(id) }

// CorrelationOf returns the text that groups the slice with these arguments and other slices, or nil if there is none.
func (t *Timeline) CorrelationOf(args Args) []byte {
	if r := wire.NewReader(args); r.Next() && r.Field() == schema.TrackEvent_CorrelationIDStrIID {
		return t.correlated.get(uint32(r.Uint()))
	}
	return nil
}

// Screenshots is the number of events with pictures and the total size of the pictures.
type Screenshots struct{ Count, Bytes int64 }

// Screenshots returns the number and size of the events' pictures.
func (t *Timeline) Screenshots() Screenshots { return t.screenshots }

// ScreenshotOf returns the picture, a JPEG, of the event with these arguments, or nil if there is none.
func (t *Timeline) ScreenshotOf(args Args) []byte {
	for r := wire.NewReader(args); r.Next(); {
		if r.Field() != schema.TrackEvent_Screenshot {
			continue
		}
		for s := wire.NewReader(r.Bytes()); s.Next(); {
			if s.Field() == schema.Screenshot_JpgImage {
				return s.Bytes()
			}
		}
	}
	return nil
}

// Members returns the members of an ArgDict or ArgArray.
func (t *Timeline) Members(a Arg) iter.Seq[Arg] { return t.members(a, nil) }

// members returns the members; if wanted is not nil, it selects members of an ArgDict by KeyID.
func (t *Timeline) members(a Arg, wanted []bool) iter.Seq[Arg] {
	field := schema.DebugAnnotation_DictEntries
	if a.Kind == ArgArray {
		field = schema.DebugAnnotation_ArrayValues
	}
	return t.annotations(a.bytes, field, wanted)
}

// ArgList returns the arguments encoded in args, in order.
func (t *Timeline) ArgList(args Args) iter.Seq[Arg] {
	return t.annotations(args, schema.TrackEvent_DebugAnnotations, nil)
}

// Arg decodes one annotation.
func (t *Timeline) Arg(annotation []byte) Arg { return t.annotation(annotation) }

// annotations returns the annotations in a field. If wanted is not nil, it selects by KeyID among the annotations with interned
// names.
func (t *Timeline) annotations(b []byte, field int, wanted []bool) iter.Seq[Arg] {
	return func(yield func(Arg) bool) {
		for r := wire.NewReader(b); r.Next(); {
			a := r.Bytes()
			if r.Field() != field || len(a) == 0 {
				continue
			}
			if wanted != nil && len(a) > 1 && a[0] == schema.DebugAnnotation_NameIID<<3 { // the name comes first
				if id, n := binary.Uvarint(a[1:]); n > 0 && id < uint64(len(wanted)) && !wanted[id] {
					continue
				}
			}
			if !yield(t.annotation(a)) {
				return
			}
		}
	}
}

// argKinds maps annotation kinds to argument kinds.
var argKinds = [...]ArgKind{
	message.BoolAnnotation: ArgBool, message.UintAnnotation: ArgUint, message.IntAnnotation: ArgInt, message.DoubleAnnotation: ArgDouble,
	message.TextAnnotation: ArgString, message.PointerAnnotation: ArgPointer, message.JSONAnnotation: ArgJSON,
	message.DictAnnotation: ArgDict, message.ArrayAnnotation: ArgArray, message.ProtoAnnotation: 0,
}

func (t *Timeline) annotation(b []byte) Arg {
	var m message.Annotation
	m.ParseHead(b)
	a := Arg{Key: m.Name, Kind: argKinds[m.Kind], bits: m.Uint(), bytes: m.Bytes}
	if m.NameIID != 0 {
		a.Key = t.keys.get(uint32(m.NameIID))
	}
	switch {
	case m.TextIID != 0:
		a.bytes = t.values.get(uint32(m.TextIID))
	case m.IsList():
		a.bytes = b // members are decoded on request
	case m.Kind == message.JSONAnnotation:
		if members, ok := arrayOfText(a.bytes); ok {
			a.Kind, a.bytes = ArgArray, members
		}
	}
	return a
}

// Totals counts the items of Walk.
type Totals struct {
	Slices, Unfinished int64 // Unfinished counts the slices that never end
	Instants           int64
	CounterValues      int64
	Samples            int64
	Flows              int64 // arrows
	Start, End         Nanos // the time span; both 0 if there are no events

	// OwnSlices and OwnInstants count the slices and instants that weft added: marks for long tasks, and contexts from
	// attribution.
	OwnSlices, OwnInstants int64
	// IdleStates counts the slices that represent states of idle threads, which files store in a form that viewers do not show.
	IdleStates int64
}

// ShownSlices is the number of slices from the input, or derived from its samples, as viewers of the output count them.
func (t Totals) ShownSlices() int64 { return t.Slices - t.OwnSlices - t.IdleStates }

// InputInstants is the number of instants, except those that weft added.
func (t Totals) InputInstants() int64 { return t.Instants - t.OwnInstants }

// Any reports whether there are any events.
func (t Totals) Any() bool { return t.Slices+t.Instants+t.CounterValues+t.Samples > 0 }

// addSample counts a sample in the sample table.
func (t *Totals) addSample(ts Nanos) {
	if !t.Any() {
		t.Start, t.End = ts, ts
	}
	t.Samples++
	t.End = max(t.End, ts)
}

// add counts a record and extends the time span to include its start. The parameter own is set if weft added the record's track.
func (t *Totals) add(r *record, own bool) {
	first := !t.Any()
	switch r.Kind() {
	case Slice, Begin:
		t.Slices++
		switch {
		case own:
			t.OwnSlices++
		case r.flags&flagIdle != 0:
			t.IdleStates++
		}
	case Instant:
		t.Instants++
		if own {
			t.OwnInstants++
		}
	case Counter:
		t.CounterValues++
	case Sample:
		t.Samples++
	default:
		return
	}
	if first {
		t.Start, t.End = r.ts, r.ts
	}
	t.End = max(t.End, r.ts)
}

// Totals returns the number of events of each kind, and their time span. It requires Nest, and AttachFlows for Flows.
func (t *Timeline) Totals() Totals { return t.totals }

// LaneCount returns the number of additional lanes of a track: 0 if all its slices nest.
func (t *Timeline) LaneCount(id TrackID) uint32 { return t.table.lanes[id] }

// FirstLane returns the first lane of a track that is a separate track in the output: usually 1, the first additional lane. For a
// stream with overlapping slices, it is 0: all lanes of the stream are tracks below the thread. These tracks have the same name,
// so viewers show them as one.
func (t *Timeline) FirstLane(id TrackID) uint32 {
	row := &t.table.tracks[id]
	if row.kind == ThreadTrack && t.table.threads[row.index].stream && t.LaneCount(id) > 0 {
		return 0
	}
	return 1
}

// LaneName returns the name for the lanes of a process or thread.
func (t *Timeline) LaneName(id TrackID) string {
	if t.FirstLane(id) > 0 {
		return RoleLane.String()
	}
	tr := t.Track(id)
	return cmp.Or(tr.FullName(), RoleLane.String())
}

// HasThreadTime reports whether any event on a thread has the thread's CPU time.
func (t *Timeline) HasThreadTime(id TrackID) bool { return t.table.tracks[id].clock }

// Start returns the time of the first event, or 0 if there is none. It requires Nest.
func (t *Timeline) Start() Nanos { return t.totals.Start }
