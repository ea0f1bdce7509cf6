package cpuprofile

import (
	"context"
	"errors"

	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// AddStates adds a track with V8's activity: a slice for each run of samples with the same state, up to the next
// sample. Each slice has the number of its samples as weft.samples.
func (t *Thread) AddStates(ctx context.Context, b *timeline.Builder) error {
	p := t.Profile
	w := stateWriter{Thread: t, b: b, track: b.RoleTrack(t.Track, timeline.RoleV8States)}
	if p.Len() == 0 {
		return nil
	}
	samples := p.Samples()
	start, first, current := samples.Time(0), 0, t.state(samples.Recorded(0))
	for i := range p.Len() {
		if i%cancelEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		next := t.state(samples.Recorded(i))
		if next == current {
			continue
		}
		ts := samples.Time(i)
		if err := w.add(current, start, ts, i-first); err != nil {
			return err
		}
		start, first, current = ts, i, next
	}
	return errors.Join(samples.Err(), w.add(current, start, p.Closing, p.Len()-first))
}

// state is an activity of V8.
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

// state returns the state of a sample with node n on top.
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

// add adds one slice. Zero-length states keep their position in the sequence.
func (w *stateWriter) add(s state, from, to timeline.Nanos, samples int) error {
	clamped, ok := w.span(from, to-from)
	if !ok {
		return nil
	}
	args := w.b.Args()
	args.Reset()
	args.OwnKey([]byte(timeline.OwnArgs))
	args.BeginDict()
	args.Key([]byte("samples"))
	args.Int(int64(samples))
	clamped.realStart(args)
	args.EndDict()
	w.out = timeline.Event{
		Kind: timeline.Slice, Track: w.track, TS: clamped.ts, Dur: clamped.length, Name: stateNames[s], Category: stateCategory,
		Args: args.Args(), InOrder: true, Idle: s == idle,
	}
	return w.Thread.add(w.b, &w.out)
}
