package attribution

import (
	"github.com/weft-trace/weft/internal/timeline"
)

// firstUses records the first time at which each context is in effect, and the period in which the trace has slices and instants;
// additions must stay within this period.
type firstUses struct {
	any         bool
	First, last timeline.Nanos
	at          []timeline.Nanos // by logical node; NoTime: never
}

// extend extends the period to include a slice or instant. Calls must be in time order.
func (u *firstUses) extend(o *timeline.Head) {
	if !u.any {
		u.any, u.First, u.last = true, o.TS, o.TS
	}
	u.last = max(u.last, o.TS)
	if o.Kind == timeline.ItemBegin {
		u.last = max(u.last, o.End) // NoTime is less than any time
	}
}

// add records that a context is in effect at ts, unless it was in effect before.
func (u *firstUses) add(node NodeID, ts timeline.Nanos) {
	for int(node) >= len(u.at) {
		u.at = append(u.at, timeline.NoTime)
	}
	if u.at[node] == timeline.NoTime {
		u.at[node] = ts
	}
}

// Of returns the first time at which a context is in effect, or false if the context is never in effect.
func (u *firstUses) Of(node NodeID) (timeline.Nanos, bool) {
	if int(node) >= len(u.at) || u.at[node] == timeline.NoTime {
		return 0, false
	}
	return u.at[node], true
}

// Clamp clamps a time to the period of the trace.
func (u *firstUses) Clamp(ts timeline.Nanos) timeline.Nanos { return max(u.First, min(ts, u.last)) }

// Spread changes sorted times within the period of the trace so that all differ. Each time moves to the next free time or, at the
// end of the trace, to an earlier one. Times remain multiples of the unit, because packets may store times in this unit, unless
// the period has too few such multiples. If the period is too short even for steps of a nanosecond, several rows are needed: time
// i is on row i modulo rows.
func (u *firstUses) Spread(times []timeline.Nanos, unit timeline.Nanos) (rows int) {
	if len(times) == 0 {
		return 1
	}
	rows = 1
	free := uint64(u.last-u.First)/uint64(unit) + 1
	if uint64(len(times)) > free {
		unit, free = 1, uint64(u.last-u.First)+1
	}
	if uint64(len(times)) > free {
		rows = (len(times) + int(free) - 1) / int(free)
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
