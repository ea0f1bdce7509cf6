// Package trace is weft's model of a trace: resolved events on tracks, in time order.
//
// A Trace comes from convert.Open, which reads a file of any format, or from a Builder, which makes one from scratch.
// Trace.Events yields its events one by one: slices with their final length and all their arguments, instants, counter values and
// samples, each with its track, nesting and flows. The other packages work on a Trace; pftrace.Write writes it as a Perfetto
// trace.
//
// What does not live here: file formats (package convert), Perfetto packets (package pftrace), and the sorting, matching and
// nesting of events (internal packages).
package trace

import (
	"errors"
	"iter"

	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/timeline"
)

// Nanos is a point in time or a duration, in nanoseconds. Points in time are on the clock of the recording. Nanos.Duration
// converts it to a time.Duration.
type Nanos = timeline.Nanos

// Time units. A Nanos of 1 is one nanosecond.
const (
	Microsecond Nanos = 1000               // 10⁻⁶ s
	Millisecond       = 1000 * Microsecond // 10⁻³ s
	Second            = 1000 * Millisecond // 1 s
)

// Trace is a resolved trace. Close frees its memory and removes its temporary files. A Trace is not safe for concurrent use.
//
// The context passed to the function that opened or finished the trace applies until the trace is closed: when the context is
// done, loops over the trace end with the context's error.
type Trace struct {
	handle
	tracks  []Track
	numbers *resolved.TrackNumbers
	used    []bool // by TrackID: the track, or a track below it, has events
	names   nameTable
	rows    *resolved.Reader // created on first use
}

// handle gives weft's own packages access to the timeline (timeline.Of).
type handle = timeline.Handle

func (t *Trace) tl() *timeline.Timeline { return timeline.Of(&t.handle) }

// Close frees the trace's memory and removes its temporary files. Do not use the trace, its events or their arguments afterwards.
func (t *Trace) Close() error {
	if t.rows != nil {
		return errors.Join(t.rows.Close(), t.tl().Close())
	}
	return t.tl().Close()
}

// Attributes returns the facts about the whole trace, such as the version of the browser that recorded it, in input order. The
// values are strings and integers.
func (t *Trace) Attributes() iter.Seq[Arg] {
	return func(yield func(Arg) bool) {
		for _, a := range t.tl().Attributes() {
			value := NewValue(a.Text)
			if a.IsInt {
				value = intValue(a.Int)
			}
			if !yield(Arg{a.Key, value}) {
				return
			}
		}
	}
}

// Summary counts the events of a trace.
type Summary struct {
	Slices        int64
	Unfinished    int64 // slices that never end; Slices includes them
	Instants      int64
	CounterValues int64
	Samples       int64
	Flows         int64 // arrows from one event to another
	Start, End    Nanos // start of the first event and end of the last; both 0 if there are no events
}

// Summary returns the numbers of events, and the time span of the trace.
func (t *Trace) Summary() Summary {
	n := t.tl().Totals()
	return Summary{
		Slices: n.Slices, Unfinished: n.Unfinished, Instants: n.Instants, CounterValues: n.CounterValues, Samples: n.Samples, Flows: n.Flows,
		Start: n.Start, End: n.End,
	}
}

// Problem is a kind of bad data in an input, and its number of occurrences; docs/data-problems.md explains all kinds.
type Problem struct {
	Name     string        `json:"name"`     // stable
	Severity string        `json:"severity"` // "lost", "repaired" or "info"
	Count    uint64        `json:"count"`
	Sentence string        `json:"sentence"` // what was found and how weft handled it
	Cases    []ProblemCase `json:"cases"`    // the first few
}

// ProblemCase is one occurrence of a Problem.
type ProblemCase struct {
	Event  *int64 `json:"event,omitempty"` // index in the input's list of events; nil if the problem concerns no event
	Byte   *int64 `json:"byte,omitempty"`  // in the unpacked input; nil if the position is unknown
	Detail string `json:"detail,omitempty"`
}

// Problems returns the problems in the input, or in the additions to a Builder, by severity and then by name.
func (t *Trace) Problems() []Problem {
	all := []Problem{}
	for _, total := range t.tl().Problems().Totals() {
		p := Problem{
			Name: total.Kind.Name(), Severity: total.Kind.Severity().String(), Count: total.Count, Sentence: total.Kind.Sentence(),
			Cases: []ProblemCase{},
		}
		for _, c := range total.Cases {
			found := ProblemCase{Detail: c.Detail}
			if c.Position.Event >= 0 {
				found.Event = new(c.Position.Event)
			}
			if c.Position.Offset >= 0 {
				found.Byte = new(c.Position.Offset)
			}
			p.Cases = append(p.Cases, found)
		}
		all = append(all, p)
	}
	return all
}
