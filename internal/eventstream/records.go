package eventstream

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"strconv"

	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/schema/weftv1"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// Header describes the origin of a stream: weft.v1.Header without constant fields.
type Header struct {
	WeftVersion string
	Inputs      []Input
	Clock       timeline.Clocks
	Options     []string // NAME=VALUE, sorted
	Attributes  []timeline.Attribute
}

// Input is an input file of a stream.
type Input struct {
	Name, Format string
	Bytes        uint64
	SHA256       string // 64 hexadecimal digits
}

// StreamID returns Header.stream_id, which depends only on the inputs, options and versions.
func (h *Header) StreamID() string {
	hash := sha256.New()
	add := func(text string) {
		hash.Write(binary.AppendUvarint(nil, uint64(len(text))))
		hash.Write([]byte(text))
	}
	add(strconv.Itoa(Revision))
	add(h.WeftVersion)
	for _, option := range h.Options {
		add(option)
	}
	add("")
	for i := range h.Inputs {
		add(h.Inputs[i].SHA256)
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// Append appends the header as a Record preceded by its length.
func (h *Header) Append(b []byte) []byte {
	m := appendText(nil, weftv1.Header_Magic, Magic)
	m = appendString(m, weftv1.Header_WeftVersion, h.WeftVersion)
	m = wire.AppendUint(m, weftv1.Header_Revision, Revision)
	var mark int
	for i := range h.Inputs {
		in := &h.Inputs[i]
		m, mark = wire.BeginMessage(m, weftv1.Header_Inputs)
		m = appendString(m, weftv1.Input_Name, in.Name)
		m = appendString(m, weftv1.Input_Format, in.Format)
		m = appendUint(m, weftv1.Input_Bytes, in.Bytes)
		m = wire.EndMessage(appendString(m, weftv1.Input_Sha256, in.SHA256), mark)
	}
	m = appendClock(m, &h.Clock)
	for _, option := range h.Options {
		m = appendText(m, weftv1.Header_Options, option)
	}
	for i := range h.Attributes {
		a := &h.Attributes[i]
		m, mark = wire.BeginMessage(m, weftv1.Header_Attributes)
		m = appendString(m, weftv1.Arg_Key, a.Key)
		if a.IsInt {
			m = wire.AppendInt(m, weftv1.Arg_Int, a.Int)
		} else {
			m = appendText(m, weftv1.Arg_String, string(truncateText([]byte(a.Text), maxAttribute)))
		}
		m = wire.EndMessage(m, mark)
	}
	m = appendText(m, weftv1.Header_StreamID, h.StreamID())
	return appendRecord(b, weftv1.Record_Header, m)
}

// maxAttribute limits the text of an attribute, so that a header with a few hundred attributes fits in a Record.
const maxAttribute = 256 << 10

func appendClock(b []byte, c *timeline.Clocks) []byte {
	if c.Trace == 0 && len(c.Readings) == 0 {
		return b
	}
	b, mark := wire.BeginMessage(b, weftv1.Header_Clock)
	b = appendString(b, weftv1.Clock_Name, clockName(c.Trace))
	for _, r := range c.Readings {
		var inner int
		b, inner = wire.BeginMessage(b, weftv1.Clock_Readings)
		b = appendString(b, weftv1.ClockReading_Name, clockName(r.Clock))
		b = wire.EndMessage(appendInt(b, weftv1.ClockReading_TimeNS, int64(r.Time)), inner)
	}
	return wire.EndMessage(b, mark)
}

func clockName(c timeline.Clock) string {
	switch c {
	case 0:
		return ""
	case timeline.ClockRealtime:
		return "realtime"
	case timeline.ClockMonotonic:
		return "monotonic"
	case timeline.ClockBoottime:
		return "boottime"
	}
	return "clock " + strconv.FormatUint(uint64(c), 10)
}

// Cost is the cost of a context: weft.v1.Cost.
type Cost struct {
	Type, ContextID, Name, By    string
	Self, Total, CPU, CPUUnknown timeline.Nanos
	Slices                       int64
	Metrics                      []Metric
}

// Metric is another column of a cost table.
type Metric struct {
	Name  string
	Value int64
}

// Append appends the cost as a Record preceded by its length.
func (c *Cost) Append(b []byte) []byte {
	var m []byte
	m = appendString(m, weftv1.Cost_Type, c.Type)
	m = appendString(m, weftv1.Cost_ContextID, c.ContextID)
	m = appendString(m, weftv1.Cost_Name, c.Name)
	m = appendString(m, weftv1.Cost_By, c.By)
	m = appendInt(m, weftv1.Cost_SelfNS, int64(c.Self))
	m = appendInt(m, weftv1.Cost_TotalNS, int64(c.Total))
	m = appendInt(m, weftv1.Cost_CPUNS, int64(c.CPU))
	m = appendInt(m, weftv1.Cost_CPUUnknownNS, int64(c.CPUUnknown))
	m = appendInt(m, weftv1.Cost_Slices, c.Slices)
	for i := range c.Metrics {
		var mark int
		m, mark = wire.BeginMessage(m, weftv1.Cost_Metrics)
		m = appendString(m, weftv1.Metric_Name, c.Metrics[i].Name)
		m = wire.EndMessage(appendInt(m, weftv1.Metric_Value, c.Metrics[i].Value), mark)
	}
	return appendRecord(b, weftv1.Record_Cost, m)
}

// Footer summarizes the contents of a stream: weft.v1.Footer.
type Footer struct {
	Events   [resolved.KindCount + 1]uint64 // by Kind
	First    timeline.Nanos                 // start of the first event
	Last     timeline.Nanos                 // end of the last event
	Problems []Problem
	Complete bool // no further part follows
	LeftOut  uint64
}

// Problem is a kind of bad data with its number of occurrences.
type Problem struct {
	Name, Severity string
	Count          uint64
}

// Count counts an event and extends the time span to include it.
func (f *Footer) Count(row *resolved.Row) {
	begin, end := row.Item.TS, row.Item.TS
	if row.Kind == resolved.Slice && row.Item.Dur != timeline.NoTime {
		end += row.Item.Dur
	}
	if f.Total() == 0 {
		f.First, f.Last = begin, end
	}
	f.Last = max(f.Last, end)
	f.Events[row.Kind]++
}

// Total returns the number of events.
func (f *Footer) Total() (n uint64) {
	for _, count := range f.Events {
		n += count
	}
	return n
}

// Append appends the footer as a Record preceded by its length.
func (f *Footer) Append(b []byte) []byte {
	var m []byte
	var mark int
	for kind, count := range f.Events {
		if count > 0 {
			m, mark = wire.BeginMessage(m, weftv1.Footer_Events)
			m = appendUint(wire.AppendUint(m, weftv1.EventCount_Kind, uint64(kind)), weftv1.EventCount_Count, count)
			m = wire.EndMessage(m, mark)
		}
	}
	m = appendInt(m, weftv1.Footer_FirstNS, int64(f.First))
	m = appendInt(m, weftv1.Footer_LastNS, int64(f.Last))
	for _, p := range f.Problems {
		m, mark = wire.BeginMessage(m, weftv1.Footer_Problems)
		m = appendString(m, weftv1.Problem_Name, p.Name)
		m = appendString(m, weftv1.Problem_Severity, p.Severity)
		m = wire.EndMessage(appendUint(m, weftv1.Problem_Count, p.Count), mark)
	}
	if f.Complete {
		m = wire.AppendBool(m, weftv1.Footer_Complete, true)
	}
	m = appendUint(m, weftv1.Footer_LeftOut, f.LeftOut)
	return appendRecord(b, weftv1.Record_Footer, m)
}
