package report

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// The tables below are in none of the text reports; only HTML pages show them.

// Table returns a table with a row for each busy thread.
func (u *Utilisation) Table() *table.Table {
	columns := []table.TypedColumn[ThreadUse]{
		table.Texts("thread", "thread", func(t *ThreadUse) string { return t.ThreadTitle() }),
		table.Texts("shows", "process or page", func(t *ThreadUse) string { return cmp.Or(t.Shows, t.ProcessTitle()) }),
		table.Times("busy_ns", "busy ms", func(t *ThreadUse) timeline.Nanos { return t.Busy }),
		table.Shares("share", func(t *ThreadUse) (part, all timeline.Nanos) { return t.Busy, u.End - u.Start }),
		table.OptionalTimes("cpu_ns", "CPU ms", func(t *ThreadUse) *timeline.Nanos { return t.CPU }).IfAny(),
	}
	for k, kind := range u.Kinds {
		columns = append(columns, table.Times(kind, kind+" ms", func(t *ThreadUse) timeline.Nanos { return t.ByKind[k] }).IfAny())
	}
	return table.New(table.Table{Name: "threads", Title: "Busy time of threads", Key: "busy_ns"}, u.Threads, columns...)
}

// Table returns a table of the functions with the most self time in the tree, at most AllRows.
func (t *StackTree) Table() *table.Table {
	type row struct {
		name string
		self timeline.Nanos
	}
	index, rows := map[string]int{}, []row{}
	for i := range t.Nodes {
		n := &t.Nodes[i]
		k, ok := index[n.Function]
		if !ok {
			k = len(rows)
			index[n.Function], rows = k, append(rows, row{name: n.Function})
		}
		rows[k].self += n.Self
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(b.self, a.self) })
	return table.New(table.Table{Name: "slices", Title: "The slices with the most self time", Key: "self_ns", All: len(rows)}, cut(rows, AllRows),
		table.Texts("name", "slice", func(r *row) string { return r.name }),
		table.Times("self_ns", "self ms", func(r *row) timeline.Nanos { return r.self }),
		table.Shares("share", func(r *row) (part, all timeline.Nanos) { return r.self, t.Total }))
}

// Table returns a table with a row for each function.
func (f *ThreadFunctions) Table() *table.Table {
	return (&ThreadSamples{ThreadID: f.ThreadID, Functions: f.Functions, FunctionCount: f.Count}).functions()
}

// maxPairs is the maximum number of thread pairs shown.
const maxPairs = 40

// Table returns a table with a row for each pair of threads, longest total delay first.
func (f *FlowPairs) Table() *table.Table {
	return table.New(table.Table{Name: "pairs", Title: "Pairs of threads", Key: "delay_ns", RowNoun: "pairs", All: len(f.Pairs)}, cut(f.Pairs, maxPairs),
		table.Texts("from", "from", func(p *FlowPair) string { return p.From.Title() }),
		table.Texts("to", "to", func(p *FlowPair) string { return p.To.Title() }),
		table.Counts("arrows", "arrows", func(p *FlowPair) int64 { return p.Arrows }),
		table.Times("delay_ns", "delays in all ms", func(p *FlowPair) timeline.Nanos { return p.Delay }),
		table.Times("median_ns", "median ms", func(p *FlowPair) timeline.Nanos { return p.Median }),
		percentiles("p95_ns", "p95 ms", func(p *FlowPair) (timeline.Nanos, int64) { return p.P95, p.Arrows }),
		table.Times("max_ns", "longest ms", func(p *FlowPair) timeline.Nanos { return p.Max }),
	)
}
