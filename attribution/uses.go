package attribution

import (
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// firstUses says when each context is in effect first, and from when to when the trace has slices and instants at all: what
// is added to it lies within.
type firstUses struct {
	any         bool
	first, last timeline.Nanos
	at          []timeline.Nanos // by logical node; NoTime: never
}

// spans takes note of a slice or instant; they come in the order of time.
func (u *firstUses) spans(o *timeline.Occurrence) {
	if !u.any {
		u.any, u.first, u.last = true, o.TS, o.TS
	}
	u.last = max(u.last, o.TS)
	if o.Kind == timeline.OccursSlice {
		u.last = max(u.last, o.End) // NoTime is less than any time
	}
}

// add notes that a context is in effect at a time, unless it was before.
func (u *firstUses) add(node NodeID, ts timeline.Nanos) {
	for int(node) >= len(u.at) {
		u.at = append(u.at, timeline.NoTime)
	}
	if u.at[node] == timeline.NoTime {
		u.at[node] = ts
	}
}

// of returns when a context is in effect first; false if it never is.
func (u *firstUses) of(node NodeID) (timeline.Nanos, bool) {
	if int(node) >= len(u.at) || u.at[node] == timeline.NoTime {
		return 0, false
	}
	return u.at[node], true
}

// within returns the time of the trace that is nearest to a time.
func (u *firstUses) within(ts timeline.Nanos) timeline.Nanos { return max(u.first, min(ts, u.last)) }

// apart moves times that are sorted and lie within a trace so that no two are the same, as far as there is room: each to the
// first time that is free, and back as far as the trace ends. It returns the number of rows that are needed: of rows
// beside each other, number i is on row i modulo that.
func (u *firstUses) apart(times []timeline.Nanos) (rows int) {
	if len(times) == 0 {
		return 1
	}
	rows = 1
	if room := uint64(u.last-u.first) + 1; uint64(len(times)) > room {
		rows = (len(times) + int(room) - 1) / int(room)
	}
	for row := range min(rows, len(times)) {
		next := u.first
		for i := row; i < len(times); i += rows {
			times[i] = max(times[i], next)
			next = times[i] + 1
		}
		last := u.last
		for i := row + (len(times)-1-row)/rows*rows; i >= 0 && times[i] > last; i -= rows {
			times[i] = last
			last--
		}
	}
	return rows
}

// statesOf returns the times at which something becomes known of a logical node, at least one. What is known from the start
// is known when the node is in effect first, or when the trace says it.
func (r *Result) statesOf(node NodeID) []timeline.Nanos {
	used, inEffect := r.uses.of(node)
	var times []timeline.Nanos
	for _, m := range r.c.membersOf(node) {
		if int(m) >= len(r.c.states) {
			continue
		}
		for _, s := range r.c.states[m] {
			if s.snapshot == 0 {
				continue
			}
			ts := s.from
			if ts < r.uses.first {
				ts = r.c.snapshots[s.snapshot].ts
				if inEffect {
					ts = min(ts, used)
				}
			}
			times = append(times, r.uses.within(ts))
		}
	}
	if len(times) == 0 {
		if !inEffect {
			used = r.uses.first
		}
		return []timeline.Nanos{used}
	}
	slices.Sort(times)
	return slices.Compact(times)
}
