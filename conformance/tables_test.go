package conformance

import (
	"bufio"
	"bytes"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// row holds the unescaped cells of a table row.
type row []string

// table is one table of testdata/conformance/chrome-json/README.md. It is a multiset: the order of rows has no meaning.
type table struct {
	name    string
	columns []string
	rows    []row
}

// columnsOf holds the columns of each table.
var columnsOf = map[string][]string{
	"slices":   {"kind", "pid", "tid", "ts_ns", "dur_ns", "depth", "name", "category", "thread_ts_ns", "thread_dur_ns"},
	"flows":    {"out_kind", "out_pid", "out_tid", "out_ts_ns", "out_dur_ns", "out_name", "in_kind", "in_pid", "in_tid", "in_ts_ns", "in_dur_ns", "in_name"},
	"counters": {"pid", "name", "ts_ns", "value"},
	"threads":  {"pid", "tid", "process_name", "thread_name"},
	"args":     {"kind", "pid", "tid", "ts_ns", "dur_ns", "name", "key", "type", "value"},
}

// tableNames are the names of the tables in the order of the documentation.
var tableNames = []string{"slices", "flows", "counters", "threads", "args"}

// column returns the index of a column.
func (t *table) column(name string) int { return slices.Index(t.columns, name) }

// parseTable reads a stored table. If the rows have a column src, it drops rows with trace_processor's mistakes ("tp")
// and removes the column.
func parseTable(tb testing.TB, name string, data []byte) *table {
	tb.Helper()
	t := &table{name: name, columns: columnsOf[name]}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 16<<20)
	withSource := false
	for n := 0; lines.Scan(); n++ {
		cells := strings.Split(lines.Text(), "\t")
		if n == 0 {
			withSource = cells[0] == "src"
			if withSource {
				cells = cells[1:]
			}
			if !slices.Equal(cells, t.columns) {
				tb.Fatalf("%s: columns %q, want %q", name, cells, t.columns)
			}
			continue
		}
		if withSource {
			source := cells[0]
			if source == "tp" {
				continue
			}
			cells = cells[1:]
		}
		if len(cells) != len(t.columns) {
			tb.Fatalf("%s, line %d: %d cells, want %d", name, n+1, len(cells), len(t.columns))
		}
		for i := range cells {
			cells[i] = unescape(tb, cells[i])
		}
		t.rows = append(t.rows, cells)
	}
	if err := lines.Err(); err != nil {
		tb.Fatalf("%s: %v", name, err)
	}
	return t
}

