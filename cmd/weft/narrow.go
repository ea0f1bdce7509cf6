package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/timeline"
)

// selectionTitle is the title under which the help lists selectionFlags.
const selectionTitle = "Flags that select a part of the trace"

// selectionFlags returns the flags that select part of a trace. They mean the same in every command that has them.
func selectionFlags() []cli.Flag {
	return titled(selectionTitle, []cli.Flag{
		&cli.StringSliceFlag{Name: "process", Usage: "only what happens in `PROCESS`: an id, a name, or a glob such as 'Render*'. May be repeated, as --thread, --name, --category and --context"},
		&cli.StringSliceFlag{Name: "thread", Usage: "only what happens on `THREAD`: an id, a name, a glob, or PROCESS/THREAD"},
		&cli.StringSliceFlag{Name: "name", Usage: "only slices, instants and counters with this `NAME`, and samples with a function of this name; or a glob"},
		&cli.StringSliceFlag{Name: "category", Usage: "only events of this `CATEGORY`, or a glob"},
		&cli.StringSliceFlag{Name: "context", Usage: "only slices and instants that ran for `TYPE=ID` or TYPE=NAME, as in frame=https://example.org/*"},
		fromFlag(), toFlag(),
	})
}

func fromFlag() cli.Flag {
	return &cli.StringFlag{Name: "from", Usage: "only from `TIME` on: 1.5s or 300ms after the start of the trace, or @1.5s on its own clock", DefaultText: "the start"}
}

func toFlag() cli.Flag {
	return &cli.StringFlag{Name: "to", Usage: "only until before `TIME`", DefaultText: "the end"}
}

// readSelection reads selectionFlags. Its errors are usage errors.
func readSelection(c *cli.Context) (*selection.Filter, error) {
	for _, name := range []string{"from", "to"} {
		switch text := c.String(name); {
		case slices.Contains(convert.Formats(), convert.Format(text)):
			return nil, usagef("--%s: %s is an input format; use --format %[2]s. --from and --to are times", name, text)
		case text == "" && c.IsSet(name):
			return nil, usagef("--%s: the time is empty; write, for example, 1.5s or 300ms", name)
		}
	}
	filter, err := selection.Parse(selection.Query{
		Processes: c.StringSlice("process"), Threads: c.StringSlice("thread"), Names: c.StringSlice("name"),
		Categories: c.StringSlice("category"), Contexts: c.StringSlice("context"), From: c.String("from"), To: c.String("to"),
	})
	if err != nil {
		return nil, &usageError{Message: err.Error()}
	}
	return filter, nil
}

// selectIn resolves a filter in the trace of an input; nil if it selects the whole trace.
func selectIn(ctx context.Context, name string, filter *selection.Filter, tl *timeline.Timeline) (*selection.Selection, error) {
	s, err := filter.Bind(ctx, tl)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", inputName(name), err)
	}
	return s, nil
}

// limitFlag returns the --limit flag of commands that print lines.
func limitFlag() cli.Flag {
	return &cli.IntFlag{Name: "limit", Usage: "print at most `N` lines; 0: all", DefaultText: "all"}
}

// readLimit reads --limit; 0 means no limit.
func readLimit(c *cli.Context) (int, error) {
	if n := c.Int("limit"); n < 0 {
		return 0, usagef("--limit: %d is negative", n)
	}
	return c.Int("limit"), nil
}
