package main

import (
	"fmt"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/internal/report"
)

// manyLayout is a report on phases of layout about many inputs.
func manyLayout(name string, t manyTable) manyReport {
	return manyReport{
		name: name, slices: true, lost: costProblems, add: addLayout, tables: []manyTable{t},
		says: func(sum *report.Many) string {
			switch {
			case sum.UncountedSlices > 0:
				return fmt.Sprintf("too many rows: %s slices are in none", thousands(sum.UncountedSlices))
			case len(sum.Rows(t.name)) == 0:
				return "no layout events"
			}
			return ""
		},
	}
}

func addLayout(c *cli.Context, in *reportInput, to *report.Many) error {
	choose, err := timeMode(c)
	if err != nil {
		return err
	}
	l, _, err := collectLayout(c, in)
	if err != nil {
		return err
	}
	to.AddLayout(inputName(in.name), l, choose(l))
	return nil
}

// manyLayoutCounts has a row for each phase and what began it.
func manyLayoutCounts(sum *report.Many) table {
	out := table{name: report.ManyLayoutCounts, title: "phases of layout", columns: []column{
		texts("name", "phase"), texts("place", "function"), counts("recordings", "files"), counts("count", "count"),
	}}
	rows := sum.Rows(report.ManyLayoutCounts)
	for i := range rows {
		r := &rows[i]
		out.rows = append(out.rows, []cell{nameCell(r.Name, nameWidth), nameCell(r.Place, nameWidth), countCell(int64(r.Recordings)), countCell(r.Count)})
	}
	return out
}

// manyLayoutTimes has a row for each phase.
func manyLayoutTimes(sum *report.Many) table {
	out := table{name: report.ManyLayoutTimes, title: "phases of layout, by time", key: "self_ns", columns: []column{
		texts("name", "phase"), counts("recordings", "files"), times("self_ns", "ms"), portions("mean_share_ppb", "share a file"),
		spare(1, portions("max_share_ppb", "largest")), spare(1, texts("max_share_in", "in")),
	}}
	rows := sum.Rows(report.ManyLayoutTimes)
	for i := range rows {
		r := &rows[i]
		out.rows = append(out.rows, []cell{
			nameCell(r.Name, nameWidth), countCell(int64(r.Recordings)), timeCell(r.Self), countCell(r.MeanShare), countCell(r.MaxShare), fileCell(r.MaxIn),
		})
	}
	return out
}
