package v8profile

import "github.com/weft-trace/weft/internal/jsonscan"

// TraceIDKey is the name of the argument that holds the id under which V8 recorded an event's stack (profile-calls.md 5).
const TraceIDKey = "sampleTraceId"

// Arguments of events that may contain a TraceIDKey.
const (
	BeginDataKey = "beginData"
	DataKey      = "data"
)

// TraceIDs holds the ids of recorded stacks in the arguments of one event; 0: no id.
type TraceIDs struct {
	HasBeginData            bool // the event has a beginData argument
	BeginData, Direct, Data uint64
}

// ID returns the effective id: args.beginData.sampleTraceId if there is a beginData, otherwise args.sampleTraceId, otherwise
// args.data.sampleTraceId, or 0 if there is no id.
func (t *TraceIDs) ID() uint64 {
	switch {
	case t.HasBeginData:
		return t.BeginData
	case t.Direct != 0:
		return t.Direct
	}
	return t.Data
}

// ScanTraceIDs reads the ids in the JSON value args.
func ScanTraceIDs(s *jsonscan.Scanner, args []byte) (ids TraceIDs) {
	s.Reset(args)
	if kind, _ := s.Value(); kind != jsonscan.Object {
		return ids
	}
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		switch string(key) {
		case BeginDataKey:
			ids.HasBeginData = true
			ids.BeginData = traceIDIn(s)
		case DataKey:
			ids.Data = traceIDIn(s)
		case TraceIDKey:
			ids.Direct = unsigned(s)
		default:
			s.Skip()
		}
	}
	return ids
}

// ScanTraceID returns the id in the JSON value beginData or data, or 0.
func ScanTraceID(s *jsonscan.Scanner, value []byte) uint64 {
	s.Reset(value)
	return traceIDIn(s)
}

// traceIDIn returns the id in the next object, or 0.
func traceIDIn(s *jsonscan.Scanner) (id uint64) {
	kind, _ := s.Value()
	if kind != jsonscan.Object {
		s.SkipRest(kind)
		return 0
	}
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		if string(key) == TraceIDKey {
			id = unsigned(s)
		} else {
			s.Skip()
		}
	}
	return id
}

// unsigned returns the next value if it is an unsigned integer, otherwise 0.
func unsigned(s *jsonscan.Scanner) uint64 {
	kind, text := s.Scalar()
	if kind != jsonscan.Integer {
		return 0
	}
	n, _ := jsonscan.Uint64(text)
	return n
}
