package pfwire

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
	"github.com/weft-trace/weft/internal/words"
)

// AttributeVersion is the trace attribute with the version of weft, which identifies packets written by weft.
const AttributeVersion = "weft.version"

// AttributeStarted is the trace attribute with the time at which the tracing service started tracing. In files, it is a service
// event.
const AttributeStarted = "tracing_started_ns"

// DidNotEndKey is the last member of the weft argument of a slice that did not end. Its value is true; it repeats
// weft_did_not_end for people.
const DidNotEndKey = "did_not_end"

// Version is the version of weft written into traces, as the attribute weft.version.
const Version = "0.2.0"

// Options configure Write, like the Options of package pftrace.
type Options struct {
	Compression Codec // NoCodec, Zlib or Zstd
	Level       int   // compression level: 1 to 9 for zlib, 1 to 22 for zstd; 0: defaultLevel
	Packets     PacketForm
	Samples     SampleForm
	Workers     int
	Buffers     *Buffers // memory for reuse by later calls to Write; nil: none

	// Unfolded writes every call of a recursion as a slice, however many there are.
	Unfolded bool

	maxHeldBack int // 0: maxHeldBack
	maxPacket   int // 0: MaxPacketSize
}

// ParseOptions returns the options with these names; "" is the zero value.
func ParseOptions(compression, packets, samples string) (opts Options, err error) {
	codec, level, err := parseCompression(compression)
	if err != nil {
		return opts, err
	}
	form, err := choose("form of packets", packets, "plain", "compact")
	if err != nil {
		return opts, err
	}
	sampleForm, err := choose("form of samples", samples, "stack-sample", "none")
	if err != nil {
		return opts, err
	}
	return Options{Compression: codec, Level: level, Packets: PacketForm(form), Samples: SampleForm(sampleForm)}, nil
}

// maxLevel is the highest level of each codec.
var maxLevel = [...]int{Zlib: 9, Zstd: 22}

// parseCompression parses the name of a codec and an optional level, as in zlib:6.
func parseCompression(text string) (codec Codec, level int, err error) {
	name, number, leveled := strings.Cut(text, ":")
	i, err := choose("compression", name, "none", "zlib", "zstd")
	if err != nil {
		return 0, 0, err
	}
	codec = [...]Codec{NoCodec, Zlib, Zstd}[i]
	if !leveled {
		return codec, 0, nil
	}
	if codec == NoCodec {
		return 0, 0, fmt.Errorf("%q has a level, but only zlib and zstd have levels", text)
	}
	level, err = strconv.Atoi(number)
	if err != nil || level < 1 || level > maxLevel[codec] {
		return 0, 0, fmt.Errorf("unknown level %q of %s; use %s:1 to %[2]s:%[4]d", number, name, name, maxLevel[codec])
	}
	return codec, level, nil
}

// choose returns the index of a name in names, or 0 for "".
func choose(what, name string, names ...string) (int, error) {
	if i := slices.Index(names, name); i >= 0 || name == "" {
		return max(i, 0), nil
	}
	return 0, words.Unknown(what, name, names)
}

