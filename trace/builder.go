package trace

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-trace/weft/flow"
	"github.com/weft-trace/weft/problem"
	"github.com/weft-trace/weft/timeline"
)

// Options configure a Builder.
type Options struct {
	// Memory bounds the memory for events, in bytes; events beyond it are sorted on disk. 0 means 256 MiB.
	Memory int64
	// TempDir is the folder for temporary files; "" means os.TempDir. Trace.Close removes them.
	TempDir string
}

// A Builder makes a trace. Tracks are made by Process, Thread, Track and Counter, events are added by Add in any order,
// and Finish gives the trace.
type Builder struct {
	b     *timeline.Builder
	kinds []TrackKind // by TrackID
	event uint32      // index of the next event
	err   error       // the first one of Add
}

// NewBuilder returns an empty Builder.
func NewBuilder(opts Options) *Builder {
	return &Builder{
		b:     timeline.NewBuilder(timeline.Options{Memory: opts.Memory, TempDir: opts.TempDir, Problems: new(problem.Log)}),
		kinds: make([]TrackKind, 1),
	}
}

// know notes the kind of a track.
func (b *Builder) know(id timeline.TrackID, kind TrackKind) TrackID {
	for len(b.kinds) <= int(id) {
		b.kinds = append(b.kinds, TraceTrack)
	}
	b.kinds[id] = kind
	return TrackID(id)
}

// Process returns the track of a process. The same pid is the same process; the last name that is not empty counts.
func (b *Builder) Process(pid int64, name string) TrackID {
	id := b.b.Process(timeline.ProcessKey{Num: pid})
	b.b.SetProcessName(id, 0, []byte(name))
	return b.know(id, ProcessTrack)
}

// Thread returns the track of a thread of a process. The same tid is the same thread; the last name that is not empty
// counts.
func (b *Builder) Thread(process TrackID, tid int64, name string) TrackID {
	id := b.b.Thread(timeline.TrackID(process), timeline.ThreadKey{Num: tid})
	b.b.SetThreadName(id, 0, []byte(name))
	return b.know(id, ThreadTrack)
}

// Track returns the track of this name below a process, a thread, another such track, or the trace itself, 0.
func (b *Builder) Track(parent TrackID, name string) TrackID {
	return b.know(b.b.Child(timeline.TrackID(parent), name), NamedTrack)
}

// Counter returns the track of a counter below a process, a thread or the trace itself, 0. The unit is "ns", "bytes",
// "count", any other text that viewers then show, or empty.
func (b *Builder) Counter(parent TrackID, name, unit string) TrackID {
	key := timeline.CounterKey{Name: []byte(name), UnitName: unit}
	for known, text := range unitNames {
		if text != "" && text == unit {
			key.Unit, key.UnitName = timeline.CounterUnit(known), ""
		}
	}
	return b.know(b.b.Counter(timeline.TrackID(parent), &key), CounterTrack)
}

// SetAttribute sets a fact about the whole trace: a text, or an integer.
func (b *Builder) SetAttribute(key string, v Value) {
	switch v.Kind() {
	case IntKind:
		b.b.SetIntAttribute(key, v.Int())
	default:
		b.b.SetAttribute(key, v.String())
	}
}

// Add adds an event: Kind, Track and Time are required, Time at least 0. Slices of a track may overlap without nesting;
// they move to lanes of their own then. The event can be changed and used again afterwards. An error says what is wrong
// with the event, which is left out, or is one of temporary files; Finish returns the first one again.
//
// An event whose FlowsOut has an id leads to all later events whose FlowsIn have it, up to the next event whose FlowsOut
// has the id; FlowIn.From is not looked at.
func (b *Builder) Add(ev Event) error {
	err := b.add(&ev)
	if err != nil && b.err == nil {
		b.err = err
	}
	return err
}

