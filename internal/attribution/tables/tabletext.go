package tables

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/attribution/evidence"
	"github.com/weft-trace/weft/internal/cellwidth"
	"github.com/weft-trace/weft/internal/printable"
	"github.com/weft-trace/weft/internal/timeline"
)

// JSON returns the table as one line of JSON.
func (t *Table) JSON() ([]byte, error) { return json.Marshal(t) }

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
		if c := &Columns[i]; c.Name != "" && !r.lacks.has(c.group) {
			out = strconv.AppendQuote(append(out, ','), c.Name)
			out = strconv.AppendInt(append(out, ':'), c.value(&r), 10)
		}
	}
	out = append(out, `,"self_by_category_ns":`...)
	return append(r.SelfByCategory.appendJSON(out), '}'), nil
}

// MarshalJSON writes the categories that have time, by name.
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
		out = strconv.AppendQuote(out, evidence.Category(c).String())
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
		b[c] = byName[evidence.Category(c).String()]
	}
	return nil
}

// columnGroup is a part of the columns that some tables lack.
type columnGroup uint8

const (
	timeColumn     columnGroup = iota // in every table
	taskColumn                        // long tasks
	provokedColumn                    // provoked collections
	requestColumn
	asyncColumn
)

// columnSet is a set of columnGroups.
type columnSet uint8

func (s columnSet) has(g columnGroup) bool { return s>>g&1 != 0 }

// column is a column of the text, CSV and JSON forms.
type column struct {
	Name  string // of the CSV and JSON forms; those of times end with _ns; "": not there
	title string // of the text form; "": not there
	value func(*Row) int64
	form  func(int64) string
	group columnGroup
}

var Columns = []column{
	{"self_ns", "self ms", func(r *Row) int64 { return int64(r.Self) }, millis, timeColumn},
	{"total_ns", "total ms", func(r *Row) int64 { return int64(r.Total) }, millis, timeColumn},
	{"self_cpu_ns", "CPU ms", func(r *Row) int64 { return int64(r.SelfCPU) }, millis, timeColumn},
	{"self_without_cpu_ns", "CPU unknown ms", func(r *Row) int64 { return int64(r.WithoutCPU) }, millis, timeColumn},
	{"slices", "slices", func(r *Row) int64 { return r.Slices }, count, timeColumn},
	{"instants", "", func(r *Row) int64 { return r.Instants }, count, timeColumn},
	{"long_tasks", "long tasks", func(r *Row) int64 { return r.LongTasks }, count, taskColumn},
	{"gc_provoked_ns", "provoked GC ms", func(r *Row) int64 { return int64(r.GCProvoked) }, millis, provokedColumn},
	{"freed_bytes", "freed KB", func(r *Row) int64 { return r.Freed }, kilobytes, timeColumn},
	{"", "forced ms", func(r *Row) int64 { return int64(r.ForcedStyle + r.ForcedLayout) }, millis, timeColumn},
	{"forced_style_ns", "", func(r *Row) int64 { return int64(r.ForcedStyle) }, millis, timeColumn},
	{"forced_layout_ns", "", func(r *Row) int64 { return int64(r.ForcedLayout) }, millis, timeColumn},
	{"forced_styles", "", func(r *Row) int64 { return r.ForcedStyles }, count, timeColumn},
	{"forced_layouts", "", func(r *Row) int64 { return r.ForcedLayouts }, count, timeColumn},
	{"requests", "requests", func(r *Row) int64 { return r.Requests }, count, requestColumn},
	{"network_bytes", "received KB", func(r *Row) int64 { return r.NetworkBytes }, kilobytes, requestColumn},
	{"request_ns", "", func(r *Row) int64 { return int64(r.RequestTime) }, millis, requestColumn},
	{"async_ns", "async ms", func(r *Row) int64 { return int64(r.Async) }, millis, asyncColumn},
	{"inputs", "inputs", func(r *Row) int64 { return r.Inputs }, count, timeColumn},
	{"worst_input_latency_ns", "worst latency ms", func(r *Row) int64 { return int64(r.WorstLatency) }, millis, timeColumn},
}

func millis(ns int64) string { return fmt.Sprintf("%.3f", float64(ns)/1e6) }
func count(n int64) string   { return strconv.FormatInt(n, 10) }
func kilobytes(n int64) string {
	return fmt.Sprintf("%.1f", float64(n)/1000)
}

