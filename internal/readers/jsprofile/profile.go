package jsprofile

import (
	"math"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/timeline"
)

// profile is one trace from the API, in columns.
type profile struct {
	resources collections.List[string]
	frames    collections.List[frame]
	stacks    collections.List[stack]
	samples   collections.List[sample]
	states    states
	holes     bool // some elements of the input list are not samples, so later samples have other indexes here

	have     lists // the lists in the input
	offset   int64 // start of the profile in the input
	complete bool
	process  timeline.TrackID // 0: a separate one

	// The following come from wrappers only.
	interval   timeline.Nanos  // 0: unknown
	origin     *timeline.Nanos // relative to 1970
	started    *timeline.Nanos // the origin according to the start of sampling
	end        *timeline.Nanos // relative to the origin
	spans      collections.List[span]
	attributes []attribute // a plain slice, because there are few
}

// lists is a set of a profile's lists.
type lists uint8

const (
	haveResources lists = 1 << iota
	haveFrames
	haveStacks
	haveSamples
)

// frame is the definition of a function. Line and column are 1-based; 0 means unknown.
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

// sample is one sample, 24 bytes. Its time is as in the file until toTraceTime converts it.
type sample struct {
	ts     timeline.Nanos
	offset int64 // position in the input
	stack  int32 // noIndex: no script on the stack
	state  state
}

// state is the browser's activity at a sample (C4): an index into the states of the profile.
type state uint32

// States with a special meaning. Other states are markers, known or unknown, and kept unchanged.
const (
	idle     state = iota // no marker and no stack
	inferred              // no marker, but a stack; uncertain, because compilation also has a stack
	script
	collecting
	numFixedStates
)

// states contains the names of a profile's states.
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

// onTop reports whether a state becomes a slice on top of the frames (C8).
func (s state) onTop() bool { return s == collecting || s >= numFixedStates }

// span is an interval from a wrapper: a long task, an action, a view.
type span struct {
	track  string
	name   string
	start  timeline.Nanos // relative to the origin
	dur    timeline.Nanos // timeline.NoTime: unknown
	args   []byte
	offset int64
}

// attribute is a scalar member of the object that contains the profile.
type attribute struct {
	key    string
	text   string
	number int64
	isInt  bool
}

// maxTime limits times and durations to 146 years, so that the sum of two does not overflow.
const maxTime = timeline.Nanos(math.MaxInt64 / 2)

// shift adds an offset to a time. It returns false if one of them, or the result, is beyond maxTime in either direction.
func shift(ts, by timeline.Nanos) (timeline.Nanos, bool) {
	beyond := func(n timeline.Nanos) bool { return n < -maxTime || n > maxTime }
	if beyond(ts) || beyond(by) || beyond(ts+by) {
		return 0, false
	}
	return ts + by, true
}
