package pfwire

import (
	"cmp"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// minGrouped is the minimum number of rows in a process, thread or group for which groups are used. Fewer rows are clear without
// groups.
const minGrouped = 8

// rows holds the tracks below a process or thread as viewers show them, one row for each name, and their groups.
type rows struct {
	names  map[string]bool
	byName map[timeline.Place]*group // by Group and Within
	groups []*group                  // groups to write, outer ones first
}

// group is a track without events that the writer puts between a process or thread and tracks of one kind, see timeline.Place.
// Directly below a process, viewers order tracks by name alone; below a group they use ranks.
type group struct {
	name  string
	uuid  uint64           // 0: it is not written, and its contents move up
	outer *group           // the group that contains a subgroup
	names map[string]int32 // ranks of rows, including rows of subgroups: in their places or, after order, in the group
	rank  int32            // rank of a subgroup in its group
}

// findGroups collects the rows below processes and threads and assigns ids to their groups.
func (w *writer) findGroups() {
	for id := range timeline.TrackID(w.t.TrackCount()) {
		parent := w.t.TrackParent(id)
		if !w.isGrouped(id, parent) {
			continue
		}
		r := w.rows[parent]
		if r == nil {
			r = &rows{names: map[string]bool{}, byName: map[timeline.Place]*group{}}
			w.rows[parent] = r
		}
		name, place := w.t.Track(id).Name, w.t.Place(id)
		r.names[name] = true
		for g := r.group(place, true); g != nil; g = g.outer {
			if before, ok := g.names[name]; !ok || int32(place.Rank) < before {
				g.names[name] = int32(place.Rank)
			}
		}
	}
	for id := range timeline.TrackID(w.t.TrackCount()) {
		if r := w.rows[id]; r != nil {
			w.chooseGroups(r)
		}
	}
}

// isGrouped reports whether a track can be in a group: a track for slices directly below a process or thread.
func (w *writer) isGrouped(id, parent timeline.TrackID) bool {
	switch w.t.TrackKind(parent) {
	case timeline.ProcessTrack, timeline.ThreadTrack:
		kind := w.t.TrackKind(id)
		return (kind == timeline.NamedTrack || kind == timeline.AsyncTrack) && w.t.TrackUsed(id) && w.t.Role(id).ThreadDetail() == 0
	}
	return false
}

// group returns the innermost group of a place, or nil. If create is set, it creates missing groups.
func (r *rows) group(place timeline.Place, create bool) *group {
	if place.Group == "" {
		return nil
	}
	place.Rank = 0
	g := r.byName[place]
	if g != nil || !create {
		return g
	}
	g = &group{name: place.Group, names: map[string]int32{}}
	if place.Within != "" {
		g.name, g.outer = place.Within, r.group(timeline.Place{Group: place.Group}, true)
	}
	r.byName[place] = g
	r.groups = append(r.groups, g)
	return g
}

// chooseGroups selects the groups to write. In a process, thread or group with at least minGrouped rows, it selects the groups
// that contain several of these rows, but not all. It never selects OtherGroup alone. It depends only on data that files
// preserve, so that a trace that is read back is written with the same groups.
func (w *writer) chooseGroups(r *rows) {
	r.groups = slices.DeleteFunc(r.groups, func(g *group) bool {
		all := len(r.names)
		if g.outer != nil {
			all = len(g.outer.names)
		}
		return all < minGrouped || len(g.names) < 2 || len(g.names) == all
	})
	if len(r.groups) == 1 && r.groups[0].name == timeline.OtherGroup {
		r.groups = nil
	}
	parts := map[*group][]*group{}
	for _, g := range r.groups {
		w.lastUUID++
		g.uuid = w.lastUUID
		if g.outer != nil {
			parts[g.outer] = append(parts[g.outer], g)
		}
	}
	for _, g := range r.groups {
		g.order(parts[g])
	}
}

// order ranks the direct children of a group: its subgroups, and the rows outside them.
func (g *group) order(parts []*group) {
	type ranked struct {
		rank int32
		name string
		part *group
	}
	below := make([]ranked, 0, len(g.names)+len(parts))
	inParts := map[string]bool{}
	for _, part := range parts {
		below = append(below, ranked{0, part.name, part})
		for name := range part.names {
			inParts[name] = true
		}
	}
	for name, rank := range g.names {
		if !inParts[name] {
			below = append(below, ranked{rank, name, nil})
		}
	}
	slices.SortFunc(below, func(a, b ranked) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.name, b.name)) })
	for i, r := range below {
		rank := r.rank<<timeline.PlaceRankShift | int32(min(i, math.MaxUint16))
		if r.part != nil {
			r.part.rank = rank
		} else {
			g.names[r.name] = rank
		}
	}
}

// below returns a track's parent in the file, which may be a group, and the rank of the track there if it has a rank.
func (w *writer) below(tr *timeline.Track) (parent uint64, rank int32, ranked bool) {
	if d, ok := w.details[tr.Parent]; ok && isDetail(tr.Spec) {
		return d.uuid, d.rank(tr.Spec), true
	}
	if r := w.rows[tr.Parent]; r != nil && w.isGrouped(tr.ID, tr.Parent) {
		for g := r.group(w.t.Place(tr.ID), false); g != nil; g = g.outer {
			if g.uuid != 0 {
				return g.uuid, g.names[tr.Name], true
			}
		}
	}
	return uint64(tr.Parent), tr.Rank, tr.HasRank
}

// describeGroups writes the groups of a process or thread.
func (w *writer) describeGroups(id timeline.TrackID) error {
	r := w.rows[id]
	if r == nil {
		return nil
	}
	for _, g := range r.groups {
		tr := timeline.Track{Kind: timeline.NamedTrack, Spec: &timeline.TrackSpec{
			Role: timeline.RoleGroup, Ordering: timeline.OrderExplicit, Merge: timeline.MergeNone, // a sibling row may have the same name
		}}
		parent := uint64(id)
		if g.outer != nil && g.outer.uuid != 0 {
			parent, tr.Rank, tr.HasRank = g.outer.uuid, g.rank, true
		}
		if err := w.describe(&tr, g.uuid, parent, g.name); err != nil {
			return err
		}
	}
	return nil
}
