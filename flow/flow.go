// Package flow navigates the flows of a trace: an Index finds them by the ids that the input has, by time and by event, and
// follows the ways that lead from one to the next.
//
// What does not live here: which events a flow joins is found out when a trace is made or read, and is in the events of
// package trace already, as FlowsIn and FlowsOut. The index itself is internal/flowindex.
package flow

import (
	"context"
	"errors"
	"iter"

	"github.com/weft-trace/weft/internal/flowindex"
	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
)

// Index finds the flows of a trace: by the ids that the input has, which the output replaces, by time, by event; and the
// flows that are connected with a flow. Its flows are the input's: what the output has to write with several ids,
// because one slice leads to several, is one flow here, and a flow that only one slice belongs to is a flow as well.
//
// An Index holds about 200 bytes for each end of a flow. What is more than the trace's memory budget lies in temporary
// files. It must be closed, before the trace is, and is not safe for concurrent use. The context of NewIndex governs it until
// then, as a trace's does.
type Index struct {
	ctx     context.Context
	numbers *resolved.TrackNumbers
	tl      *timeline.Timeline
	x       *flowindex.Index
}

// Flow is one flow of the input: from the start of its id to the end, or to the next start.
type Flow = flowindex.Flow

// Member is a slice or instant as a member of a flow.
type Member struct {
	Flow     Flow
	N        int // of the member in the flow, from 1, in the order in which the flow takes its way
	Previous int // N of the member from which the flow comes; 0 for the first

	Event      trace.EventID
	Track      trace.TrackID
	Time       trace.Nanos
	Duration   trace.Nanos // 0 for an instant
	Unfinished bool        // it is a slice that never ends
	Passed     trace.Nanos // when the flow passes: some flows of Chrome pass inside a slice
}

// Link says how one flow leads to another.
type Link = flowindex.Link

// The links.
const (
	Shared = flowindex.Shared // one slice or instant is a member of both
	Inside = flowindex.Inside // a member of the flow that is reached lies in a member of the other: what happened there went on elsewhere
	Around = flowindex.Around // a member of the flow that is reached contains a member of the other: in it, that was caused
)

// Connection is one step from a flow to another one.
type Connection struct {
	Through  Member // of the flow that is reached
	From     Flow   // from which the step leads there
	Link     Link
	Distance int // number of steps from one of the flows that the search began with
}

// NewIndex makes an index of a trace. Ids that are texts are known if convert.Options.KeepFlowIDs was set; they are found
// in any case.
func NewIndex(ctx context.Context, tr *trace.Trace) (*Index, error) {
	tl := timeline.Of(tr)
	if err := tl.NumberEvents(ctx); err != nil {
		return nil, err
	}
	x, err := flowindex.NewIndex(ctx, tl)
	if err != nil {
		return nil, err
	}
	return &Index{ctx: ctx, numbers: resolved.NumberTracks(tl), tl: tl, x: x}, nil
}

// Close frees the memory and the temporary files of the index.
func (x *Index) Close() error { return x.x.Close() }

// errStop ends a search whose loop was left.
var errStop = errors.New("stop")

// each makes an iterator of a search that calls a function for what it finds.
func each[T any](ctx context.Context, search func(found func(T) error) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		err := search(func(v T) error {
			if !yield(v, nil) {
				return errStop
			}
			return ctx.Err()
		})
		if err != nil && !errors.Is(err, errStop) {
			var none T
			yield(none, err)
		}
	}
}

// Flows returns the flows with an id, one name and category after the other, each in the order in which they start; with the
// id "" all flows. Ids are as in the input, see Find.
func (x *Index) Flows(id string) iter.Seq2[Flow, error] {
	return each(x.ctx, func(found func(Flow) error) error {
		if id != "" {
			return x.x.Each(x.ctx, id, found)
		}
		for number := range x.x.Len() {
			f, err := x.x.Flow(number)
			if err == nil {
				err = found(f)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Find returns the flows that an id means at some time: of all flows with that id the last one that starts at that time or
// before. Where ids are separate by name and category there may be one for each of these. An id that is ended still
// means its last flow until it is started again (firefox.md 7).
//
// Ids are given as in the input. Chrome's are numbers, decimal or hexadecimal, with 0x or not: a text that is both finds both.
// Perfetto's are decimal, or hexadecimal with 0x. Firefox's are texts of 17 characters, whose last, a zero without meaning, may be
// left out.
func (x *Index) Find(id string, at trace.Nanos) ([]Flow, error) {
	return x.x.Find(x.ctx, id, at)
}

// Members returns the members of a flow, in the order in which it passes them.
func (x *Index) Members(f Flow) iter.Seq2[Member, error] {
	return each(x.ctx, func(found func(Member) error) error {
		return x.x.Members(x.ctx, f, func(m flowindex.Member) error { return found(x.member(f, m)) })
	})
}

// Of returns the memberships of a slice or instant, one flow after the other.
func (x *Index) Of(event trace.EventID) (all []Member, err error) {
	ordinal, ok := x.tl.EventOrdinal(uint64(event))
	if !ok {
		return nil, nil
	}
	found, err := x.x.OfSlice(ordinal)
	for _, m := range found {
		f, err := x.x.Flow(m.Flow)
		if err != nil {
			return nil, err
		}
		all = append(all, x.member(f, m))
	}
	return all, err
}

// Connected returns the flows that can be reached from some flows, the nearest first, and each once: by way of slices and
// instants that are members of several flows and, with nested, also by way of those that lie directly in each other on one
// track. The flows to begin with are not among them.
//
// What was reached is remembered, which takes some 20 bytes for each flow and each slice.
func (x *Index) Connected(from []Flow, nested bool) iter.Seq2[Connection, error] {
	return each(x.ctx, func(found func(Connection) error) error {
		return x.x.Connected(x.ctx, from, nested, func(c flowindex.Connection) error {
			before, err := x.x.Flow(c.From)
			if err != nil {
				return err
			}
			return found(Connection{Through: x.member(c.Flow, c.Through), From: before, Link: c.Link, Distance: c.Distance})
		})
	})
}

func (x *Index) member(f Flow, m flowindex.Member) Member {
	out := Member{
		Flow: f, N: m.N + 1, Previous: m.Previous + 1, Event: trace.EventID(x.tl.EventID(m.Ordinal)),
		Track: trace.TrackID(x.numbers.Of(m.Track, m.Lane)), Time: trace.Nanos(m.TS), Passed: trace.Nanos(m.At),
	}
	if out.Unfinished = m.End == timeline.NoTime; !out.Unfinished {
		out.Duration = m.End - m.TS
	}
	return out
}
