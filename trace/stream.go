package trace

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/eventstream"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/schema/weftv1"
)

// stream is what a Trace is made of that was read from a stream of weft.v1: its events are resolved already.
type stream struct {
	*eventstream.Stream
	tracks  []Track
	byPlace map[string]TrackID // by placeKey
	key     []byte
	summary Summary
	ended   bool // there was an event
	texts   map[string]string
}

// openStream reads a stream into a temporary file.
func openStream(ctx context.Context, src io.Reader, dir string) (*Trace, error) {
	s := &stream{tracks: []Track{{Kind: TraceTrack}}, byPlace: map[string]TrackID{}, texts: map[string]string{}}
	read, err := eventstream.Read(ctx, src, dir, s.add)
	if err != nil {
		return nil, err
	}
	s.Stream = read
	return &Trace{ctx: ctx, stream: s, tracks: s.tracks}, nil
}

// errTooManyTracks is the error for a stream that was made to have many.
var errTooManyTracks = errors.New("weft.v1: too many tracks")

// maxStreamTracks bounds the tracks of a stream.
const maxStreamTracks = 1 << 22

// add counts an event and makes its track.
func (s *stream) add(ev *eventstream.Event) error {
	begin, end := Nanos(ev.TS), Nanos(ev.TS)
	if ev.Dur <= math.MaxInt64-max(ev.TS, 0) {
		end += Nanos(ev.Dur)
	} else {
		end = math.MaxInt64
	}
	if n := &s.summary; !s.ended {
		n.Start, n.End, s.ended = begin, end, true
	}
	s.summary.End = max(s.summary.End, end)
	s.summary.Flows += int64(len(ev.FlowsIn))
	id := s.track(&ev.Track)
	if len(s.tracks) > maxStreamTracks {
		return errTooManyTracks
	}
	switch ev.Kind {
	case resolved.Slice:
		s.summary.Slices++
		if !ev.HasDur {
			s.summary.Unfinished++
		}
	case resolved.Instant:
		s.summary.Instants++
	case resolved.Counter:
		s.summary.CounterValues++
		s.tracks[id].Kind = CounterTrack
	case resolved.Sample:
		s.summary.Samples++
	}
	return nil
}

// track returns the track of a place, which it makes with those above it at the first call.
func (s *stream) track(p *eventstream.Place) TrackID {
	s.key = appendPlaceKey(s.key[:0], p, len(p.Path), true)
	if id, ok := s.byPlace[string(s.key)]; ok {
		return id
	}
	parent := TrackID(0)
	for n := 1; n < len(p.Path); n++ {
		parent = s.oneTrack(p, n, parent, false)
	}
	return s.oneTrack(p, len(p.Path), parent, true)
}

// oneTrack returns the track that the first names of a path lead to; own is the track of the event itself.
func (s *stream) oneTrack(p *eventstream.Place, n int, parent TrackID, own bool) TrackID {
	key := string(appendPlaceKey(nil, p, n, own))
	if id, ok := s.byPlace[key]; ok {
		return id
	}
	t := Track{ID: TrackID(len(s.tracks)), Parent: parent, Kind: NamedTrack}
	for _, name := range p.Path[:n] {
		t.Path = append(t.Path, s.text(name))
	}
	if n > 0 {
		t.Name = t.Path[n-1]
	}
	thread := 1 // which name is that of the thread
	if p.HasPID {
		thread = 2
		t.ProcessName = s.text(p.ProcessName)
		if p.MadeUp&resolved.MadeUpPID == 0 {
			t.PID = p.PID
		}
	}
	if p.HasTID && n >= thread {
		t.ThreadName = s.text(p.ThreadName)
		if p.MadeUp&resolved.MadeUpTID == 0 {
			t.TID = p.TID
		}
	}
	switch {
	case p.HasPID && n == 1:
		t.Kind = ProcessTrack
	case p.HasTID && n == thread:
		t.Kind = ThreadTrack
	case own && len(p.AsyncID) > 0:
		t.Role = RoleAsync
	case own && p.Lane > 0:
		t.Role = RoleLane
	}
	s.tracks = append(s.tracks, t)
	s.byPlace[key] = t.ID
	return t.ID
}

