package pfwire

import (
	"cmp"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// minGrouped is the number of rows from which the tracks of a process or thread, or of a group, are shown in groups. Fewer are seen at a glance.
const minGrouped = 8

// rows are the tracks below a process or thread as viewers show them, equal names as one row, and the groups that they are in.
type rows struct {
	names  map[string]bool
	byName map[timeline.Place]*group // by Group and Within
	groups []*group                  // those that are written, an outer one before its parts
}

// group is a track without events that the writer puts between a process or thread and tracks of one kind, see timeline.Place.
// Right below a process, viewers order tracks by name alone; below a group they keep to ranks.
type group struct {
	name  string
	uuid  uint64           // 0: it is not written, and its contents are shown in its place
	outer *group           // of a part of a group
	names map[string]int32 // of its rows, including its parts' rows, with the ranks of their places; after order, with their ranks in the group
	rank  int32            // of a part, in its group
}

// findGroups collects the rows below processes and threads and gives ids to their groups.
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

// isGrouped reports whether a track may be in a group: it is one for slices, right below a process or thread.
func (w *writer) isGrouped(id, parent timeline.TrackID) bool {
	switch w.t.TrackKind(parent) {
	case timeline.ProcessTrack, timeline.ThreadTrack:
		kind := w.t.TrackKind(id)
		return (kind == timeline.NamedTrack || kind == timeline.AsyncTrack) && w.t.TrackUsed(id) && w.t.Role(id).ThreadDetail() == 0
	}
	return false
}

// group returns the innermost group of a place, nil if there is none. It makes missing ones if it shall.
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

// chooseGroups decides which groups are written: groups of several rows but not of all, where there are many. It depends on nothing that
// is lost in a file, so that a trace that is read back is written with the same groups.
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

// order ranks what is right below a group: its parts, and the rows that are in none of them.
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

// below returns what a track is right below in the file, and its rank there if it has one: a group, or what it is below in the trace.
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

// describeGroups describes the groups of a process or thread.
func (w *writer) describeGroups(id timeline.TrackID) error {
	r := w.rows[id]
	if r == nil {
		return nil
	}
	for _, g := range r.groups {
		tr := timeline.Track{Kind: timeline.NamedTrack, Spec: &timeline.TrackSpec{
			Role: timeline.RoleGroup, Ordering: timeline.OrderExplicit, Merge: timeline.MergeNone, // a row beside it may have its name
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
