// Package message contains the only decoder for each Perfetto message. The decoders know the fields but not their meaning: they
// neither look up interned ids nor convert times.
//
// Messages that occur by the millions in a trace are structs, which Parse overwrites, reusing the memory of their lists. Other
// messages store the positions of their fields, and have a method for each field that weft reads. Repeated messages are Lists.
// Byte slices are parts of the message. The last occurrence of a field that is not a list wins, as in Perfetto. If Parse returns
// an error, it has decoded everything before the error.
package message

import (
	"fmt"
	"math"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// TrackEvent decodes a TrackEvent message (perfetto.md 2).
type TrackEvent struct {
	Type         uint64
	TrackUUID    uint64
	HasTrackUUID bool

	Name         []byte
	NameIID      uint64
	Named        bool // has a name or the iid of one, even if it is empty
	Categories   [][]byte
	CategoryIIDs []uint64

	Values   int // number of counter values
	IsDouble bool
	Int      int64
	Double   float64

	ExtraTracks       []uint64
	ExtraValues       []uint64
	ExtraDoubleTracks []uint64
	ExtraDoubleValues []uint64 // the bits of doubles

	Flows          []uint64
	Terminating    []uint64
	OldFlows       []uint64 // in varint form, which is used if there are none in fixed64 form
	OldTerminating []uint64

	Annotations [][]byte
	Legacy      LegacyEvent // valid if HasLegacy
	HasLegacy   bool

	rareFields
	hasRare bool
}

// rareFields are the fields that few events have. They are cleared only if they were set.
type rareFields struct {
	Callstack         []byte
	CallstackIID      uint64
	CallstackWeight   float64
	HasWeight         bool
	SourceLocation    []byte
	SourceLocationIID uint64
	Task              []byte
	Log               []byte
	Screenshot        []byte
	CorrelationID     uint64
	HasCorrelationID  bool
	Correlation       []byte
	CorrelationIID    uint64

	TimeDeltaUS, TimeUS             int64
	HasTimeDelta, HasTime           bool
	ThreadTimeDeltaUS, ThreadTimeUS int64
	HasThreadTimeDelta              bool
	HasThreadTime                   bool
	Instructions                    bool // has an instruction count

	Other []Field // any other fields: extensions, and a program's own messages
}

// Field is a field that is not decoded.
type Field struct {
	Number int
	Type   int // a wire type, see package wire
	Value  uint64
	Bytes  []byte
}

// Parse decodes msg.
func (e *TrackEvent) Parse(msg []byte) error {
	e.reset()
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.TrackEvent_CategoryIIDs:
			e.CategoryIIDs = appendVarints(e.CategoryIIDs, &r)
		case schema.TrackEvent_DebugAnnotations:
			e.Annotations = append(e.Annotations, r.Bytes())
		case schema.TrackEvent_LegacyEvent:
			e.HasLegacy = true
			if err := e.Legacy.Parse(r.Bytes()); err != nil {
				return fmt.Errorf("legacy_event: %w", err)
			}
		case schema.TrackEvent_Type:
			e.Type = r.Uint()
		case schema.TrackEvent_NameIID:
			e.NameIID, e.Named = r.Uint(), true
		case schema.TrackEvent_TrackUUID:
			e.TrackUUID, e.HasTrackUUID = r.Uint(), true
		case schema.TrackEvent_ExtraCounterValues:
			e.ExtraValues = appendVarints(e.ExtraValues, &r)
		case schema.TrackEvent_Categories:
			e.Categories = append(e.Categories, r.Bytes())
		case schema.TrackEvent_Name:
			e.Name, e.Named = r.Bytes(), true
		case schema.TrackEvent_CounterValue:
			e.Values, e.Int, e.IsDouble = e.Values+1, r.Int(), false
		case schema.TrackEvent_DoubleCounterValue:
			e.Values, e.Double, e.IsDouble = e.Values+1, r.Double(), true
		case schema.TrackEvent_ExtraCounterTrackUUIDs:
			e.ExtraTracks = appendVarints(e.ExtraTracks, &r)
		case schema.TrackEvent_ExtraDoubleCounterTrackUUIDs:
			e.ExtraDoubleTracks = appendVarints(e.ExtraDoubleTracks, &r)
		case schema.TrackEvent_ExtraDoubleCounterValues:
			e.ExtraDoubleValues = appendFixed64s(e.ExtraDoubleValues, &r)
		case schema.TrackEvent_FlowIDs:
			e.Flows = appendFixed64s(e.Flows, &r)
		case schema.TrackEvent_TerminatingFlowIDs:
			e.Terminating = appendFixed64s(e.Terminating, &r)
		case schema.TrackEvent_FlowIDsOld:
			e.OldFlows = appendVarints(e.OldFlows, &r)
		case schema.TrackEvent_TerminatingFlowIDsOld:
			e.OldTerminating = appendVarints(e.OldTerminating, &r)
		default:
			e.parseRare(&r)
		}
	}
	return r.Err()
}

