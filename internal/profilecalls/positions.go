package profilecalls

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/internal/v8profile"
)

// Position is a place in a function at which samples were taken. Line and column count from 1; 0 is unknown.
type Position struct {
	Line, Column int32
	Samples      int64
}

// placedSamples has the places of samples of open calls, in a list for each call that has any. Lists are numbered from 1; 0 is
// none.
type placedSamples struct {
	lists []placeList
	free  []int32 // lists of calls that have ended
}

// placeList has the places of a call: some sorted, with each one once, and then the places of the last samples.
type placeList struct {
	places []Position
	sorted int
}

// newPlacedSamples returns nil if the profile does not say where in their functions samples were taken.
func newPlacedSamples(p *v8profile.Profile) *placedSamples {
	if !p.HasPositions() {
		return nil
	}
	return &placedSamples{}
}

// minUnsorted is how many places a list has at least before it is sorted.
const minUnsorted = 64

// add adds a place to the list of a call, which may be none, and returns the list.
func (s *placedSamples) add(list int32, line, column int32) int32 {
	if list == 0 {
		if n := len(s.free); n > 0 {
			list, s.free = s.free[n-1], s.free[:n-1]
		} else {
			s.lists = append(s.lists, placeList{})
			list = int32(len(s.lists))
		}
	}
	l := &s.lists[list-1]
	if n := len(l.places); n > 0 && l.places[n-1].Line == line && l.places[n-1].Column == column {
		l.places[n-1].Samples++
		return list
	}
	l.places = append(l.places, Position{line, column, 1})
	// A call of any length takes memory for different places only.
	if len(l.places) >= 2*l.sorted+minUnsorted {
		l.sort()
	}
	return list
}

// end returns the places of a call that ends, sorted. They are valid until add is called.
func (s *placedSamples) end(list int32) []Position {
	l := &s.lists[list-1]
	l.sort()
	places := l.places
	l.places, l.sorted = l.places[:0], 0
	s.free = append(s.free, list)
	return places
}

// sort sorts the places and keeps each one once.
func (l *placeList) sort() {
	l.places = sortPlaces(l.places)
	l.sorted = len(l.places)
}

// sortPlaces sorts places and keeps each one once.
func sortPlaces(places []Position) []Position {
	slices.SortFunc(places, func(a, b Position) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	kept := places[:0]
	for _, f := range places {
		if n := len(kept); n > 0 && kept[n-1].Line == f.Line && kept[n-1].Column == f.Column {
			kept[n-1].Samples += f.Samples
		} else {
			kept = append(kept, f)
		}
	}
	return kept
}

// placeLinks links the samples of a call whose places are known, each to the one before it. A link is the number of a
// sample and 1, or 0 where there is none.
type placeLinks struct {
	samples *v8profile.Samples
	before  []uint32 // the link of each sample
	found   []Position
}

// newPlaceLinks returns nil if the profile does not say where in their functions samples were taken.
func newPlaceLinks(p *v8profile.Profile) *placeLinks {
	if !p.HasPositions() {
		return nil
	}
	return &placeLinks{samples: p.Samples(), before: make([]uint32, p.Len())}
}

// known reports whether the place of a sample is known.
func (s *placeLinks) known(sample int) bool {
	line, column := s.samples.Position(sample)
	return line != 0 || column != 0
}

// add appends a sample whose place is known to a call's samples, which end with last, and returns the new last one.
func (s *placeLinks) add(last uint32, sample int) uint32 {
	s.before[sample] = last
	return uint32(sample) + 1
}

// positions returns the places of the samples that end with last, sorted. They are valid until it is called again.
func (s *placeLinks) positions(last uint32) []Position {
	s.found = s.found[:0]
	for ; last != 0; last = s.before[last-1] {
		line, column := s.samples.Position(int(last) - 1)
		s.found = append(s.found, Position{line, column, 1})
	}
	s.found = sortPlaces(s.found)
	return s.found
}
