package message

import (
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// Callstack is Callstack.
type Callstack struct{ FrameIIDs []uint64 } // outermost first

// Parse decodes msg.
func (c *Callstack) Parse(msg []byte) error {
	c.FrameIIDs = c.FrameIIDs[:0]
	r := wire.NewReader(msg)
	for r.Next() {
		if r.Field() == schema.Callstack_FrameIDs {
			c.FrameIIDs = appendVarints(c.FrameIIDs, &r)
		}
	}
	return r.Err()
}

// Frame is Frame, without its own id.
type Frame struct {
	FunctionIID, MappingIID, SourcePathIID uint64
	Line, Column                           uint32
	RelPC                                  uint64
	HasRelPC                               bool
	HasKind, HasKindText                   bool // says what kind of code it is
}

// Parse decodes msg.
func (f *Frame) Parse(msg []byte) error {
	*f = Frame{}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.Frame_FunctionNameID:
			f.FunctionIID = r.Uint()
		case schema.Frame_MappingID:
			f.MappingIID = r.Uint()
		case schema.Frame_SourcePathIID:
			f.SourcePathIID = r.Uint()
		case schema.Frame_LineNumber:
			f.Line = uint32(r.Uint())
		case schema.Frame_WeftColumn:
			f.Column = uint32(r.Uint())
		case schema.Frame_RelPC:
			f.RelPC, f.HasRelPC = r.Uint(), true
		case schema.Frame_Kind:
			f.HasKind = true
		case schema.Frame_KindStr:
			f.HasKindText = true
		}
	}
	return r.Err()
}

// Mapping is Mapping, without its own id.
type Mapping struct {
	BuildIDIID uint64
	PathIIDs   []uint64 // the parts of the path
	HasPlace   bool     // says where in memory or in the file it is
	Relative   bool     // weft's own: the path has no slash before its first part
}

// Parse decodes msg.
func (m *Mapping) Parse(msg []byte) error {
	*m = Mapping{PathIIDs: m.PathIIDs[:0]}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.Mapping_IID:
		case schema.Mapping_BuildID:
			m.BuildIDIID = r.Uint()
		case schema.Mapping_PathStringIDs:
			m.PathIIDs = appendVarints(m.PathIIDs, &r)
		case schema.Mapping_WeftRelative:
			m.Relative = r.Bool()
		default:
			m.HasPlace = true
		}
	}
	return r.Err()
}

// InlineFrames returns the frames of a TrackEvent.Callstack, which are InlineFrames, the outermost first.
func InlineFrames(msg []byte) List { return newList(msg, schema.TrackEventCallstack_Frames) }

// InlineFrame is TrackEvent.Callstack.Frame.
type InlineFrame struct {
	Function, File []byte
	Line           uint32
}

// Parse decodes msg.
func (f *InlineFrame) Parse(msg []byte) error {
	*f = InlineFrame{}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.TrackEventCallstackFrame_FunctionName:
			f.Function = r.Bytes()
		case schema.TrackEventCallstackFrame_SourceFile:
			f.File = r.Bytes()
		case schema.TrackEventCallstackFrame_LineNumber:
			f.Line = uint32(r.Uint())
		}
	}
	return r.Err()
}

// StackSample is StackSample. What it has is given as a message or by its iid.
type StackSample struct {
	Task         []byte // a TaskContext
	TaskIID      uint64
	Execution    []byte // an ExecutionContext
	ExecutionIID uint64
	Callstack    []byte // a Callstack
	CallstackIID uint64
	Counter      []byte // a SampleCounter: what Weight counts
	CounterIID   uint64
	Weight       uint64
	HasWeight    bool
	FollowerIIDs []uint64 // of further counters
	Other        []int    // numbers of the fields of followers, and of those beyond the fields above
}

// Parse decodes msg.
func (s *StackSample) Parse(msg []byte) error {
	*s = StackSample{FollowerIIDs: s.FollowerIIDs[:0], Other: s.Other[:0]}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.StackSample_TaskContext:
			s.Task, s.TaskIID = r.Bytes(), 0
		case schema.StackSample_TaskContextIID:
			s.Task, s.TaskIID = nil, r.Uint()
		case schema.StackSample_ExecutionContext:
			s.Execution, s.ExecutionIID = r.Bytes(), 0
		case schema.StackSample_ExecutionContextIID:
			s.Execution, s.ExecutionIID = nil, r.Uint()
		case schema.StackSample_Callstack:
			s.Callstack, s.CallstackIID = r.Bytes(), 0
		case schema.StackSample_CallstackIID:
			s.Callstack, s.CallstackIID = nil, r.Uint()
		case schema.StackSample_PrimaryDescriptor:
			s.Counter, s.CounterIID = r.Bytes(), 0
		case schema.StackSample_PrimaryDescriptorIID:
			s.Counter, s.CounterIID = nil, r.Uint()
		case schema.StackSample_PrimaryWeight:
			s.Weight, s.HasWeight = r.Uint(), true
		case schema.StackSample_FollowerDescriptorIIDs:
			s.FollowerIIDs = appendVarints(s.FollowerIIDs, &r)
			s.Other = append(s.Other, r.Field())
		default:
			s.Other = append(s.Other, r.Field())
		}
	}
	return r.Err()
}

