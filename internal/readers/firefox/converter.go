package firefox

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// converter turns a decoded profile into tracks and events.
type converter struct {
	ctx  context.Context
	b    *timeline.Builder
	enc  *timeline.ArgsEncoder
	args readers.ArgReader // reads values in payloads
	log  *problem.Log
	opts Options

	root      *profile
	processed int64 // version of the processed form; -1: raw
	interval  float64
	base      timeline.Nanos // trace time of the profile's time 0
	activeTab int64          // the recorded tab; 0: unknown
	keepOrder bool           // keep the thread order of the profile
	start     float64        // time of the first event
	end       float64        // end of the last event
	cycles    float64        // see cyclesPerMilli

	schemas    schemas
	types      []markerType
	typeByName map[string]int32
	pages      *pageTree
	shared     *stacks
	threads    []*threadState
	processes  processes
	ipc        messages
	redirects  map[redirect]uint64 // ids of flows to requests that have not started
	counters   map[string]uint64   // number of counters so far, by process and name
	lastFlow   uint64              // last id that weft gave to a flow

	event    uint32 // index of the next event
	out      timeline.Event
	flo      timeline.FlowEvent
	payload  payloadState
	picture  []byte     // buffer for payload.screenshot
	activity []activity // by sample of the current thread
	resolved int        // total bytes of long texts from the string table
	argIDs   [numArgKeys]timeline.KeyID
	scan     jsonscan.Scanner // used by typeOf and eachMember
}

// markerType holds the properties that all markers of a type share.
type markerType struct {
	name       string
	schema     *schema // nil: none
	stackBased bool
	special    special
	members    []member
}

// special identifies a type that needs handling beyond its schema (section 5).
type special uint8

const (
	specialNone special = iota
	specialNetwork
	specialIPC
	specialScreenshot
	specialAllocation
	specialLongTask
)

var specials = map[string]special{
	"Network": specialNetwork, "IPC": specialIPC, "CompositorScreenshot": specialScreenshot, "MainThreadLongTask": specialLongTask,
	"JS allocation": specialAllocation, "Native allocation": specialAllocation,
}

// threadState is the state of a thread during the conversion.
type threadState struct {
	th      *thread
	index   int // in converter.threads
	process *process
	track   timeline.TrackID
	delta   float64 // offset from its process's clock to the profile's
	raw     bool
	// Offsets from the clocks of causes, and of request times in payloads, to the profile's clock.
	causeShift, requestShift float64

	tracerNames *texts // raw profiles only
	tables      *tables
	stacks      *stacks
	first, last float64 // known time range of the thread

	cpu          cpuUse
	delayChanges bool // whether eventDelay changes
	facts        []timeline.Fact

	types   []int32  // by marker row: index into converter.types
	markers []marker // sorted by start before place
	next    int      // index of the next marker to add
}

func newConverter(ctx context.Context, b *timeline.Builder, opts Options) *converter {
	return &converter{
		args: readers.ArgReader{S: new(jsonscan.Scanner), Enc: b.Args(), MaxDepth: maxArgDepth},
		ctx:  ctx, b: b, enc: b.Args(), log: opts.Problems, opts: opts,
		start: math.Inf(1), end: math.Inf(-1),
		schemas:    schemas{byName: map[string]*schema{}},
		types:      []markerType{{}},
		typeByName: map[string]int32{"": 0},
		ipc:        messages{byKey: map[string]int32{}},
		redirects:  map[redirect]uint64{},
		counters:   map[string]uint64{},
	}
}

// convert adds a profile to the builder.
func (c *converter) convert(p *profile) error {
	c.root, c.processed = p, -1
	if p.isProcessed() {
		c.processed = p.meta.preprocessed
	}
	c.interval = p.meta.interval
	if !(c.interval > 0) {
		c.interval = 1
	}
	c.setClocks(&p.meta)
	c.readOrder()
	c.collect(p, 0)
	c.schemas.add(builtinSchemas())
	c.b.DescribeSamples(c.sampleDescription())
	for _, th := range c.threads {
		c.derive(th)
	}
	for i, th := range c.threads {
		c.collectMessages(i, th)
	}
	c.joinMessages()
	c.lastFlow = uint64(len(c.ipc.list))
	for _, th := range c.threads {
		slices.SortStableFunc(th.markers, func(a, b marker) int { return cmp.Compare(a.start, b.start) })
		c.findFacts(th)
		c.place(th)
		c.start, c.end = min(c.start, th.first), max(c.end, th.last)
	}
	for _, add := range []func() error{c.addMarkers, c.addSamples, c.addCounters, c.addRest} {
		if err := add(); err != nil {
			return err
		}
	}
	c.setAttributes()
	c.setOrder()
	return nil
}

