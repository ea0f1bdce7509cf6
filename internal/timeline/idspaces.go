package timeline

import (
	"fmt"
	"strconv"
	"strings"
)

// Some ids belong to a whole recording rather than to one process: the ids of a browser's frames, windows, tabs, requests and
// input events. A trace with several inputs has an id space for each recording. The id space contains the recording's processes
// and its other tracks below the root, so that window 7 of one input differs from window 7 of another. The nameless id space is
// the trace's own.

// idSpaces holds the id spaces of processes and other tracks directly below the root. The descendants of these tracks inherit the
// id spaces.
type idSpaces struct {
	space      uint32             // for the current input
	spaceOf    map[TrackID]uint32 // missing: 0
	spaceNames []string           // by number, from 1
	spaceByIDs map[string]uint32  // by the name in the input
	spaceTaken map[string]bool    // the names in spaceNames
	lastSuffix uint32             // the last number appended to a duplicate name
}

// Limits for id spaces. Their names come from an input.
const (
	maxIDSpaces    = 1 << 16
	maxIDSpaceName = 1 << 10
)

// number returns the number of an id space, creating the space if it is new. It returns false if there are too many.
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

// idSpaceText returns a name that is safe to write: valid UTF-8, not too long, and not a number, which would look like a pid
// after an id.
func idSpaceText(name string) string {
	name = truncate(strings.ToValidUTF8(name, "\uFFFD"), maxIDSpaceName)
	if _, err := strconv.ParseInt(name, 10, 64); err == nil {
		name = truncate("input "+name, maxIDSpaceName)
	}
	return name
}

// truncate returns at most size bytes of text, without splitting a rune.
func truncate(text string, size int) string {
	if len(text) <= size {
		return text
	}
	return strings.ToValidUTF8(text[:size], "")
}

// uniqueSpace returns an unused name. It never tries the same suffix twice, so many equal names take linear time.
func (s *idSpaces) uniqueSpace(name string) string {
	unique := name
	for s.spaceTaken[unique] {
		s.lastSuffix = max(s.lastSuffix, 1) + 1
		suffix := fmt.Sprint("#", s.lastSuffix)
		unique = truncate(name, maxIDSpaceName-len(suffix)) + suffix
	}
	return unique
}

// setSpace sets the id space of a track directly below the root.
func (s *idSpaces) setSpace(id TrackID, space uint32) {
	if s.spaceOf == nil {
		s.spaceOf = map[TrackID]uint32{}
	}
	s.spaceOf[id] = space
}

// SetIDSpace sets the id space of a track directly below the root; name is the space's name in the input. It returns false if
// there are too many id spaces.
func (b *Builder) SetIDSpace(track TrackID, name string) (ok bool) {
	t := b.table
	n, ok := t.number(b.idSpaceName(name))
	if track = t.resolve(track); n != 0 && t.tracks[track].parent == 0 && track >= b.first {
		t.setSpace(track, n)
	}
	return ok
}

// idSpaceName returns the output's name for an id space in the input.
func (b *Builder) idSpaceName(name string) string {
	if name == "" {
		return b.part.IDSpace
	}
	return b.part.IDSpaces + name
}

// IDSpace returns the name of a track's id space; "": the trace's own.
func (t *Timeline) IDSpace(id TrackID) string {
	if len(t.table.spaceOf) == 0 {
		return ""
	}
	return t.table.spaceName(t.table.spaceOf[t.table.top(id)])
}

// top returns a track's ancestor directly below the root.
func (t *trackTable) top(id TrackID) TrackID {
	for t.tracks[id].parent != 0 {
		id = t.tracks[id].parent
	}
	return id
}

func (s *idSpaces) spaceName(n uint32) string {
	if n == 0 {
		return ""
	}
	return s.spaceNames[n-1]
}

// SetMoved sets how much later the events of a process are than in its recording, for a trace merged by weft.
func (b *Builder) SetMoved(process TrackID, by Nanos) {
	b.table.process(process).moved = by + b.opts.Moved
}

// Renumber sets the number that a process had in its recording before weft replaced it, for a trace merged by weft.
func (b *Builder) Renumber(process TrackID, from int64) {
	p := b.table.process(process)
	p.recorded, p.renumbered = from, true
}