// reset clears the event field by field, because the compiler would build a literal elsewhere and copy it.
func (e *TrackEvent) reset() {
	e.Type, e.TrackUUID, e.HasTrackUUID = 0, 0, false
	e.Name, e.NameIID, e.Named = nil, 0, false
	e.Categories, e.CategoryIIDs = e.Categories[:0], e.CategoryIIDs[:0]
	e.Values, e.IsDouble, e.Int, e.Double = 0, false, 0, 0
	e.ExtraTracks, e.ExtraValues = e.ExtraTracks[:0], e.ExtraValues[:0]
	e.ExtraDoubleTracks, e.ExtraDoubleValues = e.ExtraDoubleTracks[:0], e.ExtraDoubleValues[:0]
	e.Flows, e.Terminating, e.OldFlows, e.OldTerminating = e.Flows[:0], e.Terminating[:0], e.OldFlows[:0], e.OldTerminating[:0]
	e.Annotations = e.Annotations[:0]
	if e.HasLegacy {
		e.Legacy, e.HasLegacy = LegacyEvent{}, false
	}
	if e.hasRare {
		e.rareFields, e.hasRare = rareFields{Other: e.Other[:0]}, false
	}
}

// parseRare decodes a field that few events have.
func (e *TrackEvent) parseRare(r *wire.Reader) {
	e.hasRare = true
	switch r.Field() {
	case schema.TrackEvent_TimestampDeltaUS:
		e.TimeDeltaUS, e.HasTimeDelta = r.Int(), true
	case schema.TrackEvent_TimestampAbsoluteUS:
		e.TimeUS, e.HasTime = r.Int(), true
	case schema.TrackEvent_ThreadTimeDeltaUS:
		e.ThreadTimeDeltaUS, e.HasThreadTimeDelta = r.Int(), true
	case schema.TrackEvent_ThreadTimeAbsoluteUS:
		e.ThreadTimeUS, e.HasThreadTime = r.Int(), true
	case schema.TrackEvent_ThreadInstructionCountDelta, schema.TrackEvent_ThreadInstructionCountAbsolute:
		e.Instructions = true
	case schema.TrackEvent_TaskExecution:
		e.Task = r.Bytes()
	case schema.TrackEvent_LogMessage:
		e.Log = r.Bytes()
	case schema.TrackEvent_Screenshot:
		e.Screenshot = r.Bytes()
	case schema.TrackEvent_SourceLocation:
		e.SourceLocation = r.Bytes()
	case schema.TrackEvent_SourceLocationIID:
		e.SourceLocationIID = r.Uint()
	case schema.TrackEvent_CorrelationID:
		e.CorrelationID, e.HasCorrelationID = r.Uint(), true
	case schema.TrackEvent_CorrelationIDStr:
		e.Correlation = r.Bytes()
	case schema.TrackEvent_CorrelationIDStrIID:
		e.CorrelationIID = r.Uint()
	case schema.TrackEvent_Callstack:
		e.Callstack = r.Bytes()
	case schema.TrackEvent_CallstackIID:
		e.CallstackIID = r.Uint()
	case schema.TrackEvent_CallstackWeight:
		e.CallstackWeight, e.HasWeight = r.Double(), true
	default:
		e.Other = append(e.Other, Field{r.Field(), r.Type(), r.Uint(), r.Bytes()})
	}
}

// IDKind is the scope of a LegacyEvent's id.
type IDKind uint8

const (
	NoID IDKind = iota
	UnscopedID
	LocalID
	GlobalID
)

// LegacyEvent decodes a TrackEvent.LegacyEvent message: the parts of Chrome's JSON phases that a TrackEvent lacks.
type LegacyEvent struct {
	NameIID          uint64 // used if the event has no name
	Phase            byte
	DurationUS       int64
	HasDuration      bool
	ThreadDurationUS int64
	HasThreadTime    bool
	ID               uint64
	IDKind           IDKind
	Scope            []byte
	BindID           uint64
	HasBindID        bool
	BindToEnclosing  bool
	FlowDirection    uint64
	InstantScope     uint64
	PID              int32
	HasPID           bool
	TID              int64
	HasTID           bool
	Instructions     bool // has an instruction count
}