func (b *Builder) add(ev *Event) error {
	if err := b.check(ev); err != nil {
		return fmt.Errorf("event %d (%q): %w", b.event, ev.Name, err)
	}
	args, err := ev.Args.encode(b.b.Args())
	if err != nil {
		return fmt.Errorf("event %d (%q): %w", b.event, ev.Name, err)
	}
	out := timeline.Event{
		Track: timeline.TrackID(ev.Track), Event: b.event, TS: ev.Time, Dur: ev.Duration,
		Name: []byte(ev.Name), Category: []byte(ev.Category), Args: args,
		Callstack: b.callstack(ev.frames),
	}
	if t, ok := ev.CPUTime.Nanos(); ok {
		out.ThreadTS = timeline.NewCPUTime(t)
	}
	if t, ok := ev.CPUDuration.Nanos(); ok {
		out.ThreadDur = timeline.NewCPUTime(t)
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

// check says what is wrong with an event.
func (b *Builder) check(ev *Event) error {
	if int(ev.Track) >= len(b.kinds) || ev.Track == 0 {
		return errors.New("its track was not made by this Builder")
	}
	kind := b.kinds[ev.Track]
	switch {
	case ev.Kind < Slice || ev.Kind > Sample:
		return fmt.Errorf("unknown kind %d", ev.Kind)
	case ev.Time < 0:
		return fmt.Errorf("its time is negative: %d ns", ev.Time)
	case ev.Duration < 0:
		return fmt.Errorf("its duration is negative: %d ns", ev.Duration)
	case ev.Kind == Counter && kind != CounterTrack:
		return fmt.Errorf("a counter value needs the track of a counter, not of a %v", kind)
	case ev.Kind != Counter && kind == CounterTrack:
		return fmt.Errorf("a %v cannot be on the track of a counter", ev.Kind)
	case ev.Kind == Sample && kind != ThreadTrack:
		return fmt.Errorf("a sample needs the track of a thread, not of a %v", kind)
	case ev.Kind != Sample && kind == ProcessTrack:
		return fmt.Errorf("a %v cannot be on the track of a process; make a track below it", ev.Kind)
	case ev.Kind == Counter:
		if k := ev.Value.Kind(); k != IntKind && k != FloatKind {
			return errors.New("the value of a counter is an integer or a double")
		}
	}
	return nil
}

func (b *Builder) callstack(innermostFirst []Frame) timeline.CallstackID {
	if len(innermostFirst) == 0 {
		return 0
	}
	ids := make([]timeline.FrameID, len(innermostFirst))
	for i, f := range innermostFirst {
		ids[len(ids)-1-i] = b.b.Frame(timeline.Frame{
			Function: f.Function, File: f.File, Line: f.Line, Column: f.Column, Address: f.Address,
		})
	}
	return b.b.Callstack(ids)
}

// addFlows adds the ends of flows that the event just added carries.
func (b *Builder) addFlows(ev *Event) error {
	end := timeline.FlowEvent{
		Space: timeline.FlowV2, Binding: timeline.BindCarrier, Track: timeline.TrackID(ev.Track), Event: b.event, TS: ev.Time,
	}
	leads := make(map[FlowID]bool, len(ev.FlowsOut))
	for _, id := range ev.FlowsOut {
		leads[id] = true
	}
	for _, in := range ev.FlowsIn {
		end.ID, end.Role = uint64(in.ID), timeline.FlowEnd
		if leads[in.ID] {
			end.Role = timeline.FlowContinue
			delete(leads, in.ID)
		}
		if err := b.b.AddFlow(&end); err != nil {
			return err
		}
	}
	for _, id := range ev.FlowsOut {
		if !leads[id] {
			continue
		}
		delete(leads, id)
		end.ID, end.Role = uint64(id), timeline.FlowStart
		if err := b.b.AddFlow(&end); err != nil {
			return err
		}
	}
	return nil
}

// Finish sorts and resolves what was added and gives the trace, which must be closed. The Builder is of no use afterwards.
func (b *Builder) Finish(ctx context.Context) (*Trace, error) {
	if b.err != nil {
		return nil, errors.Join(b.err, b.b.Close())
	}
	tl, err := b.b.Finish(ctx)
	if err != nil {
		return nil, err
	}
	if err := flow.NestAndResolve(ctx, tl); err != nil {
		return nil, errors.Join(err, tl.Close())
	}
	return FromTimeline(tl), nil
}
