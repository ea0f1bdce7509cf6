package profilecalls

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/internal/v8profile"
)

// Position is a position in a function, and its number of samples. Line and column are 1-based; 0 means unknown.
type Position struct {
	Line, Column int32
	Samples      int64
}

// openPositions holds the positions of the samples of open calls, in one list for each call. Lists are numbered from 1; 0 means
// no list.
type openPositions struct {
	lists []positionList
	free  []int32 // lists of calls that have ended
}

// positionList holds the positions of a call: first sorted unique positions, then the latest samples' positions.
type positionList struct {
	positions []Position
	sorted    int
}

// newOpenPositions returns nil if the profile has no positions.
func newOpenPositions(p *v8profile.Profile) *openPositions {
	if !p.HasPositions() {
		return nil
	}
	return &openPositions{}
}

// minUnsorted is the minimum number of unsorted positions that triggers sorting.
const minUnsorted = 64

// add adds a position to the list of a call and returns the list; list 0 means that the call has no list yet.
func (s *openPositions) add(list int32, line, column int32) int32 {
	if list == 0 {
		if n := len(s.free); n > 0 {
			list, s.free = s.free[n-1], s.free[:n-1]
		} else {
			s.lists = append(s.lists, positionList{})
			list = int32(len(s.lists))
		}
	}
	l := &s.lists[list-1]
	if n := len(l.positions); n > 0 && l.positions[n-1].Line == line && l.positions[n-1].Column == column {
		l.positions[n-1].Samples++
		return list
	}
	l.positions = append(l.positions, Position{line, column, 1})
	// Sorting removes duplicates, so memory depends on the number of different positions, not on the length of the call.
	if len(l.positions) >= 2*l.sorted+minUnsorted {
		l.sort()
	}
	return list
}

// end frees the list of a call that ends and returns its positions, sorted. They are valid until the next call of add.
func (s *openPositions) end(list int32) []Position {
	l := &s.lists[list-1]
	l.sort()
	positions := l.positions
	l.positions, l.sorted = l.positions[:0], 0
	s.free = append(s.free, list)
	return positions
}

func (l *positionList) sort() {
	l.positions = sortPositions(l.positions)
	l.sorted = len(l.positions)
}

// sortPositions sorts positions and joins equal ones.
func sortPositions(positions []Position) []Position {
	slices.SortFunc(positions, func(a, b Position) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	unique := positions[:0]
	for _, p := range positions {
		if n := len(unique); n > 0 && unique[n-1].Line == p.Line && unique[n-1].Column == p.Column {
			unique[n-1].Samples += p.Samples
		} else {
			unique = append(unique, p)
		}
	}
	return unique
}

// positionLinks links each sample with a position to the previous such sample of its call. A link is 1 + the index of a sample,
// or 0 for no sample.
type positionLinks struct {
	samples  *v8profile.Samples
	previous []uint32 // by sample
	found    []Position
}

// newPositionLinks returns nil if the profile has no positions.
func newPositionLinks(p *v8profile.Profile) *positionLinks {
	if !p.HasPositions() {
		return nil
	}
	return &positionLinks{samples: p.Samples(), previous: make([]uint32, p.Len())}
}

// known reports whether the position of a sample is known.
func (s *positionLinks) known(sample int) bool {
	line, column := s.samples.Position(sample)
	return line != 0 || column != 0
}

// add links a sample to the last sample with a position in its call, and returns the link to the new sample.
func (s *positionLinks) add(last uint32, sample int) uint32 {
	s.previous[sample] = last
	return uint32(sample) + 1
}

// positions returns the sorted positions of a call, given the link to its last sample with a position. They are valid until the
// next call.
func (s *positionLinks) positions(last uint32) []Position {
	s.found = s.found[:0]
	for ; last != 0; last = s.previous[last-1] {
		line, column := s.samples.Position(int(last) - 1)
		s.found = append(s.found, Position{line, column, 1})
	}
	s.found = sortPositions(s.found)
	return s.found
}