// TaskContext is StackSample.TaskContext. Its ids are of 32 bits; here they are as they were written.
type TaskContext struct {
	PID, TID   uint64
	HasAsyncID bool
}

// Parse decodes msg.
func (c *TaskContext) Parse(msg []byte) error {
	*c = TaskContext{}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.StackSampleTaskContext_PID:
			c.PID = r.Uint()
		case schema.StackSampleTaskContext_TID:
			c.TID = r.Uint()
		case schema.StackSampleTaskContext_AsyncID:
			c.HasAsyncID = true
		}
	}
	return r.Err()
}

// ExecutionContext is StackSample.ExecutionContext.
type ExecutionContext struct {
	CPU     uint32
	HasCPU  bool
	HasMode bool
}

// Parse decodes msg.
func (c *ExecutionContext) Parse(msg []byte) error {
	*c = ExecutionContext{}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.StackSampleExecutionContext_CPU:
			c.CPU, c.HasCPU = uint32(r.Uint()), true
		case schema.StackSampleExecutionContext_Mode:
			c.HasMode = true
		}
	}
	return r.Err()
}

// SampleCounter is StackSample.CounterDescriptor, without its own id.
type SampleCounter struct {
	Name     []byte
	Unit     uint64
	UnitText []byte // instead of Unit
	Other    []int  // numbers of further fields
}

// Parse decodes msg.
func (c *SampleCounter) Parse(msg []byte) error {
	*c = SampleCounter{Other: c.Other[:0]}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.StackSampleCounterDescriptor_IID:
		case schema.StackSampleCounterDescriptor_Name:
			c.Name = r.Bytes()
		case schema.StackSampleCounterDescriptor_Unit:
			c.Unit, c.UnitText = r.Uint(), nil
		case schema.StackSampleCounterDescriptor_UnitStr:
			c.Unit, c.UnitText = 0, r.Bytes()
		default:
			c.Other = append(c.Other, r.Field())
		}
	}
	return r.Err()
}

// StackSampleDefaults is StackSampleDefaults.
type StackSampleDefaults struct {
	Source  []byte
	Counter []byte // a SampleCounter; nil: none
	Other   []int  // numbers of further fields
}

// Parse decodes msg.
func (d *StackSampleDefaults) Parse(msg []byte) error {
	*d = StackSampleDefaults{Other: d.Other[:0]}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.StackSampleDefaults_Source:
			d.Source = r.Bytes()
		case schema.StackSampleDefaults_PrimaryDescriptor:
			d.Counter = r.Bytes()
		default:
			d.Other = append(d.Other, r.Field())
		}
	}
	return r.Err()
}

// PerfSample is PerfSample.
type PerfSample struct {
	CPU          uint32
	HasCPU       bool
	PID, TID     uint32
	CallstackIID uint64
	Other        []int // numbers of further fields
}

// Parse decodes msg.
func (s *PerfSample) Parse(msg []byte) error {
	*s = PerfSample{Other: s.Other[:0]}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.PerfSample_CPU:
			s.CPU, s.HasCPU = uint32(r.Uint()), true
		case schema.PerfSample_PID:
			s.PID = uint32(r.Uint())
		case schema.PerfSample_TID:
			s.TID = uint32(r.Uint())
		case schema.PerfSample_CallstackIID:
			s.CallstackIID = r.Uint()
		default:
			s.Other = append(s.Other, r.Field())
		}
	}
	return r.Err()
}

// StreamingProfile is StreamingProfilePacket.
type StreamingProfile struct {
	CallstackIIDs []uint64
	TimeDeltasUS  []uint64 // a delta may be negative as int64
}

// Parse decodes msg.
func (p *StreamingProfile) Parse(msg []byte) error {
	p.CallstackIIDs, p.TimeDeltasUS = p.CallstackIIDs[:0], p.TimeDeltasUS[:0]
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.StreamingProfilePacket_CallstackIID:
			p.CallstackIIDs = appendVarints(p.CallstackIIDs, &r)
		case schema.StreamingProfilePacket_TimestampDeltaUS:
			p.TimeDeltasUS = appendVarints(p.TimeDeltasUS, &r)
		}
	}
	return r.Err()
}
