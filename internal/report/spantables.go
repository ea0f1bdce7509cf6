package report

import (
	"fmt"
	"strings"

	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/words"
)

// PathTable is the name of the table of the critical path.
const PathTable = "path"

// Report renders spans: tables of operations, error messages, calls between services, and the critical path.
func (r *Spans) Report() *table.Report {
	out := &table.Report{Lines: true, Head: []table.Record{table.JSON(struct {
		Table string `json:"table"`
		*Spans
	}{"summary", r})}}
	line := table.Count(r.Spans, "span") + "; " + table.Plural(r.Errors, "error", "errors")
	if r.Unfinished > 0 {
		line += fmt.Sprintf("; %s never end and take no time", table.Thousands(r.Unfinished))
	}
	out.Sections = []table.Section{{Lines: []string{line}, Tables: []*table.Table{r.operationsTable(), r.failuresTable(), r.callsTable(), r.pathTable()}}}
	if r.Spans == 0 {
		out.Nothing = "this trace has no spans of OpenTelemetry and no requests of an HTTP archive; weft report slices shows its slices"
	}
	if r.Others > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("too many rows: %s spans are in rows called %s", table.Thousands(r.Others), OthersGroup))
	}
	if r.Early > 0 {
		out.Notes = append(out.Notes, table.Plural(r.Early, "span starts before its parent", "spans start before their parents")+", as clocks differ: their time is not taken off the self time of the parent, and they do not count as calls of services")
	}
	if r.Forgotten > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("%s were forgotten before they ended: their later children count as spans without a parent", table.Count(r.Forgotten, "span")))
	}
	if r.left > 0 {
		out.Notes = append(out.Notes, fmt.Sprintf("the critical path lacks %s, for which there was no room", table.Count(r.left, "span")))
	}
	return out
}

// Tables returns All's tables of spans: the slowest archive requests, operations, failures, and calls.
func (s *AllSpans) Tables() []*table.Table {
	r := *s.Spans
	r.Operations, r.Failures, r.Calls = s.Operations, s.Failures, s.Calls
	return []*table.Table{requestsTable(r.Start, r.Slowest), r.operationsTable(), r.failuresTable(), r.callsTable()}
}

// requestsTable returns a table of the slowest requests.
func requestsTable(start timeline.Nanos, list []SpanRow) *table.Table {
	t := table.Table{Name: "requests", Title: "the slowest requests", Key: "dur_ns", RowNoun: "requests"}
	return table.New(t, list,
		table.Names("url", "request", nameWidth, func(s *SpanRow) string { return s.URL }),
		table.Moments("ts_ns", "at", start, func(s *SpanRow) timeline.Nanos { return s.Start }),
		table.Times("dur_ns", "ms", func(s *SpanRow) timeline.Nanos { return s.Length }),
		table.Times("wait_ns", "until the first byte ms", func(s *SpanRow) timeline.Nanos { return s.Wait }),
		table.Counts("bytes", "bytes", func(s *SpanRow) int64 { return s.Bytes }),
		table.Texts("message", "error", func(s *SpanRow) string { return s.Message }).IfAny(),
	)
}

func (r *Spans) operationsTable() *table.Table {
	t := table.Table{Name: "operations", Title: "operations, by self time", Key: "self_ns", RowNoun: "operations", Folding: table.RankedBy}
	return table.New(t, r.Operations,
		table.Names("service", "service", placeWidth, func(o *Operation) string { return o.Service }).WithRole(table.Group),
		table.Names("operation", "operation", nameWidth, func(o *Operation) string { return o.Operation }).WithRole(table.Group),
		table.Texts("kind", "kind", func(o *Operation) string { return o.Kind }).DropOrder(6).IfAny(),
		table.Counts("count", "count", func(o *Operation) int64 { return o.Count }).WithRole(table.Sum),
		table.Counts("errors", "errors", func(o *Operation) int64 { return o.Errors }).WithRole(table.Sum),
		table.Counts("unfinished", "", func(o *Operation) int64 { return o.Unfinished }).WithRole(table.Sum),
		table.Times("self_ns", "self ms", func(o *Operation) timeline.Nanos { return o.Self }).WithRole(table.Main),
		table.Times("total_ns", "total ms", func(o *Operation) timeline.Nanos { return o.Total }).DropOrder(3).WithRole(table.Sum),
		percentiles("p50_ns", "p50 ms", func(o *Operation) (timeline.Nanos, int64) { return o.P50, o.Count }),
		percentiles("p95_ns", "p95 ms", func(o *Operation) (timeline.Nanos, int64) { return o.P95, o.Count }),
		percentiles("p99_ns", "p99 ms", func(o *Operation) (timeline.Nanos, int64) { return o.P99, o.Count }).DropOrder(1),
		table.Times("max_ns", "max ms", func(o *Operation) timeline.Nanos { return o.Max }).DropOrder(2),
		table.Moments("max_ts_ns", "max at", r.Start, func(o *Operation) timeline.Nanos { return o.MaxAt }).DropOrder(4),
		table.Texts("max_trace_id", "trace of max", func(o *Operation) string { return o.MaxTrace }).DropOrder(5).IfAny().Words(),
	)
}

