package perfetto

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// trackEvent is the current TrackEvent with resolved values.
type trackEvent struct {
	message.TrackEvent

	ts           timeline.Nanos
	threadTime   timeline.Nanos
	category     []byte // joined with commas
	joined       []byte // buffer for category
	picture      []byte // JPEG
	resolvedName []byte
	track        timeline.TrackID
	async        *track // the event's asynchronous track, whose id the event may contain; may be nil
	index        uint32
	byWeft       bool // weft wrote its sequence; set by encodeArgs
}

// parse decodes a TrackEvent without interpreting it.
func (e *trackEvent) parse(msg []byte) error {
	e.category, e.threadTime, e.async = nil, timeline.NoTime, nil
	return e.Parse(msg)
}

// trackEvent converts the parsed event.
func (r *reader) trackEvent(stamp pfwire.Stamp, stampErr error) error {
	e := &r.ev
	e.index = r.nextIndex()
	r.writer.track(r)
	if r.seq == nil {
		r.add(problem.PacketInvalidState, "an event without sequence id")
		return nil
	}
	stamp, stampErr = r.oldTimes(stamp, stampErr)
	// Update counters before checking the time: an incremental counter needs every value.
	counters := r.extraCounters()
	if r.fields.HasThreadTime {
		e.threadTime = timeline.Nanos(r.fields.ThreadTime)
	}
	if r.fields.HasThreadTimeDelta {
		r.threadTimeDelta()
	}
	if r.fields.Levels > 0 {
		r.levelsNotConverted()
	}
	if n := r.fields.Mistyped; n != 0 {
		r.notConverted(fmt.Sprintf("TracePacket field %d", n))
	}
	var ok bool
	if e.ts, ok = r.traceTime(stamp, stampErr); !ok {
		return nil
	}
	if e.Instructions || e.HasLegacy && e.Legacy.Instructions {
		r.notConverted("TrackEvent instruction counts")
	}
	r.resolveText()
	if err := r.dispatch(); err != nil {
		return err
	}
	for _, c := range counters {
		if err := r.addCounter(c.track, c.value); err != nil {
			return err
		}
	}
	return nil
}

// oldTimes applies the microsecond times that events had before packets had timestamps (perfetto.md 15).
func (r *reader) oldTimes(stamp pfwire.Stamp, err error) (pfwire.Stamp, error) {
	e, thread := &r.ev, &r.seq.Thread
	us, old := int64(0), true
	switch {
	case e.HasTimeDelta && thread.Known:
		thread.TimeUS += e.TimeDeltaUS
		us = thread.TimeUS
	case e.HasTime:
		us = e.TimeUS
	default:
		old = false
	}
	switch {
	case e.HasThreadTimeDelta && thread.Known:
		thread.CPUUS += e.ThreadTimeDeltaUS
		e.threadTime = timeline.Nanos(thread.CPUUS) * 1000
	case e.HasThreadTime:
		e.threadTime = timeline.Nanos(e.ThreadTimeUS) * 1000
	}
	if !old || !errors.Is(err, pfwire.ErrNoTimestamp) {
		return stamp, err
	}
	return pfwire.Stamp{Clock: pfwire.Clock{ID: pfwire.ClockMonotonic, Machine: r.fields.Sequence.Machine}, Nanos: us * 1000}, nil
}

// resolveText resolves the name and categories of the event. Categories are joined with commas, interned categories first
// (perfetto.md 15).
func (r *reader) resolveText() {
	e := &r.ev
	iid := e.NameIID
	if iid == 0 && e.HasLegacy && len(e.Name) == 0 {
		iid = e.Legacy.NameIID
	}
	if iid != 0 {
		e.resolvedName = r.bounded(r.internedText(message.InternedEventNames, iid), r.b.InternName)
	} else {
		e.resolvedName = r.validText(e.Name)
	}
	if len(e.CategoryIIDs)+len(e.Categories) > 0 {
		r.resolveCategories()
	}
}

// resolveCategories joins the categories of the event.
func (r *reader) resolveCategories() {
	e := &r.ev
	e.category = e.joined[:0]
	for _, iid := range e.CategoryIIDs {
		text, ok := r.seq.Interned.Text(message.InternedCategories, iid)
		if !ok {
			r.unknownIID(message.InternedCategories, iid)
			text = fmt.Appendf(nil, "unknown(%d)", iid)
		}
		e.appendCategory(r.bounded(r.validText(text), r.b.InternCategory))
	}
	for _, text := range e.Categories {
		e.appendCategory(r.validText(text))
	}
	e.joined = e.category
}