// Write writes a timeline as a Perfetto trace. Packets are in time order; equal traces and options give equal bytes. Errors come
// from dst, from temporary files or from ctx.
//
// All events are on one packet sequence, except that each further machine has its own. The first packets of a sequence define every
// interned text and describe every track, so that the segments of the timeline can be encoded independently. All versions of
// Perfetto since v49 read everything except call stacks (v53), trace attributes (v55), the order of processes and threads (v57) and,
// depending on Options.Samples, call-stack samples (v58), which they skip (perfetto.md 14).
//
// Each Write counts data that Perfetto cannot represent; the counts go to the timeline's problem log.
func Write(ctx context.Context, dst io.Writer, t *timeline.Timeline, opts Options) error {
	form, buffers := bundleForm{opts.Compression, opts.Level}, opts.Buffers
	if c := opts.Compression; c != NoCodec && c != Zlib && c != Zstd {
		return fmt.Errorf("packets cannot be written with %v", c)
	}
	if buffers == nil {
		buffers = new(Buffers)
	}
	w := newWriter(t, opts)
	n := 1 + t.SegmentCount()
	w.alone = workersFor(n, opts.Workers) == 1
	problems := make([]problem.Log, n)
	for i := range problems {
		problems[i].DivideAs(t.Problems())
	}
	err := writeInOrder(ctx, dst, n, opts.Workers, func(ctx context.Context, i int, emit emitter) error {
		part := *w
		part.sequences = slices.Clone(w.sequences)
		part.out, part.problems = buffers.get(form, emit), &problems[i]
		part.out.maxPacket = cmp.Or(opts.maxPacket, MaxPacketSize)
		if err := part.write(ctx, i); err != nil {
			return err
		}
		part.problems.AddN(problem.EventSizeLimit, part.out.shortened, problem.NoPosition, "")
		buffers.put(form, part.out)
		return nil
	})
	if err != nil {
		return err
	}
	for i := range problems {
		t.Problems().Merge(&problems[i])
	}
	return nil
}

// write writes a part of the trace: the head for 0, otherwise segment part-1.
func (w *writer) write(ctx context.Context, part int) error {
	if part == 0 {
		if err := w.head(); err != nil {
			return err
		}
		return w.out.flush()
	}
	w.setClocks(part - 1)
	w.beginThreadTimes(ctx, part-1)
	if err := w.t.WalkSegment(ctx, part-1, w.item); err != nil {
		return err
	}
	if err := w.release(); err != nil {
		return err
	}
	if err := w.endThreadTimes(); err != nil {
		return err
	}
	if err := w.advanceClocks(part); err != nil {
		return err
	}
	return w.out.flush()
}

// writer converts items to packets. newWriter sets everything but out, so that copies of a writer can work concurrently.
type writer struct {
	t   *timeline.Timeline
	out *bundler

	// The uuid of a track is its TrackID. Lanes, thread time counters, details and groups have the following uuids.
	lanes    map[timeline.TrackLane]uint64
	streams  map[timeline.TrackID]bool     // the threads whose lane 0 is in lanes, see timeline.FirstLane
	details  map[timeline.TrackID]*details // by thread, if it has any
	rows     map[timeline.TrackID]*rows    // by process or thread, if it has tracks
	clocks   []uint64                      // by TrackID: the counter of its thread's CPU time; 0: no CPU times
	lastUUID uint64

	firstClock, lastClock uint64       // uuids of the thread time counters
	threadTimes           *threadTimes // nil: thread times are written as absolute values
	segmentTimes
	alone       bool // segments are written one after another
	maxHeldBack int

	calls   []bool // by CategoryID: whether it is a category of calls; nil if recursions are not folded
	folding folding
	levels  int // levels of a recursion shown by the current event; 0: not a recursion

	categories [][]byte // category_iids fields, by CategoryID
	iids       []string // texts of categories, by iid-1
	stacks     []uint32 // iids of call stacks, by CallstackID; 0: not defined on the main sequence

	passing, places []int // scratch for appendFlowSteps

	machines  []timeline.Machine // machines other than the trace's own
	sequence                     // the current one
	sequences []sequence         // sequences of all machines; nil: there is only one
	current   int                // index into sequences
	onMachine []int              // by TrackID: the index of its sequence

	samples  SampleForm
	tasks    []uint32     // iids of threads in stack samples, by TrackID; 0: not defined
	problems *problem.Log // problems in the current segment

	weftKey, idKey, scopeKey timeline.KeyID
}

