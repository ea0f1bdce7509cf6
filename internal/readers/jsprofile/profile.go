package jsprofile

import (
	"math"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/timeline"
)

// profile is one trace of the API, column by column.
type profile struct {
	resources collections.List[string]
	frames    collections.List[frame]
	stacks    collections.List[stack]
	samples   collections.List[sample]
	states    states
	holes     bool // there are fewer samples than elements in their list, so that an index is not an element's

	have     lists // which lists were there
	offset   int64 // where the profile begins in the input
	complete bool
	process  timeline.TrackID // 0: one of its own

	// What only wrappers say.
	interval   timeline.Nanos  // 0: unknown
	origin     *timeline.Nanos // since 1970
	started    *timeline.Nanos // the origin again, as it was known when sampling began
	end        *timeline.Nanos // from the origin
	spans      collections.List[span]
	attributes []attribute // an object of few members
}

// lists is a set of the lists of a profile.
type lists uint8

const (
	haveResources lists = 1 << iota
	haveFrames
	haveStacks
	haveSamples
)

// frame is where a function is defined. Line and column count from 1; 0 is unknown.
type frame struct {
	name     string
	resource int32 // noIndex: unknown
	line     int32
	column   int32
}

// stack is a frame on top of another stack, both as indexes.
type stack struct {
	frame  int32
	parent int32 // noIndex for the outermost frame
}

const (
	// noIndex is a missing index, badIndex an invalid one: not an integer, or beyond any list.
	noIndex  int32 = -1
	badIndex int32 = -2
)

// sample is one sample, 24 bytes. Its time counts as in the file until the writer has placed the profile.
type sample struct {
	ts     timeline.Nanos
	offset int64 // in the input
	stack  int32 // noIndex: no script on the stack
	state  state
}

// state is what the browser was doing at a sample (C4): an index into the states of the profile.
type state uint32

// The states that have a meaning here. Others are markers, known or not, which are kept as they are.
const (
	idle     state = iota // no marker and no stack
	inferred              // no marker, but a stack: a guess, because code is compiled on a stack as well
	script
	collecting
	numFixedStates
)

// states are the names of the states of a profile.
type states struct {
	names []string
	ids   map[string]state
}

func newStates() states {
	s := states{ids: map[string]state{}}
	for _, name := range []string{idle: timeline.StateIdle, inferred: timeline.StateInferred, script: timeline.StateScript, collecting: timeline.StateGC} {
		s.add(name)
	}
	return s
}

func (s *states) add(name string) state {
	id := state(len(s.names))
	s.names = append(s.names, name)
	s.ids[name] = id
	return id
}

// id returns the state of a marker.
func (s *states) id(marker []byte) state {
	if id, ok := s.ids[string(marker)]; ok {
		return id
	}
	return s.add(string(marker))
}

// onTop reports whether a state is shown as a slice on top of the frames (C8).
func (s state) onTop() bool { return s == collecting || s >= numFixedStates }

// span is an interval that a wrapper adds: a long task, an action, a view.
type span struct {
	track  string
	name   string
	start  timeline.Nanos // from the origin
	dur    timeline.Nanos // timeline.NoTime: unknown
	args   []byte
	offset int64
}

// attribute is a scalar member of the object around the profile.
type attribute struct {
	key    string
	text   string
	number int64
	isInt  bool
}

// maxTime bounds times and lengths, so that the sum of two is a time as well: 146 years.
const maxTime = timeline.Nanos(math.MaxInt64 / 2)

// shift moves a time by an offset; false if one of them, or the result, is beyond maxTime in either direction.
func shift(ts, by timeline.Nanos) (timeline.Nanos, bool) {
	beyond := func(n timeline.Nanos) bool { return n < -maxTime || n > maxTime }
	if beyond(ts) || beyond(by) || beyond(ts+by) {
		return 0, false
	}
	return ts + by, true
}
