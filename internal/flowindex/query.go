package flowindex

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/timeline"
)

// Len returns the number of flows. Their numbers run from 0 to Len-1.
func (x *Index) Len() int { return x.flows.Len() }

// Flow returns the flow with the given number.
func (x *Index) Flow(number int) (Flow, error) {
	if number < 0 || number >= x.Len() {
		return Flow{}, fmt.Errorf("there is no flow %d: the index has %d", number, x.Len())
	}
	var row flowRow
	if err := x.flows.At(number, &row); err != nil {
		return Flow{}, err
	}
	return x.flow(number, &row), nil
}

// flow converts a row to a Flow.
func (x *Index) flow(number int, row *flowRow) Flow {
	f := Flow{
		Number: number, Kind: flowKinds[row.Space], ID: x.formatID(&row.Key), Start: row.start, End: row.end, Ended: row.ended,
		Members: int(row.count), Threads: int(row.threads), Processes: int(row.processes), first: int(row.first),
	}
	if row.Space == timeline.FlowV1 {
		f.Name, f.Category = x.name(row.Name), x.category(row.Category)
	}
	return f
}

// name returns the name of flow events as text, or "" if only its hash is known.
func (x *Index) name(id uint32) string {
	if id == 0 || int64(id) > int64(x.t.NameCount()) {
		return ""
	}
	return string(x.t.Name(timeline.NameID(id)))
}

func (x *Index) category(id uint32) string {
	if id == 0 || int64(id) > int64(x.t.CategoryCount()) {
		return ""
	}
	return string(x.t.Category(timeline.CategoryID(id)))
}

// Each calls fn for the flows with the given input id; see Find. They are grouped by name and category, and ordered by start. An
// error from fn stops the search and is returned.
func (x *Index) Each(ctx context.Context, id string, fn func(Flow) error) error {
	return x.eachRow(ctx, id, func(number int, row *flowRow) error { return fn(x.flow(number, row)) })
}

func (x *Index) eachRow(ctx context.Context, id string, fn func(number int, row *flowRow) error) error {
	found := false
	for _, wanted := range candidates(id) {
		if wanted.fallback && found {
			continue
		}
		i, err := x.flows.Search(func(f *flowRow) bool { return f.ID >= wanted.id })
		if err != nil {
			return err
		}
		var row flowRow
		for c := x.flows.From(i); ; i++ {
			if i%(1<<14) == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			ok, err := c.Next(&row)
			if err != nil {
				return err
			}
			if !ok || row.ID != wanted.id {
				break
			}
			if row.TextID != wanted.isText || !wanted.spaces.has(row.Space) {
				continue
			}
			found = true
			if err := fn(i, &row); err != nil {
				return err
			}
		}
	}
	return nil
}

// Find returns the flows that an id means at a given time: the last flow with the id that starts at or before the time, even if
// the flow has already ended (firefox.md 7). If ids are separate for each name and category, there may be one flow for each
// combination.
//
// The id has the form used in the input. Chrome ids are decimal or hexadecimal numbers, with or without 0x; text that can be
// either finds both. Perfetto ids are decimal, or hexadecimal with 0x. Firefox ids are texts of 17 characters; the last
// character, always zero, may be omitted.
func (x *Index) Find(ctx context.Context, id string, at timeline.Nanos) ([]Flow, error) {
	var found []Flow
	var last flowbind.Key // key of the last flow in found
	err := x.eachRow(ctx, id, func(number int, row *flowRow) error {
		if len(found) > 0 && row.Key == last {
			if row.start <= at {
				found[len(found)-1] = x.flow(number, row)
			}
			return nil
		}
		started := row.start <= at
		if !started {
			// Chrome's s can come long after the start of its slice.
			var first Member
			if err := x.members.At(int(row.first), &first); err != nil {
				return err
			}
			started = first.TS <= at
		}
		if started {
			found, last = append(found, x.flow(number, row)), row.Key
		}
		return nil
	})
	return found, err
}