func (e *trackEvent) appendCategory(text []byte) {
	if len(e.category) > 0 {
		e.category = append(e.category, ',')
	}
	e.category = append(e.category, text...)
}

// dispatch adds the records of the event according to its type or legacy phase.
func (r *reader) dispatch() error {
	e := &r.ev
	switch e.Type {
	case schema.TrackEvent_TypeSliceBegin, schema.TrackEvent_TypeSliceEnd, schema.TrackEvent_TypeInstant:
		e.track = r.eventTrack()
		return r.addEvent(kindOf[e.Type])
	case schema.TrackEvent_TypeCounter:
		return r.counterEvent()
	case schema.TrackEvent_TypeState:
		return r.stateEvent()
	case schema.TrackEvent_TypeUnspecified:
		if e.HasLegacy {
			return r.legacyEvent()
		}
	}
	r.notConverted(fmt.Sprintf("TrackEvent of type %d", e.Type))
	return nil
}

var kindOf = [...]timeline.Kind{schema.TrackEvent_TypeSliceBegin: timeline.Begin, schema.TrackEvent_TypeSliceEnd: timeline.End, schema.TrackEvent_TypeInstant: timeline.Instant}

// addEvent adds a record with all data of the event, on its track.
func (r *reader) addEvent(kind timeline.Kind) error {
	r.findAsync(kind)
	r.encodeArgs(nil)
	r.fillEvent(kind)
	return r.addOut()
}

// addOut adds r.out and the event's flow ends.
func (r *reader) addOut() error {
	if err := r.b.Add(&r.out); err != nil {
		return err
	}
	if r.out.Kind != timeline.End {
		if err := r.clues.Event(&r.out); err != nil {
			return err
		}
	}
	return r.addFlows()
}

// firefoxLongTask is the end of the category of Firefox's long task markers: the marker type, as weft writes it
// (firefox.md 5).
var firefoxLongTask = []byte(",MainThreadLongTask")

// fillEvent prepares r.out. The arguments must already be encoded.
func (r *reader) fillEvent(kind timeline.Kind) {
	// Set field by field, because the compiler would build a literal elsewhere and copy it.
	e, out := &r.ev, &r.out
	*out = timeline.Event{}
	out.Kind, out.Track, out.Event, out.Offset = kind, e.track, e.index, r.offset
	out.TS, out.ThreadTS = e.ts, timeline.NewCPUTime(e.threadTime)
	out.Idle, out.DidNotEnd = r.fields.Idle && kind == timeline.Begin, r.fields.DidNotEnd
	out.Name, out.Category = e.resolvedName, e.category
	out.Args, out.Callstack, out.Screenshot = r.b.Args().Args(), r.eventCallstack(), e.picture
	if kind == timeline.Begin || kind == timeline.Slice {
		r.out.Task, r.out.LoopTask = producers.IsTask(e.resolvedName), producers.IsLoopTask(e.resolvedName) || bytes.HasSuffix(e.category, firefoxLongTask)
	}
	r.setSampling()
	if r.fields.Thread != 0 {
		r.setWriter(kind)
	}
}

// setWriter sets, in r.out, the thread that wrote the event. The event is not on the track of that thread. As in other formats,
// the start or end of such a slice does not affect the thread's calls.
func (r *reader) setWriter(kind timeline.Kind) {
	if t := r.tracks.find(r.fields.Thread); t != nil && t.kind == threadTrack {
		r.out.Sampling.Thread = t.id
		r.out.Sampling.Skip = r.out.Sampling.Skip || kind != timeline.Instant
		return
	}
	r.notConverted(fmt.Sprintf("TracePacket field %d", schema.TracePacket_WeftThread))
}

