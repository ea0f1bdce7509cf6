package cpuprofile

import (
	"context"
	"errors"

	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// AddStates adds the track of what V8 was doing: a slice for samples in a row that were of one state, which lasts until
// the next sample. Each says in weft.samples how many they were.
func (t *Thread) AddStates(ctx context.Context, b *timeline.Builder) error {
	p := t.Profile
	w := stateWriter{Thread: t, b: b, track: b.RoleTrack(t.Track, timeline.RoleV8States)}
	if p.Len() == 0 {
		return nil
	}
	samples := p.Samples()
	begin, first, now := samples.Time(0), 0, t.state(samples.Seen(0))
	for i := range p.Len() {
		if i%cancelEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		next := t.state(samples.Seen(i))
		if next == now {
			continue
		}
		ts := samples.Time(i)
		if err := w.add(now, begin, ts, i-first); err != nil {
			return err
		}
		begin, first, now = ts, i, next
	}
	return errors.Join(samples.Err(), w.add(now, begin, p.Closing, p.Len()-first))
}

// state is what V8 was doing.
type state uint8

const (
	script state = iota
	collecting
	program
	idle
)

// stateNames are the names of the slices.
var stateNames = [...][]byte{
	script: []byte(timeline.StateScript), collecting: []byte(timeline.StateGC),
	program: []byte(timeline.StateProgram), idle: []byte(timeline.StateIdle),
}

var stateCategory = []byte(timeline.StateCategory)

// state returns the state of a sample at whose top V8 saw a node.
func (t *Thread) state(n v8profile.NodeIndex) state {
	switch p := t.Profile; n {
	case v8profile.NodeIndex(0), p.Program:
		return program // a stack without functions is native code
	case p.Idle:
		return idle
	case p.Collector:
		return collecting
	}
	return script
}

// stateWriter adds the slices of states.
type stateWriter struct {
	*Thread
	b     *timeline.Builder
	track timeline.TrackID
	out   timeline.Event
}

// add adds one slice. States without length stay where they are in the row.
func (w *stateWriter) add(s state, from, to timeline.Nanos, samples int) error {
	shown, ok := w.span(from, to-from)
	if !ok {
		return nil
	}
	args := w.b.Args()
	args.Reset()
	args.OwnKey([]byte(timeline.OwnArgs))
	args.BeginDict()
	args.Key([]byte("samples"))
	args.Int(int64(samples))
	shown.realStart(args)
	args.EndDict()
	w.out = timeline.Event{
		Kind: timeline.Slice, Track: w.track, TS: shown.ts, Dur: shown.length, Name: stateNames[s], Category: stateCategory,
		Args: args.Args(), InOrder: true, Idle: s == idle,
	}
	return w.Thread.add(w.b, &w.out)
}
