package compare

import (
	"cmp"
	"slices"
	"unique"

	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// Tree sorts call rows in tree order: each row is followed by its callees, the largest by size first.
func (r *Result) Tree(size func(*Row) timeline.Nanos) {
	callees := map[unique.Handle[Key]][]Row{}
	slices.SortFunc(r.Rows, func(a, b Row) int { return cmp.Or(cmp.Compare(size(&b), size(&a)), compareKeys(a.key, b.key)) })
	for _, row := range r.Rows {
		callees[row.key.Caller] = append(callees[row.key.Caller], row)
	}
	r.Rows = r.Rows[:0]
	var add func(caller unique.Handle[Key])
	add = func(caller unique.Handle[Key]) { // the depth of call trees is bounded
		for _, row := range callees[caller] {
			r.Rows = append(r.Rows, row)
			add(unique.Make(row.key))
		}
	}
	add(unique.Handle[Key]{})
}

// largest returns the selected rows of a tree with the largest changes, up to a limit (0: all), with their callers, in tree order.
func (r *Result) largest(selected func(*Row) bool, limit int) (rows []Row, all int) {
	order := []int{}
	for i := range r.Rows {
		if selected(&r.Rows[i]) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.Rows[b].Size(), r.Rows[a].Size()) })
	keep, n := make([]bool, len(r.Rows)), 0
	for _, at := range order {
		if limit > 0 && n >= limit {
			break
		}
		for depth := r.Rows[at].Depth + 1; depth > 0 && at >= 0; at-- {
			if row := &r.Rows[at]; row.Depth < depth {
				depth = row.Depth
				if !keep[at] {
					keep[at] = true
					n++
				}
			}
		}
	}
	for i := range r.Rows {
		if keep[i] {
			rows = append(rows, r.Rows[i])
		}
	}
	return rows, max(len(order), n)
}

// TreeTable returns the table of a tree with its largest changes, up to a limit; 0: all.
func (r *Result) TreeTable(perSecond bool, selected func(*Row) bool, limit int) *table.Table {
	rows, all := r.largest(selected, limit)
	largest := timeline.Nanos(0)
	for i := range rows {
		largest = max(largest, rows[i].Size())
	}
	second := unit(perSecond)
	return table.New(table.Table{Name: "tree", RowNoun: "functions", All: all}, rows,
		table.Times("base_ns", "base ms"+second, func(row *Row) timeline.Nanos { return row.BaseMedian }).DropOrder(3),
		table.Times("new_ns", "new ms"+second, func(row *Row) timeline.Nanos { return row.NewMedian }).DropOrder(2),
		table.Cells(table.Column{Key: "change_ns", Title: "change ms" + second, Kind: table.ChangeKind}, func(row *Row) table.Cell { return table.Number(row.Change) }),
		table.Shares("of largest", func(row *Row) (part, all timeline.Nanos) { return row.Size(), largest }).DropOrder(1),
		table.Cells(table.Column{Key: "change_permille", Title: "change", Kind: table.RatioKind}, ratioCell),
		table.Texts("verdict", "verdict", func(row *Row) string { return row.Verdict.String() }).Words().Only(r.Testable),
		table.Counts("depth", "", func(row *Row) int { return row.Depth }),
		table.Nested("function", "function", nameWidth, func(row *Row) (string, int) { return row.Name, row.Depth }),
		table.Texts("location", "location", func(row *Row) string { return row.Location }).DropOrder(4),
	)
}
