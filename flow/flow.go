// Package flow navigates the flows in a trace: an Index finds them by input id, by time and by event, and follows the connections
// between them.
//
// What does not live here: the arrows of flows, which the events of package trace already have as FlowsIn and FlowsOut, and the
// implementation of the index (internal/flowindex).
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

// Index finds the flows in a trace by input id (which the output replaces), by time and by event, and the flows connected to a
// flow. Its flows are the flows in the input. If the output must write a flow with several ids, because one slice leads to
// several others, it is still one flow here. Flows with only one slice are included.
//
// An Index needs about 200 bytes for each flow end, and uses temporary files beyond the trace's memory budget. It must be closed
// before the trace is, and is not safe for concurrent use. Cancelling the context passed to NewIndex stops all its methods.
type Index struct {
	ctx     context.Context
	numbers *resolved.TrackNumbers
	tl      *timeline.Timeline
	x       *flowindex.Index
}

// Flow is one flow in the input: from the start of its id to its end, or to the next start with the same id.
type Flow = flowindex.Flow

// Member is a slice or instant as a member of a flow.
type Member struct {
	Flow     Flow
	N        int // position in the flow, from 1, in flow order
	Previous int // N of the member that the flow comes from; 0 for the first

	Event      trace.EventID
	Track      trace.TrackID
	Time       trace.Nanos
	Duration   trace.Nanos // 0 for an instant
	Unfinished bool        // a slice without an end
	Passed     trace.Nanos // time at which the flow passes: some Chrome flows pass inside a slice
}

// Link is the kind of connection between flows.
type Link = flowindex.Link

const (
	Shared = flowindex.Shared // a slice or instant is a member of both
	Inside = flowindex.Inside // a member of the new flow is inside a member of the other, whose work continued elsewhere
	Around = flowindex.Around // a member of the new flow contains a member of the other, and so caused it
)

// Connection is one step from one flow to another.
type Connection struct {
	Through  Member // the member of the new flow that connects the two flows
	From     Flow   // the previous flow
	Link     Link
	Distance int // number of steps from the nearest flow at which the search started
}

// NewIndex creates the index of a trace. Flows can always be found by text id, but Flow.ID contains that text only if
// convert.Options.KeepFlowIDs was set.
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

// Close frees the index's memory and removes its temporary files.
func (x *Index) Close() error { return x.x.Close() }

// errStop stops a search when its loop has ended.
var errStop = errors.New("stop")

// each turns a search with a callback into an iterator.
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

// Flows returns the flows with the given input id (see Find), or all flows for "". They are grouped by name and category, and
// ordered by start.
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

// Find returns the flows that an id means at a given time: the last flow with the id that starts at or before the time, even if
// the flow has already ended (firefox.md 7). If ids are separate for each name and category, there may be one flow for each
// combination.
//
// The id has the form used in the input. Chrome ids are decimal or hexadecimal numbers, with or without 0x; text that can be
// either finds both. Perfetto ids are decimal, or hexadecimal with 0x. Firefox ids are texts of 17 characters; the last
// character, always zero, may be omitted.
func (x *Index) Find(id string, at trace.Nanos) ([]Flow, error) {
	return x.x.Find(x.ctx, id, at)
}

// Members returns the members of a flow, in flow order.
func (x *Index) Members(f Flow) iter.Seq2[Member, error] {
	return each(x.ctx, func(found func(Member) error) error {
		return x.x.Members(x.ctx, f, func(m flowindex.Member) error { return found(x.member(f, m)) })
	})
}

// Of returns the flow memberships of a slice or instant, sorted by flow.
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

// Connected returns each flow that can be reached from the given ones, once, nearest first. It follows slices and instants that
// are members of several flows and, if nested is set, also slices and instants directly inside each other on the same track. The
// given flows are not included.
//
// The search needs about 20 bytes of memory for each flow and slice that it reaches.
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