// appendPlaceKey appends what tells the track that the first names of a path lead to from others.
func appendPlaceKey(b []byte, p *eventstream.Place, n int, own bool) []byte {
	text := func(text []byte) { b = append(append(strconv.AppendInt(b, int64(len(text)), 10), ':'), text...) }
	for _, name := range p.Path[:n] {
		text(name)
	}
	b = append(b, '|')
	if p.HasPID {
		b = strconv.AppendInt(append(b, 'p'), p.PID, 10)
	}
	if p.HasTID && (n > 1 || !p.HasPID) {
		b = strconv.AppendInt(append(b, 't'), p.TID, 10)
	}
	if own && (len(p.AsyncID) > 0 || len(p.AsyncScope) > 0 || p.Lane > 0) {
		b = strconv.AppendUint(append(b, 'l'), uint64(p.Lane), 10)
		text(p.AsyncID)
		text(p.AsyncScope)
	}
	return b
}

// maxTexts is how many texts are kept to be used again.
const maxTexts = 1 << 16

// text returns a text as a string, which it makes once for most.
func (s *stream) text(b []byte) string {
	if text, ok := s.texts[string(b)]; ok {
		return text
	}
	if len(s.texts) >= maxTexts {
		clear(s.texts)
	}
	text := string(b)
	s.texts[text] = text
	return text
}

// events gives the events of a stream.
func (s *stream) events(ctx context.Context, yield func(*Event, error) bool) {
	r := streamReader{s: s}
	err := s.Each(ctx, func(ev *eventstream.Event) error {
		r.fill(ev)
		if !yield(&r.event, nil) {
			return errStop
		}
		return nil
	})
	if err != nil && !errors.Is(err, errStop) {
		yield(nil, err)
	}
}

// streamReader turns the events of a stream into those of this package.
type streamReader struct {
	s     *stream
	event Event
	list  []string

	cpuTime, cpuDuration Nanos
	stack                []Frame
}

func (r *streamReader) fill(in *eventstream.Event) {
	s, ev := r.s, &r.event
	flowsIn, flowsOut, contexts := ev.FlowsIn[:0], ev.FlowsOut[:0], ev.Contexts[:0]
	*ev = Event{
		Kind: kinds[in.Kind], Track: s.track(&in.Track), Time: Nanos(in.TS), Name: s.text(in.Name), Args: NewDict(r.args(in)...),
		ID: EventID(in.ID), Parent: EventID(in.Parent), Depth: int(in.Depth), InputEvent: uint32(in.InputEvent), InputByte: in.InputByte,
	}
	r.list = r.list[:0]
	for _, category := range in.Categories {
		r.list = append(r.list, s.text(category))
	}
	if ev.Category = strings.Join(r.list, ","); len(r.list) > 1 {
		ev.Category = s.text([]byte(ev.Category))
	}
	switch {
	case in.Kind == resolved.Slice:
		ev.Duration, ev.Unfinished = Nanos(in.Dur), !in.HasDur
	case in.Kind == resolved.Instant:
	case in.IsDouble:
		ev.Value = NewValue(in.DoubleValue)
	default:
		ev.Value = intValue(in.IntValue)
	}
	if in.HasThreadTS {
		r.cpuTime, ev.CPUTime = Nanos(in.ThreadTS), &r.cpuTime
		if in.HasThreadDur {
			r.cpuDuration, ev.CPUDuration = Nanos(in.ThreadDur), &r.cpuDuration
		}
	}
	if len(in.Stack) > 0 {
		r.stack = r.stack[:0]
		for _, f := range in.Stack {
			r.stack = append(r.stack, Frame{Function: s.text(f.Function), File: s.text(f.File), Line: f.Line, Column: f.Column})
		}
		ev.Stack = r.stack
	}
	for _, f := range in.FlowsIn {
		flowsIn = append(flowsIn, FlowIn{FlowID(f.ID), EventID(f.From)})
	}
	for _, id := range in.FlowsOut {
		flowsOut = append(flowsOut, FlowID(id))
	}
	for _, c := range in.Contexts {
		contexts = append(contexts, Context{c.Type, c.ID, c.Name, c.Via.String(), c.Hops, c.Candidates})
	}
	ev.FlowsIn, ev.FlowsOut, ev.Contexts = flowsIn, flowsOut, contexts
}