// CSV returns the table, with a line of headings if that is asked for. All times are nanoseconds. Columns that the table does
// not have are empty; control characters are escaped.
func (t *Table) CSV(head bool) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	if head {
		if err := w.Write(csvHead()); err != nil {
			return nil, err
		}
	}
	for i := range t.Rows {
		r := &t.Rows[i]
		line := []string{t.Type, r.ID, r.Name, r.Part, r.Class, r.Parent}
		for k := range Columns {
			switch c := &Columns[k]; {
			case c.Name == "":
			case r.lacks.has(c.group):
				line = append(line, "")
			default:
				line = append(line, strconv.FormatInt(c.value(r), 10))
			}
		}
		for c := evidence.CategoryNone + 1; c < evidence.CategoryCount; c++ {
			line = append(line, strconv.FormatInt(int64(r.SelfByCategory[c]), 10))
		}
		if err := w.Write(printable.Record(line)); err != nil {
			return nil, err
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// csvHead returns the headings of the CSV form of all tables.
func csvHead() []string {
	head := []string{"type", "id", "name", "part", "class", "parent"}
	for i := range Columns {
		if Columns[i].Name != "" {
			head = append(head, Columns[i].Name)
		}
	}
	for c := evidence.CategoryNone + 1; c < evidence.CategoryCount; c++ {
		head = append(head, "self_"+c.String()+"_ns")
	}
	return head
}

// maxNameWidth is where the text form cuts names, in the middle.
const maxNameWidth = 60

// Text returns the rows for people: times in milliseconds; columns in which every row has nothing are left out. Of input
// events it says how long after the start of the trace they happened, as --from and --to of "weft report cost" count.
func (t *Table) Text() string {
	shown := []column{}
	for _, c := range Columns {
		some := c.Name == "self_ns"
		for i := range t.Rows {
			some = some || c.value(&t.Rows[i]) != 0
		}
		if c.title != "" && some {
			shown = append(shown, c)
		}
	}
	head := []string{t.Type}
	if t.group != GroupNone {
		head[0] += " by " + t.group.String()
	}
	if t.split != SplitNone {
		head = append(head, t.split.String())
	}
	first := len(head)
	haveInputs := slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Input != nil })
	if haveInputs {
		head = append(head, "at ms")
	}
	for _, c := range shown {
		head = append(head, c.title)
		if c.Name == "self_ns" {
			head = append(head, "%")
		}
	}
	lines, names := [][]string{head}, t.names()
	for i := range t.Rows {
		r := &t.Rows[i]
		line := []string{names[i]}
		if first > 1 {
			line = append(line, r.Part)
		}
		if haveInputs {
			line = append(line, t.at(r))
		}
		for _, c := range shown {
			line = append(line, c.form(c.value(r)))
			if c.Name == "self_ns" {
				line = append(line, percent(r.Self, t.Busy))
			}
		}
		lines = append(lines, line)
	}
	return align(lines, first)
}

// at returns when the input event of a row happened; "" if it is not one.
func (t *Table) at(r *Row) string {
	if r.Input == nil {
		return ""
	}
	return millis(int64(r.Input.Start - t.start))
}

// names returns what people see of the names of the rows: of several contexts that look the same with the id.
func (t *Table) names() []string {
	names, first, same := make([]string, len(t.Rows)), map[string]string{}, map[string]bool{}
	for i := range t.Rows {
		r := &t.Rows[i]
		names[i] = shorten(r.Name)
		if id, ok := first[names[i]]; !ok {
			first[names[i]] = r.ID
		} else if id != r.ID {
			same[names[i]] = true
		}
	}
	for i, name := range names {
		if same[name] {
			names[i] += " (" + t.Rows[i].ID + ")"
		}
	}
	return names
}

func percent(part, whole timeline.Nanos) string {
	if whole == 0 {
		return "0.0"
	}
	return fmt.Sprintf("%.1f", 100*float64(part)/float64(whole))
}

// shorten cuts a long name in the middle: of a url both ends say something.
func shorten(name string) string {
	if utf8.RuneCountInString(name) <= maxNameWidth {
		return name
	}
	runes := []rune(name)
	half := maxNameWidth / 2
	return string(runes[:half]) + "…" + string(runes[len(runes)-half+1:])
}

// align makes columns: the first ones of text, the others of numbers.
func align(lines [][]string, texts int) string {
	widths := make([]int, len(lines[0]))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], cellwidth.Of(cell))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		row := ""
		for i, cell := range line {
			if i < texts {
				row += cellwidth.Left(cell, widths[i]) + "  "
			} else {
				row += cellwidth.Right(cell, widths[i]) + "  "
			}
		}
		b.WriteString(strings.TrimRight(row, " ") + "\n")
	}
	return b.String()
}
