package attribution

import (
	"github.com/weft-trace/weft/internal/timeline"
)

// firstUses says when each context is in effect first, and from when to when the trace has slices and instants at all: what
// is added to it lies within.
type firstUses struct {
	any         bool
	First, last timeline.Nanos
	at          []timeline.Nanos // by logical node; NoTime: never
}

// spans takes note of a slice or instant; they come in the order of time.
func (u *firstUses) spans(o *timeline.Head) {
	if !u.any {
		u.any, u.First, u.last = true, o.TS, o.TS
	}
	u.last = max(u.last, o.TS)
	if o.Kind == timeline.ItemBegin {
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

// Of returns when a context is in effect first; false if it never is.
func (u *firstUses) Of(node NodeID) (timeline.Nanos, bool) {
	if int(node) >= len(u.at) || u.at[node] == timeline.NoTime {
		return 0, false
	}
	return u.at[node], true
}

// Within returns the time of the trace that is nearest to a time.
func (u *firstUses) Within(ts timeline.Nanos) timeline.Nanos { return max(u.First, min(ts, u.last)) }

// Apart moves times that are sorted and lie within a trace so that no two are the same, as far as there is room: each to the
// first time that is free, and back as far as the trace ends. All of them, and the trace's ends, are multiples of a unit, and stay
// so unless there is no room: packets of a trace may count in it. It returns the number of rows that are needed: of rows
// beside each other, number i is on row i modulo that.
func (u *firstUses) Apart(times []timeline.Nanos, unit timeline.Nanos) (rows int) {
	if len(times) == 0 {
		return 1
	}
	rows = 1
	room := uint64(u.last-u.First)/uint64(unit) + 1
	if uint64(len(times)) > room {
		unit, room = 1, uint64(u.last-u.First)+1
	}
	if uint64(len(times)) > room {
		rows = (len(times) + int(room) - 1) / int(room)
	}
	for row := range min(rows, len(times)) {
		next := u.First
		for i := row; i < len(times); i += rows {
			times[i] = max(times[i], next)
			next = times[i] + unit
		}
		last := u.last
		for i := row + (len(times)-1-row)/rows*rows; i >= 0 && times[i] > last; i -= rows {
			times[i] = last
			last -= unit
		}
	}
	return rows
}
