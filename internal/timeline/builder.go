package timeline

import (
	"context"
	"errors"
	"math"
	"runtime"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// DefaultMemory is the memory budget if Options specifies none.
const DefaultMemory = 256 << 20

// Options configures a Builder.
type Options struct {
	// Memory is the budget for records, in bytes; beyond it, records are sorted in runs on disk. 0: DefaultMemory. The tables of
	// names, tracks and call stacks are extra and have their own limits.
	Memory int64
	// TempDir is the directory for temporary files; "": the system's default.
	TempDir string
	// Problems counts data problems. Required.
	Problems *problem.Log
	// KnownName reports whether attribution or a report uses an event name. They find names by id, so these names are interned
	// even if the name table is full. nil: no names are used.
	KnownName func(name string) bool
	// KeepFlowIDs keeps textual flow ids for Timeline.FlowIDText. Resolving flows does not need them.
	KeepFlowIDs bool
	// Moved is the offset that the reader adds to recorded times.
	Moved Nanos
	// Observer receives all additions, and the input's relations to other inputs. nil: the Builder stores the additions.
	Observer Observer
}

// Builder collects the tracks and events of a trace. It is not safe for concurrent use.
type Builder struct {
	tables
	known
	attributes lastOf[string, Attribute]
	pages      *lastOf[pageKey, Page]
	anySample  bool // a sample was added
	args       *ArgsEncoder
	snapshot   Keys   // of keys
	intake     Intake // receives all additions; nil: the Builder stores them

	records  memory
	sampled  *sampleTable
	scratch  []byte // for a payload
	runs     *runs  // nil until something is spilled
	limit    int64
	reserved *int64 // part of limit, see ReserveMemory

	pictured []byte // scratch for arguments with a picture
	derived  bool   // added events are derived from the records of a timeline, see Timeline.Extend
	part     PartOptions
	first    TrackID // first track of a part
}

// tables holds the names, tracks and other objects that records refer to. A Builder shares them with its Timeline, and with
// Builders that extend it.
type tables struct {
	opts       Options
	names      *stringTable
	categories *stringTable
	keys       *stringTable
	values     *stringTable // argument texts
	correlated *stringTable
	table      *trackTable
	stacks     *stackTable
	templates  *templateTable
}

// encoder returns an argument encoder that uses the tables' names and texts.
func (t *tables) encoder() *ArgsEncoder {
	e := &ArgsEncoder{keys: t.keys, values: t.values, correlated: t.correlated}
	e.Reset()
	return e
}

// known holds the facts that a Builder knows about the whole trace; Finish passes it to the Timeline.
type known struct {
	next        uint32 // event index after the last one
	clocks      Clocks
	samples     SampleDescription
	spaces      [LastFlowSpace + 1]bool
	flowIDs     flowIDs
	unmatched   bool // some records need the matcher
	endings     bool // some ends have arguments or CPU times
	ordered     bool // see SetOrdered
	fractions   fractions
	screenshots Screenshots
	inputs      []uint32 // index of the first event of each input; nil: there is only one input
	joinFlows   bool     // flow ids have the same meaning in all inputs
}

// lastOf stores the last value set for each key, in the order in which the keys were first set.
type lastOf[K comparable, V any] struct {
	list  []V
	index map[K]int
}

// set sets a value. It returns false if key is new and there are already maxAttributes keys.
func (l *lastOf[K, V]) set(key K, v V) bool {
	if i, ok := l.index[key]; ok {
		l.list[i] = v
		return true
	}
	if len(l.list) == maxAttributes {
		return false
	}
	if l.index == nil {
		l.index = map[K]int{}
	}
	l.index[key] = len(l.list)
	l.list = append(l.list, v)
	return true
}

// fractions records whether any time is not a whole number of microseconds, and whether any thread time is negative or beyond
// exactInDoubles.
type fractions struct{ times, threadTimes, largeThreadTimes bool }

// exactInDoubles limits a thread time and a slice's CPU time so that a double represents their sum exactly: 52 days.
const exactInDoubles = 1 << 52

// add updates f for the times of an event, whose record is r.
func (f *fractions) add(ev *Event, r *record) {
	if !f.times {
		f.times = r.ts%Microsecond != 0 || r.Kind() == Slice && r.dur%Microsecond != 0
	}
	if at, ok := ev.ThreadTS.Nanos(); ok {
		used, ok := ev.ThreadDur.Nanos()
		if !ok {
			used = 0
		}
		f.threadTimes = f.threadTimes || at%Microsecond != 0 || used%Microsecond != 0
		f.largeThreadTimes = f.largeThreadTimes || uint64(at) > exactInDoubles || uint64(used) > exactInDoubles
	}
}

// Attribute is a fact about the whole trace: a key and a string or integer value.
type Attribute struct {
	Key   string
	Text  string
	Int   int64
	IsInt bool
}

// minRunMemory is the minimum memory of a run, however small the budget; it limits the number of runs.
const minRunMemory = 64 << 10

// NewBuilder returns an empty Builder.
func NewBuilder(opts Options) *Builder {
	if opts.Memory <= 0 {
		opts.Memory = DefaultMemory
	}
	b := &Builder{
		tables: tables{
			opts:       opts,
			names:      newStringTable(),
			categories: newStringTable(),
			keys:       newStringTable(),
			values:     newStringTable(),
			correlated: newStringTable(),
			table:      newTrackTable(opts.Memory),
			stacks:     newStackTable(),
			templates:  new(templateTable),
		},
		pages:    new(lastOf[pageKey, Page]),
		sampled:  new(sampleTable),
		limit:    max(opts.Memory/10*6, minRunMemory), // the rest is for merging, passes and output
		reserved: new(int64),
	}
	if opts.Observer != nil {
		b.intake = opts.Observer
	}
	b.names.wanted = opts.KnownName
	b.args = b.encoder()
	return b
}

// InternName interns an event name. It returns false if the table is full; events then store their names inline. InternCategory,
// InternKey and InternText do the same for categories, argument names and argument texts.
func (b *Builder) InternName(text []byte) bool { return b.names.has(text) }

// InternCategory is InternName for categories.
func (b *Builder) InternCategory(text []byte) bool { return b.categories.has(text) }

// InternKey is InternName for argument names.
func (b *Builder) InternKey(text []byte) bool { return b.keys.has(text) }

// InternText is InternName for argument texts, see ArgsEncoder.InternedText.
func (b *Builder) InternText(text []byte) bool { return b.values.has(text) }

// Args returns the Builder's only encoder for event arguments. Its Reset starts new arguments.
func (b *Builder) Args() *ArgsEncoder { return b.args }

// SetAttribute sets a fact about the whole trace. The last value for a key wins. A key reserved for weft (IsOwnName) gets a
// leading underscore.
func (b *Builder) SetAttribute(key, text string) {
	b.SetOwnAttribute(Attribute{Key: string(inputName([]byte(key))), Text: text})
}

// SetIntAttribute is SetAttribute for an integer.
func (b *Builder) SetIntAttribute(key string, v int64) {
	b.SetOwnAttribute(Attribute{Key: string(inputName([]byte(key))), Int: v, IsInt: true})
}

// maxAttributes limits the number of attributes, and of pages, in a trace.
const maxAttributes = 10_000

// SetOwnAttribute sets a fact from weft itself. Unlike SetAttribute, it leaves the key unchanged.
func (b *Builder) SetOwnAttribute(a Attribute) {
	before, _ := b.Attribute(a.Key)
	b.Hold(len(a.Text) - len(before.Text))
	if !b.attributes.set(a.Key, a) {
		b.opts.Problems.Add(problem.MetadataValueOmitted, problem.NoPosition, a.Key)
	}
}

// Attribute returns the fact with the given key.
func (b *Builder) Attribute(key string) (Attribute, bool) {
	i, ok := b.attributes.index[key]
	if !ok {
		return Attribute{}, false
	}
	return b.attributes.list[i], true
}

// Attributes returns the facts in the order in which their keys were first set.
func (b *Builder) Attributes() []Attribute { return b.attributes.list }

// countSample counts a sample if its track belongs to a thread.
func (b *Builder) countSample(track TrackID) {
	if row := &b.table.tracks[track]; row.kind == ThreadTrack {
		b.table.threads[row.index].samples++
	}
}

// Add adds an event. Errors come from temporary files, from the Intake or from Full; data problems are counted.
func (b *Builder) Add(ev *Event) error {
	if b.intake != nil {
		b.next = max(b.next, ev.Event+1)
		b.anySample = b.anySample || ev.Kind == Sample
		return b.intake.Event(ev)
	}
	if ev.Kind == Sample {
		b.countSample(ev.Track)
	}
	switch {
	case b.table.full != nil:
		return b.table.full
	case ev.Template != 0:
		return b.addFromTemplate(ev)
	case ev.fitsTable() && !b.derived:
		return b.addToTable(ev)
	}
	r := b.records.next(ev.TS)
	*r = record{}
	r.ts, r.dur, r.offset, r.event, r.track, r.flags = ev.TS, NoTime, ev.Offset, ev.Event, ev.Track, flagsOf(ev.Kind)
	switch r.setThreadTimes(ev.ThreadTS, ev.ThreadDur); ev.Kind {
	case Slice:
		r.dur = min(ev.Dur, math.MaxInt64-ev.TS)
	case Counter, Sample:
		b.anySample = b.anySample || ev.Kind == Sample
		r.setValue(ev.Value, ev.CPU)
	}
	b.args.CountOmitted(b.opts.Problems, problem.Position{Event: int64(ev.Event), Offset: ev.Offset})
	var p payload
	b.internTexts(ev, r, &p)
	p.args = ev.Args
	if len(ev.Screenshot) > 0 {
		p.args = b.withScreenshot(ev)
	}
	if len(p.args) > 0 {
		r.flags |= flagArgs
	}
	if ev.Callstack != 0 {
		b.useCallstack(ev)
		if ev.Kind == Sample {
			r.setSampledStack(ev.Callstack)
		} else {
			r.flags |= flagCallstack
			p.callstack = ev.Callstack
		}
	}
	r.flags |= ev.flags()
	if r.flags&flagSampling != 0 {
		p.sampling = ev.Sampling
	}
	if b.derived {
		r.flags |= flagDerived
	}
	b.fractions.add(ev, r)
	b.next = max(b.next, ev.Event+1)
	b.endings = b.endings || ev.Kind == End && (len(p.args) > 0 || ev.ThreadTS != CPUTime{})
	row := &b.table.tracks[ev.Track]
	row.used = row.used || ev.Kind != End || ev.KeepEnd
	row.clock = row.clock || ev.ThreadTS != CPUTime{}
	b.unmatched = b.unmatched || ev.Kind == Begin || ev.Kind == End || row.kind == AsyncTrack
	switch r.flags & flagPayload {
	case 0:
	case flagArgs:
		r.payload = b.records.addPayload(p.args) // by far the most common payload, which needs no encoding
	default:
		b.scratch = appendPayload(b.scratch[:0], r.flags, &p)
		r.payload = b.records.addPayload(b.scratch)
	}
	return b.added()
}

// internTexts stores the name and category of an event in its record r, or in p if the table is full.
func (b *Builder) internTexts(ev *Event, r *record, p *payload) {
	if id, ok := b.names.intern(ev.Name); ok {
		r.name = NameID(id)
	} else {
		r.name = NameID(hash31(ev.Name) | inlineBit)
		r.flags |= flagInlineName
		p.name = ev.Name
	}
	if id, ok := b.categories.intern(ev.Category); ok {
		r.category = CategoryID(id)
	} else {
		r.category = CategoryID(hash31(ev.Category) | inlineBit)
		r.flags |= flagInlineCategory
		p.category = ev.Category
	}
}

// flags returns the event's properties as record flags.
func (ev *Event) flags() (f recordFlags) {
	if ev.Kind == End && ev.KeepEnd {
		f |= flagKeepEnd
	}
	if ev.InOrder {
		f |= flagInOrder
	}
	if ev.Task {
		f |= flagTask
	}
	if ev.LoopTask && (ev.Kind == Slice || ev.Kind == Begin) {
		f |= flagLoopTask
	}
	if ev.Idle {
		f |= flagIdle
	}
	if ev.DidNotEnd && ev.Kind == Begin {
		f |= flagDidNotEnd
	}
	if ev.Sampling.Skip {
		f |= flagSkip
	}
	if ev.Sampling.TraceID != 0 || ev.Sampling.Thread != 0 {
		f |= flagSampling
	}
	return f
}

// withScreenshot returns the event's arguments followed by its picture, which is a separate field of the output event.
func (b *Builder) withScreenshot(ev *Event) Args {
	b.screenshots.Count++
	b.screenshots.Bytes += int64(len(ev.Screenshot))
	args, mark := wire.BeginMessage(append(b.pictured[:0], ev.Args...), schema.TrackEvent_Screenshot)
	b.pictured = wire.EndMessage(wire.AppendBytes(args, schema.Screenshot_JpgImage, ev.Screenshot), mark)
	return Args(b.pictured)
}

// addToTable adds a sample to the sample table, and marks its track and call stack as used.
func (b *Builder) addToTable(ev *Event) error {
	if ev.Callstack != 0 {
		b.useCallstack(ev)
	}
	b.anySample = true
	row := &b.table.tracks[ev.Track]
	row.used = true
	row.clock = row.clock || ev.ThreadTS != CPUTime{}
	b.fractions.times = b.fractions.times || ev.TS%Microsecond != 0
	b.next = max(b.next, ev.Event+1)
	b.sampled.add(newSampleRow(ev))
	return b.added()
}

// SetOrdered declares that simultaneous events were added in the order of an earlier Walk and must stay in that order. Adding
// anything else revokes this.
func (b *Builder) SetOrdered() { b.ordered = true }

// NextEvent returns the first unused event index, for events derived from those in the input.
func (b *Builder) NextEvent() uint32 { return b.next }

// IsEmpty reports whether nothing has been added.
func (b *Builder) IsEmpty() bool { return b.next == 0 }

// Problems returns the Builder's problem log.
func (b *Builder) Problems() *problem.Log { return b.opts.Problems }

// AddFlow adds one end of a flow. For BindCarrier, the slice or instant that carries it must have been added immediately before.
func (b *Builder) AddFlow(f *FlowEvent) error {
	if b.intake != nil {
		b.next = max(b.next, f.Event+1)
		return b.intake.Flow(f)
	}
	r := record{
		ts: f.TS, dur: NoTime, offset: f.Offset, event: f.Event, track: f.Track, flags: flagsOf(FlowStep),
	}
	b.spaces[f.Space] = true
	b.fractions.times = b.fractions.times || r.ts%Microsecond != 0
	id := f.ID
	if f.IDText != nil {
		id = HashFlowID(f.IDText)
		if b.opts.KeepFlowIDs {
			b.flowIDs.keep(id, f.IDText)
		}
	}
	r.setFlow(f, id)
	if f.Space == FlowV1 {
		r.name = NameID(keyOf(b.names, f.Name))
		r.category = CategoryID(keyOf(b.categories, f.Category))
		// If the flow end binds to no event, this track shows it.
		fallback := f.Fallback
		if fallback == 0 {
			fallback = b.RoleTrack(f.Track, RoleOther)
		}
		r.setFallbackTrack(fallback)
		b.table.tracks[r.track].used = true
	}
	return b.addRecord(&r)
}

// keyOf returns an id by which texts can be compared: the text's id in the table, or a hash if the table is full.
func keyOf(t *stringTable, text []byte) uint32 {
	if id, ok := t.intern(text); ok {
		return id
	}
	return hash31(text) | inlineBit
}

func hash31(text []byte) uint32 { return hashText(text, 0) &^ inlineBit }

func (b *Builder) addRecord(r *record) error {
	b.records.add(r)
	return b.added()
}

// added must be called after each new record or sample; it spills to disk when memory is full.
func (b *Builder) added() error {
	b.ordered = false
	if b.records.size()+b.sampled.size() < b.limit-*b.reserved {
		return nil
	}
	return b.spill()
}

// ReserveMemory sets how many bytes of the budget the readers that fill the Builder use themselves. It reduces the memory for
// records by at most half.
func (b *Builder) ReserveMemory(bytes int64) { *b.reserved = min(max(bytes, 0), b.limit/2) }

// spill writes the records and samples in memory to disk, each as one sorted run.
func (b *Builder) spill() error {
	if b.runs == nil {
		r, err := newRuns(b.opts.TempDir)
		if err != nil {
			return err
		}
		b.runs = r
	}
	if b.records.len() > 0 {
		b.records.sort()
		if err := b.runs.write(&b.records); err != nil {
			return err
		}
		b.records.reset()
	}
	err := b.sampled.spill(b.opts.TempDir)
	// Little is allocated after this, so the next collection is far off and existing garbage would stay.
	if b.limit >= collectAfter {
		runtime.GC()
	}
	return err
}

// collectAfter is the run size from which garbage is collected: collecting takes 1 % of the time for writing such a run, and a
// larger share for smaller runs.
const collectAfter = 64 << 20

// FreeMemory frees the memory of added records and samples for other work if a run is already on disk, because Finish would then
// write the rest to disk anyway.
func (b *Builder) FreeMemory() error {
	if b.runs == nil {
		return nil
	}
	err := b.spill()
	b.records = memory{}
	b.sampled.rows = collections.List[sampleRow]{}
	runtime.GC()
	return err
}

// Finish sorts all additions and returns them as a Timeline, which must be closed. The Builder cannot be used afterwards.
func (b *Builder) Finish(ctx context.Context) (*Timeline, error) {
	if b.table.full != nil {
		return nil, errors.Join(b.table.full, b.Close())
	}
	b.table.finish(b.opts.Problems)
	b.unmatched = b.unmatched || b.table.namedLater
	t := &Timeline{
		tables: b.tables, known: b.known, attributes: b.attributes.list, pages: b.pages.list, longTasks: longTasks{min: LongTaskLength},
	}
	if b.runs != nil && b.records.len() > 0 {
		if err := b.spill(); err != nil {
			return nil, errors.Join(err, b.Close())
		}
	}
	if err := b.sampled.finish(b.opts); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	if b.runs == nil {
		b.records.sort()
		b.records.time = timeOrder{}
		t.store, t.sampled = &b.records, b.sampled
		b.sampled = new(sampleTable)
		return t, ctx.Err()
	}
	// Everything is on disk, and the passes need memory of their own. Collect now: the next collection would come only when twice
	// the memory just freed is in use.
	b.records, b.scratch = memory{}, nil
	runtime.GC()
	store, err := b.runs.merge(b.opts)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	t.store, t.sampled = store, b.sampled
	b.runs, b.sampled = nil, new(sampleTable)
	return t, nil
}

// Close removes the temporary files of a Builder if Finish was not called or failed.
func (b *Builder) Close() error {
	err := b.sampled.close()
	if r := b.runs; r != nil {
		b.runs = nil
		err = errors.Join(err, r.close())
	}
	return err
}
