package timeline

import (
	"fmt"
	"strconv"
	"strings"
)

// Some ids belong not to one process but to a whole recording: frames, windows and tabs of a browser, its requests and input
// events. A trace of several inputs has an id space for each recording, with all its processes and its other tracks below the root:
// there the window 7 of one input is not the window 7 of another one. The id space without a name is the trace's own.

// idSpaces are the id spaces of the tracks below the root, processes among them. Tracks below these share their id space.
type idSpaces struct {
	space      uint32             // of what is read now
	spaceOf    map[TrackID]uint32 // 0 where there is none
	spaceNames []string           // by number, from 1 on
	spaceByIDs map[string]uint32  // by the name as given
	spaceTaken map[string]bool    // spaceNames
	lastSuffix uint32             // that tells equal names apart
}

// Limits of id spaces. A name is an input's.
const (
	maxIDSpaces    = 1 << 16
	maxIDSpaceName = 1 << 10
)

// number returns the number of an id space; not ok if there are too many.
func (s *idSpaces) number(name string) (n uint32, ok bool) {
	if n, ok := s.spaceByIDs[name]; ok || name == "" {
		return n, true
	}
	if len(s.spaceNames) == maxIDSpaces {
		return 0, false
	}
	if s.spaceByIDs == nil {
		s.spaceByIDs, s.spaceTaken = map[string]uint32{}, map[string]bool{}
	}
	n = uint32(len(s.spaceNames) + 1)
	s.spaceByIDs[name] = n
	name = s.uniqueSpace(idSpaceText(name))
	s.spaceTaken[name] = true
	s.spaceNames = append(s.spaceNames, name)
	return n, true
}

// idSpaceText returns a name of an id space as it may be written: UTF-8, not too long, and not a number, because after an id that would be a pid.
func idSpaceText(name string) string {
	name = cutText(strings.ToValidUTF8(name, "\uFFFD"), maxIDSpaceName)
	if _, err := strconv.ParseInt(name, 10, 64); err == nil {
		name = cutText("input "+name, maxIDSpaceName)
	}
	return name
}

// cutText returns the first bytes of a text, as far as they are whole runes.
func cutText(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return strings.ToValidUTF8(text[:size], "")
}

// uniqueSpace returns a name that no id space has. No suffix is tried twice, so that many alike names take no longer than others.
func (s *idSpaces) uniqueSpace(name string) string {
	unique := name
	for s.spaceTaken[unique] {
		s.lastSuffix = max(s.lastSuffix, 1) + 1
		suffix := fmt.Sprint("#", s.lastSuffix)
		unique = cutText(name, maxIDSpaceName-len(suffix)) + suffix
	}
	return unique
}

// placeIDs notes of which id space a track below the root is.
func (s *idSpaces) placeIDs(id TrackID, space uint32) {
	if s.spaceOf == nil {
		s.spaceOf = map[TrackID]uint32{}
	}
	s.spaceOf[id] = space
}

// SetIDSpace sets the input's id space of a track below the root. It reports whether there is room for that.
func (b *Builder) SetIDSpace(track TrackID, name string) (ok bool) {
	t := b.table
	n, ok := t.number(b.idSpaceName(name))
	if track = t.resolve(track); n != 0 && t.tracks[track].parent == 0 && track >= b.first {
		t.placeIDs(track, n)
	}
	return ok
}

// idSpaceName returns the name of an id space of the input in the output.
func (b *Builder) idSpaceName(name string) string {
	if name == "" {
		return b.part.IDSpace
	}
	return b.part.IDSpaces + name
}

// IDSpace returns the name of the id space of a track; "" is the trace's own.
func (t *Timeline) IDSpace(id TrackID) string {
	if len(t.table.spaceOf) == 0 {
		return ""
	}
	for t.table.tracks[id].parent != 0 {
		id = t.table.tracks[id].parent
	}
	return t.table.spaceName(t.table.spaceOf[id])
}

func (s *idSpaces) spaceName(n uint32) string {
	if n == 0 {
		return ""
	}
	return s.spaceNames[n-1]
}

// SetMoved says by how much the events of a process are later than in its recording, as in a trace that weft merged.
func (b *Builder) SetMoved(process TrackID, by Nanos) {
	b.table.process(process).moved = by + b.opts.Moved
}

// Renumber records the number that a process had in its recording, because of which it got its present one, as in a trace that weft
// merged.
func (b *Builder) Renumber(process TrackID, from int64) {
	p := b.table.process(process)
	p.recorded, p.renumbered = from, true
}
