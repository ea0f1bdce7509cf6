package report

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// Inputs lists the inputs in a browser trace, with how long each waited for a response. Times are nanoseconds; points in
// time are on the trace's clock.
type Inputs struct {
	Start timeline.Nanos `json:"start_ns"` // of the trace
	End   timeline.Nanos `json:"end_ns"`
	// Omitted counts the inputs of kinds that were not requested.
	Omitted map[InputKind]int64 `json:"omitted"`

	Inputs []Interaction `json:"-"` // slowest first
}

// InputKind is the everyday name of an input.
type InputKind string

// The kinds of inputs.
const (
	ClickInput  InputKind = "click"
	KeyInput    InputKind = "key"
	TapInput    InputKind = "tap" // touch
	WheelInput  InputKind = "wheel"
	ScrollInput InputKind = "scroll"
	DragInput   InputKind = "drag"
	MoveInput   InputKind = "move"  // of the pointer, without a button
	OtherInput  InputKind = "other" // mostly consequences of other inputs: beforeinput, input
)

// InputKinds returns all kinds.
func InputKinds() []InputKind {
	return []InputKind{ClickInput, KeyInput, TapInput, WheelInput, ScrollInput, DragInput, MoveInput, OtherInput}
}

// Interaction is an input: one system event, or several that belong to one gesture, such as the press and release of a button
// and the click.
type Interaction struct {
	Kind InputKind `json:"kind"`
	// Type is the type of the slowest event as recorded: "pointerup", "KeyDown". The interaction has the times of this
	// event.
	Type          string         `json:"type"`
	ID            string         `json:"id"`                       // of this event as a context
	InteractionID int64          `json:"interaction_id,omitempty"` // by which the browser joins events
	Events        []InputEvent   `json:"events"`                   // all events, in time order
	Start         timeline.Nanos `json:"ts_ns"`                    // when it happened
	Latency       timeline.Nanos `json:"latency_ns"`               // until the response was shown, or the event was handled
	Dropped       bool           `json:"dropped,omitempty"`        // nothing was shown in response

	// Delay is the time until the first listener ran. Processing is the time from then until the last listener returned, counting
	// all events that the same frame answers. Presentation is the rest. They add up to Latency; nil if not recorded.
	Delay        *timeline.Nanos `json:"delay_ns"`
	Processing   *timeline.Nanos `json:"processing_ns"`
	Presentation *timeline.Nanos `json:"presentation_ns"`

	// The other fields are set only for the slowest inputs, at most InputOptions.Details.

	Main     *ThreadID     `json:"main"`   // the thread that runs the listeners; nil if unknown
	Phases   []InputPhase  `json:"phases"` // the work of that thread in each phase; if the phases are unknown, one phase for the whole latency
	Contexts []ContextTime `json:"contexts"`
	Work     *Work         `json:"work"`    // done for the input, on all threads
	Threads  []InputThread `json:"threads"` // that did this work, in the order in which the work reached them
	// Received describes what happened before anything ran for the input; nil if that is unknown, or took less than a quarter of
	// Latency.
	Received *InputReceived `json:"received,omitempty"`

	Requests     int64 `json:"requests"`      // sent for it
	RequestBytes int64 `json:"request_bytes"` // received in response
}

// InputEvent is an event of an interaction.
type InputEvent struct {
	Type    string         `json:"type"`
	Start   timeline.Nanos `json:"ts_ns"`
	Latency timeline.Nanos `json:"latency_ns"`
}

// InputPhase is the work of the main thread in a phase of an input.
type InputPhase struct {
	Phase    string         `json:"phase"` // "delay", "processing", "presentation"; "latency": the whole
	Start    timeline.Nanos `json:"ts_ns"`
	Duration timeline.Nanos `json:"dur_ns"`
	Own      Work           `json:"own"`     // for the input
	Others   Work           `json:"others"`  // for other inputs or contexts, or unknown ones, while the input waits
	Idle     timeline.Nanos `json:"idle_ns"` // without slices
}

// InputThread is a thread that worked for an input.
type InputThread struct {
	ThreadID
	First timeline.Nanos `json:"first_ts_ns"` // start of its first work for the input
	Last  timeline.Nanos `json:"last_ts_ns"`  // end of its last work for the input
	Self  timeline.Nanos `json:"self_ns"`
}

