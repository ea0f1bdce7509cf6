package trace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// A Builder makes a trace from scratch: Process, Thread, Track and Counter create tracks, Add adds events in any order, and
// Finish returns the trace. The zero Builder is ready to use. Errors need not be checked before Finish, which returns the first
// one.
type Builder struct {
	// Memory limits the memory for events, in bytes; events beyond the limit are sorted on disk. 0 means 256 MiB. Memory and
	// TempDir must not be changed after the first call.
	Memory int64
	// TempDir is the directory for temporary files; "" means os.TempDir. Builder.Close and Trace.Close remove these files.
	TempDir string
	// IDSpace is the Track.IDSpace of all processes, and of other tracks directly below the trace, that are created while it is
	// set.
	IDSpace string

	b      *timeline.Builder
	closed bool
	kinds  []TrackKind // by TrackID; "" for tracks of other Builders
	event  uint32      // index of the next event
	err    error       // the first error
}

// fail records an error, if it is the first, and returns an invalid track.
func (b *Builder) fail(format string, args ...any) TrackID {
	if b.err == nil {
		b.err = fmt.Errorf(format, args...)
	}
	return 0
}

// kind returns the kind of a track, or false if it is not a track of this Builder.
func (b *Builder) kind(id TrackID) (TrackKind, bool) {
	if id == 0 {
		return TraceTrack, true
	}
	if int64(id) >= int64(len(b.kinds)) {
		return "", false
	}
	return b.kinds[id], b.kinds[id] != ""
}

// canHaveChildren reports whether tracks and counters can be below a track.
func (b *Builder) canHaveChildren(id TrackID) bool {
	kind, ok := b.kind(id)
	return ok && kind != CounterTrack
}

func (b *Builder) setKind(id timeline.TrackID, kind TrackKind) TrackID {
	for len(b.kinds) <= int(id) {
		b.kinds = append(b.kinds, "")
	}
	b.kinds[id] = kind
	return TrackID(id)
}

// setIDSpace sets the id space of a track if the track is directly below the trace.
func (b *Builder) setIDSpace(id timeline.TrackID, parent TrackID) timeline.TrackID {
	if parent == 0 && b.IDSpace != "" && !b.b.SetIDSpace(id, b.IDSpace) {
		b.fail("id space %q: there are too many", b.IDSpace)
	}
	return id
}

// Process returns the track of a process. Calls with the same pid return the same track; the last non-empty name wins. Events
// cannot be on this track, only on threads and other tracks below it.
func (b *Builder) Process(pid int64, name string) TrackID {
	if b.finished() {
		return b.fail("process %d: %w", pid, errFinished)
	}
	id := b.b.Process(timeline.ProcessKey{Num: pid})
	b.b.SetProcessName(id, 0, []byte(validText(name)))
	return b.setKind(b.setIDSpace(id, 0), ProcessTrack)
}

// Thread returns the track of a thread in a process, which must come from Builder.Process. Calls with the same tid return the
// same track; the last non-empty name wins. A tid of 0 means the main thread, whose tid equals the pid.
func (b *Builder) Thread(process TrackID, tid int64, name string) TrackID {
	if kind, _ := b.kind(process); kind != ProcessTrack {
		return b.fail("thread %d (%q): track %d is not a process", tid, name, process)
	}
	if b.finished() {
		return b.fail("thread %d (%q): %w", tid, name, errFinished)
	}
	id := b.b.Thread(timeline.TrackID(process), timeline.ThreadKey{Num: tid})
	b.b.SetThreadName(id, 0, []byte(validText(name)))
	return b.setKind(id, ThreadTrack)
}

// Track returns the track called name below parent. The parent is a process, a thread, another such track, or 0, the trace
// itself. Calls with the same parent and name return the same track.
func (b *Builder) Track(parent TrackID, name string) TrackID {
	if !b.canHaveChildren(parent) {
		return b.fail("track %q: nothing can be below track %d", name, parent)
	}
	if b.finished() {
		return b.fail("track %q: %w", name, errFinished)
	}
	return b.setKind(b.setIDSpace(b.b.Child(timeline.TrackID(parent), validText(name)), parent), NamedTrack)
}

// Counter returns the track of a counter below parent. The parent is a process, a thread, another track, or 0, the trace itself.
// Calls with the same parent, name and unit return the same track. Viewers interpret the units "ns", "bytes" and "count"; they
// show any other text unchanged. "" means no unit.
func (b *Builder) Counter(parent TrackID, name, unit string) TrackID {
	if !b.canHaveChildren(parent) {
		return b.fail("counter %q: nothing can be below track %d", name, parent)
	}
	if b.finished() {
		return b.fail("counter %q: %w", name, errFinished)
	}
	key := timeline.CounterKey{Name: []byte(validText(name)), UnitName: validText(unit)}
	for known, text := range unitNames {
		if text != "" && text == unit {
			key.Unit, key.UnitName = timeline.CounterUnit(known), ""
		}
	}
	return b.setKind(b.setIDSpace(b.b.Counter(timeline.TrackID(parent), &key), parent), CounterTrack)
}

