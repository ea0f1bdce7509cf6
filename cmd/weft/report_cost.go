package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	engine "github.com/weft-trace/weft/internal/attribution"
	costtables "github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/moment"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/suggest"
	"github.com/weft-trace/weft/internal/timeline"
)

// What --by does in the reports that have it.
const (
	costByUsage   = "group rows by `WHAT`: context, page, class, entity or type, and split them by process, thread or category, as in page,category"
	slicesByUsage = "group slices by `WHAT`: name, category, thread, process or an argument"
)

// costFlags are the flags of "report cost" beside those of all reports.
func costFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "type", Usage: "print the table of one context `TYPE`: frame, page, script, entity, input, process, thread, …, or all",
			DefaultText: "the most telling one; all with --json and --csv"},
		&cli.StringFlag{Name: "by", Value: "context", Usage: "cost: " + costByUsage + ". slices: " + strings.ReplaceAll(slicesByUsage, "`", ""), DefaultText: "context; name for slices"},
		&cli.StringFlag{Name: "charge", Value: "exact", Usage: "charge the contexts that are active at each moment (`HOW` exact) or at the begin of each slice (begin)"},
	}, contextFlags()...)
}

// costQuery is what "report cost" is asked for.
type costQuery struct {
	group    costtables.GroupBy
	split    costtables.SplitBy
	typ      string   // as set; "": as tables says
	others   []string // types that have tables as well
	all      bool     // programs get all types if they ask for none
	limit    int
	order    arrangement
	selected *selection.Selection
}

func newCostQuery(c *cli.Context) (q costQuery, err error) {
	q.typ, q.limit, q.order = c.String("type"), rowLimit(c), readArrangement(c)
	q.all = strings.EqualFold(q.typ, allTypes) || q.typ == "" && (c.Bool("json") || c.Bool("csv"))
	if q.group, q.split, err = costtables.ParseBy(c.String("by")); err != nil {
		return q, usagef("--by: %v", err)
	}
	return q, nil
}

// runCostReport prints what contexts have cost.
func runCostReport(c *cli.Context, env *environment) error {
	query, err := newCostQuery(c)
	if err != nil {
		return err
	}
	opts, err := inputOptions(c)
	if err != nil {
		return err
	}
	rules, err := costRules(c)
	if err != nil {
		return err
	}
	in, err := openReportInput(c, env, opts)
	if err != nil {
		return err
	}
	query.selected = in.selected
	in.selectCosts(&rules)
	result, err := engine.Run(c.Context, in.timeline, rules)
	if err != nil {
		return errors.Join(fmt.Errorf("%s: %w", inputName(in.name), err), in.Close())
	}
	in.printProblems(env, costProblems)
	in.printNotCounted(env, true)
	tables, note, err := query.tables(costtables.Of(result), in.timeline)
	if err = errors.Join(err, result.Close(), in.Close()); err != nil {
		return err
	}
	switch {
	case c.Bool("json"):
		printNote(env, in.name, note)
		return printCostsJSON(env, tables)
	case c.Bool("csv"):
		printNote(env, in.name, note)
		return printCostsCSV(env, tables, &query.order)
	case note != "":
		_, err := fmt.Fprintln(env.stdout, note)
		return err
	}
	return query.printCosts(env, query.heading(tables, moment.SpanOf(in.timeline)), tables)
}

// costRules reads the flags that say how time is charged.
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

// selectCosts has an attribution add up the costs of what is selected.
func (in *reportInput) selectCosts(rules *engine.Rules) {
	if rules.Cost.Window.From, rules.Cost.Window.To = in.selected.Window(); in.selected != nil {
		rules.Cost.Counts = in.selected.Head
		rules.Cost.CountsThread = func(thread timeline.TrackID) bool { return in.selected.Track(thread) && in.selected.Unnamed() }
	}
}

