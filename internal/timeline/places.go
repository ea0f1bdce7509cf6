package timeline

import "math"

// Place is where viewers show a track below a process or thread: in a group with other tracks of its kind, so that the tracks of
// a large process do not form one long list. It affects neither the contents nor the parent of the track.
type Place struct {
	Group  string // "": directly below its process or thread
	Within string // subgroup; "": none
	Rank   uint8  // lower ranks come first; equal ranks are ordered by name
}

// PlaceRankShift is the bit position of a place's rank in the rank that a file gives to a grouped track; the bits below it hold
// the order by name.
const PlaceRankShift = 16

// OtherGroup is the group for tracks outside the other groups of their process, if the process has any groups.
const OtherGroup = "Other"

// places holds the distinct places of a trace's tracks. Tracks with places beyond the limit appear directly below their
// processes.
type places struct {
	list []Place
	ids  map[Place]uint16
}

// SetPlace sets the place of a track. Only the first call has an effect.
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

// HasPlace reports whether a track has a place.
func (b *Builder) HasPlace(track TrackID) bool { return b.table.tracks[track].place != 0 }

// Place returns the place of a track.
func (t *Timeline) Place(id TrackID) Place {
	if place := t.table.tracks[id].place; place != 0 {
		return t.table.places.list[place-1]
	}
	return Place{}
}
