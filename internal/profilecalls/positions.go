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

// placedSamples links the samples of a call whose places are known, each to the one before it. A link is the number of a
// sample and 1, or 0 where there is none.
type placedSamples struct {
	p      *v8profile.Profile
	before []uint32 // the link of each sample
	found  []Position
}

// newPlacedSamples returns nil if the profile does not say where in their functions samples were taken.
func newPlacedSamples(p *v8profile.Profile) *placedSamples {
	if !p.HasPositions() {
		return nil
	}
	return &placedSamples{p: p, before: make([]uint32, p.Len())}
}

// known reports whether the place of a sample is known.
func (s *placedSamples) known(sample int) bool {
	line, column := s.p.Position(sample)
	return line != 0 || column != 0
}

// add appends a sample whose place is known to those of a call, which end with last, and returns the new last one.
func (s *placedSamples) add(last uint32, sample int) uint32 {
	s.before[sample] = last
	return uint32(sample) + 1
}

// positions returns the places of the samples that end with last, sorted. They are valid until it is called again.
func (s *placedSamples) positions(last uint32) []Position {
	s.found = s.found[:0]
	for ; last != 0; last = s.before[last-1] {
		line, column := s.p.Position(int(last) - 1)
		s.found = append(s.found, Position{line, column, 1})
	}
	slices.SortFunc(s.found, func(a, b Position) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	kept := s.found[:0]
	for _, f := range s.found {
		if n := len(kept); n > 0 && kept[n-1].Line == f.Line && kept[n-1].Column == f.Column {
			kept[n-1].Samples++
		} else {
			kept = append(kept, f)
		}
	}
	return kept
}
