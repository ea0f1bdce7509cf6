package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/timeline"
)

// costFlags are the flags of "report cost" beside those of all reports.
func costFlags() []cli.Flag {
	return append([]cli.Flag{
		&cli.StringFlag{Name: "type", Usage: "cost: contexts of the `TYPE` only, such as Frame, Page, Script, Entity or InputEvent", DefaultText: "a table for each type"},
		&cli.StringFlag{Name: "by", Value: "context", Usage: "cost: divide the rows of contexts by `WHAT`: context, process, thread or category; type adds them up"},
		&cli.StringFlag{Name: "charge", Value: "exact", Usage: "cost: charge the contexts that are in effect at each moment (`HOW` exact), or those at the begin of each slice (begin)"},
		&cli.DurationFlag{Name: "since", Usage: "cost: what happened from `TIME` after the start of the trace, such as 1.5s"},
		&cli.DurationFlag{Name: "until", Usage: "cost: what happened up to `TIME` after the start of the trace", DefaultText: "the end"},
	}, contextFlags()...)
}

// typeNames are other names by which people ask for types. What Firefox knows as a tab is the nearest that Chrome has.
var typeNames = map[string]string{"input": "InputEvent", "tab": attribution.TypePage, "domain": attribution.TypeEntity}

// runCostReport prints what contexts have cost.
func runCostReport(c *cli.Context, env *environment) error {
	opts, err := inputOptions(c)
	if err != nil {
		return err
	}
	by := c.String("by")
	if by == "type" { // sums over all rows
		by = "context"
	}
	split, err := attribution.ParseSplitBy(by)
	since, until := timeline.Nanos(c.Duration("since")), timeline.Nanos(c.Duration("until"))
	switch {
	case err != nil:
		return usagef("--by: %v; or type", err)
	case c.NArg() == 1:
		return usagef("no file; give one, or \"-\" for standard input")
	case c.NArg() > 2:
		return usagef("report takes one file, not %d", c.NArg()-1)
	case c.Bool("json") && c.Bool("csv"):
		return usagef("--json and --csv exclude each other")
	case since < 0 || c.IsSet("until") && until <= since:
		return usagef("--since %v to --until %v is no time", time.Duration(since), time.Duration(until))
	}
	if opts.Attribute, err = contextOptions(c); err != nil {
		return err
	}
	opts.Attribute.Cost.Window = attribution.Window{From: since, To: until}
	opts.Attribute.Cost.FromStart = true
	switch charge := c.String("charge"); charge {
	case "exact":
	case "begin":
		opts.Attribute.Cost.AtBegin = true
	default:
		return usagef("--charge: unknown way %q; use exact or begin", charge)
	}
	name := c.Args().Get(1)
	src, err := openInput(c.Context, env, name)
	if err != nil {
		return err
	}
	defer src.Close()
	progress := startProgress(env, inputName(name), src.size, true)
	trace, result, _, err := convert.Attribute(c.Context, progress.reader(src), opts)
	progress.Stop()
	if err != nil {
		return fmt.Errorf("%s: %w", inputName(name), withoutPath(err))
	}
	tables, err := costTables(c, result, split)
	if err = errors.Join(err, result.Close(), trace.Close()); err != nil {
		return err
	}
	return printCosts(c, env, tables)
}

// costTables makes the tables that were asked for.
func costTables(c *cli.Context, result *attribution.Result, split attribution.SplitBy) ([]*attribution.Table, error) {
	types := result.Types()
	if asked := c.String("type"); asked != "" {
		i := findType(types, asked)
		if i < 0 {
			return nil, fmt.Errorf("the trace has no contexts of type %s; it has %s", asked, orNone(types))
		}
		types = types[i : i+1]
	}
	sum, limit := c.String("by") == "type", c.Int("top")
	if sum {
		limit = 0 // the rows that are not shown count as well
	}
	var tables []*attribution.Table
	for _, typ := range types {
		t := result.Table(attribution.TableOptions{Type: typ, Split: split, Limit: limit})
		if sum {
			t = t.Sum()
		}
		tables = append(tables, t)
	}
	return tables, nil
}

// findType returns the index of the type that somebody means, whatever the case of the letters; -1 if there is none.
func findType(types []string, asked string) int {
	if i := slices.Index(types, asked); i >= 0 {
		return i
	}
	if i := slices.IndexFunc(types, func(t string) bool { return strings.EqualFold(t, asked) }); i >= 0 {
		return i
	}
	return slices.Index(types, typeNames[strings.ToLower(asked)])
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none at all"
	}
	return strings.Join(names, ", ")
}

func printCosts(c *cli.Context, env *environment, tables []*attribution.Table) error {
	if c.Bool("json") {
		if tables == nil {
			tables = []*attribution.Table{}
		}
		line, err := json.Marshal(tables)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(env.stdout, "%s\n", line)
		return err
	}
	for i, t := range tables {
		if c.Bool("csv") {
			text, err := t.CSV(i == 0)
			if err != nil {
				return err
			}
			if _, err := env.stdout.Write(text); err != nil {
				return err
			}
			continue
		}
		if i > 0 {
			fmt.Fprintln(env.stdout)
		}
		if _, err := fmt.Fprint(env.stdout, printableLines(t.Text())); err != nil {
			return err
		}
	}
	if len(tables) == 0 && !c.Bool("csv") {
		fmt.Fprintln(env.stdout, "no contexts")
	}
	return nil
}

// printableLines is printable for a text of several lines.
func printableLines(text string) string {
	lines := strings.SplitAfter(text, "\n")
	for i, line := range lines {
		if body, ok := strings.CutSuffix(line, "\n"); ok {
			lines[i] = printable(body) + "\n"
		}
	}
	return strings.Join(lines, "")
}
