package timeline

import "math"

// Place says where viewers show a track that is below a process or thread: in a group with others of one kind, so that a
// process with many tracks is not one long list. It changes nothing about what the track is, or is below.
type Place struct {
	Group  string // "": right below its process or thread
	Within string // a part of the group; "": none
	Rank   uint8  // lower ranks are shown first, equal ranks in the order of their names
}

// PlaceRankShift is where the rank of a place is in the rank that a file gives to a track of a group; below it is the order of names.
const PlaceRankShift = 16

// OtherGroup is the group of what belongs to none of the groups of its process. A process that has no others has none.
const OtherGroup = "Other"

// places are the distinct places of the tracks of a trace. Those beyond the limit are right below their processes.
type places struct {
	list []Place
	ids  map[Place]uint16
}

// SetPlace gives a track its place. Of several calls the first one counts.
func (b *Builder) SetPlace(track TrackID, place Place) {
	t := b.table
	row := &t.tracks[track]
	if row.place != 0 || place.Group == "" {
		return
	}
	id, ok := t.places.ids[place]
	if !ok {
		if len(t.places.list) == math.MaxUint16 {
			return
		}
		if t.places.ids == nil {
			t.places.ids = map[Place]uint16{}
		}
		t.places.list = append(t.places.list, place)
		id = uint16(len(t.places.list))
		t.places.ids[place] = id
		t.hold(trackBytes + len(place.Group) + len(place.Within))
	}
	row.place = id
}

// HasPlace reports whether a track was given a place.
func (b *Builder) HasPlace(track TrackID) bool { return b.table.tracks[track].place != 0 }

// Place returns the place of a track.
func (t *Timeline) Place(id TrackID) Place {
	if place := t.table.tracks[id].place; place != 0 {
		return t.table.places.list[place-1]
	}
	return Place{}
}