// newWriter returns a writer and assigns all ids.
func newWriter(t *timeline.Timeline, opts Options) *writer {
	w := &writer{
		t: t, lanes: map[timeline.TrackLane]uint64{}, streams: map[timeline.TrackID]bool{}, details: map[timeline.TrackID]*details{}, rows: map[timeline.TrackID]*rows{}, clocks: make([]uint64, t.TrackCount()), lastUUID: uint64(t.TrackCount() - 1),
		maxHeldBack: cmp.Or(opts.maxHeldBack, maxHeldBack), samples: opts.Samples, machines: t.Machines(), sequence: sequence{plain: plain, needsState: needsState, compact: compact{threadUnit: 1}},
	}
	w.weftKey, w.idKey, w.scopeKey = t.InternKey(timeline.OwnArgs), t.InternKey("id"), t.InternKey("scope")
	for id := range timeline.TrackID(t.TrackCount()) {
		if t.FirstLane(id) == 0 {
			w.streams[id] = true
		}
		for lane := t.FirstLane(id); lane <= t.LaneCount(id); lane++ {
			w.lastUUID++
			w.lanes[timeline.TrackLane{Track: id, Lane: lane}] = w.lastUUID
		}
	}
	w.findClocks()
	w.findDetails()
	w.findGroups()
	w.internCategories()
	if !opts.Unfolded {
		w.findCalls()
	}
	if opts.Packets == CompactPackets {
		w.compact = w.newCompact(0)
	}
	w.findMachines(opts.Packets)
	w.threadTimes = w.newThreadTimes()
	if opts.Samples == StackSamples && t.Totals().Samples > 0 {
		w.tasks = numberTasks(t)
	}
	w.stacks = make([]uint32, t.CallstackCount()+1)
	next := uint32(0)
	for id := range t.Callstacks() {
		if opts.Samples == StackSamples || !t.OnlySampled(id) {
			next++
			w.stacks[id] = next
		}
	}
	return w
}

// findClocks assigns ids to the thread time counters.
func (w *writer) findClocks() {
	w.firstClock = w.lastUUID + 1
	for id := range timeline.TrackID(w.t.TrackCount()) {
		thread := w.threadOf(id)
		if thread == 0 || !w.t.HasThreadTime(id) {
			continue
		}
		if w.clocks[thread] == 0 {
			w.lastUUID++
			w.clocks[thread] = w.lastUUID
		}
		w.clocks[id] = w.clocks[thread]
	}
	w.lastClock = w.lastUUID
}

// threadOf returns the thread of a track: the track itself or, as for lanes read from a Perfetto trace, its parent; 0 if
// neither is a thread.
func (w *writer) threadOf(id timeline.TrackID) timeline.TrackID {
	for _, id := range [...]timeline.TrackID{id, w.t.TrackParent(id)} {
		if w.t.TrackKind(id) == timeline.ThreadTrack {
			return id
		}
	}
	return 0
}

// track returns the uuid of a track or of one of its lanes.
func (w *writer) track(id timeline.TrackID, lane uint32) uint64 {
	if lane == 0 && !w.streams[id] {
		return uint64(id)
	}
	return w.lanes[timeline.TrackLane{Track: id, Lane: lane}]
}

// plain and needsState are the encoded sequence ids of event packets on the trace's own machine, without and with the flag for
// packets that need incremental state.
var (
	plain      = wire.AppendUint(nil, schema.TracePacket_TrustedPacketSequenceID, 1)
	needsState = append(wire.AppendUint(nil, schema.TracePacket_SequenceFlags, schema.TracePacket_SeqNeedsIncrementalState), plain...)
)

// item writes an item. A call that may be folded is held back until the next item.
func (w *writer) item(it *timeline.Item) error {
	if w.folding.isLevel(it) {
		w.folding.levels++
		return nil
	}
	if err := w.release(); err != nil {
		return err
	}
	switch {
	case w.canFold(it):
		w.folding.hold(it)
		return nil
	case it.Idle && it.Kind != timeline.ItemSample:
		return w.event(it, schema.TracePacket_WeftIdle)
	}
	return w.event(it, schema.TracePacket_TrackEvent)
}