// args returns the arguments of an event, with the id of an asynchronous one where Trace.Events has it: in the dictionary weft, in
// front of the member that says that the slice did not end.
func (r *streamReader) args(in *eventstream.Event) []Arg {
	var list []Arg
	for _, msg := range in.Args {
		list = append(list, streamArg(msg))
	}
	if len(in.Track.AsyncID)+len(in.Track.AsyncScope) == 0 || in.Parent != 0 || in.Kind != resolved.Slice && in.Kind != resolved.Instant {
		return list
	}
	id := []Arg{NewArg("id", string(in.Track.AsyncID))}
	if len(in.Track.AsyncScope) > 0 {
		id = append(id, NewArg("scope", string(in.Track.AsyncScope)))
	}
	for i := range list {
		if weft := &list[i]; weft.Key == ownKey && weft.Value.kind == DictKind {
			if n := len(weft.Value.list); n > 0 && weft.Value.list[n-1].Key == resolved.DidNotEndKey {
				id = append(id, weft.Value.list[n-1])
				weft.Value.list = weft.Value.list[:n-1]
				if n == 1 {
					list = slices.Delete(list, i, i+1)
				}
			}
			break
		}
	}
	return slices.Collect(withID(slices.Values(list), id))
}

// streamArg decodes an argument that was checked.
func streamArg(msg []byte) Arg {
	var a eventstream.Arg
	_ = a.Parse(msg)
	return Arg{string(a.Key), streamValue(&a)}
}

func streamValue(a *eventstream.Arg) Value {
	switch a.Kind {
	case weftv1.Arg_Int:
		return intValue(int64(a.Bits))
	case weftv1.Arg_Uint:
		return NewValue(a.Bits)
	case weftv1.Arg_Double:
		return NewValue(a.Double)
	case weftv1.Arg_Bool:
		return NewValue(a.Bits != 0)
	case weftv1.Arg_String:
		return Value{kind: StringKind, text: string(a.Bytes)}
	case weftv1.Arg_Pointer:
		return Value{kind: PointerKind, bits: a.Bits}
	case weftv1.Arg_JSON:
		return Value{kind: JSONKind, text: string(a.Bytes)}
	case weftv1.Arg_Dict, weftv1.Arg_Array:
		v := Value{kind: DictKind}
		if a.Kind == weftv1.Arg_Array {
			v.kind = ArrayKind
		}
		a.Members(func(msg []byte) bool {
			v.list = append(v.list, streamArg(msg))
			return true
		})
		return v
	}
	return Value{}
}

// attributes returns those of the header.
func (s *stream) attributes(yield func(Arg) bool) {
	for i := range s.Attributes {
		if !yield(Arg{string(s.Attributes[i].Key), streamValue(&s.Attributes[i])}) {
			return
		}
	}
}

// problems returns those that the footer says, and what is wrong with the stream.
func (s *stream) problems() []Problem {
	all := []Problem{}
	for _, p := range s.Problems {
		out := Problem{Name: p.Name, Severity: p.Severity, Count: p.Count, Cases: []ProblemCase{}}
		if kind, ok := problem.KindOf(p.Name); ok {
			out.Sentence = kind.Sentence()
		}
		all = append(all, out)
	}
	return all
}
