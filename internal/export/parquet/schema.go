package parquet

import (
	pq "github.com/parquet-go/parquet-go"
)

// table defines the columns of the file, in the order and with the names of the fields of weft.v1.Event. The type only defines
// the schema: Writer fills the columns directly, because parquet-go v0.32.0 sometimes writes "" instead of null for optional
// fields of structs.
type table struct {
	TS          int64    `parquet:"ts_ns,delta"`
	Dur         int64    `parquet:"dur_ns,optional,dict"`
	Kind        string   `parquet:"kind,dict"`
	Name        string   `parquet:"name,optional,dict"`
	Categories  []string `parquet:"categories,list" parquet-element:",dict"`
	ID          uint64   `parquet:"id,delta"`
	ParentID    uint64   `parquet:"parent_id"`
	Depth       uint32   `parquet:"depth,dict"`
	Track       string   `parquet:"track,optional,dict"`
	PID         int64    `parquet:"pid,optional,dict"`
	TID         int64    `parquet:"tid,optional,dict"`
	ProcessName string   `parquet:"process_name,optional,dict"`
	ThreadName  string   `parquet:"thread_name,optional,dict"`
	Args        string   `parquet:"args,optional"`
	FlowsIn     []flowIn `parquet:"flows_in,list"`
	FlowsOut    []uint64 `parquet:"flows_out,list"`
	Contexts    string   `parquet:"contexts,optional,dict"`
	ThreadTS    int64    `parquet:"thread_ts_ns,optional"`
	ThreadDur   int64    `parquet:"thread_dur_ns,optional,dict"`
	IntValue    int64    `parquet:"int_value,optional,dict"`
	DoubleValue float64  `parquet:"double_value,optional"`
	Stack       string   `parquet:"stack,optional,dict"`
	AsyncID     string   `parquet:"async_id,optional,dict"`
	AsyncScope  string   `parquet:"async_scope,optional,dict"`
	Lane        uint32   `parquet:"lane,dict"`
	CPU         uint32   `parquet:"cpu,optional,dict"`
	MadeUp      uint32   `parquet:"made_up,dict"`
	Input       uint32   `parquet:"input,dict"`
	InputEvent  uint64   `parquet:"input_event"`
	InputByte   uint64   `parquet:"input_byte,optional"`
}

// flowIn is an element of flows_in.
type flowIn struct {
	ID   uint64 `parquet:"id"`
	From uint64 `parquet:"from"`
}

// The value columns, numbered as in the file: one for each column of table, two for flows_in.
const (
	colTS = iota
	colDur
	colKind
	colName
	colCategories
	colID
	colParentID
	colDepth
	colTrack
	colPID
	colTID
	colProcessName
	colThreadName
	colArgs
	colFlowsInID
	colFlowsInFrom
	colFlowsOut
	colContexts
	colThreadTS
	colThreadDur
	colIntValue
	colDoubleValue
	colStack
	colAsyncID
	colAsyncScope
	colLane
	colCPU
	colMadeUp
	colInput
	colInputEvent
	colInputByte
	columnCount
)

// newSchema returns the schema of the file.
func newSchema() *pq.Schema { return pq.NewSchema("weft.v1.Event", pq.SchemaOf(table{})) }