// Parse decodes msg.
func (l *LegacyEvent) Parse(msg []byte) error {
	*l = LegacyEvent{}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.TrackEventLegacyEvent_NameIID:
			l.NameIID = r.Uint()
		case schema.TrackEventLegacyEvent_Phase:
			l.Phase = byte(min(r.Uint(), math.MaxUint8))
		case schema.TrackEventLegacyEvent_DurationUS:
			l.DurationUS, l.HasDuration = r.Int(), true
		case schema.TrackEventLegacyEvent_ThreadDurationUS:
			l.ThreadDurationUS, l.HasThreadTime = r.Int(), true
		case schema.TrackEventLegacyEvent_UnscopedID:
			l.ID, l.IDKind = r.Uint(), UnscopedID
		case schema.TrackEventLegacyEvent_LocalID:
			l.ID, l.IDKind = r.Uint(), LocalID
		case schema.TrackEventLegacyEvent_GlobalID:
			l.ID, l.IDKind = r.Uint(), GlobalID
		case schema.TrackEventLegacyEvent_IDScope:
			l.Scope = r.Bytes()
		case schema.TrackEventLegacyEvent_BindID:
			l.BindID, l.HasBindID = r.Uint(), true
		case schema.TrackEventLegacyEvent_BindToEnclosing:
			l.BindToEnclosing = r.Bool()
		case schema.TrackEventLegacyEvent_FlowDirection:
			l.FlowDirection = r.Uint()
		case schema.TrackEventLegacyEvent_InstantEventScope:
			l.InstantScope = r.Uint()
		case schema.TrackEventLegacyEvent_PIDOverride:
			l.PID, l.HasPID = int32(r.Uint()), true
		case schema.TrackEventLegacyEvent_TIDOverride:
			l.TID, l.HasTID = r.Int(), true
		case schema.TrackEventLegacyEvent_ThreadInstructionDelta:
			l.Instructions = true
		}
	}
	return r.Err()
}

// TaskExecution decodes a TaskExecution message.
type TaskExecution struct{ fields }

// Parse decodes msg.
func (t *TaskExecution) Parse(msg []byte) error { return t.parse(msg, schema.MessageTaskExecution) }

func (t *TaskExecution) PostedFromIID() uint64 { return t.uint(schema.TaskExecution_PostedFromIID) }

// LogMessage decodes a LogMessage message.
type LogMessage struct{ fields }

// Parse decodes msg.
func (l *LogMessage) Parse(msg []byte) error { return l.parse(msg, schema.MessageLogMessage) }

func (l *LogMessage) SourceLocationIID() uint64 { return l.uint(schema.LogMessage_SourceLocationIID) }
func (l *LogMessage) BodyIID() uint64           { return l.uint(schema.LogMessage_BodyIID) }
func (l *LogMessage) HasPriority() bool         { return l.has(schema.LogMessage_Prio) }
func (l *LogMessage) Priority() uint64          { return l.uint(schema.LogMessage_Prio) }

// Screenshot decodes a Screenshot message. JPEG is nil if it is missing.
type Screenshot struct{ fields }

// Parse decodes msg.
func (s *Screenshot) Parse(msg []byte) error { return s.parse(msg, schema.MessageScreenshot) }

func (s *Screenshot) JPEG() []byte { return s.bytes(schema.Screenshot_JpgImage) }

// Other returns the numbers of the fields that are not decoded.
func (s *Screenshot) Other() []int { return s.beyond(1 << schema.Screenshot_JpgImage) }

// SourceLocation decodes a SourceLocation message. File and Function are nil if they are missing.
type SourceLocation struct{ fields }

// Parse decodes msg.
func (l *SourceLocation) Parse(msg []byte) error { return l.parse(msg, schema.MessageSourceLocation) }

func (l *SourceLocation) File() []byte     { return l.bytes(schema.SourceLocation_FileName) }
func (l *SourceLocation) Function() []byte { return l.bytes(schema.SourceLocation_FunctionName) }
func (l *SourceLocation) HasLine() bool    { return l.has(schema.SourceLocation_LineNumber) }
func (l *SourceLocation) Line() int64      { return l.int(schema.SourceLocation_LineNumber) }