// SetAttribute sets a fact about the whole trace. An IntKind stays an integer; any other value becomes a string.
func (b *Builder) SetAttribute(key string, v Value) {
	if b.finished() {
		b.fail("attribute %q: %w", key, errFinished)
		return
	}
	key = validText(key)
	switch v.Kind() {
	case IntKind:
		b.b.SetOwnAttribute(timeline.Attribute{Key: key, Int: v.Int(), IsInt: true})
	default:
		b.b.SetOwnAttribute(timeline.Attribute{Key: key, Text: v.String()})
	}
}

// Add adds an event on a track of this Builder. Kind and Track are required, as is Value for a counter; a sample without a Value
// has weight 1. Times and durations must not be negative. Slices that overlap on a track without nesting move to lanes, which are
// additional tracks created by the trace. An unfinished slice ends with the slice around it.
//
// A flow leads from an event with its id in FlowsOut to later events with the id in FlowsIn. An event with the id in FlowsOut
// starts a new flow; an event with the id in both continues the flow. Several events with the id in FlowsIn consume the same
// flow; Trace.Problems counts them as flow_fan_out. The trace assigns its own flow ids.
//
// The Builder does not retain the event, so callers can reuse it. An error describes an invalid event or comes from temporary
// files; Finish then fails with the first such error.
func (b *Builder) Add(ev Event) error {
	err := b.add(&ev)
	if err != nil && b.err == nil {
		b.err = err
	}
	return err
}

func (b *Builder) add(ev *Event) error {
	if b.finished() {
		return errFinished
	}
	if err := b.check(ev); err != nil {
		return fmt.Errorf("event %d (%q): %w", b.event, ev.Name, err)
	}
	args, err := ev.Args.encodeArgs(b.b.Args())
	if err != nil {
		return fmt.Errorf("event %d (%q): %w", b.event, ev.Name, err)
	}
	out := timeline.Event{
		Track: timeline.TrackID(ev.Track), Event: b.event, TS: ev.Time, Dur: ev.Duration,
		Name: []byte(validText(ev.Name)), Category: []byte(validText(ev.Category)), Args: args,
		Callstack: b.callstack(ev.Stack),
	}
	if ev.CPUTime != nil {
		out.ThreadTS = timeline.NewCPUTime(*ev.CPUTime)
	}
	if ev.CPUDuration != nil {
		out.ThreadDur = timeline.NewCPUTime(*ev.CPUDuration)
	}
	switch ev.Kind {
	case Slice:
		out.Kind = timeline.Slice
		if ev.Unfinished {
			out.Kind, out.Dur = timeline.Begin, 0
		}
	case Instant:
		out.Kind = timeline.Instant
	case Counter, Sample:
		out.Kind, out.Value = timeline.Counter, timeline.Int(ev.Value.Int())
		if ev.Value.Kind() == FloatKind {
			out.Value = timeline.Float(ev.Value.Float())
		}
		if ev.Kind == Sample {
			out.Kind = timeline.Sample
			if ev.Value.Kind() == NoValue {
				out.Value = timeline.Int(1)
			}
		}
	}
	if err := b.b.Add(&out); err != nil {
		return err
	}
	if err := b.addFlows(ev); err != nil {
		return err
	}
	b.event++
	return nil
}

// lastTime is the latest time that an event can have.
const lastTime = math.MaxInt64 - 1

// check returns an error for an invalid event.
func (b *Builder) check(ev *Event) error {
	switch ev.Kind {
	case Slice, Instant, Counter, Sample:
	default:
		return fmt.Errorf("%q is not a kind", string(ev.Kind))
	}
	if err := b.checkTrack(ev); err != nil {
		return err
	}
	switch {
	case ev.Time < 0:
		return fmt.Errorf("its time is negative: %d ns", ev.Time)
	case ev.Duration < 0:
		return fmt.Errorf("its duration is negative: %d ns", ev.Duration)
	case ev.Time > lastTime-ev.Duration:
		return fmt.Errorf("it begins at %d ns and takes %d ns; traces end at %d ns", ev.Time, ev.Duration, int64(lastTime))
	case ev.Kind == Counter, ev.Kind == Sample && ev.Value.Kind() != NoValue:
		if k := ev.Value.Kind(); k != IntKind && k != FloatKind {
			return fmt.Errorf("the value of a %v is an int or a float, not %v", ev.Kind, k)
		}
	}
	return nil
}