// readScreenshot reads the picture of the event. Viewers show only JPEGs, so other pictures become arguments.
func (r *reader) readScreenshot() {
	e := &r.ev
	e.picture = nil
	if e.Screenshot == nil || r.noScreenshots {
		return
	}
	var s message.Screenshot
	err := s.Parse(e.Screenshot)
	picture := s.JPEG()
	if len(picture) <= readers.MaxScreenshot && !readers.IsJPEG(picture) {
		if picture != nil {
			r.add(problem.ScreenshotNotJPEG, "")
		}
		e.Other = append(e.Other, message.Field{Number: schema.TrackEvent_Screenshot, Type: wire.Len, Bytes: e.Screenshot})
		return
	}
	if err != nil {
		r.malformed("screenshot", err)
	}
	r.fieldsNotConverted("Screenshot", s.Other())
	if len(picture) > readers.MaxScreenshot {
		r.add(problem.ScreenshotOmitted, "")
		return
	}
	e.picture = picture
}

// stateEvent converts an event of a state track: it ends the current state and starts the state with the event's name.
func (r *reader) stateEvent() error {
	e := &r.ev
	uuid, _ := r.eventUUID()
	t := r.tracks.get(r.b, uuid)
	e.track = t.id
	if t.stateOpen {
		r.out = timeline.Event{
			Kind: timeline.End, Track: t.id, Event: e.index, Offset: r.offset,
			TS: e.ts,
		}
		if err := r.b.Add(&r.out); err != nil {
			return err
		}
	}
	t.stateOpen = len(e.resolvedName) > 0
	if !t.stateOpen {
		return nil
	}
	return r.addEvent(timeline.Begin)
}

// addFlows adds the flow ends of the event, attached to the record added last (perfetto.md 8).
func (r *reader) addFlows() error {
	e := &r.ev
	flows, terminating := e.Flows, e.Terminating
	if len(flows) == 0 && len(terminating) == 0 {
		flows, terminating = e.OldFlows, e.OldTerminating
	}
	for _, s := range r.flowSteps(len(flows), len(terminating)) {
		role, id := timeline.FlowContinue, uint64(0)
		if s.Index < len(flows) {
			id = flows[s.Index]
		} else {
			role, id = timeline.FlowEnd, terminating[s.Index-len(flows)]
		}
		if err := r.addFlow(timeline.FlowNative, role, id, timeline.Nanos(s.After)); err != nil {
			return err
		}
	}
	if e.HasLegacy && e.Legacy.HasBindID {
		return r.addBindID()
	}
	return nil
}

// flowSteps returns the order in which flows pass through the event: as listed in the packet or, without a list, ending flows
// first.
func (r *reader) flowSteps(continuing, ending int) []message.FlowStep {
	if list := r.fields.FlowSteps; len(list) > 0 {
		var ok bool
		if r.flowOrder, ok = message.AppendFlowSteps(r.flowOrder[:0], list, continuing+ending); ok {
			return r.flowOrder
		}
		r.notConverted(fmt.Sprintf("TracePacket field %d", schema.TracePacket_WeftFlowSteps))
	}
	r.flowOrder = r.flowOrder[:0]
	for i := range ending {
		r.flowOrder = append(r.flowOrder, message.FlowStep{Index: continuing + i})
	}
	for i := range continuing {
		r.flowOrder = append(r.flowOrder, message.FlowStep{Index: i})
	}
	return r.flowOrder
}

func (r *reader) addFlow(space timeline.FlowSpace, role timeline.FlowRole, id uint64, after timeline.Nanos) error {
	e := &r.ev
	return r.b.AddFlow(&timeline.FlowEvent{
		Space: space, Role: role, Binding: timeline.BindCarrier,
		Track: e.track, Event: e.index, Offset: r.offset, TS: e.ts, After: after, ID: r.flowID(id),
	})
}

// findAsync finds the asynchronous track of the current event: weft writes the id of such a track on events that no slice of
// the track encloses.
func (r *reader) findAsync(kind timeline.Kind) {
	if !r.seqInfo.byWeft || kind == timeline.End {
		return
	}
	uuid, _ := r.eventUUID()
	if t := r.tracks.find(uuid); t != nil && t.async {
		r.ev.async = t
	}
}

// writer records whether weft wrote all events, on one sequence.
type writer struct {
	seq   *pfwire.Sequence // sequence of the first event, or nil
	mixed bool             // there are several sequences, or one that weft did not write
}

// track checks the sequence of an event.
func (w *writer) track(r *reader) {
	if w.seq == nil {
		w.seq = r.seq
	}
	w.mixed = w.mixed || w.seq != r.seq || !r.seqInfo.byWeft
}
