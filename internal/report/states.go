package report

import (
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// stateID is the index of a state in the stateNames of its thread.
type stateID uint16

// maxStates bounds the distinguished states of a thread; further ones count as other.
const maxStates = 1 << 12

// Class is a group of states.
type Class uint8

// The classes, in the order in which tables show them.
const (
	ClassScript    Class = iota // script, known or inferred
	ClassRendering              // style, layout, paint
	ClassGC
	ClassOther
	ClassIdle
	numClasses
)

var classNames = [numClasses]string{
	ClassScript: "script", ClassRendering: "rendering", ClassGC: "gc", ClassOther: "other", ClassIdle: "idle",
}

// String returns the name of the class.
func (c Class) String() string { return classNames[c] }

// stateKind is a kind of state, for reports that need more than its class.
type stateKind uint8

const (
	otherState stateKind = iota
	scriptState
	styleState
	layoutState
	paintState
	gcState
	idleState
)

// knownStates maps the names of states in traces of all formats to their kinds. Other states are of the kind
// otherState.
var knownStates = map[string]stateKind{
	timeline.StateScript:        scriptState,
	timeline.StateInferred:      scriptState,
	timeline.StateGC:            gcState,
	timeline.StateStyle:         styleState,
	timeline.StateLayout:        layoutState,
	timeline.StatePaint:         paintState,
	timeline.StateIdle:          idleState,
	producers.FirefoxScript:     scriptState,
	producers.FirefoxCollection: gcState,
	producers.FirefoxLayout:     layoutState,
	producers.FirefoxGraphics:   paintState,
	producers.FirefoxIdle:       idleState,
}

var kindClasses = [...]Class{
	otherState: ClassOther, scriptState: ClassScript, styleState: ClassRendering, layoutState: ClassRendering,
	paintState: ClassRendering, gcState: ClassGC, idleState: ClassIdle,
}

// stateNames holds the states of a thread.
type stateNames struct {
	names []string
	kinds []stateKind
	ids   map[string]stateID
}

// id returns the state with a name. It adds the state if it is new.
func (s *stateNames) id(name string) stateID {
	if id, ok := s.ids[name]; ok {
		return id
	}
	if len(s.names) == maxStates {
		return s.id(timeline.StateOther)
	}
	if s.ids == nil {
		s.ids = map[string]stateID{}
		s.id(timeline.StateOther) // there must be room for it
	}
	if id, ok := s.ids[name]; ok {
		return id
	}
	id := stateID(len(s.names))
	s.names = append(s.names, name)
	s.kinds = append(s.kinds, knownStates[name])
	s.ids[name] = id
	return id
}

func (s *stateNames) name(id stateID) string    { return s.names[id] }
func (s *stateNames) kind(id stateID) stateKind { return s.kinds[id] }
func (s *stateNames) class(id stateID) Class    { return kindClasses[s.kinds[id]] }

// metaState is a state that a frame represents, as an index into metaStates; 0: none.
type metaState uint8

var metaStates = [...]string{"", timeline.StateGC, timeline.StateProgram, timeline.StateIdle}

// metaFrames maps the pseudo-functions that V8 puts into stacks to the states that they represent.
var metaFrames = map[string]metaState{
	"(root)":              0, // the outermost frame of every stack, no state
	"(garbage collector)": 1,
	"(program)":           2,
	"(idle)":              3,
}