func (r *Spans) failuresTable() *table.Table {
	t := table.Table{Name: "errors", Title: "errors, by count", Key: "count", Folding: table.Grouped}
	return table.New(t, r.Failures,
		table.Names("service", "service", placeWidth, func(f *SpanFailure) string { return f.Service }).WithRole(table.Group),
		table.Names("operation", "operation", nameWidth, func(f *SpanFailure) string { return f.Operation }).WithRole(table.Group),
		table.Names("message", "message", MaxName, func(f *SpanFailure) string { return f.Message }).WithRole(table.Group),
		table.Names("url", "url", placeWidth, func(f *SpanFailure) string { return withoutQuery(f.URL) }).WithRole(table.Group).IfAny(),
		table.Counts("count", "count", func(f *SpanFailure) int64 { return f.Count }).WithRole(table.Main),
		table.Moments("first_ts_ns", "first at", r.Start, func(f *SpanFailure) timeline.Nanos { return f.First }).DropOrder(1),
		table.Texts("first_trace_id", "in trace", func(f *SpanFailure) string { return f.Trace }).DropOrder(2).IfAny().Words(),
	)
}

func (r *Spans) callsTable() *table.Table {
	t := table.Table{Name: "services", Title: "which service calls which, by number of calls", Key: "calls", Folding: table.Grouped}
	return table.New(t, r.Calls,
		table.Names("from", "from", placeWidth, func(c *ServiceCall) string { return c.From }).WithRole(table.Group),
		table.Names("to", "to", placeWidth, func(c *ServiceCall) string { return c.To }).WithRole(table.Group),
		table.Counts("calls", "calls", func(c *ServiceCall) int64 { return c.Calls }).WithRole(table.Main),
		table.Counts("errors", "errors", func(c *ServiceCall) int64 { return c.Errors }).WithRole(table.Sum),
		percentiles("p50_ns", "p50 ms", func(c *ServiceCall) (timeline.Nanos, int64) { return c.P50, c.Calls }),
		percentiles("p95_ns", "p95 ms", func(c *ServiceCall) (timeline.Nanos, int64) { return c.P95, c.Calls }),
		percentiles("p99_ns", "p99 ms", func(c *ServiceCall) (timeline.Nanos, int64) { return c.P99, c.Calls }).DropOrder(1),
		table.Times("total_ns", "total ms", func(c *ServiceCall) timeline.Nanos { return c.Total }).DropOrder(2).WithRole(table.Sum),
	)
}

func (r *Spans) pathTable() *table.Table {
	t := table.Table{Name: PathTable, Title: "critical path", Hidden: true, IgnoresLimit: true, RowNoun: "steps"}
	all := timeline.Nanos(0)
	for i := range r.Path {
		all += r.Path[i].Duration
	}
	if len(r.Path) > 0 {
		t.Title += " of trace " + words.Printable(r.Path[0].Trace)
		t.Notes = []string{"all spans of this trace: --context trace=" + words.Printable(r.Path[0].Trace)}
		if r.Path[0].Trace == "" {
			t.Title, t.Notes = "critical path", nil
		}
	}
	return table.New(t, r.Path,
		table.Moments("ts_ns", "at", r.Start, func(s *CriticalSpan) timeline.Nanos { return s.Start }),
		table.Times("dur_ns", "ms", func(s *CriticalSpan) timeline.Nanos { return s.Duration }),
		table.Shares("share", func(s *CriticalSpan) (part, of timeline.Nanos) { return s.Duration, all }),
		table.Names("service", "service", placeWidth, func(s *CriticalSpan) string { return s.Service }),
		table.Cells(table.Column{Key: "operation", Title: "operation"}, func(s *CriticalSpan) table.Cell {
			c := table.Name(s.Operation, nameWidth)
			c.Short = strings.Repeat("  ", min(s.Depth, 16)) + c.Short
			return c
		}),
		table.Counts("depth", "", func(s *CriticalSpan) int { return s.Depth }),
		table.Texts("kind", "kind", func(s *CriticalSpan) string { return s.Kind }).DropOrder(1).IfAny(),
		table.Cells(table.Column{Key: "error", Title: "error", IfAny: true}, func(s *CriticalSpan) table.Cell {
			if !s.Failed {
				return table.Cell{}
			}
			return table.Name(s.Message, MaxName)
		}),
		table.Texts("trace_id", "", func(s *CriticalSpan) string { return s.Trace }),
		table.Texts("span_id", "", func(s *CriticalSpan) string { return s.Span }),
	)
}