// InputReceived describes where and when an input arrived.
type InputReceived struct {
	ThreadID                // the first thread that worked for it
	At       timeline.Nanos `json:"ts_ns"`          // when this work began
	Busy     timeline.Nanos `json:"busy_before_ns"` // other work of this thread, from Interaction.Start to At
}

// MaxDetailed is the default maximum number of inputs whose work is collected.
const MaxDetailed = 256

// InputOptions selects inputs. The zero value selects all except movements and the consequences of other inputs.
type InputOptions struct {
	Kinds []InputKind // nil: all except MoveInput and OtherInput
	// Include reports whether an input with the given start and latency counts; nil: all do.
	Include func(start, latency timeline.Nanos) bool
	// Thread reports whether inputs that a thread handles count; nil: all do.
	Thread func(timeline.TrackID) bool
	// Brief leaves out the work for the inputs, which needs another pass over the trace.
	Brief bool
	// Details is the maximum number of inputs whose work is collected, slowest first; 0: MaxDetailed. DetailKind reports
	// whether a kind of input qualifies; nil: all do.
	Details    int
	DetailKind func(InputKind) bool
}

// CollectInputs finds the inputs in a nested timeline and the work done for them. The attribution determines which events are
// inputs and which work was done for them. CollectInputs fails only if temporary files cannot be used or ctx is done.
func CollectInputs(ctx context.Context, tl *timeline.Timeline, attributed *attribution.Result, opts InputOptions) (*Inputs, error) {
	c := newInputCollector(tl, attributed, opts)
	if err := c.findAll(ctx); err != nil {
		return nil, err
	}
	c.join()
	if c.needsDetail() {
		if err := (&threadWork{tl: tl, reader: newWorkReader(tl, attributed), inputs: c}).walk(ctx); err != nil {
			return nil, err
		}
	}
	return c.done(), nil
}

// done returns the inputs after the walks.
func (c *inputCollector) done() *Inputs {
	c.addDetails()
	totals := c.tl.Totals()
	c.out.Start, c.out.End = totals.Start, totals.End
	return &c.out
}

// inputFacts holds the trace's data about an input event.
type inputFacts struct {
	*attribution.Input
	from, to timeline.Nanos // of processing
	known    bool           // from and to are known
	shown    bool           // end is when the answer was shown, otherwise when the last listener returned
	end      timeline.Nanos // when it was answered, as measured by the page; NoTime: unknown
	process  timeline.TrackID
	main     timeline.TrackID // 0: unknown
	mainTime timeline.Nanos   // length of the slice that determined main
	first    taskPlace        // where the first slice for it began; zero: none
	with     int              // 1 + the index of an input that is the same system event; 0: none
}

type inputCollector struct {
	tl         *timeline.Timeline
	attributed *attribution.Result
	opts       InputOptions
	out        Inputs
	facts      []inputFacts                 // parallel to the inputs of the attribution
	bySet      []int                        // by sets.SetID: index in facts plus one; 0: none; notAsked: not looked up yet
	reader     *workReader                  // of the first pass
	args       *timeline.ArgSelection       // arguments with timings
	handlers   map[timeline.TrackID]handler // by process
	frames     map[answer]timeline.Nanos    // by answering frame: when the last listener of its events returned

	windows []inputWindow    // of the inputs in detail
	byFact  map[int]int      // index in windows plus one, by index in facts
	since   []timeline.Nanos // by TrackID: time of the last event on a thread
}

// answer identifies a frame that answers inputs, by its process and time.
type answer struct {
	process timeline.TrackID
	at      timeline.Nanos
}

// handler is the thread of a process on which the longest dispatch of an event ran.
type handler struct {
	thread timeline.TrackID
	time   timeline.Nanos
}

