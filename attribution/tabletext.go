package attribution

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weft-trace/weft/timeline"
)

// JSON returns the table as one line of JSON.
func (t *Table) JSON() ([]byte, error) { return json.Marshal(t) }

// column is a column of the text and CSV forms.
type column struct {
	name  string // of the CSV form; those of times end with _ns; "": not there
	title string // of the text form; "": not there
	value func(*Row) int64
	form  func(int64) string
}

var columns = []column{
	{"self_ns", "self ms", func(r *Row) int64 { return int64(r.Self) }, millis},
	{"total_ns", "total ms", func(r *Row) int64 { return int64(r.Total) }, millis},
	{"self_cpu_ns", "CPU ms", func(r *Row) int64 { return int64(r.SelfCPU) }, millis},
	{"self_without_cpu_ns", "", func(r *Row) int64 { return int64(r.WithoutCPU) }, millis},
	{"slices", "slices", func(r *Row) int64 { return r.Slices }, count},
	{"instants", "", func(r *Row) int64 { return r.Instants }, count},
	{"long_tasks", "long tasks", func(r *Row) int64 { return r.LongTasks }, count},
	{"gc_provoked_ns", "GC ms", func(r *Row) int64 { return int64(r.GCProvoked) }, millis},
	{"freed_bytes", "freed KB", func(r *Row) int64 { return r.Freed }, kilobytes},
	{"", "forced ms", func(r *Row) int64 { return int64(r.ForcedStyle + r.ForcedLayout) }, millis},
	{"forced_style_ns", "", func(r *Row) int64 { return int64(r.ForcedStyle) }, millis},
	{"forced_layout_ns", "", func(r *Row) int64 { return int64(r.ForcedLayout) }, millis},
	{"forced_styles", "", func(r *Row) int64 { return r.ForcedStyles }, count},
	{"forced_layouts", "", func(r *Row) int64 { return r.ForcedLayouts }, count},
	{"requests", "requests", func(r *Row) int64 { return r.Requests }, count},
	{"network_bytes", "KB", func(r *Row) int64 { return r.NetworkBytes }, kilobytes},
	{"request_ns", "", func(r *Row) int64 { return int64(r.RequestTime) }, millis},
	{"async_ns", "async ms", func(r *Row) int64 { return int64(r.Async) }, millis},
	{"inputs", "inputs", func(r *Row) int64 { return r.Inputs }, count},
	{"worst_input_latency_ns", "latency ms", func(r *Row) int64 { return int64(r.WorstLatency) }, millis},
}

func millis(ns int64) string { return fmt.Sprintf("%.3f", float64(ns)/1e6) }
func count(n int64) string   { return strconv.FormatInt(n, 10) }
func kilobytes(n int64) string {
	return fmt.Sprintf("%.1f", float64(n)/1000)
}

// CSV returns the table, with a line of headings if that is asked for. All times are nanoseconds.
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
		for k := range columns {
			if columns[k].name != "" {
				line = append(line, strconv.FormatInt(columns[k].value(r), 10))
			}
		}
		for c := CategoryNone + 1; c < CategoryCount; c++ {
			line = append(line, strconv.FormatInt(int64(r.SelfByCategory[c]), 10))
		}
		if err := w.Write(line); err != nil {
			return nil, err
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

func csvHead() []string {
	head := []string{"type", "id", "name", "part", "class", "parent"}
	for i := range columns {
		if columns[i].name != "" {
			head = append(head, columns[i].name)
		}
	}
	for c := CategoryNone + 1; c < CategoryCount; c++ {
		head = append(head, "self_"+c.String()+"_ns")
	}
	return head
}

// maxNameWidth is where the text form cuts names, in the middle.
const maxNameWidth = 60

// Text returns the table for people: times in milliseconds; columns in which every row has nothing are left out.
func (t *Table) Text() string {
	shown := []column{}
	for _, c := range columns {
		some := c.name == "self_ns"
		for i := range t.Rows {
			some = some || c.value(&t.Rows[i]) != 0
		}
		if c.title != "" && some {
			shown = append(shown, c)
		}
	}
	head := []string{t.Type}
	if t.Split != SplitNone.String() {
		head = append(head, t.Split)
	}
	first := len(head)
	for _, c := range shown {
		head = append(head, c.title)
		if c.name == "self_ns" {
			head = append(head, "%")
		}
	}
	lines := [][]string{head}
	for i := range t.Rows {
		r := &t.Rows[i]
		line := []string{shorten(r.Name)}
		if first > 1 {
			line = append(line, r.Part)
		}
		for _, c := range shown {
			line = append(line, c.form(c.value(r)))
			if c.name == "self_ns" {
				line = append(line, percent(r.Self, t.Busy))
			}
		}
		lines = append(lines, line)
	}
	text := align(lines, first)
	if t.Omitted > 0 {
		text += fmt.Sprintf("… and %d more\n", t.Omitted)
	}
	return text
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
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		row := ""
		for i, cell := range line {
			pad := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i < texts {
				row += cell + pad
			} else {
				row += pad + cell
			}
			row += "  "
		}
		b.WriteString(strings.TrimRight(row, " ") + "\n")
	}
	return b.String()
}
