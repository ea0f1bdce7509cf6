package compare

import (
	"math"
	"slices"
	"strconv"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// nameWidth is the width of names in text.
const nameWidth = 44

// Table returns the table of the selected rows. Times are per recording, or per second of a recording.
func (r *Result) Table(by By, perSecond bool, selected func(*Row) bool) *table.Table {
	rows := slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool { return !selected(&row) })
	second, kind := unit(perSecond), ""
	switch {
	case by == ByContext:
		kind = "type"
	case slices.ContainsFunc(rows, func(row Row) bool { return row.Kind != rows[0].Kind }):
		kind = "kind"
	}
	return table.New(table.Table{Name: "changes", Key: "change_ns"}, rows,
		table.Texts("kind", kind, func(row *Row) string { return row.Kind }).DropOrder(4),
		table.Names("name", by.String(), nameWidth, func(row *Row) string { return row.Name }).Noted(producers.RecorderNote),
		table.Cells(table.Column{Key: "location", Title: "location"}, func(row *Row) table.Cell {
			return table.Cell{Text: row.Location, Short: table.Elide(row.Location, nameWidth)}
		}).DropOrder(1).IfAny(),
		table.Times("base_ns", "base ms"+second, func(row *Row) timeline.Nanos { return row.BaseMedian }).DropOrder(3),
		table.Times("new_ns", "new ms"+second, func(row *Row) timeline.Nanos { return row.NewMedian }).DropOrder(2),
		table.Cells(table.Column{Key: "change_ns", Title: "change ms" + second, Kind: table.ChangeKind}, func(row *Row) table.Cell { return table.Number(row.Change) }),
		table.Cells(table.Column{Key: "change_permille", Title: "change", Kind: table.RatioKind}, ratioCell),
		table.Texts("p", "p", func(row *Row) string { return probability(row.P) }).Words().DropOrder(6).Only(r.Testable),
		table.Texts("q", "q", func(row *Row) string { return probability(row.Q) }).Words().DropOrder(5).Only(r.Testable),
		table.Texts("verdict", "verdict", func(row *Row) string { return row.Verdict.String() }).Words().Only(r.Testable),
		table.Counts("base_count", "base count"+second, (*Row).BaseCount).DropOrder(8),
		table.Counts("new_count", "new count"+second, (*Row).NewCount).DropOrder(7),
	)
}

// unit returns the suffix for the titles of time columns.
func unit(perSecond bool) string {
	if perSecond {
		return "/s"
	}
	return ""
}

func ratioCell(row *Row) table.Cell {
	switch {
	case row.Ratio != nil:
		return table.Number(int64(math.Round(min(max(*row.Ratio*1000, -1000), 1e15))))
	case row.Only == "new":
		return table.Cell{Absent: true, Short: "new"}
	}
	return table.Cell{Absent: true, Short: "from 0"}
}

// probability formats a probability as text, so that tables do not treat it as a number; "": unknown.
func probability(p *float64) string {
	if p == nil {
		return ""
	}
	return strconv.FormatFloat(*p, 'f', 4, 64)
}
