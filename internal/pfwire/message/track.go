package message

import (
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// TrackDescriptor is TrackDescriptor (perfetto.md 2).
type TrackDescriptor struct {
	UUID, ParentUUID         uint64
	Name                     []byte // in any of its forms
	Description              []byte
	Process, Thread, Counter []byte // a ProcessDescriptor, …; nil: none
	State                    bool
	ChromeProcess            bool // has what Chrome says of a process
	ChromeThread             bool
	ChildOrdering            uint64
	Rank                     int32
	HasRank                  bool
	MergeBehavior            uint64
	MergeKey                 []byte
	MergeKeyInt              uint64
	HasMergeKeyInt           bool   // instead of MergeKey
	Mark                     []byte // a TrackMark
}

// Parse decodes msg.
func (d *TrackDescriptor) Parse(msg []byte) error {
	*d = TrackDescriptor{}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.TrackDescriptor_UUID:
			d.UUID = r.Uint()
		case schema.TrackDescriptor_ParentUUID:
			d.ParentUUID = r.Uint()
		case schema.TrackDescriptor_Name, schema.TrackDescriptor_StaticName, schema.TrackDescriptor_AtraceName:
			d.Name = r.Bytes()
		case schema.TrackDescriptor_Description:
			d.Description = r.Bytes()
		case schema.TrackDescriptor_Process:
			d.Process = r.Bytes()
		case schema.TrackDescriptor_Thread:
			d.Thread = r.Bytes()
		case schema.TrackDescriptor_Counter:
			d.Counter = r.Bytes()
		case schema.TrackDescriptor_State:
			d.State = true
		case schema.TrackDescriptor_ChromeProcess:
			d.ChromeProcess = true
		case schema.TrackDescriptor_ChromeThread:
			d.ChromeThread = true
		case schema.TrackDescriptor_ChildOrdering:
			d.ChildOrdering = r.Uint()
		case schema.TrackDescriptor_SiblingOrderRank:
			d.Rank, d.HasRank = int32(r.Uint()), true
		case schema.TrackDescriptor_SiblingMergeBehavior:
			d.MergeBehavior = r.Uint()
		case schema.TrackDescriptor_SiblingMergeKey:
			d.MergeKey, d.HasMergeKeyInt = r.Bytes(), false
		case schema.TrackDescriptor_SiblingMergeKeyInt:
			d.MergeKeyInt, d.HasMergeKeyInt = r.Uint(), true
		case schema.TrackDescriptor_WeftMark:
			d.Mark = r.Bytes()
		}
	}
	return r.Err()
}

// ProcessDescriptor is ProcessDescriptor.
type ProcessDescriptor struct {
	PID         int32
	CommandLine [][]byte
	Name        []byte
	Labels      [][]byte
	StartNS     int64
}

// Parse decodes msg.
func (d *ProcessDescriptor) Parse(msg []byte) error {
	*d = ProcessDescriptor{CommandLine: d.CommandLine[:0], Labels: d.Labels[:0]}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.ProcessDescriptor_PID:
			d.PID = int32(r.Uint())
		case schema.ProcessDescriptor_Cmdline:
			d.CommandLine = append(d.CommandLine, r.Bytes())
		case schema.ProcessDescriptor_ProcessName:
			d.Name = r.Bytes()
		case schema.ProcessDescriptor_ProcessLabels:
			d.Labels = append(d.Labels, r.Bytes())
		case schema.ProcessDescriptor_StartTimestampNS:
			d.StartNS = r.Int()
		}
	}
	return r.Err()
}

// ThreadDescriptor is ThreadDescriptor.
type ThreadDescriptor struct {
	PID           int32
	TID           int64
	Name          []byte
	TimeUS        int64 // where the old times of events begin
	HasTime       bool
	ThreadTimeUS  int64 // where their old thread times begin
	HasThreadTime bool
}

// Parse decodes msg.
func (d *ThreadDescriptor) Parse(msg []byte) error {
	*d = ThreadDescriptor{}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.ThreadDescriptor_PID:
			d.PID = int32(r.Uint())
		case schema.ThreadDescriptor_TID:
			d.TID = r.Int()
		case schema.ThreadDescriptor_ThreadName:
			d.Name = r.Bytes()
		case schema.ThreadDescriptor_ReferenceTimestampUS:
			d.TimeUS, d.HasTime = r.Int(), true
		case schema.ThreadDescriptor_ReferenceThreadTimeUS:
			d.ThreadTimeUS, d.HasThreadTime = r.Int(), true
		}
	}
	return r.Err()
}

// CounterDescriptor is CounterDescriptor.
type CounterDescriptor struct {
	Type, Unit  uint64
	UnitName    []byte
	Multiplier  int64 // 1 if not given
	Incremental bool
	ShareKey    []byte
}