// tables makes the tables that were asked for. Where there are none, the note says why.
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
			types, q.others = mostTelling(result, types)
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
		if err := q.order.checkCosts(t); err != nil {
			return nil, "", err
		}
		q.order.sortCosts(t)
		tables = append(tables, t)
	}
	return tables, "", nil
}

// allTypes is the --type that asks for a table for each type.
const allTypes = "all"

// mostTelling returns the type whose table says most, and the others: the pages if there are any, else the scripts, else the
// frames, and else the first.
func mostTelling(result *costtables.Tables, types []string) (best, others []string) {
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

// heading says for people what part of the time the tables are about, and of what their percentages are.
func (q *costQuery) heading(tables []*costtables.Table, span moment.Span) string {
	if len(tables) == 0 {
		return ""
	}
	from, to := q.selected.Clip(span.Start, span.End)
	return fmt.Sprintf("from %s to %s: threads were busy for %s ms in total", span.Since(from), span.Since(to), millis(tables[0].Busy))
}

// findType returns the type that is asked for, and checks that its contexts can be grouped as that is asked for.
func (q *costQuery) findType(result *costtables.Tables) (string, error) {
	all := slices.Concat(result.Types(), result.TrackTypes())
	i := typeIndex(all, q.typ)
	if i < 0 {
		i = slices.Index(all, otherTypeName(result, q.typ))
	}
	switch {
	case i < 0:
		instead := "; use " + strings.Join(all, ", ")
		if near := suggest.Near(q.typ, all); near != "" {
			instead = "; did you mean " + near + "?"
		}
		return "", fmt.Errorf("the trace has no contexts of type %s%s", q.typ, instead)
	case !result.CanGroup(all[i], q.group):
		return "", q.cannotGroup(result, all[i])
	}
	return all[i], nil
}

// cannotGroup is the mistake of asking for rows that a table does not have. It says which rows the table can have.
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

// otherTypeName returns the type that people ask for by another name. What Firefox knows as a tab is a page of Chrome.
func otherTypeName(result *costtables.Tables, asked string) string {
	switch strings.ToLower(asked) {
	case "input":
		return "InputEvent"
	case "tab":
		return result.DerivedName(costtables.TypePage)
	case "domain":
		return result.DerivedName(costtables.TypeEntity)
	}
	return ""
}

// typeIndex returns the index of a type, whatever the case of the letters; -1 if there is none.
func typeIndex(types []string, asked string) int {
	if i := slices.Index(types, asked); i >= 0 {
		return i
	}
	return slices.IndexFunc(types, func(t string) bool { return strings.EqualFold(t, asked) })
}

// printCosts prints tables for people.
func (q *costQuery) printCosts(env *environment, heading string, tables []*costtables.Table) error {
	on := env.terminal(env.stdout)
	text := on.wrap(heading, 2) + "\n"
	for _, t := range tables {
		text += "\n" + costText(t, &q.order, on)
		if t.Omitted > 0 {
			text += fmt.Sprintf("… and %s more; --limit 0 shows all\n", thousands(t.Omitted))
		}
		if t.Limited > 0 {
			text += on.wrap(fmt.Sprintf("too many rows: %s costs are in (others) or are uncounted input events", thousands(t.Limited)), 2) + "\n"
		}
	}
	if len(q.others) > 0 {
		text += "\n" + on.wrap("More: --type all, "+printable(strings.Join(q.others, ", ")), 6) + "\n"
	}
	_, err := io.WriteString(env.stdout, text)
	return err
}

// printCostsJSON prints one line with all tables.
func printCostsJSON(env *environment, tables []*costtables.Table) error {
	if tables == nil {
		tables = []*costtables.Table{}
	}
	return writeJSON(env.stdout, tables)
}

// printNote tells people why a form for programs has nothing.
func printNote(env *environment, name, note string) {
	if note != "" {
		fmt.Fprintf(env.stderr, "%s: %s\n", printable(inputName(name)), note)
	}
}
