package message

import "github.com/weft-trace/weft/internal/schema"

// Callstack decodes a Callstack message.
type Callstack struct{ fields }

// Parse decodes msg.
func (c *Callstack) Parse(msg []byte) error { return c.parse(msg, schema.MessageCallstack) }

// AppendFrameIIDs appends the ids of the frames, outermost first.
func (c *Callstack) AppendFrameIIDs(to []uint64) []uint64 {
	return c.varints(to, schema.Callstack_FrameIDs)
}

// Frame decodes a Frame message.
type Frame struct{ fields }

// Parse decodes msg.
func (f *Frame) Parse(msg []byte) error { return f.parse(msg, schema.MessageFrame) }

func (f *Frame) FunctionIID() uint64   { return f.uint(schema.Frame_FunctionNameID) }
func (f *Frame) MappingIID() uint64    { return f.uint(schema.Frame_MappingID) }
func (f *Frame) SourcePathIID() uint64 { return f.uint(schema.Frame_SourcePathIID) }
func (f *Frame) Line() uint32          { return uint32(f.uint(schema.Frame_LineNumber)) }
func (f *Frame) Column() uint32        { return uint32(f.uint(schema.Frame_WeftColumn)) }
func (f *Frame) HasRelPC() bool        { return f.has(schema.Frame_RelPC) }
func (f *Frame) RelPC() uint64         { return f.uint(schema.Frame_RelPC) }
func (f *Frame) HasKind() bool         { return f.has(schema.Frame_Kind) }
func (f *Frame) HasKindText() bool     { return f.has(schema.Frame_KindStr) }

// Mapping decodes a Mapping message.
type Mapping struct{ fields }

// Parse decodes msg.
func (m *Mapping) Parse(msg []byte) error { return m.parse(msg, schema.MessageMapping) }

func (m *Mapping) BuildIDIID() uint64 { return m.uint(schema.Mapping_BuildID) }
func (m *Mapping) IsRelative() bool   { return m.uint(schema.Mapping_WeftRelative) != 0 }

// AppendPathIIDs appends the ids of the parts of the path.
func (m *Mapping) AppendPathIIDs(to []uint64) []uint64 {
	return m.varints(to, schema.Mapping_PathStringIDs)
}

// HasPlace reports whether the mapping has a position in memory or in the file.
func (m *Mapping) HasPlace() bool {
	return m.oneof(schema.Mapping_StartOffset, schema.Mapping_ExactOffset, schema.Mapping_Start, schema.Mapping_End, schema.Mapping_LoadBias) != 0
}

// InlineFrames returns the encoded InlineFrames of a TrackEvent.Callstack, outermost first.
func InlineFrames(msg []byte) List { return newList(msg, schema.TrackEventCallstack_Frames) }

// InlineFrame decodes a TrackEvent.Callstack.Frame message.
type InlineFrame struct{ fields }

// Parse decodes msg.
func (f *InlineFrame) Parse(msg []byte) error {
	return f.parse(msg, schema.MessageTrackEventCallstackFrame)
}

func (f *InlineFrame) Function() []byte { return f.bytes(schema.TrackEventCallstackFrame_FunctionName) }
func (f *InlineFrame) File() []byte     { return f.bytes(schema.TrackEventCallstackFrame_SourceFile) }
func (f *InlineFrame) Line() uint32 {
	return uint32(f.uint(schema.TrackEventCallstackFrame_LineNumber))
}

// StackSample decodes a StackSample message. Counter describes what Weight counts.
type StackSample struct{ fields }

// Parse decodes msg.
func (s *StackSample) Parse(msg []byte) error { return s.parse(msg, schema.MessageStackSample) }

func (s *StackSample) Task() Ref {
	return s.either(schema.StackSample_TaskContext, schema.StackSample_TaskContextIID)
}

func (s *StackSample) Execution() Ref {
	return s.either(schema.StackSample_ExecutionContext, schema.StackSample_ExecutionContextIID)
}

func (s *StackSample) Callstack() Ref {
	return s.either(schema.StackSample_Callstack, schema.StackSample_CallstackIID)
}

func (s *StackSample) Counter() Ref {
	return s.either(schema.StackSample_PrimaryDescriptor, schema.StackSample_PrimaryDescriptorIID)
}

func (s *StackSample) HasWeight() bool { return s.has(schema.StackSample_PrimaryWeight) }
func (s *StackSample) Weight() uint64  { return s.uint(schema.StackSample_PrimaryWeight) }

// AppendFollowerIIDs appends the ids of further counters.
func (s *StackSample) AppendFollowerIIDs(to []uint64) []uint64 {
	return s.varints(to, schema.StackSample_FollowerDescriptorIIDs)
}

// Other returns the numbers of all fields except task, execution, call stack, counter and weight.
func (s *StackSample) Other() []int {
	return s.beyond(1<<schema.StackSample_TaskContext | 1<<schema.StackSample_TaskContextIID |
		1<<schema.StackSample_ExecutionContext | 1<<schema.StackSample_ExecutionContextIID |
		1<<schema.StackSample_Callstack | 1<<schema.StackSample_CallstackIID |
		1<<schema.StackSample_PrimaryDescriptor | 1<<schema.StackSample_PrimaryDescriptorIID | 1<<schema.StackSample_PrimaryWeight)
}

