package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	engine "github.com/weft-trace/weft/internal/attribution"
	costtables "github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/words"
)

// The help texts for --by in the reports that have this flag.
const (
	costByUsage   = "group rows by `WHAT`: context, page, class, entity or type, and split them by process, thread or category, as in page,category"
	slicesByUsage = "group slices by `WHAT`: name, category, thread, process or an argument"
)

// costFlags returns the flags of "report cost" other than the flags of all reports.
func costFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "type", Usage: "print the table of one context `TYPE`: frame, page, script, entity, input, process, thread, …, or all",
			DefaultText: "the most telling one; all with --json and --csv"},
		&cli.StringFlag{Name: "by", Value: "context", Usage: "cost: " + costByUsage + ". slices: " + strings.ReplaceAll(slicesByUsage, "`", ""), DefaultText: "context; name for slices"},
		&cli.StringFlag{Name: "charge", Value: "exact", Usage: "charge the contexts that are active at each moment (`HOW` exact) or at the start of each slice (begin)"},
	}, contextFlags()...)
}

// costQuery is one call of "report cost".
type costQuery struct {
	group    costtables.GroupBy
	split    costtables.SplitBy
	typ      string   // as set; "": chosen by tables
	others   []string // other types with tables
	all      bool     // all types, the default for JSON and CSV
	limit    int
	selected *selection.Selection
}

func newCostQuery(c *cli.Context, in *reportInput, limit int) (q costQuery, err error) {
	q = costQuery{typ: c.String("type"), limit: limit, selected: in.selected}
	q.all = strings.EqualFold(q.typ, allTypes) || q.typ == "" && (c.Bool("json") || c.Bool("csv"))
	if q.group, q.split, err = costtables.ParseBy(c.String("by")); err != nil {
		return q, usagef("--by: %v", err)
	}
	return q, nil
}

// checkCosts rejects costs of many files without a type, and invalid values of --charge and --by.
func checkCosts(c *cli.Context) error {
	if takesMany(c) && c.String("type") == "" {
		return usagef("the report cost needs --type for many files: page, script, entity, frame, process, …")
	}
	if _, err := newCostQuery(c, new(reportInput), 0); err != nil {
		return err
	}
	_, err := costRules(c)
	return err
}

// withCosts attributes the selected part of an input and calls fn with the query and the tables.
func withCosts(c *cli.Context, in *reportInput, limit int, fn func(*costQuery, *costtables.Tables) error) error {
	query, err := newCostQuery(c, in, limit)
	if err != nil {
		return err
	}
	rules, err := costRules(c)
	if err != nil {
		return err
	}
	report.SelectCosts(&rules, in.selected)
	result, err := engine.Run(c.Context, in.timeline, rules)
	if err != nil {
		return fmt.Errorf("%s: %w", inputName(in.name), err)
	}
	return errors.Join(fn(&query, costtables.Of(result)), result.Close())
}

// makeCosts returns the report on the costs of contexts.
func makeCosts(c *cli.Context, in *reportInput, limit int) (r *table.Report, err error) {
	err = withCosts(c, in, limit, func(q *costQuery, costs *costtables.Tables) error {
		tables, note, err := q.tables(costs, in.timeline)
		if err != nil {
			return err
		}
		r = report.CostReport(q.heading(tables, selection.SpanOf(in.timeline)), tables)
		if r.Nothing = note; len(q.others) > 0 {
			r.Sections[0].After = []string{"More: --type all, " + printable(strings.Join(q.others, ", "))}
		}
		return nil
	})
	return r, err
}

// costRules reads the flags that control how time is charged.
func costRules(c *cli.Context) (rules engine.Rules, err error) {
	how, err := contextOptions(c)
	if err != nil {
		return rules, err
	}
	switch charge := c.String("charge"); charge {
	case "exact":
	case "begin":
		how.ChargeAtBegin = true
	default:
		return rules, unknownValue("charge", "way", charge, "exact", "begin")
	}
	return engine.RulesOf(how)
}