func newInputCollector(tl *timeline.Timeline, attributed *attribution.Result, opts InputOptions) *inputCollector {
	c := &inputCollector{
		tl: tl, attributed: attributed, opts: opts, bySet: slices.Repeat([]int{notAsked}, attributed.Sets.Lists.Len()+1), reader: newWorkReader(tl, attributed),
		handlers: map[timeline.TrackID]handler{}, frames: map[answer]timeline.Nanos{}, byFact: map[int]int{}, since: make([]timeline.Nanos, tl.TrackCount()),
		facts: make([]inputFacts, len(attributed.Inputs)),
	}
	for i := range c.facts {
		c.facts[i] = inputFacts{Input: &attributed.Inputs[i], end: timeline.NoTime}
	}
	c.args = tl.SelectArgs(func(name string) bool {
		switch name {
		case "data", "processingStart", "processingEnd", "timeStamp", "type", "latency":
			return true
		}
		return false
	})
	return c
}

// notAsked marks a set of contexts whose input has not been looked up.
const notAsked = -1

// inputOf returns the index of the input in a set of contexts, plus one; 0: the set has none.
func (c *inputCollector) inputOf(set attribution.SetID) int {
	if set == 0 {
		return 0
	}
	i := c.bySet[set]
	if i == notAsked {
		i = 0
		for _, id := range c.attributed.Sets.Lists.At(uint32(set)) {
			m := &c.attributed.Sets.Members[id]
			if m.Type == attribution.TypeInputEvent && m.Node != 0 {
				if at, ok := c.attributed.IndexOfInput(m.Node); ok {
					i = at + 1
				}
			}
		}
		c.bySet[set] = i
	}
	return i
}