// event writes an item in the given payload field. The order of fields reduces the compressed size by a tenth: fields that are
// equal in many packets come first; thread time and time, which differ, come last (docs/performance.md, "Size").
func (w *writer) event(it *timeline.Item, payload int) error {
	if w.onMachine != nil {
		w.switchTo(it.Track)
	}
	switch it.Kind {
	case timeline.ItemSample:
		return w.sample(it)
	case timeline.ItemCounter:
		return w.counter(it)
	}
	complete := w.isComplete(it)
	if complete && it.Kind == timeline.ItemEnd {
		return nil
	}
	b, packet := wire.BeginMessage(w.out.buf, schema.Trace_Packet)
	if it.Kind == timeline.ItemEnd && len(it.Args) == 0 && it.Callstack == 0 {
		b = append(b, w.plain...)
	} else {
		b = append(b, w.needsState...)
	}
	b, event := wire.BeginMessage(b, payload)
	b = w.appendEvent(b, it, complete)
	at, timed := it.ThreadTime.Nanos()
	counted := it.Kind != timeline.ItemInstant && !it.Idle
	if timed && counted {
		b = w.appendThreadTime(b, it.Track, at, event-1-packet)
	}
	b = wire.EndMessage(b, event)
	if timed && !counted { // Perfetto would show a CPU time of 0 for an instant, and does not read idle events
		b = w.appendHiddenThreadTime(b, it.Track, at)
	}
	if it.DidNotEnd {
		b = wire.AppendBool(b, schema.TracePacket_WeftDidNotEnd, true)
	}
	if it.Thread != 0 && w.t.TrackUsed(it.Thread) {
		b = wire.AppendUint(b, schema.TracePacket_WeftThread, uint64(it.Thread))
	}
	if w.levels > 0 {
		b = wire.AppendUint(b, schema.TracePacket_WeftLevels, uint64(w.levels))
	}
	b = w.appendFlowSteps(b, it.Flows)
	w.out.buf = wire.EndMessage(w.appendTime(b, it.TS), packet)
	return w.out.packetDone()
}

// appendEvent appends the fields of a TrackEvent except its thread time.
func (w *writer) appendEvent(b []byte, it *timeline.Item, complete bool) []byte {
	b = w.appendTexts(b, it)
	if complete {
		b = appendComplete(b, it)
	} else {
		b = wire.AppendUint(b, schema.TrackEvent_Type, eventTypes[it.Kind])
	}
	if it.Correlation != "" {
		b = wire.AppendString(b, schema.TrackEvent_CorrelationIDStr, it.Correlation)
	}
	if it.Callstack != 0 {
		b = wire.AppendUint(b, schema.TrackEvent_CallstackIID, uint64(w.stacks[it.Callstack]))
	}
	for i := range it.Flows {
		field := schema.TrackEvent_FlowIDs
		if ends(&it.Flows[i]) {
			field = schema.TrackEvent_TerminatingFlowIDs
		}
		b = wire.AppendFixed64(b, field, it.Flows[i].ID)
	}
	if !it.HasAsyncID() && !it.DidNotEnd && w.levels == 0 {
		b = append(b, it.Args...)
	} else {
		b = w.appendArgs(b, it)
	}
	b = append(b, it.Notes...)
	if uuid := w.track(it.Track, it.Lane); uuid != w.compact.track {
		b = wire.AppendUint(b, schema.TrackEvent_TrackUUID, uuid)
	}
	return b
}

// ends reports whether a flow ends at its slice. A backwards arrow ends at the other slice, which comes first; readers recognize
// such an arrow by the times.
func ends(f *timeline.FlowRef) bool { return f.Terminating && !f.Backwards }

