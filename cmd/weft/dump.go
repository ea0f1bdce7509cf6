package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/eventstream"
	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/timeline"
)

func dumpCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "dump",
		Usage:     "print the events of a trace, one per line",
		UsageText: "weft dump [flags] FILE|FOLDER…",
		Description: `Prints the events as a conversion would write them, in time order, with begins
and ends paired and with lanes and flows resolved. Search the output with grep or
jq, or compare traces with diff.

A text line has tab-separated fields: time since the start of the trace, duration
("open" if the slice never ends), kind, track, name and category, then key=value
for the rest. The kinds are slice, instant, counter, sample and end. An end has a
line only if it has arguments, or with --ends. "-" is standard input. docs/cli.md
describes the text. With --json the lines are as in weft export --as jsonl.

Examples:
   weft dump --thread CrRendererMain --from 1.5s --to 1.6s trace.json
   weft dump --name 'Layout*' --json trace.json | jq .dur_ns`,
		Flags: append([]cli.Flag{
			jsonFlag("print the JSON lines of weft export --as jsonl"),
			&cli.BoolFlag{Name: "ends", Usage: "print a line for every end of a slice, with its thread time", DisableDefaultText: true},
			limitFlag(), filesFromFlag(), formatFlag(), argsFlag(), memoryFlag(),
		}, slices.Concat(selectionFlags(), profileFlags())...),
		Action: func(c *cli.Context) error {
			query, err := newDumpQuery(c)
			if err != nil {
				return err
			}
			found, err := namedInputs(c, env, c.Args().Slice())
			if err != nil {
				return err
			}
			query.several = len(found.Files) > 1 || len(found.Files) == 1 && found.Files[0].RelativePath != ""
			if query.several && query.json {
				return usagef("--json: lines do not name their file; weft export --as jsonl --out-dir DIR writes a file for each")
			}
			return eachOf(c, env, found, false, func(name string, src *input) error {
				return query.run(c.Context, env, name, src)
			})
		},
	}
}

// dumpQuery is one call of the dump command.
type dumpQuery struct {
	opts   convert.Options
	filter *selection.Filter
	limit  int // 0: none
	json   bool
	ends   bool

	several bool // print each file's name before its events
}

func newDumpQuery(c *cli.Context) (q *dumpQuery, err error) {
	q = &dumpQuery{json: c.Bool("json"), ends: c.Bool("ends")}
	if q.opts, err = inputOptions(c); err != nil {
		return nil, err
	}
	if q.json && q.ends {
		return nil, usagef("--ends is for text: with --json a slice has what its end brings")
	}
	q.opts.NoLongTasks = q.json // as in weft export
	if q.filter, err = readSelection(c); err != nil {
		return nil, err
	}
	if q.limit, err = readLimit(c); err != nil {
		return nil, err
	}
	return q, nil
}

// errLimit ends the output when it reaches --limit.
var errLimit = errors.New("limit")

func (q *dumpQuery) run(ctx context.Context, env *environment, name string, src *input) error {
	progress := startProgress(env, inputName(name), src.size, !env.isTerminal(env.stdout))
	tr, tl, err := openTimeline(ctx, name, progress.reader(src), q.opts)
	progress.Stop()
	if err != nil {
		return err
	}
	selected, err := selectIn(ctx, name, q.filter, tl)
	if err == nil && q.several {
		_, err = fmt.Fprintf(env.stdout, "==> %s <==\n", printable(inputName(name)))
	}
	if err == nil {
		err = q.print(ctx, env, tl, selected)
	}
	return errors.Join(err, tr.Close())
}

// print writes the lines of the selected events.
func (q *dumpQuery) print(ctx context.Context, env *environment, tl *timeline.Timeline, selected *selection.Selection) error {
	w := bufio.NewWriterSize(env.stdout, outputBuffer)
	lines := 0
	write := func(line []byte) error {
		if lines++; q.limit > 0 && lines > q.limit {
			return errLimit
		}
		_, err := w.Write(line)
		return err
	}
	print := q.printText
	if q.json {
		print = printLines
	}
	if err := print(ctx, tl, selected, write); err != nil && err != errLimit { // a failed write, which Flush would report again
		return err
	}
	return w.Flush()
}

func (q *dumpQuery) printText(ctx context.Context, tl *timeline.Timeline, selected *selection.Selection, write func([]byte) error) error {
	d := newDumper(tl)
	return selected.Walk(ctx, tl, func(item *timeline.Item) error {
		if item.Kind == timeline.ItemEnd && len(item.Args) == 0 && !q.ends {
			return nil // the slice's line already has its length
		}
		return write(d.text(item))
	})
}

// printLines writes the same lines as weft export --as jsonl.
func printLines(ctx context.Context, tl *timeline.Timeline, selected *selection.Selection, write func([]byte) error) error {
	rows, lines := resolved.NewReader(tl), eventstream.NewLines(tl)
	defer rows.Close()
	opts := resolved.Options{NoPositions: true}
	if selected != nil {
		opts.Selected = selected.Item
	}
	_, err := rows.Walk(ctx, opts, func(row *resolved.Row) error { return write(lines.Event(row)) })
	return err
}

// A dumper formats items as text. It reuses its buffer for every line.
type dumper struct {
	trace  *timeline.Timeline
	span   selection.Span
	tracks map[timeline.TrackLane]string // whole paths, for people
	buf    []byte
}

func newDumper(tl *timeline.Timeline) *dumper {
	return &dumper{trace: tl, span: selection.SpanOf(tl), tracks: map[timeline.TrackLane]string{}}
}

// track returns the path of an item's track.
func (d *dumper) track(item *timeline.Item) string {
	key := timeline.TrackLane{Track: item.Track, Lane: item.Lane}
	name, ok := d.tracks[key]
	if !ok {
		name = resolved.TrackText(d.trace, item.Track, item.Lane)
		d.tracks[key] = name
	}
	return name
}

func kindName(kind timeline.ItemKind) string {
	switch kind {
	case timeline.ItemBegin:
		return "slice"
	case timeline.ItemEnd:
		return "end"
	case timeline.ItemInstant:
		return "instant"
	case timeline.ItemCounter:
		return "counter"
	case timeline.ItemSample:
		return "sample"
	}
	return fmt.Sprintf("kind%d", kind)
}
