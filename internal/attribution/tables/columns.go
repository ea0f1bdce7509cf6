package tables

import (
	"encoding/json"
	"strconv"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// JSON returns the table as one line of JSON, for programs and for trace attributes.
func (t *Table) JSON() ([]byte, error) {
	text, err := json.Marshal(t)
	return jsonscan.Escape(text), err
}

// MarshalJSON writes the columns that the table has.
func (r Row) MarshalJSON() ([]byte, error) {
	out, err := json.Marshal(struct {
		ID      string   `json:"id"`
		Name    string   `json:"name"`
		Part    string   `json:"part,omitempty"`
		Class   string   `json:"class,omitempty"`
		Parent  string   `json:"parent,omitempty"`
		Members []string `json:"members,omitempty"`

		Input *InputInfo `json:"input,omitempty"`
	}{r.ID, r.Name, r.Part, r.Class, r.Parent, r.Members, r.Input})
	if err != nil {
		return nil, err
	}
	out = out[:len(out)-1]
	for i := range Columns {
		if c := &Columns[i]; c.In(&r) {
			out = strconv.AppendQuote(append(out, ','), c.Name)
			out = strconv.AppendInt(append(out, ':'), c.Value(&r), 10)
		}
	}
	out = append(out, `,"self_by_category_ns":`...)
	return append(r.SelfByCategory.appendJSON(out), '}'), nil
}

// MarshalJSON writes the nonzero times by category name.
func (b ByCategory) MarshalJSON() ([]byte, error) { return b.appendJSON(nil), nil }

func (b *ByCategory) appendJSON(out []byte) []byte {
	out = append(out, '{')
	first := true
	for c, ns := range b {
		if ns == 0 {
			continue
		}
		if !first {
			out = append(out, ',')
		}
		first = false
		out = strconv.AppendQuote(out, producers.Category(c).String())
		out = strconv.AppendInt(append(out, ':'), int64(ns), 10)
	}
	return append(out, '}')
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (b *ByCategory) UnmarshalJSON(text []byte) error {
	var byName map[string]timeline.Nanos
	if err := json.Unmarshal(text, &byName); err != nil {
		return err
	}
	for c := range b {
		b[c] = byName[producers.Category(c).String()]
	}
	return nil
}

// columnGroup is a group of columns that some tables omit together.
type columnGroup uint8

const (
	timeColumn     columnGroup = iota // in every table
	taskColumn                        // long tasks
	provokedColumn                    // triggered garbage collections
	requestColumn
	asyncColumn
)

// columnSet is a set of columnGroups.
type columnSet uint8

func (s columnSet) has(g columnGroup) bool { return s>>g&1 != 0 }

// Unit is the unit of a column.
type Unit uint8

// The units of columns.
const (
	Count Unit = iota
	Nanoseconds
	Bytes
)

// Column is a column of a table.
type Column struct {
	Name  string // ends in _ns for times
	Unit  Unit
	Value func(*Row) int64
	group columnGroup
}

// In reports whether a row's table has the column.
func (c *Column) In(r *Row) bool { return !r.lacks.has(c.group) }

// Columns lists the columns of all tables, except the self times by category.
var Columns = [...]Column{
	{"self_ns", Nanoseconds, func(r *Row) int64 { return int64(r.Self) }, timeColumn},
	{"total_ns", Nanoseconds, func(r *Row) int64 { return int64(r.Total) }, timeColumn},
	{"self_cpu_ns", Nanoseconds, func(r *Row) int64 { return int64(r.CPU) }, timeColumn},
	{"self_without_cpu_ns", Nanoseconds, func(r *Row) int64 { return int64(r.WithoutCPU) }, timeColumn},
	{"slices", Count, func(r *Row) int64 { return r.Slices }, timeColumn},
	{"instants", Count, func(r *Row) int64 { return r.Instants }, timeColumn},
	{"long_tasks", Count, func(r *Row) int64 { return r.LongTasks }, taskColumn},
	{"gc_provoked_ns", Nanoseconds, func(r *Row) int64 { return int64(r.GCProvoked) }, provokedColumn},
	{"freed_bytes", Bytes, func(r *Row) int64 { return r.Freed }, timeColumn},
	{"forced_style_ns", Nanoseconds, func(r *Row) int64 { return int64(r.ForcedStyle) }, timeColumn},
	{"forced_layout_ns", Nanoseconds, func(r *Row) int64 { return int64(r.ForcedLayout) }, timeColumn},
	{"forced_styles", Count, func(r *Row) int64 { return r.ForcedStyles }, timeColumn},
	{"forced_layouts", Count, func(r *Row) int64 { return r.ForcedLayouts }, timeColumn},
	{"requests", Count, func(r *Row) int64 { return r.Requests }, requestColumn},
	{"network_bytes", Bytes, func(r *Row) int64 { return r.NetworkBytes }, requestColumn},
	{"request_ns", Nanoseconds, func(r *Row) int64 { return int64(r.RequestTime) }, requestColumn},
	{"async_ns", Nanoseconds, func(r *Row) int64 { return int64(r.Async) }, asyncColumn},
	{"inputs", Count, func(r *Row) int64 { return r.Inputs }, timeColumn},
	{"worst_input_latency_ns", Nanoseconds, func(r *Row) int64 { return int64(r.WorstLatency) }, timeColumn},
}