// TaskContext decodes a StackSample.TaskContext message. Its 32-bit ids are returned as written.
type TaskContext struct{ fields }

// Parse decodes msg.
func (c *TaskContext) Parse(msg []byte) error {
	return c.parse(msg, schema.MessageStackSampleTaskContext)
}

func (c *TaskContext) PID() uint64      { return c.uint(schema.StackSampleTaskContext_PID) }
func (c *TaskContext) TID() uint64      { return c.uint(schema.StackSampleTaskContext_TID) }
func (c *TaskContext) HasAsyncID() bool { return c.has(schema.StackSampleTaskContext_AsyncID) }

// ExecutionContext decodes a StackSample.ExecutionContext message.
type ExecutionContext struct{ fields }

// Parse decodes msg.
func (c *ExecutionContext) Parse(msg []byte) error {
	return c.parse(msg, schema.MessageStackSampleExecutionContext)
}

func (c *ExecutionContext) HasCPU() bool { return c.has(schema.StackSampleExecutionContext_CPU) }
func (c *ExecutionContext) CPU() uint32 {
	return uint32(c.uint(schema.StackSampleExecutionContext_CPU))
}
func (c *ExecutionContext) HasMode() bool { return c.has(schema.StackSampleExecutionContext_Mode) }

// SampleCounter decodes a StackSample.CounterDescriptor message.
type SampleCounter struct{ fields }

// Parse decodes msg.
func (c *SampleCounter) Parse(msg []byte) error {
	return c.parse(msg, schema.MessageStackSampleCounterDescriptor)
}

func (c *SampleCounter) Name() []byte { return c.bytes(schema.StackSampleCounterDescriptor_Name) }

// Unit returns the unit: a number from the schema, or a text.
func (c *SampleCounter) Unit() (unit uint64, text []byte) {
	if c.oneof(schema.StackSampleCounterDescriptor_Unit, schema.StackSampleCounterDescriptor_UnitStr) == schema.StackSampleCounterDescriptor_Unit {
		return c.uint(schema.StackSampleCounterDescriptor_Unit), nil
	}
	return 0, c.bytes(schema.StackSampleCounterDescriptor_UnitStr)
}

// Other returns the numbers of all fields except id, name and unit.
func (c *SampleCounter) Other() []int {
	return c.beyond(1<<schema.StackSampleCounterDescriptor_IID | 1<<schema.StackSampleCounterDescriptor_Name |
		1<<schema.StackSampleCounterDescriptor_Unit | 1<<schema.StackSampleCounterDescriptor_UnitStr)
}

// StackSampleDefaults decodes a StackSampleDefaults message.
type StackSampleDefaults struct{ fields }

// Parse decodes msg.
func (d *StackSampleDefaults) Parse(msg []byte) error {
	return d.parse(msg, schema.MessageStackSampleDefaults)
}

func (d *StackSampleDefaults) Source() []byte { return d.bytes(schema.StackSampleDefaults_Source) }

// Counter returns the encoded SampleCounter, or nil if it is missing.
func (d *StackSampleDefaults) Counter() []byte {
	return d.bytes(schema.StackSampleDefaults_PrimaryDescriptor)
}

// Other returns the numbers of the other fields.
func (d *StackSampleDefaults) Other() []int {
	return d.beyond(1<<schema.StackSampleDefaults_Source | 1<<schema.StackSampleDefaults_PrimaryDescriptor)
}

// PerfSample decodes a PerfSample message.
type PerfSample struct{ fields }

// Parse decodes msg.
func (s *PerfSample) Parse(msg []byte) error { return s.parse(msg, schema.MessagePerfSample) }

func (s *PerfSample) HasCPU() bool         { return s.has(schema.PerfSample_CPU) }
func (s *PerfSample) CPU() uint32          { return uint32(s.uint(schema.PerfSample_CPU)) }
func (s *PerfSample) PID() uint32          { return uint32(s.uint(schema.PerfSample_PID)) }
func (s *PerfSample) TID() uint32          { return uint32(s.uint(schema.PerfSample_TID)) }
func (s *PerfSample) CallstackIID() uint64 { return s.uint(schema.PerfSample_CallstackIID) }

// Other returns the numbers of the other fields.
func (s *PerfSample) Other() []int {
	return s.beyond(1<<schema.PerfSample_CPU | 1<<schema.PerfSample_PID | 1<<schema.PerfSample_TID | 1<<schema.PerfSample_CallstackIID)
}

// StreamingProfile decodes a StreamingProfilePacket message.
type StreamingProfile struct{ fields }

// Parse decodes msg.
func (p *StreamingProfile) Parse(msg []byte) error {
	return p.parse(msg, schema.MessageStreamingProfilePacket)
}

func (p *StreamingProfile) AppendCallstackIIDs(to []uint64) []uint64 {
	return p.varints(to, schema.StreamingProfilePacket_CallstackIID)
}

// AppendTimeDeltasUS appends the time deltas; as int64, they can be negative.
func (p *StreamingProfile) AppendTimeDeltasUS(to []uint64) []uint64 {
	return p.varints(to, schema.StreamingProfilePacket_TimestampDeltaUS)
}
