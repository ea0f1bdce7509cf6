package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	engine "github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/attribution/cost"
	"github.com/weft-trace/weft/internal/attribution/options"
	costtables "github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/bridge"
	"github.com/weft-trace/weft/internal/suggest"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
)

// costFlags are the flags of "report cost" beside those of all reports.
func costFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "type", Usage: "print the table of one context `TYPE`: frame, page, script, entity, input, process, thread, …",
			DefaultText: "a table per context type"},
		&cli.StringFlag{Name: "by", Value: "context", Usage: "group rows by `WHAT`: context, page, class, entity or type, and split them by process, thread or category, as in page,category. For slices: name, category, thread, process or an argument", DefaultText: "context; name for slices"},
		&cli.StringFlag{Name: "from", Usage: "count from `TIME` after the start of the trace: 1.5s, 300ms", DefaultText: "the start"},
		&cli.StringFlag{Name: "to", Usage: "count up to `TIME` after the start of the trace", DefaultText: "the end"},
		&cli.StringFlag{Name: "charge", Value: "exact", Usage: "charge the contexts that are active at each moment (`HOW` exact) or at the begin of each slice (begin)"},
	}, contextFlags()...)
}

// costQuery is what "report cost" is asked for.
type costQuery struct {
	group  costtables.GroupBy
	split  costtables.SplitBy
	typ    string // as set; "": all
	limit  int
	window options.Window // from the start of the trace
}

func newCostQuery(c *cli.Context) (q costQuery, err error) {
	q.typ, q.limit = c.String("type"), rowLimit(c)
	if q.group, q.split, err = costtables.ParseBy(c.String("by")); err != nil {
		return q, usagef("--by: %v", err)
	}
	if q.window.From, err = windowTime(c, "from"); err != nil {
		return q, err
	}
	if q.window.To, err = windowTime(c, "to"); err != nil {
		return q, err
	}
	switch {
	case !c.IsSet("to") || q.window.To > q.window.From:
	case q.window.From > 0:
		return q, usagef("--to: %s is not after --from %s", c.String("to"), c.String("from"))
	default:
		return q, usagef("--to: %s is not after the start of the trace", c.String("to"))
	}
	return q, nil
}

// windowTime reads --from or --to of a report: a time after the start of the trace, 0 if the flag is not set.
func windowTime(c *cli.Context, name string) (timeline.Nanos, error) {
	text := c.String(name)
	if !c.IsSet(name) {
		return 0, nil
	}
	if slices.Contains(convert.Formats(), convert.Format(text)) {
		return 0, usagef("--%s: %s is an input format; use --format %s. In reports, --from and --to are times", name, text, text)
	}
	t, err := parseMoment(strings.TrimPrefix(text, "+"), 0)
	if err != nil {
		return 0, usagef("--%s: %v", name, err)
	}
	return t, nil
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
	if opts.Attribute, err = contextOptions(c); err != nil {
		return err
	}
	opts.Attribute.From, opts.Attribute.To, opts.Attribute.FromStart = trace.Nanos(query.window.From), trace.Nanos(query.window.To), true
	switch charge := c.String("charge"); charge {
	case "exact":
	case "begin":
		opts.Attribute.ChargeAtBegin = true
	default:
		return unknownValue("charge", "way", charge, "exact", "begin")
	}
	name := c.Args().Get(1)
	src, err := openInput(c.Context, env, name)
	if err != nil {
		return err
	}
	defer src.Close()
	rules, err := options.Options[attribution.Via, attribution.FlowConflict, trace.Nanos](*opts.Attribute).Rules()
	if err != nil {
		return err
	}
	opts.Attribute = nil // here it is asked, not written
	progress := startProgress(env, inputName(name), src.size, true)
	tr, err := convert.Open(c.Context, progress.reader(src), opts)
	var result *cost.Result
	if err == nil {
		if result, err = engine.Run(c.Context, bridge.Timeline(tr), rules); err != nil {
			err = errors.Join(err, tr.Close())
		}
	}
	progress.Stop()
	if err != nil {
		return fmt.Errorf("%s: %w", inputName(name), withoutPath(err))
	}
	printProblems(env, name, tr, costProblems)
	span := spanOf(tr)
	tables, note, err := query.tables(costtables.Of(result), span)
	if err = errors.Join(err, result.Close(), tr.Close()); err != nil {
		return err
	}
	switch {
	case c.Bool("json"):
		printNote(env, name, note)
		return printCostsJSON(env, tables)
	case c.Bool("csv"):
		printNote(env, name, note)
		return printCostsCSV(env, tables)
	case note != "":
		_, err := fmt.Fprintln(env.stdout, note)
		return err
	}
	return printCosts(env, query.heading(tables, span), tables)
}

// timeSpan is the time from the first event of a trace to the last one.
type timeSpan struct {
	from, to trace.Nanos
	empty    bool // there are no events
}

func spanOf(tr *trace.Trace) timeSpan {
	s := tr.Summary()
	return timeSpan{s.Start, s.End, s.Slices+s.Instants+s.CounterValues+s.Samples == 0}
}

// tables makes the tables that were asked for. Where there are none, the note says why.
func (q *costQuery) tables(result *costtables.Tables, span timeSpan) (tables []*costtables.Table, note string, err error) {
	types := result.Types()
	switch {
	case span.empty:
		return nil, "the trace has no events", nil
	case q.typ != "":
		typ, err := q.findType(result)
		if err != nil {
			return nil, "", err
		}
		types = []string{typ}
	default:
		types = slices.DeleteFunc(types, func(t string) bool { return !result.CanGroup(t, q.group) })
	}
	switch {
	case q.window != (options.Window{}) && result.Empty():
		length := timeline.Nanos(span.to - span.from)
		return nil, fmt.Sprintf("nothing happens in that time; the trace spans 0 to %s ms", millis(length)), nil
	case len(types) == 0 && len(result.Types()) > 0:
		return nil, fmt.Sprintf("no contexts that --by %s can group", q.group), nil
	case len(types) == 0:
		return nil, "this trace has no contexts, such as frames, scripts or input events; try --type process or --type thread", nil
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

// heading says for people what a part of the time the tables are about, and of what their percentages are.
func (q *costQuery) heading(tables []*costtables.Table, span timeSpan) string {
	if len(tables) == 0 {
		return ""
	}
	from, to := q.window.From, timeline.Nanos(span.to-span.from)
	if q.window.To > 0 {
		to = min(to, q.window.To)
	}
	return fmt.Sprintf("from %s to %s ms: threads were busy for %s ms in total", millis(from), millis(to), millis(tables[0].Busy))
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
func printCosts(env *environment, heading string, tables []*costtables.Table) error {
	text := heading + "\n"
	for _, t := range tables {
		text += "\n" + costText(t)
		if t.Omitted > 0 {
			text += fmt.Sprintf("… and %d more; --top 0 shows all\n", t.Omitted)
		}
		if t.Limited > 0 {
			text += fmt.Sprintf("too many rows: %d costs are in (others) or are uncounted input events\n", t.Limited)
		}
	}
	_, err := fmt.Fprint(env.stdout, text)
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