// checkTrack returns an error if an event cannot be on its track.
func (b *Builder) checkTrack(ev *Event) error {
	kind, ok := b.kind(ev.Track)
	switch {
	case !ok:
		return fmt.Errorf("this Builder did not make its track, %d", ev.Track)
	case kind == TraceTrack:
		return errors.New("it has no track; for events of the whole trace make one with Track(0, name)")
	case ev.Kind == Counter && kind != CounterTrack:
		return fmt.Errorf("counter values are on the track of a counter, not of a %v", kind)
	case ev.Kind != Counter && kind == CounterTrack:
		return fmt.Errorf("the track of a counter has counter values only, not a %v", ev.Kind)
	case ev.Kind == Sample && kind != ThreadTrack:
		return fmt.Errorf("samples are on the track of a thread, not of a %v", kind)
	case kind == ProcessTrack:
		return errors.New("a Builder adds no events to the track of a process; make a thread or track below it")
	}
	return nil
}

func (b *Builder) callstack(innermostFirst []Frame) timeline.CallstackID {
	if len(innermostFirst) == 0 {
		return 0
	}
	ids := make([]timeline.FrameID, len(innermostFirst))
	for i, f := range innermostFirst {
		f.Function, f.File, f.Binary = validText(f.Function), validText(f.File), validText(f.Binary)
		frame := timeline.Frame{Function: f.Function, File: f.File, Line: f.Line, Column: f.Column, Address: f.Address}
		if f.Binary != "" || f.Address != 0 {
			frame.Mapping = b.b.Mapping(timeline.Mapping{Path: cmp.Or(f.Binary, f.File)})
			frame.File = cmp.Or(f.File, f.Binary)
		}
		ids[len(ids)-1-i] = b.b.Frame(frame)
	}
	return b.b.Callstack(ids)
}

// addFlows adds the flow ends of the most recently added event.
func (b *Builder) addFlows(ev *Event) error {
	end := timeline.FlowEvent{
		Space: timeline.FlowV2, Binding: timeline.BindCarrier, Track: timeline.TrackID(ev.Track), Event: b.event, TS: ev.Time,
	}
	added := make(map[FlowID]bool, len(ev.FlowsIn)+len(ev.FlowsOut)) // false: an outgoing flow that is still to be added
	for _, id := range ev.FlowsOut {
		added[id] = false
	}
	add := func(id FlowID, role timeline.FlowRole) error {
		if added[id] {
			return nil
		}
		added[id] = true
		end.ID, end.Role = uint64(id), role
		return b.b.AddFlow(&end)
	}
	for _, in := range ev.FlowsIn {
		role := timeline.FlowEnd
		if _, on := added[in.ID]; on {
			role = timeline.FlowContinue
		}
		if err := add(in.ID, role); err != nil {
			return err
		}
	}
	for _, id := range ev.FlowsOut {
		if err := add(id, timeline.FlowStart); err != nil {
			return err
		}
	}
	return nil
}

// errFinished is the error for using a Builder after Finish or Close.
var errFinished = errors.New("the Builder is finished")

// finished reports whether the Builder can no longer be used. It also initializes a zero Builder.
func (b *Builder) finished() bool {
	if b.b == nil && !b.closed {
		b.b = timeline.NewBuilder(timeline.Options{Memory: b.Memory, TempDir: b.TempDir, Problems: new(problem.Log)})
	}
	return b.closed
}

// Close frees the memory and temporary files of a Builder whose Finish was not called. After Finish, it does nothing.
func (b *Builder) Close() error {
	b.closed = true
	if b.b == nil {
		return nil
	}
	err := b.b.Close()
	b.b = nil
	return err
}

// Finish sorts and resolves all additions and returns the trace, which must be closed. If an earlier call failed, Finish returns
// that error instead. The Builder cannot be used afterwards.
func (b *Builder) Finish(ctx context.Context) (*Trace, error) {
	if b.finished() {
		return nil, errFinished
	}
	if b.err != nil {
		return nil, errors.Join(b.err, b.Close())
	}
	tl, err := b.b.Finish(ctx)
	err = errors.Join(err, b.Close())
	if err == nil {
		err = flowbind.NestAndResolve(ctx, tl)
	}
	if err != nil {
		if tl != nil {
			err = errors.Join(err, tl.Close())
		}
		return nil, err
	}
	t := new(Trace)
	timeline.Hold(ctx, t, tl)
	return t, nil
}