// Members calls fn for the members of a flow, in flow order.
func (x *Index) Members(ctx context.Context, f Flow, fn func(Member) error) error {
	var m Member
	c := x.members.From(f.first)
	for n := range f.Members {
		if n%(1<<12) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if ok, err := c.Next(&m); err != nil || !ok {
			return err
		}
		if err := fn(m); err != nil {
			return err
		}
	}
	return nil
}

// Member returns member n of a flow.
func (x *Index) Member(f Flow, n int) (m Member, err error) {
	if n < 0 || n >= f.Members {
		return m, fmt.Errorf("flow %s has no member %d: it has %d members", f.ID, n, f.Members)
	}
	err = x.members.At(f.first+n, &m)
	return m, err
}

// Next returns the members to which a flow leads from one of its members, at most limit. Usually there is one, or none after the
// last member; only Chrome flows can lead to several.
func (x *Index) Next(ctx context.Context, f Flow, n, limit int) (next []Member, err error) {
	var m Member
	for i := n + 1; i < f.Members && len(next) < limit; i++ {
		if i%(1<<12) == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err := x.members.At(f.first+i, &m); err != nil {
			return nil, err
		}
		if m.Previous == n {
			next = append(next, m)
		}
		if m.Previous > n {
			break // the flow does not return to this member
		}
	}
	return next, nil
}

// OfSlice returns the flow memberships of the slice or instant with the given ordinal, sorted by flow.
func (x *Index) OfSlice(ordinal uint64) (members []Member, err error) {
	err = x.membershipsOf(ordinal, func(p *membership) error {
		f, err := x.Flow(int(p.flow))
		if err != nil {
			return err
		}
		m, err := x.Member(f, int(p.n))
		members = append(members, m)
		return err
	})
	return members, err
}

func (x *Index) membershipsOf(ordinal uint64, fn func(*membership) error) error {
	i, err := x.memberships.Search(func(p *membership) bool { return p.ordinal >= ordinal })
	if err != nil {
		return err
	}
	for ; i < x.memberships.Len(); i++ {
		var p membership
		if err := x.memberships.At(i, &p); err != nil {
			return err
		}
		if p.ordinal != ordinal {
			break
		}
		if err := fn(&p); err != nil {
			return err
		}
	}
	return nil
}

// OfEvent returns the ordinals of the slices and instants with flows that come from the given input event.
func (x *Index) OfEvent(ctx context.Context, event uint32) ([]uint64, error) {
	return x.ordinals(ctx, func(m *Member) bool { return m.Event == event })
}

// At returns the ordinals of the slices and instants with flows that contain the given time, on a thread or on tracks below it.
// Slices include their ends. If there are none, it returns the slices and instants with the latest earlier start.
func (x *Index) At(ctx context.Context, thread timeline.TrackID, at timeline.Nanos) ([]uint64, error) {
	var before []uint64
	var latest timeline.Nanos
	inside, err := x.ordinals(ctx, func(m *Member) bool {
		if m.TS > at || cmp.Or(x.t.Above(m.Track, timeline.ThreadTrack), m.Track) != thread {
			return false
		}
		if m.End == timeline.NoTime || at <= m.End {
			return true
		}
		if len(before) == 0 || m.TS > latest {
			before, latest = before[:0], m.TS
		}
		if m.TS == latest && !slices.Contains(before, m.Ordinal) {
			before = append(before, m.Ordinal)
		}
		return false
	})
	if len(inside) > 0 || err != nil {
		return inside, err
	}
	slices.Sort(before)
	return before, nil
}

// ordinals returns the sorted, unique ordinals of the slices that have a membership for which want is true.
func (x *Index) ordinals(ctx context.Context, want func(*Member) bool) ([]uint64, error) {
	var found []uint64
	var m Member
	for c, i := x.members.From(0), 0; ; i++ {
		if i%(1<<14) == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		ok, err := c.Next(&m)
		if err != nil {
			return nil, err
		}
		if !ok {
			slices.Sort(found)
			return slices.Compact(found), nil
		}
		if want(&m) {
			found = append(found, m.Ordinal)
		}
	}
}