// appendFlowSteps appends the order and times at which flows pass their slice, unless they are the default that readers assume.
// By default, all flows pass the slice at its start: first the flows that end there, then the others, both in the order of their
// id fields.
func (w *writer) appendFlowSteps(b []byte, flows []timeline.FlowRef) []byte {
	if len(flows) == 0 || len(flows) == 1 && flows[0].After == 0 {
		return b
	}
	w.passing, w.places = w.passing[:0], slices.Grow(w.places[:0], len(flows))[:len(flows)]
	for _, last := range []bool{false, true} { // flow_ids come before terminating_flow_ids
		for i := range flows {
			if ends(&flows[i]) == last {
				w.places[i] = len(w.passing)
				w.passing = append(w.passing, i)
			}
		}
	}
	usual := func(i, j int) int {
		if ends(&flows[i]) != ends(&flows[j]) {
			return cmp.Compare(w.places[j], w.places[i])
		}
		return cmp.Compare(w.places[i], w.places[j])
	}
	slices.SortFunc(w.passing, func(i, j int) int {
		f, g := &flows[i], &flows[j]
		return cmp.Or(cmp.Compare(f.After, g.After), cmp.Compare(f.Event, g.Event), cmp.Compare(f.Nth, g.Nth), usual(i, j))
	})
	late := func(i int) bool { return flows[i].After != 0 }
	if slices.IsSortedFunc(w.passing, usual) && !slices.ContainsFunc(w.passing, late) {
		return b
	}
	b, mark := wire.BeginMessage(b, schema.TracePacket_WeftFlowSteps)
	for _, i := range w.passing {
		b = appendZigzag(appendZigzag(b, int64(w.places[i])), int64(flows[i].After))
	}
	return wire.EndMessage(b, mark)
}

// appendZigzag appends an element of a packed list of sint64.
func appendZigzag(b []byte, v int64) []byte { return wire.AppendVarint(b, uint64(v<<1)^uint64(v>>63)) }

var eventTypes = [...]uint64{
	timeline.ItemBegin:   schema.TrackEvent_TypeSliceBegin,
	timeline.ItemEnd:     schema.TrackEvent_TypeSliceEnd,
	timeline.ItemInstant: schema.TrackEvent_TypeInstant,
}

// appendTexts appends the name and categories, except for ends, where Perfetto treats them as a filter.
func (w *writer) appendTexts(b []byte, it *timeline.Item) []byte {
	if it.Kind == timeline.ItemEnd {
		return b
	}
	if it.NameID != 0 {
		b = wire.AppendUint(b, schema.TrackEvent_NameIID, uint64(it.NameID))
	} else if len(it.Name) > 0 {
		b = wire.AppendBytes(b, schema.TrackEvent_Name, it.Name)
	}
	if it.CategoryID != 0 {
		return append(b, w.categories[it.CategoryID]...)
	}
	for category := range splitCategories(it.Category) {
		b = wire.AppendBytes(b, schema.TrackEvent_Categories, category)
	}
	return b
}

// appendArgs appends the arguments of an event and adds members to the weft dictionary, which the reader may have created: the id
// and scope of an asynchronous track, the levels of a recursion, and did_not_end for a slice that did not end, unless the input
// already contains did_not_end.
func (w *writer) appendArgs(b []byte, it *timeline.Item) []byte {
	before, weft, after := w.splitAtWeft(it.Args)
	b, dict := wire.BeginMessage(append(b, before...), schema.TrackEvent_DebugAnnotations)
	switch {
	case isDict(weft):
		b = append(b, weft...)
	case weft != nil:
		b = wire.AppendBytes(w.appendName(b, w.weftKey, "weft"), schema.DebugAnnotation_DictEntries, weft)
	default:
		b = w.appendName(b, w.weftKey, "weft")
	}
	if it.HasAsyncID() {
		b = w.appendEntry(b, w.idKey, "id", it.AsyncID)
	}
	if it.AsyncScope != "" {
		b = w.appendEntry(b, w.scopeKey, "scope", it.AsyncScope)
	}
	if w.levels > 0 {
		b, entry := wire.BeginMessage(b, schema.DebugAnnotation_DictEntries)
		b = wire.AppendInt(w.appendName(b, 0, LevelsKey), schema.DebugAnnotation_IntValue, int64(w.levels))
		return append(wire.EndMessage(wire.EndMessage(b, entry), dict), after...)
	}
	if it.DidNotEnd && !w.saysDidNotEnd(weft) {
		b, entry := wire.BeginMessage(b, schema.DebugAnnotation_DictEntries)
		b = wire.AppendBool(w.appendName(b, 0, DidNotEndKey), schema.DebugAnnotation_BoolValue, true)
		return append(wire.EndMessage(wire.EndMessage(b, entry), dict), after...)
	}
	return append(wire.EndMessage(b, dict), after...)
}