// Parse decodes msg.
func (d *CounterDescriptor) Parse(msg []byte) error {
	*d = CounterDescriptor{Multiplier: 1}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.CounterDescriptor_Type:
			d.Type = r.Uint()
		case schema.CounterDescriptor_Unit:
			d.Unit = r.Uint()
		case schema.CounterDescriptor_UnitName:
			d.UnitName = r.Bytes()
		case schema.CounterDescriptor_UnitMultiplier:
			d.Multiplier = r.Int()
		case schema.CounterDescriptor_IsIncremental:
			d.Incremental = r.Bool()
		case schema.CounterDescriptor_YAxisShareKey:
			d.ShareKey = r.Bytes()
		}
	}
	return r.Err()
}

// TrackMark is WeftTrackMark: what weft says of a track that it wrote. Fields of another wire type than weft writes are
// left out.
type TrackMark struct {
	Role    uint64
	Subject []byte
	InputID []byte // an InputID; nil: none
}

// Parse decodes msg.
func (m *TrackMark) Parse(msg []byte) error {
	*m = TrackMark{}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Tag() {
		case schema.WeftTrackMark_Role<<3 | wire.Varint:
			m.Role = r.Uint()
		case schema.WeftTrackMark_Subject<<3 | wire.Len:
			m.Subject = r.Bytes()
		case schema.WeftTrackMark_InputID<<3 | wire.Len:
			m.InputID = r.Bytes()
		}
	}
	return r.Err()
}

// InputID is WeftInputID: what the input of weft said of a process or thread.
type InputID struct {
	Number       int64
	HasNumber    bool
	Text         []byte
	TextIsNumber bool
	Name         []byte
}

// Parse decodes msg.
func (id *InputID) Parse(msg []byte) error {
	*id = InputID{}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Tag() {
		case schema.WeftInputID_Number<<3 | wire.Varint:
			id.Number, id.HasNumber = r.Int(), true
		case schema.WeftInputID_Text<<3 | wire.Len:
			id.Text = r.Bytes()
		case schema.WeftInputID_TextIsNumber<<3 | wire.Varint:
			id.TextIsNumber = r.Bool()
		case schema.WeftInputID_Name<<3 | wire.Len:
			id.Name = r.Bytes()
		}
	}
	return r.Err()
}

// ProcessTree steps through the processes and threads of a ProcessTree.
type ProcessTree struct {
	// The current entry is one of these.
	Process ProcessTreeProcess
	Thread  ProcessTreeThread

	r   wire.Reader
	err error
}

// ProcessTreeProcess is ProcessTree.Process.
type ProcessTreeProcess struct {
	PID, PPID, UID int32
	CommandLine    [][]byte
}

// ProcessTreeThread is ProcessTree.Thread.
type ProcessTreeThread struct {
	TID, PID int32
	Name     []byte
}

// NewProcessTree returns a ProcessTree that is before its first entry.
func NewProcessTree(msg []byte) ProcessTree { return ProcessTree{r: wire.NewReader(msg)} }

// Next steps to the next entry.
func (t *ProcessTree) Next() bool {
	for t.err == nil && t.r.Next() {
		switch t.r.Field() {
		case schema.ProcessTree_Processes:
			t.err = t.Process.parse(t.r.Bytes())
			return t.err == nil
		case schema.ProcessTree_Threads:
			t.err = t.Thread.parse(t.r.Bytes())
			return t.err == nil
		}
	}
	return false
}

// IsThread reports whether the current entry is a thread.
func (t *ProcessTree) IsThread() bool { return t.r.Field() == schema.ProcessTree_Threads }

// Err returns why Next stopped before the end, nil if it did not.
func (t *ProcessTree) Err() error {
	if t.err != nil {
		return t.err
	}
	return t.r.Err()
}

func (p *ProcessTreeProcess) parse(msg []byte) error {
	*p = ProcessTreeProcess{CommandLine: p.CommandLine[:0]}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.ProcessTreeProcess_PID:
			p.PID = int32(r.Uint())
		case schema.ProcessTreeProcess_PPID:
			p.PPID = int32(r.Uint())
		case schema.ProcessTreeProcess_UID:
			p.UID = int32(r.Uint())
		case schema.ProcessTreeProcess_Cmdline:
			p.CommandLine = append(p.CommandLine, r.Bytes())
		}
	}
	return r.Err()
}

func (t *ProcessTreeThread) parse(msg []byte) error {
	*t = ProcessTreeThread{}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.ProcessTreeThread_TID:
			t.TID = int32(r.Uint())
		case schema.ProcessTreeThread_TGID:
			t.PID = int32(r.Uint())
		case schema.ProcessTreeThread_Name:
			t.Name = r.Bytes()
		}
	}
	return r.Err()
}