// setClocks declares the clock of the trace: the system's monotonic clock or, if unknown, wall time (section 4).
func (c *converter) setClocks(m *meta) {
	wall, ok := jsonscan.Decimal([]byte(m.startTimeText), 6) // ms
	if !ok || wall < 0 {
		wall = 0
	}
	monotonic, ok := jsonscan.Int64([]byte(m.monotonic))
	if !ok || monotonic < 0 {
		monotonic = 0
	}
	c.base = timeline.Nanos(max(monotonic, 0))
	clock := timeline.ClockMonotonic
	if monotonic == 0 {
		c.base, clock = timeline.Nanos(wall), timeline.ClockRealtime
	}
	if c.base > maxBase {
		c.base = 0
	}
	if c.base > 0 && c.opts.Offset == 0 {
		clocks := timeline.Clocks{Trace: clock, Readings: []timeline.ClockReading{{Clock: clock, Time: c.base}}}
		if clock != timeline.ClockRealtime && wall > 0 {
			clocks.Readings = append(clocks.Readings, timeline.ClockReading{Clock: timeline.ClockRealtime, Time: timeline.Nanos(wall)})
		}
		c.b.SetClocks(clocks)
	}
	c.base = c.base + c.opts.Offset
}

// maxBase and maxMillis limit the two parts of a time to 73 years each, so that their sum does not overflow.
const (
	maxBase   = math.MaxInt64 / 4
	maxMillis = math.MaxInt64 / 4 / 1e6
)

// nanos converts a time on the profile's clock to trace time, rounding once. It returns false if a trace cannot
// represent it.
func (c *converter) nanos(ms float64) (timeline.Nanos, bool) {
	if !(math.Abs(ms) < maxMillis) {
		return 0, false
	}
	ns := timeline.Nanos(math.Round(ms * 1e6))
	if c.opts.Offset > maxBase || c.opts.Offset < -maxBase {
		return 0, false
	}
	ns += c.base
	return ns, ns >= 0
}

// timeProblem returns the problem to report for a time that nanos cannot convert.
func timeProblem(ms float64) problem.Kind {
	if math.Abs(ms) < maxMillis {
		return problem.EventNegativeTimestamp
	}
	return problem.EventInvalidTimestamp
}

// span extends the time range of a thread to its samples, each lasting one interval, and returns the range.
func (th *threadState) span(interval float64) (first, last float64) {
	s := &th.th.samples
	for i := range s.rows {
		if t := s.time[i]; !math.IsNaN(t) {
			th.extend(t + th.delta)
			th.extend(t + th.delta + interval)
		}
	}
	return th.first, th.last
}

// extend extends the thread's range to a time.
func (th *threadState) extend(t float64) {
	th.first, th.last = min(th.first, t), max(th.last, t)
}

// payload returns the unparsed payload of a row, or nil.
func (th *threadState) payload(row int32) []byte {
	text, _ := th.th.markers.data.at(row)
	return text
}

// at returns the input position of a row in the thread's marker table, for messages.
func (th *threadState) at(row int32) problem.Position {
	return problem.Position{Event: int64(row), Offset: th.th.markers.data.offset(row)}
}

// rowOf returns the position of a row in any other table; its offset is unknown.
func rowOf(i int) problem.Position { return problem.Position{Event: int64(i), Offset: -1} }

// name returns the names of the thread and of a row's marker, for messages.
func (th *threadState) name(row int32) string {
	return th.th.name + ": " + th.tables.strings.text(th.th.markers.name[row])
}

// typeOf returns the index in c.types of a payload's type.
func (c *converter) typeOf(payload []byte) int32 {
	if len(payload) == 0 {
		return 0
	}
	s := &c.scan
	s.Reset(payload)
	s.Value()
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		if string(key) != "type" {
			s.Skip()
			continue
		}
		kind, text := s.Scalar()
		if kind != jsonscan.String {
			return 0
		}
		if i, ok := c.typeByName[string(text)]; ok {
			return i
		}
		return c.addType(string(text))
	}
	return 0
}