// splitAtWeft returns the annotation named weft, or nil, and the arguments before and after it.
func (w *writer) splitAtWeft(args timeline.Args) (before, weft, after []byte) {
	for r := wire.NewReader(args); r.Next(); {
		if r.Field() != schema.TrackEvent_DebugAnnotations {
			continue
		}
		var a message.Annotation
		a.ParseHead(r.Bytes())
		if a.NameIID != 0 && timeline.KeyID(a.NameIID) == w.weftKey || string(a.Name) == "weft" {
			return args[:r.Offset()], r.Bytes(), args[r.Offset()+len(r.Raw()):]
		}
	}
	return args, nil, nil
}

// saysDidNotEnd reports whether the input's weft dictionary contains DidNotEndKey, as in traces from earlier versions of weft.
func (w *writer) saysDidNotEnd(weft []byte) bool {
	var dict, entry message.Annotation
	dict.Parse(weft)
	if dict.Kind != message.DictAnnotation {
		return false
	}
	for m := dict.Members(); m.Next(); {
		entry.ParseHead(m.Bytes())
		if string(entry.Name) == DidNotEndKey || entry.NameIID != 0 && string(w.t.Key(timeline.KeyID(entry.NameIID))) == DidNotEndKey {
			return true
		}
	}
	return false
}

// isDict reports whether an annotation is a dictionary.
func isDict(annotation []byte) bool {
	var a message.Annotation
	a.ParseHead(annotation)
	return a.Kind == message.DictAnnotation
}

// appendEntry appends a string as an entry of a dictionary.
func (w *writer) appendEntry(b []byte, key timeline.KeyID, name, text string) []byte {
	b, entry := wire.BeginMessage(b, schema.DebugAnnotation_DictEntries)
	b = w.appendName(b, key, name)
	return wire.EndMessage(wire.AppendString(b, schema.DebugAnnotation_StringValue, text), entry)
}

// appendName appends the name of an annotation, interned unless key is 0.
func (w *writer) appendName(b []byte, key timeline.KeyID, name string) []byte {
	if key != 0 {
		return wire.AppendUint(b, schema.DebugAnnotation_NameIID, uint64(key))
	}
	return wire.AppendString(b, schema.DebugAnnotation_Name, name)
}

func (w *writer) counter(it *timeline.Item) error {
	b, packet := wire.BeginMessage(w.out.buf, schema.Trace_Packet)
	b, event := wire.BeginMessage(append(b, w.plain...), schema.TracePacket_TrackEvent)
	b = wire.AppendUint(b, schema.TrackEvent_Type, schema.TrackEvent_TypeCounter)
	b = wire.AppendUint(b, schema.TrackEvent_TrackUUID, w.track(it.Track, 0))
	if it.Value.IsInt() {
		b = wire.AppendInt(b, schema.TrackEvent_CounterValue, it.Value.Int())
	} else {
		b = wire.AppendDouble(b, schema.TrackEvent_DoubleCounterValue, it.Value.Float())
	}
	w.out.buf = wire.EndMessage(w.appendTime(wire.EndMessage(b, event), it.TS), packet)
	return w.out.packetDone()
}