// unescape undoes the escaping of a stored cell.
func unescape(tb testing.TB, cell string) string {
	tb.Helper()
	if !strings.Contains(cell, `\`) {
		return cell
	}
	var b strings.Builder
	for i := 0; i < len(cell); i++ {
		if cell[i] != '\\' {
			b.WriteByte(cell[i])
			continue
		}
		i++
		switch {
		case i < len(cell) && strings.IndexByte(`tnr\`, cell[i]) >= 0:
			b.WriteByte("\t\n\r\\"[strings.IndexByte(`tnr\`, cell[i])])
		case i+2 < len(cell) && cell[i] == 'x':
			c, err := strconv.ParseUint(cell[i+1:i+3], 16, 8)
			if err != nil {
				tb.Fatalf("cell %q: %v", cell, err)
			}
			b.WriteByte(byte(c))
			i += 2
		default:
			tb.Fatalf("cell %q: unknown escape", cell)
		}
	}
	return b.String()
}

// String returns the stored form of the row, for messages and as a key.
func (r row) String() string {
	var b strings.Builder
	for i, cell := range r {
		if i > 0 {
			b.WriteByte('\t')
		}
		if !strings.ContainsFunc(cell, needsEscape) {
			b.WriteString(cell)
			continue
		}
		for j := range len(cell) {
			switch c := cell[j]; {
			case c == '\t':
				b.WriteString(`\t`)
			case c == '\n':
				b.WriteString(`\n`)
			case c == '\r':
				b.WriteString(`\r`)
			case c == '\\':
				b.WriteString(`\\`)
			case c < 0x20 || c == 0x7f:
				fmt.Fprintf(&b, `\x%02x`, c)
			default:
				b.WriteByte(c)
			}
		}
	}
	return b.String()
}

func needsEscape(c rune) bool { return c < 0x20 || c == 0x7f || c == '\\' }

var replacementRun = regexp.MustCompile("\uFFFD+")

// normalize rewrites the cells of a table so that equivalent rows have equal texts.
func (t *table) normalize() {
	kinds := []int{t.column("kind"), t.column("out_kind"), t.column("in_kind")}
	for _, r := range t.rows {
		for i, cell := range r {
			if strings.Contains(cell, "\uFFFD\uFFFD") {
				r[i] = replacementRun.ReplaceAllString(cell, "\uFFFD")
			}
		}
		switch t.name {
		case "slices":
			if i := t.column("thread_dur_ns"); r[i] == "0" {
				r[i] = "" // proto cannot distinguish them
			}
		case "counters":
			r[t.column("value")] = normalizeReal(r[t.column("value")])
		case "args":
			if r[t.column("type")] == typeReal {
				r[t.column("value")] = normalizeReal(r[t.column("value")])
			}
		}
		for _, i := range kinds {
			// Which of two overlapping slices is on the lane is compared in the table of slices, where it matters.
			if i >= 0 && t.name != "slices" && r[i] == kindOverflow {
				r[i] = kindThread
			}
		}
	}
}

// normalizeReal formats a number so that equal doubles have equal texts.
func normalizeReal(cell string) string {
	v, err := strconv.ParseFloat(cell, 64)
	if err != nil {
		return "no number: " + cell
	}
	return formatReal(v)
}

// table returns one of the tables of a projection.
func (p *projection) table(name string) *table {
	t := &table{name: name, columns: columnsOf[name]}
	switch name {
	case "slices":
		for _, s := range p.shown() {
			t.rows = append(t.rows, s.row())
		}
	case "args":
		for _, s := range p.shown() {
			for _, a := range s.args.all {
				t.rows = append(t.rows, append(s.key(), a.key, a.typ, a.value))
			}
		}
	case "flows":
		for _, e := range p.edges {
			if e.out.track.kind != kindLeftOut && e.in.track.kind != kindLeftOut {
				t.rows = append(t.rows, append(e.out.key(), e.in.key()...))
			}
		}
	case "counters":
		for _, c := range p.counters {
			if c.track.kind == kindCounter {
				t.rows = append(t.rows, row{c.track.pid, c.track.name, integer(c.ts), formatReal(c.v)})
			}
		}
	case "threads":
		t.rows = p.threads()
	}
	return t
}

// key returns the columns that identify a slice in the tables of flows and arguments.
func (s *slice) key() row {
	return row{s.track.kind, s.track.pid, s.track.tid, integer(s.ts), integer(s.dur), s.name}
}

// row returns the row of a slice in the table of slices.
func (s *slice) row() row {
	depth, threadTS, threadDur := "", "", ""
	if s.track.kind == kindThread || s.track.kind == kindAsync {
		depth = strconv.Itoa(s.depth())
	}
	if s.hasThreadTS {
		threadTS = integer(s.threadTS)
		if s.hasThreadEnd {
			threadDur = integer(s.threadEnd - s.threadTS)
		}
	}
	return row{s.track.kind, s.track.pid, s.track.tid, integer(s.ts), integer(s.dur), depth, s.name, s.category, threadTS, threadDur}
}

// threads lists the threads with slices, and the processes without such threads that have other data.
func (p *projection) threads() []row {
	byID := map[[2]string]row{}
	hasThread := map[string]bool{}
	others := map[string]*track{}
	for _, s := range p.shown() {
		switch t := s.track; {
		case t.kind == kindThread || t.kind == kindOverflow:
			byID[[2]string{t.pid, t.tid}] = row{t.pid, t.tid, t.processName, t.threadName}
			hasThread[t.pid] = true
		case t.pid != "":
			others[t.pid] = t
		}
	}
	for _, c := range p.counters {
		if c.track.kind == kindCounter && c.track.pid != "" {
			others[c.track.pid] = c.track
		}
	}
	for pid, t := range others {
		if !hasThread[pid] {
			byID[[2]string{pid, ""}] = row{pid, "", t.processName, ""}
		}
	}
	var rows []row
	for _, r := range byID {
		rows = append(rows, r)
	}
	return rows
}

func integer(v int64) string { return strconv.FormatInt(v, 10) }

// differences compares two tables and returns the missing and the extra rows.
func differences(want, got *table) (missing, extra []string) {
	want.normalize()
	got.normalize()
	if want.name != "slices" {
		return multisetDifference(keys(want.rows), keys(got.rows))
	}
	missing, extra = multisetDifference(keys(baseRows(want)), keys(baseRows(got)))
	if len(missing)+len(extra) > 0 {
		return missing, extra
	}
	return placeDifferences(want, got)
}

// multisetDifference returns the sorted keys that are only in want, and only in got.
func multisetDifference(want, got []string) (missing, extra []string) {
	count := map[string]int{}
	for _, k := range want {
		count[k]++
	}
	for _, k := range got {
		count[k]--
	}
	for k, n := range count {
		for ; n > 0; n-- {
			missing = append(missing, k)
		}
		for ; n < 0; n++ {
			extra = append(extra, k)
		}
	}
	slices.Sort(missing)
	slices.Sort(extra)
	return missing, extra
}

func keys(rows []row) []string {
	all := make([]string, len(rows))
	for i, r := range rows {
		all[i] = r.String()
	}
	return all
}

// baseRows returns the rows of the slices table without the values that depend on which of two overlapping slices is in
// a lane: without depth, and with one kind for a thread and its lanes.
func baseRows(t *table) []row {
	rows := make([]row, len(t.rows))
	for i, r := range t.rows {
		rows[i] = baseRow(t, r)
	}
	return rows
}

func baseRow(t *table, r row) row {
	base := slices.Clone(r)
	base[t.column("depth")] = ""
	if base[t.column("kind")] == kindOverflow {
		base[t.column("kind")] = kindThread
	}
	return base
}

// placeDifferences compares kind and depth of otherwise equal slices. It ignores empty depths in want, and slices that
// overlap a slice in a lane of their thread, in either table.
func placeDifferences(want, got *table) (missing, extra []string) {
	lanes := map[[2]string][]interval{}
	for _, t := range []*table{want, got} {
		for _, r := range t.rows {
			if r[t.column("kind")] == kindOverflow {
				id := [2]string{r[t.column("pid")], r[t.column("tid")]}
				lanes[id] = append(lanes[id], rowInterval(t, r))
			}
		}
	}
	places := map[string][]row{} // rows of got, by base row
	for _, r := range got.rows {
		k := baseRow(got, r).String()
		places[k] = append(places[k], r)
	}
	kind, depth := want.column("kind"), want.column("depth")
	for _, anyDepth := range []bool{false, true} { // exact rows first, before empty depths match them
		for _, r := range want.rows {
			if (r[depth] == "") != anyDepth {
				continue
			}
			k := baseRow(want, r).String()
			at := slices.IndexFunc(places[k], func(g row) bool {
				return g[kind] == r[kind] && (anyDepth || g[depth] == r[depth])
			})
			if at < 0 && overlapsAny(rowInterval(want, r), lanes[[2]string{r[want.column("pid")], r[want.column("tid")]}]) {
				at = 0
			}
			if at < 0 {
				missing = append(missing, r.String())
				continue
			}
			places[k] = slices.Delete(places[k], at, at+1)
		}
	}
	for _, rest := range places {
		extra = append(extra, keys(rest)...)
	}
	slices.Sort(missing)
	slices.Sort(extra)
	return missing, extra
}

// interval is the time range of a slice; a slice of length 0 counts as one nanosecond.
type interval struct{ from, to int64 }

func rowInterval(t *table, r row) interval {
	ts, _ := strconv.ParseInt(r[t.column("ts_ns")], 10, 64)
	dur, _ := strconv.ParseInt(r[t.column("dur_ns")], 10, 64)
	switch dur {
	case unfinished:
		return interval{ts, math.MaxInt64}
	case 0:
		return interval{ts, ts + 1}
	}
	return interval{ts, ts + dur}
}

func overlapsAny(a interval, all []interval) bool {
	return slices.ContainsFunc(all, func(b interval) bool { return a.from < b.to && b.from < a.to })
}