// typeByMarkerName returns the type of a row. The parameter kind is the type of the payload. In older profiles (section
// 3), the type of the row is the marker's name if the payload's type has no schema but the name has one. Otherwise, it
// is the payload's type.
func (c *converter) typeByMarkerName(th *threadState, row, kind int32) int32 {
	if c.processed < 0 || c.processed >= schemaByTypeOnly || c.types[kind].schema != nil {
		return kind
	}
	name := th.tables.strings.text(th.th.markers.name[row])
	if c.schemas.byName[name] == nil {
		return kind
	}
	if i, ok := c.typeByName[name]; ok {
		return i
	}
	return c.addType(name)
}

// schemaByTypeOnly is the first version of the processed form that finds schemas by type only.
const schemaByTypeOnly = 52

func (c *converter) addType(name string) int32 {
	t := markerType{name: name, schema: c.schemas.byName[name], special: specials[name]}
	if t.special == specialNetwork {
		t.schema.addRequestSlots()
	}
	t.stackBased = t.schema != nil && t.schema.stackBased
	i := int32(len(c.types))
	c.types = append(c.types, t)
	c.typeByName[name] = i
	return i
}

// eachMember calls fn for each top-level member of a payload.
func (c *converter) eachMember(payload []byte, fn func(key []byte, v value)) {
	if len(payload) == 0 {
		return
	}
	s := &c.scan
	s.Reset(payload)
	s.Value()
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		kind, text := s.Scalar()
		if kind == jsonscan.Invalid {
			return
		}
		fn(key, value{kind, text})
	}
}

// addMarkers adds the markers of all threads in the order in which flows are resolved: by start, thread and position in
// the thread's list (section 7).
func (c *converter) addMarkers() error {
	q := collections.NewHeap(comesBefore)
	for _, th := range c.threads {
		if len(th.markers) > 0 {
			q.Push(th)
		}
	}
	var late []lateMarker // receiving markers at the current time, which must follow their senders
	for n := 0; q.Len() > 0; n++ {
		if n%(1<<12) == 0 && c.ctx.Err() != nil {
			return c.ctx.Err()
		}
		th := *q.Top()
		m := &th.markers[th.next]
		if len(late) > 0 && late[0].m.start != m.start {
			if err := c.addLate(&late); err != nil {
				return err
			}
		}
		if m.state&markerReceived != 0 {
			late = append(late, lateMarker{th, m})
		} else if err := c.addMarker(th, m); err != nil {
			return err
		}
		if th.next++; th.next == len(th.markers) {
			q.Pop()
		} else {
			q.Fix()
		}
	}
	return c.addLate(&late)
}

// lateMarker is a marker to add after all others with the same start.
type lateMarker struct {
	th *threadState
	m  *marker
}

func (c *converter) addLate(late *[]lateMarker) error {
	for _, l := range *late {
		if err := c.addMarker(l.th, l.m); err != nil {
			return err
		}
	}
	*late = (*late)[:0]
	return nil
}

// comesBefore orders threads by their next markers.
func comesBefore(a, b **threadState) bool {
	at, bt := (*a).markers[(*a).next].start, (*b).markers[(*b).next].start
	return at < bt || at == bt && (*a).index < (*b).index
}

// eachProfile calls fn for a profile and the profiles of its child processes.
func (c *converter) eachProfile(p *profile, fn func(*profile) error) error {
	if err := fn(p); err != nil {
		return err
	}
	for _, child := range p.children {
		if err := c.eachProfile(child, fn); err != nil {
			return err
		}
	}
	return nil
}

// addRest adds allocations, JS tracer events, and pauses in the recording.
func (c *converter) addRest() error {
	for _, th := range c.threads {
		if err := c.addAllocations(th, "JS allocation", &th.th.jsAllocations); err != nil {
			return err
		}
		if err := c.addAllocations(th, "Native allocation", &th.th.nativeAllocations); err != nil {
			return err
		}
		if err := c.addTracer(th); err != nil {
			return err
		}
	}
	return c.addPauses()
}

// addSlice adds a slice. The callback args, if not nil, adds the arguments of the slice to the encoder.
func (c *converter) addSlice(track timeline.TrackID, name string, from, to float64, args func()) error {
	start, ok := c.nanos(from)
	end, ok2 := c.nanos(to)
	if !ok || !ok2 || end < start {
		c.log.Add(problem.EventInvalidTimestamp, problem.NoPosition, name)
		return nil
	}
	c.beginArgs()
	if args != nil {
		args()
		c.closeWeft()
	}
	c.out = timeline.Event{
		Kind: timeline.Slice, Track: track, Event: c.event, Offset: -1, TS: start, Dur: end - start,
		Name: []byte(name), Args: c.enc.Args(),
	}
	c.event++
	return c.b.Add(&c.out)
}
