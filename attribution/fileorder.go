package attribution

import (
	"cmp"
	"context"
	"slices"

	"github.com/weft-trace/weft/problem"
	"github.com/weft-trace/weft/timeline"
)

// fileOrder holds what was entered on each thread as the input goes on, whatever the times say: explicit events and
// slices are then taken in the order of the input, as catapult's importer did (spec contexts.md S1).
type fileOrder struct {
	versions map[timeline.TrackID][]version
}

// version is what is entered behind an event.
type version struct {
	event uint32
	tops  []top
}

// maxVersions bounds the explicit events that are kept.
const maxVersions = 1 << 20

// explicitAt is an explicit event to be carried out.
type explicitAt struct {
	occurrence timeline.Occurrence
	evidence   evidence
}

// newFileOrder carries out all explicit events in the order of the input. The evidence is rewound before and after.
func newFileOrder(ctx context.Context, c *collector) (*fileOrder, error) {
	if err := c.evidence.Rewind(); err != nil {
		return nil, err
	}
	found := cursor[evidence]{next: c.evidence.Next, ordinal: evidenceOrdinal}
	byThread := map[timeline.TrackID][]explicitAt{}
	n := 0
	err := c.t.Occurrences(ctx, false, func(group []timeline.Occurrence) error {
		for i := range group {
			o := &group[i]
			list, err := found.of(o.Ordinal)
			if err != nil {
				return err
			}
			thread := cmp.Or(o.Thread, c.places[o.Track].thread)
			for k := range list {
				if !list[k].isExplicit() || thread == 0 {
					continue
				}
				if n++; n > maxVersions {
					c.dropped++
					continue
				}
				byThread[thread] = append(byThread[thread], explicitAt{*o, list[k]})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	f := &fileOrder{versions: map[timeline.TrackID][]version{}}
	for thread, list := range byThread {
		f.versions[thread] = c.replay(list)
	}
	return f, c.evidence.Rewind()
}

// replay carries out the explicit events of a thread.
func (c *collector) replay(list []explicitAt) (versions []version) {
	slices.SortStableFunc(list, func(a, b explicitAt) int { return cmp.Compare(a.occurrence.Event, b.occurrence.Event) })
	var a active
	for i := range list {
		o := &list[i].occurrence
		a.apply(c.catalogue, &list[i].evidence, o, c.problems)
		versions = append(versions, version{o.Event, a.appendTops(nil)})
	}
	if n := a.open(); n > 0 {
		c.problems.AddN(problem.NeverLeft, n, problem.NoPosition, "")
	}
	return versions
}

// at returns what is entered on a thread when an event comes.
func (f *fileOrder) at(thread timeline.TrackID, event uint32) []top {
	versions := f.versions[thread]
	i, _ := slices.BinarySearchFunc(versions, event, func(v version, event uint32) int { return cmp.Compare(v.event, event) })
	if i == 0 {
		return nil
	}
	return versions[i-1].tops
}

// enterOnly makes the given contexts the ones that are entered.
func (a *active) enterOnly(tops []top) {
	for i := range a.stacks {
		a.stacks[i].entered = a.stacks[i].entered[:0]
	}
	for i := range tops {
		a.enter(tops[i].typ, tops[i].entered)
	}
}