// findAll determines when inputs were processed, and on which threads.
func (c *inputCollector) findAll(ctx context.Context) error {
	return c.tl.Occurrences(ctx, true, func(group []timeline.Head) error {
		for i := range group {
			if group[i].Kind == timeline.ItemBegin {
				if err := c.find(&group[i]); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// find handles a slice of the first pass.
func (c *inputCollector) find(s *timeline.Head) error {
	onThread := c.tl.TrackKind(s.Track) == timeline.ThreadTrack
	name := c.tl.Name(s.NameID)
	if onThread && hasEnd(s) && producers.EventDispatch.Is(name) {
		c.handles(s)
	}
	set, err := c.reader.setOf(s.Ordinal)
	i := c.inputOf(set)
	if err != nil || i == 0 {
		return err
	}
	f := &c.facts[i-1]
	if onThread && hasEnd(s) && (f.first.thread == 0 || s.TS < f.first.ts) {
		f.first = taskPlace{s.Track, s.TS}
	}
	if kind, _ := c.reader.nameOf(s, name); onThread && hasEnd(s) && kind == scriptSlice && s.Dur > f.mainTime {
		f.main, f.mainTime = s.Track, s.Dur
	}
	if err := c.tl.ReadArgs(s); err != nil {
		return err
	}
	c.timing(s, name, f, onThread)
	return nil
}

// handles records that a thread dispatches events for its process.
func (c *inputCollector) handles(it *timeline.Head) {
	process := c.tl.TrackParent(it.Track)
	if h := c.handlers[process]; h.thread == 0 || it.Dur > h.time {
		c.handlers[process] = handler{it.Track, it.Dur}
	}
}

// timing determines when listeners ran: Chrome's EventTiming records the times, and a Firefox DOMEvent marker lasts while they
// run. In other slices, the times remain unknown.
func (c *inputCollector) timing(it *timeline.Head, name []byte, f *inputFacts, onThread bool) {
	switch {
	case producers.EventTiming.Is(name) && it.TS == f.Start:
		var t eventTimes
		for arg := range c.args.List(it.Args) {
			if string(arg.Key) == "data" && arg.Kind == timeline.ArgDict {
				t.read(c.args.Members(arg))
			}
		}
		if !t.complete() {
			return
		}
		if owner := ownerOf(c.tl, it.Track); c.tl.TrackKind(owner) == timeline.ProcessTrack {
			f.process = owner
		}
		f.shown = true
		f.add(it.TS+milliseconds(t.processingStart-t.timeStamp), it.TS+milliseconds(t.processingEnd-t.timeStamp))
		if hasEnd(it) {
			f.end = max(f.end, endOf(it))
		}
	case onThread && hasEnd(it):
		var t eventTimes
		t.read(c.args.List(it.Args))
		if t.hasLatency && t.typ == "DOMEvent" && it.TS >= f.Start {
			f.add(it.TS, endOf(it))
			f.end = max(f.end, endOf(it))
			f.main, f.mainTime = it.Track, math.MaxInt64
		}
	}
}

// eventTimes holds the arguments about when an event was processed, in milliseconds.
type eventTimes struct {
	timeStamp, processingStart, processingEnd float64
	found                                     int
	hasLatency                                bool
	typ                                       string
}

func (t *eventTimes) read(args func(func(timeline.Arg) bool)) {
	for arg := range args {
		var to *float64
		switch string(arg.Key) {
		case "timeStamp":
			to = &t.timeStamp
		case "processingStart":
			to = &t.processingStart
		case "processingEnd":
			to = &t.processingEnd
		case "latency":
			t.hasLatency = arg.Kind == timeline.ArgDouble || arg.Kind == timeline.ArgInt
		case "type":
			t.typ = string(arg.Text())
		}
		if to == nil {
			continue
		}
		switch arg.Kind {
		case timeline.ArgDouble:
			*to = arg.Double()
		case timeline.ArgInt:
			*to = float64(arg.Int())
		default:
			continue
		}
		t.found++
	}
}

// complete reports whether all times are present and in order.
func (t *eventTimes) complete() bool {
	const most = 1e9 // ms; also false for NaN
	return t.found == 3 && t.processingStart-t.timeStamp >= 0 && t.processingEnd >= t.processingStart && t.processingEnd-t.timeStamp < most
}

func milliseconds(ms float64) timeline.Nanos { return timeline.Nanos(math.Round(ms * 1e6)) }

// add extends the processing time by another period.
func (f *inputFacts) add(from, to timeline.Nanos) {
	if !f.known {
		f.from, f.to, f.known = from, to, true
		return
	}
	f.from, f.to = min(f.from, from), max(f.to, to)
}

// latency returns the time until an input was answered: as measured by the page, or else by the browser.
func (f *inputFacts) latency() timeline.Nanos {
	if f.end != timeline.NoTime {
		return f.end - f.Start
	}
	return f.Latency
}

// gesture is the key by which events are grouped into interactions.
type gesture struct {
	process timeline.TrackID
	id      int64 // 0: an individual event
	fact    int
}

// join combines events into interactions, slowest first.
func (c *inputCollector) join() {
	c.out.Omitted, c.out.Inputs = map[InputKind]int64{}, []Interaction{}
	c.joinDispatches()
	c.joinTimings()
	c.joinFrames()
	groups := map[gesture][]int{}
	var order []gesture
	for i := range c.facts {
		f := &c.facts[i]
		if f.latency() == timeline.NoTime {
			continue
		}
		key := gesture{fact: i}
		switch {
		case f.Interaction != 0:
			key = gesture{process: f.process, id: f.Interaction}
		case f.with > 0:
			if first := &c.facts[f.with-1]; first.Interaction != 0 {
				key = gesture{process: first.process, id: first.Interaction}
			} else {
				key.fact = f.with - 1
			}
		}
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], i)
	}
	var rows []inputRow
	for _, key := range order {
		rows = append(rows, c.interaction(groups[key]))
	}
	rows = slices.DeleteFunc(foldGestures(rows), func(row inputRow) bool { return !c.counts(&row) })
	slices.SortStableFunc(rows, func(a, b inputRow) int {
		return cmp.Or(cmp.Compare(b.Latency, a.Latency), cmp.Compare(a.Start, b.Start), cmp.Compare(a.ID, b.ID))
	})
	for n := range rows {
		c.out.Inputs = append(c.out.Inputs, rows[n].Interaction)
		if len(c.windows) < cmp.Or(c.opts.Details, MaxDetailed) && !c.opts.Brief && (c.opts.DetailKind == nil || c.opts.DetailKind(rows[n].Kind)) {
			c.addWindow(n, &rows[n])
		}
	}
}

// sameEvent is the largest difference between the times of one system event in Firefox, which rounds them.
const sameEvent = 2 * timeline.Microsecond

// joinDispatches finds the Firefox inputs that are one system event dispatched under several names: keydown and keypress.
// The event was handled from the start of the first dispatch to the end of the last.
func (c *inputCollector) joinDispatches() {
	var order []int
	for i := range c.facts {
		if f := &c.facts[i]; f.known && !f.shown {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(c.facts[a].main, c.facts[b].main), cmp.Compare(c.facts[a].Start, c.facts[b].Start))
	})
	for n := 1; n < len(order); n++ {
		before, f := &c.facts[order[n-1]], &c.facts[order[n]]
		if f.main != before.main || f.Start-before.Start > sameEvent || KindOfInput(f.Type) != KindOfInput(before.Type) {
			continue
		}
		f.with = cmp.Or(before.with, order[n-1]+1)
		first := &c.facts[f.with-1]
		first.add(f.from, f.to)
		first.end = max(first.end, f.end)
	}
}

// systemEvent is the key shared by Chrome inputs that are one system event.
type systemEvent struct {
	process timeline.TrackID
	at      timeline.Nanos
	kind    InputKind
}

// joinTimings finds the Chrome inputs that are one system event dispatched under several names: pointerdown and mousedown have
// the same time stamp, but only the first has an interaction id. The event was handled from the start of the first dispatch to
// the end of the last.
func (c *inputCollector) joinTimings() {
	firsts := map[systemEvent]int{}
	eventOf := func(f *inputFacts) systemEvent { return systemEvent{f.process, f.Start, KindOfInput(f.Type)} }
	for i := range c.facts {
		f := &c.facts[i]
		if !f.shown || f.process == 0 {
			continue
		}
		if first, ok := firsts[eventOf(f)]; !ok || c.facts[first].Interaction == 0 && f.Interaction != 0 {
			firsts[eventOf(f)] = i
		}
	}
	for i := range c.facts {
		f := &c.facts[i]
		if first, ok := firsts[eventOf(f)]; ok && first != i && f.shown && f.Interaction == 0 {
			f.with = first + 1
			c.facts[first].add(f.from, f.to)
			c.facts[first].end = max(c.facts[first].end, f.end)
		}
	}
}

// joinFrames determines when the last listener returned before each frame. A frame answers all events since the previous frame,
// whatever their interaction: the frame cannot be produced while any of their listeners runs. Continuous events, such as pointer
// movements, do not count.
func (c *inputCollector) joinFrames() {
	for i := range c.facts {
		f := &c.facts[i]
		if kind := KindOfInput(f.Type); f.answered() && (kind.Discrete() || kind == OtherInput) {
			c.frames[f.answer()] = max(c.frames[f.answer()], f.to)
		}
	}
}

// answered reports whether it is known which frame answers an input and when its listeners ran.
func (f *inputFacts) answered() bool {
	return f.shown && f.known && f.process != 0 && f.end != timeline.NoTime
}

func (f *inputFacts) answer() answer { return answer{f.process, f.end} }

// processing returns when the first listener of an interaction started, and when the last listener returned before the answer was
// shown. It considers the slowest event of the interaction, the events after it, and all other events that the same frame
// answers. Events before the slowest one were answered earlier: the slowest event waited for their listeners, even if these ran
// late.
func (c *inputCollector) processing(facts []int, slowest *inputFacts) (from, to timeline.Nanos) {
	from, to = slowest.from, slowest.to
	if !slowest.answered() {
		return from, to
	}
	for _, i := range facts {
		if f := &c.facts[i]; f.answered() && f.Start >= slowest.Start && f.end <= slowest.end {
			from, to = min(from, f.from), max(to, f.to)
		}
	}
	return from, max(to, c.frames[slowest.answer()])
}

// inputRow is an interaction and its events.
type inputRow struct {
	Interaction
	facts   []int
	kinds   map[InputKind]bool
	slowest *inputFacts
	main    timeline.TrackID
}

// sameGesture is the longest pause between two events of a gesture. Chrome considers a turn of the wheel finished after
// such a pause.
const sameGesture = 500 * 1000 * timeline.Microsecond

// foldGestures merges consecutive rows that belong to one gesture: a turn of the wheel with the scrolls that follow it, a drag,
// or a tap. The merged row has the times of the slowest row.
func foldGestures(rows []inputRow) (folded []inputRow) {
	slices.SortStableFunc(rows, func(a, b inputRow) int { return cmp.Compare(a.Start, b.Start) })
	last := map[InputKind]int{} // index in folded plus one
	for _, row := range rows {
		kind := row.Kind
		switch kind {
		case WheelInput:
			kind = ScrollInput
		case ScrollInput, DragInput, TapInput:
		default:
			folded = append(folded, row)
			continue
		}
		if i := last[kind]; i > 0 && folded[i-1].continues(&row) {
			folded[i-1].join(&row)
			continue
		}
		folded = append(folded, row)
		last[kind] = len(folded)
	}
	return folded
}

// continues reports whether a later row belongs to the same gesture.
func (r *inputRow) continues(later *inputRow) bool {
	if later.Kind == TapInput && isPress(later.Events[0].Type) && later.Events[0].Start != r.Events[0].Start {
		return false // the next tap
	}
	return later.Start-r.Events[len(r.Events)-1].Start <= sameGesture && (r.main == later.main || r.main == 0 || later.main == 0)
}

// isPress reports whether events of a type start a tap.
func isPress(typ string) bool {
	typ = strings.ToLower(strings.ReplaceAll(typ, "_", ""))
	return typ == "touchstart" || typ == "touchpressed" || typ == "pointerdown"
}

// join adds a later row of the same gesture.
func (r *inputRow) join(later *inputRow) {
	events, facts, kinds := append(r.Events, later.Events...), append(r.facts, later.facts...), r.kinds
	maps.Copy(kinds, later.kinds)
	if later.Latency > r.Latency {
		*r = *later
	}
	r.Events, r.facts, r.kinds, r.Kind = events, facts, kinds, kindOf(kinds)
}

// kindOf returns the kind of an input with events of several kinds.
func kindOf(kinds map[InputKind]bool) InputKind {
	return kindsByPrecedence[slices.IndexFunc(kindsByPrecedence, func(k InputKind) bool { return kinds[k] })]
}

// counts reports whether an input was requested. It counts inputs of kinds that were not requested in Omitted.
func (c *inputCollector) counts(row *inputRow) bool {
	requested := func(k InputKind) bool { return row.kinds[k] }
	switch {
	case c.opts.Kinds == nil && !row.Kind.Usual(), c.opts.Kinds != nil && !slices.ContainsFunc(c.opts.Kinds, requested):
		c.out.Omitted[row.Kind]++
		return false
	case c.opts.Include != nil && !c.opts.Include(row.Start, row.Latency), c.opts.Thread != nil && !c.opts.Thread(row.main):
		return false
	}
	return true
}

// interaction returns the interaction that consists of the given events.
func (c *inputCollector) interaction(facts []int) (row inputRow) {
	row.facts, row.kinds = facts, map[InputKind]bool{}
	for _, i := range facts {
		f := &c.facts[i]
		if row.slowest == nil || f.latency() > row.slowest.latency() || f.latency() == row.slowest.latency() && f.with == 0 && row.slowest.with > 0 {
			row.slowest = f // of several inputs for one system event, the one with the times of all
		}
		row.kinds[KindOfInput(f.Type)] = true
		row.Events = append(row.Events, InputEvent{f.Type, f.Start, f.latency()})
	}
	slices.SortStableFunc(row.Events, func(a, b InputEvent) int { return cmp.Compare(a.Start, b.Start) })
	f := row.slowest
	row.Kind, row.main = kindOf(row.kinds), f.main
	if row.main == 0 && f.process != 0 {
		row.main = c.handlers[f.process].thread
	}
	row.Type, row.ID, row.InteractionID, row.Start, row.Latency, row.Dropped = f.Type, f.ID.String(), f.Interaction, f.Start, f.latency(), f.Dropped && !f.shown // shown: measured by the page
	from, to := c.processing(facts, f)
	if end := f.Start + f.latency(); f.known && from >= f.Start && from <= end {
		to = min(to, end)
		delay, processing, presentation := from-f.Start, to-from, end-to
		row.Delay, row.Processing = &delay, &processing
		if f.shown {
			row.Presentation = &presentation
		}
	}
	return row
}