// tables returns the requested tables. If there are none, the note explains why.
func (q *costQuery) tables(result *costtables.Tables, tl *timeline.Timeline) (tables []*costtables.Table, note string, err error) {
	types := result.Types()
	switch {
	case !tl.Totals().Any():
		return nil, "the trace has no events", nil
	case q.typ != "" && !q.all:
		typ, err := q.findType(result)
		if err != nil {
			return nil, "", err
		}
		types = []string{typ}
	default:
		types = slices.DeleteFunc(types, func(t string) bool { return !result.CanGroup(t, q.group) })
		if !q.all && len(types) > 1 {
			types, q.others = mostUseful(result, types)
		}
	}
	switch {
	case q.selected != nil && result.Empty():
		return nil, "the selected part of the trace has no costs", nil
	case len(types) == 0 && len(result.Types()) > 0:
		return nil, fmt.Sprintf("no contexts that --by %s can group", q.group), nil
	case len(types) == 0:
		return nil, "this trace has no contexts, such as frames, scripts, input events or requests; try --type process or --type thread", nil
	}
	for _, typ := range types {
		t, err := result.Table(costtables.TableOptions{Type: typ, Group: q.group, Split: q.split, Limit: q.limit})
		if err != nil {
			return nil, "", err
		}
		tables = append(tables, t)
	}
	return tables, "", nil
}

// allTypes is the --type that requests a table for each type.
const allTypes = "all"

// mostUseful returns the type with the most useful table, and the others. The most useful type is pages if there are any,
// otherwise scripts, then frames, then the first type.
func mostUseful(result *costtables.Tables, types []string) (best, others []string) {
	which := 0
	best = []string{"Script", "Frame"}
	if result.HasPages() {
		best = []string{result.DerivedName(costtables.TypePage), "Script", "Frame"}
	}
	for _, typ := range best {
		if i := slices.Index(types, typ); i >= 0 {
			which = i
			break
		}
	}
	return types[which : which+1], slices.Delete(slices.Clone(types), which, which+1)
}

// heading states which part of the time the tables cover, and the base of their percentages.
func (q *costQuery) heading(tables []*costtables.Table, span selection.Span) string {
	if len(tables) == 0 {
		return ""
	}
	from, to := q.selected.Clip(span.Start, span.End)
	return fmt.Sprintf("from %s to %s: threads were busy for %s ms in total", table.MomentText(from-span.Start), table.MomentText(to-span.Start), table.Millis(tables[0].Busy))
}

// findType returns the requested type, and checks that its contexts can be grouped as requested.
func (q *costQuery) findType(result *costtables.Tables) (string, error) {
	all := slices.Concat(result.Types(), result.TrackTypes())
	i := typeIndex(all, q.typ)
	if i < 0 {
		i = slices.Index(all, otherTypeName(result, q.typ))
	}
	switch {
	case i < 0:
		instead := "; use " + strings.Join(all, ", ")
		if near := words.Near(q.typ, all); near != "" {
			instead = "; did you mean " + near + "?"
		}
		return "", fmt.Errorf("the trace has no contexts of type %s%s", q.typ, instead)
	case !result.CanGroup(all[i], q.group):
		return "", q.cannotGroup(result, all[i])
	}
	return all[i], nil
}

// cannotGroup returns the error for a grouping that a table does not support. It lists the supported ones.
func (q *costQuery) cannotGroup(result *costtables.Tables, typ string) error {
	if result.IsDerived(typ) {
		return usagef("--by %s: the rows of %s are groups already; leave out %[1]s", q.group, typ)
	}
	var can []string
	for by := costtables.GroupNone; by < costtables.GroupType; by++ {
		if result.CanGroup(typ, by) {
			can = append(can, by.String())
		}
	}
	return usagef("--by %s: contexts of type %s cannot be grouped this way; use %s or type", q.group, typ, strings.Join(can, ", "))
}

// otherTypeName returns the type for a synonym: a Firefox tab is a Chrome page.
func otherTypeName(result *costtables.Tables, requested string) string {
	switch strings.ToLower(requested) {
	case "input":
		return "InputEvent"
	case "tab":
		return result.DerivedName(costtables.TypePage)
	case "domain":
		return result.DerivedName(costtables.TypeEntity)
	}
	return ""
}

// typeIndex returns the index of a type, ignoring case unless a name matches exactly; -1 if there is none.
func typeIndex(types []string, requested string) int {
	if i := slices.Index(types, requested); i >= 0 {
		return i
	}
	return slices.IndexFunc(types, func(t string) bool { return strings.EqualFold(t, requested) })
}
