package message

import (
	"slices"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// TrackDescriptor decodes a TrackDescriptor message (perfetto.md 2).
type TrackDescriptor struct{ fields }

// Parse decodes msg.
func (d *TrackDescriptor) Parse(msg []byte) error { return d.parse(msg, schema.MessageTrackDescriptor) }

func (d *TrackDescriptor) UUID() uint64        { return d.uint(schema.TrackDescriptor_UUID) }
func (d *TrackDescriptor) ParentUUID() uint64  { return d.uint(schema.TrackDescriptor_ParentUUID) }
func (d *TrackDescriptor) Description() []byte { return d.bytes(schema.TrackDescriptor_Description) }

// Name returns the name, regardless of its form.
func (d *TrackDescriptor) Name() []byte {
	return d.bytes(d.oneof(schema.TrackDescriptor_Name, schema.TrackDescriptor_StaticName, schema.TrackDescriptor_AtraceName))
}

// Process, Thread and Counter return the encoded ProcessDescriptor, ThreadDescriptor or CounterDescriptor, or nil if it is
// missing.
func (d *TrackDescriptor) Process() []byte { return d.bytes(schema.TrackDescriptor_Process) }
func (d *TrackDescriptor) Thread() []byte  { return d.bytes(schema.TrackDescriptor_Thread) }
func (d *TrackDescriptor) Counter() []byte { return d.bytes(schema.TrackDescriptor_Counter) }

func (d *TrackDescriptor) IsState() bool          { return d.has(schema.TrackDescriptor_State) }
func (d *TrackDescriptor) HasChromeProcess() bool { return d.has(schema.TrackDescriptor_ChromeProcess) }
func (d *TrackDescriptor) HasChromeThread() bool  { return d.has(schema.TrackDescriptor_ChromeThread) }
func (d *TrackDescriptor) ChildOrdering() uint64  { return d.uint(schema.TrackDescriptor_ChildOrdering) }
func (d *TrackDescriptor) HasRank() bool          { return d.has(schema.TrackDescriptor_SiblingOrderRank) }
func (d *TrackDescriptor) Rank() int32            { return int32(d.uint(schema.TrackDescriptor_SiblingOrderRank)) }
func (d *TrackDescriptor) MergeBehavior() uint64 {
	return d.uint(schema.TrackDescriptor_SiblingMergeBehavior)
}

// MergeKey returns the merge key: a text or a number.
func (d *TrackDescriptor) MergeKey() (text []byte, number uint64, isNumber bool) {
	if d.oneof(schema.TrackDescriptor_SiblingMergeKey, schema.TrackDescriptor_SiblingMergeKeyInt) == schema.TrackDescriptor_SiblingMergeKeyInt {
		return nil, d.uint(schema.TrackDescriptor_SiblingMergeKeyInt), true
	}
	return d.bytes(schema.TrackDescriptor_SiblingMergeKey), 0, false
}

// HasMark reports whether the track has weft's mark, damaged or not.
func (d *TrackDescriptor) HasMark() bool {
	return d.has(schema.TrackDescriptor_WeftMark) || slices.Contains(d.fields.Mistyped(), schema.TrackDescriptor_WeftMark)
}

// Mistyped is like fields.Mistyped, but ignores the mark (see HasMark).
func (d *TrackDescriptor) Mistyped() []int {
	return slices.DeleteFunc(d.fields.Mistyped(), func(n int) bool { return n == schema.TrackDescriptor_WeftMark })
}

// Mark returns the encoded TrackMark of a track that weft wrote, or nil.
func (d *TrackDescriptor) Mark() []byte { return d.bytes(schema.TrackDescriptor_WeftMark) }

// ProcessDescriptor decodes a ProcessDescriptor message.
type ProcessDescriptor struct{ fields }

// Parse decodes msg.
func (d *ProcessDescriptor) Parse(msg []byte) error {
	return d.parse(msg, schema.MessageProcessDescriptor)
}

func (d *ProcessDescriptor) PID() int32            { return int32(d.uint(schema.ProcessDescriptor_PID)) }
func (d *ProcessDescriptor) CommandLine() [][]byte { return d.texts(schema.ProcessDescriptor_Cmdline) }
func (d *ProcessDescriptor) Name() []byte          { return d.bytes(schema.ProcessDescriptor_ProcessName) }
func (d *ProcessDescriptor) Labels() [][]byte      { return d.texts(schema.ProcessDescriptor_ProcessLabels) }
func (d *ProcessDescriptor) StartNS() int64        { return d.int(schema.ProcessDescriptor_StartTimestampNS) }

// ThreadDescriptor decodes a ThreadDescriptor message. TimeUS and ThreadTimeUS are the bases of relative event times in the old
// form.
type ThreadDescriptor struct{ fields }

// Parse decodes msg.
func (d *ThreadDescriptor) Parse(msg []byte) error {
	return d.parse(msg, schema.MessageThreadDescriptor)
}

func (d *ThreadDescriptor) PID() int32    { return int32(d.uint(schema.ThreadDescriptor_PID)) }
func (d *ThreadDescriptor) TID() int64    { return d.int(schema.ThreadDescriptor_TID) }
func (d *ThreadDescriptor) Name() []byte  { return d.bytes(schema.ThreadDescriptor_ThreadName) }
func (d *ThreadDescriptor) HasTime() bool { return d.has(schema.ThreadDescriptor_ReferenceTimestampUS) }
func (d *ThreadDescriptor) TimeUS() int64 { return d.int(schema.ThreadDescriptor_ReferenceTimestampUS) }
func (d *ThreadDescriptor) HasThreadTime() bool {
	return d.has(schema.ThreadDescriptor_ReferenceThreadTimeUS)
}
func (d *ThreadDescriptor) ThreadTimeUS() int64 {
	return d.int(schema.ThreadDescriptor_ReferenceThreadTimeUS)
}

// CounterDescriptor decodes a CounterDescriptor message.
type CounterDescriptor struct{ fields }

// Parse decodes msg.
func (d *CounterDescriptor) Parse(msg []byte) error {
	return d.parse(msg, schema.MessageCounterDescriptor)
}

func (d *CounterDescriptor) Type() uint64     { return d.uint(schema.CounterDescriptor_Type) }
func (d *CounterDescriptor) Unit() uint64     { return d.uint(schema.CounterDescriptor_Unit) }
func (d *CounterDescriptor) UnitName() []byte { return d.bytes(schema.CounterDescriptor_UnitName) }
func (d *CounterDescriptor) HasMultiplier() bool {
	return d.has(schema.CounterDescriptor_UnitMultiplier)
}
func (d *CounterDescriptor) Multiplier() int64 { return d.int(schema.CounterDescriptor_UnitMultiplier) }
func (d *CounterDescriptor) IsIncremental() bool {
	return d.uint(schema.CounterDescriptor_IsIncremental) != 0
}
func (d *CounterDescriptor) ShareKey() []byte { return d.bytes(schema.CounterDescriptor_YAxisShareKey) }

// TrackMark decodes a WeftTrackMark message: weft's mark on a track that it wrote.
type TrackMark struct{ fields }

// Parse decodes msg.
func (m *TrackMark) Parse(msg []byte) error { return m.parse(msg, schema.MessageWeftTrackMark) }

func (m *TrackMark) Role() uint64    { return m.uint(schema.WeftTrackMark_Role) }
func (m *TrackMark) Subject() []byte { return m.bytes(schema.WeftTrackMark_Subject) }
func (m *TrackMark) InputID() []byte { return m.bytes(schema.WeftTrackMark_InputID) }
func (m *TrackMark) Lane() uint32    { return uint32(m.uint(schema.WeftTrackMark_Lane)) }
func (m *TrackMark) Facts() [][]byte { return m.texts(schema.WeftTrackMark_Facts) }
func (m *TrackMark) IDSpace() []byte { return m.bytes(schema.WeftTrackMark_IDSpace) }
func (m *TrackMark) Input() []byte   { return m.bytes(schema.WeftTrackMark_Input) }

// RecordedPID returns the pid of a process in its recording, or false if that pid is the same as the pid in the descriptor.
func (m *TrackMark) RecordedPID() (int64, bool) {
	return m.int(schema.WeftTrackMark_RecordedPID), m.has(schema.WeftTrackMark_RecordedPID)
}

// Moved returns how much later the events of a process are than in its recording, in nanoseconds.
func (m *TrackMark) Moved() int64 { return m.int(schema.WeftTrackMark_MovedNS) }

// Fact decodes a WeftFact message: a value shared by all samples of a thread.
type Fact struct{ fields }

// Parse decodes msg.
func (f *Fact) Parse(msg []byte) error { return f.parse(msg, schema.MessageWeftFact) }

func (f *Fact) Kind() uint64    { return f.uint(schema.WeftFact_Kind) }
func (f *Fact) Samples() uint64 { return f.uint(schema.WeftFact_Samples) }
func (f *Fact) StartNS() uint64 { return f.uint(schema.WeftFact_StartNS) }
func (f *Fact) EndNS() uint64   { return f.uint(schema.WeftFact_EndNS) }

// Value returns the value as the result of its type; the other results are nil.
func (f *Fact) Value() (text []byte, number *float64, integer *int64) {
	field := f.oneof(schema.WeftFact_Integer, schema.WeftFact_Number, schema.WeftFact_Text)
	switch r := f.field(field); field {
	case schema.WeftFact_Text:
		return r.Bytes(), nil, nil
	case schema.WeftFact_Number:
		v := r.Double()
		return nil, &v, nil
	case schema.WeftFact_Integer:
		v := r.Int()
		return nil, nil, &v
	}
	return nil, nil, nil
}

// InputID decodes a WeftInputID message: the id and name of a process or thread in weft's input.
type InputID struct{ fields }

// Parse decodes msg.
func (id *InputID) Parse(msg []byte) error { return id.parse(msg, schema.MessageWeftInputID) }

func (id *InputID) HasNumber() bool    { return id.has(schema.WeftInputID_Number) }
func (id *InputID) Number() int64      { return id.int(schema.WeftInputID_Number) }
func (id *InputID) Text() []byte       { return id.bytes(schema.WeftInputID_Text) }
func (id *InputID) TextIsNumber() bool { return id.uint(schema.WeftInputID_TextIsNumber) != 0 }
func (id *InputID) Name() []byte       { return id.bytes(schema.WeftInputID_Name) }

// ProcessTree iterates over the processes and threads of a ProcessTree message.
type ProcessTree struct{ r wire.Reader }

// NewProcessTree returns a ProcessTree positioned before its first entry.
func NewProcessTree(msg []byte) ProcessTree { return ProcessTree{wire.NewReader(msg)} }

// Next advances to the next entry.
func (t *ProcessTree) Next() bool { return t.r.Next() }

// Err returns the error that stopped Next, if any.
func (t *ProcessTree) Err() error { return t.r.Err() }

// Process and Thread return the current entry, an encoded ProcessTreeProcess or ProcessTreeThread, or nil if the entry has the
// other type.
func (t *ProcessTree) Process() []byte { return t.entry(schema.ProcessTree_Processes) }
func (t *ProcessTree) Thread() []byte  { return t.entry(schema.ProcessTree_Threads) }

func (t *ProcessTree) entry(field int) []byte {
	if t.r.Field() != field {
		return nil
	}
	return t.r.Bytes()
}

// ProcessTreeProcess decodes a ProcessTree.Process message.
type ProcessTreeProcess struct{ fields }

// Parse decodes msg.
func (p *ProcessTreeProcess) Parse(msg []byte) error {
	return p.parse(msg, schema.MessageProcessTreeProcess)
}

func (p *ProcessTreeProcess) PID() int32  { return int32(p.uint(schema.ProcessTreeProcess_PID)) }
func (p *ProcessTreeProcess) PPID() int32 { return int32(p.uint(schema.ProcessTreeProcess_PPID)) }
func (p *ProcessTreeProcess) UID() int32  { return int32(p.uint(schema.ProcessTreeProcess_UID)) }
func (p *ProcessTreeProcess) CommandLine() [][]byte {
	return p.texts(schema.ProcessTreeProcess_Cmdline)
}

// ProcessTreeThread decodes a ProcessTree.Thread message.
type ProcessTreeThread struct{ fields }

// Parse decodes msg.
func (t *ProcessTreeThread) Parse(msg []byte) error {
	return t.parse(msg, schema.MessageProcessTreeThread)
}

func (t *ProcessTreeThread) TID() int32   { return int32(t.uint(schema.ProcessTreeThread_TID)) }
func (t *ProcessTreeThread) PID() int32   { return int32(t.uint(schema.ProcessTreeThread_TGID)) }
func (t *ProcessTreeThread) Name() []byte { return t.bytes(schema.ProcessTreeThread_Name) }
