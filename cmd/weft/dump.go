package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/flowindex"
	"github.com/weft-trace/weft/internal/moment"
	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/timeline"
)

func dumpCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "dump",
		Usage:     "print the events of a trace, one per line",
		UsageText: "weft dump [flags] FILE",
		Description: `Prints the events as a conversion would write them, in time order, with begins
and ends paired and with lanes and flows resolved. Search the output with grep or
jq, or compare traces with diff.

A text line has tab-separated fields: time since the start of the trace, duration
("open" if the slice never ends), kind, track, name and category, then key=value
for the rest. The kinds are slice, instant, counter, sample and end. An end has a
line only if it has arguments, or with --ends. "-" is standard input. docs/cli.md
describes the text and JSON forms.

Examples:
   weft dump --thread CrRendererMain --from 1.5s --to 1.6s trace.json
   weft dump --name 'Layout*' --json trace.json | jq .dur_ns`,
		Flags: append([]cli.Flag{
			jsonFlag("print one JSON object per line"),
			&cli.BoolFlag{Name: "ends", Usage: "print a line for every end of a slice, with its thread time", DisableDefaultText: true},
			limitFlag(), formatFlag(), argsFlag(), memoryFlag(),
		}, slices.Concat(selectionFlags(), profileFlags())...),
		Action: func(c *cli.Context) error {
			query, err := newDumpQuery(c)
			if err != nil {
				return err
			}
			return eachFile(c, env, func(name string, src *input) error {
				return query.run(c.Context, env, name, src)
			})
		},
	}
}

// dumpQuery is what the dump command is asked for.
type dumpQuery struct {
	opts   convert.Options
	filter *selection.Filter
	limit  int // 0: none
	json   bool
	ends   bool
}

func newDumpQuery(c *cli.Context) (q *dumpQuery, err error) {
	q = &dumpQuery{json: c.Bool("json"), ends: c.Bool("ends")}
	if q.opts, err = inputOptions(c); err != nil {
		return nil, err
	}
	q.opts.KeepFlowIDs = q.json
	if q.filter, err = readSelection(c); err != nil {
		return nil, err
	}
	if q.limit, err = readLimit(c); err != nil {
		return nil, err
	}
	if c.NArg() > 1 {
		return nil, usagef("dump takes one file, not %d", c.NArg())
	}
	return q, nil
}

// errLimit ends the output at --limit.
var errLimit = errors.New("limit")

func (q *dumpQuery) run(ctx context.Context, env *environment, name string, src *input) error {
	progress := startProgress(env, inputName(name), src.size, !env.isTerminal(env.stdout))
	tr, tl, err := openTimeline(ctx, name, progress.reader(src), q.opts)
	progress.Stop()
	if err != nil {
		return err
	}
	selected, err := selectIn(ctx, name, q.filter, tl)
	if err == nil {
		err = q.print(ctx, env, tl, selected)
	}
	return errors.Join(err, tr.Close())
}

// print writes the lines of what is selected.
func (q *dumpQuery) print(ctx context.Context, env *environment, tl *timeline.Timeline, selected *selection.Selection) error {
	w := bufio.NewWriterSize(env.stdout, outputBuffer)
	d := newDumper(tl)
	format := d.text
	if q.json {
		format = d.json
		if tl.Totals().Flows > 0 {
			index, err := flowindex.NewIndex(ctx, tl)
			if err != nil {
				return err
			}
			defer index.Close()
			d.flows = index
		}
	}
	lines := 0
	err := selected.Walk(ctx, tl, func(item *timeline.Item) error {
		if item.Kind == timeline.ItemEnd && len(item.Args) == 0 && !q.ends {
			return nil // the line of the slice has its length already
		}
		if lines++; q.limit > 0 && lines > q.limit {
			return errLimit
		}
		line := format(item)
		if d.err != nil {
			return d.err
		}
		_, err := w.Write(line)
		return err
	})
	if err != nil && err != errLimit { // a failed write, which Flush would report once more
		return err
	}
	return w.Flush()
}

// A dumper formats items. Its buffer is used again for every line.
type dumper struct {
	trace  *timeline.Timeline
	span   moment.Span
	tracks map[timeline.TrackLane]*dumpTrack
	buf    []byte

	flows     *flowindex.Index // of the flows of the input; nil: they are not asked for, or there are none
	flowNames []string         // for use again
	err       error            // of flows
}

func newDumper(tl *timeline.Timeline) *dumper {
	return &dumper{trace: tl, span: moment.SpanOf(tl), tracks: map[timeline.TrackLane]*dumpTrack{}}
}

// inputFlows returns the names of the flows of the input that an item with flows belongs to, as weft flows has them.
func (d *dumper) inputFlows(item *timeline.Item) []string {
	d.flowNames = d.flowNames[:0]
	if d.flows == nil || len(item.Flows) == 0 || d.err != nil {
		return nil
	}
	members, err := d.flows.OfSlice(item.Ordinal)
	for i := 0; err == nil && i < len(members); i++ {
		var f flowindex.Flow
		if f, err = d.flows.Flow(members[i].Flow); err == nil {
			d.flowNames = append(d.flowNames, flowName(f, d.span))
		}
	}
	d.err = err
	return d.flowNames
}

// dumpTrack is what lines say about a track.
type dumpTrack struct {
	name   string // the whole path, for people
	pid    timeline.InputID
	tid    timeline.InputID
	hasPID bool // of the process that it belongs to: the input has a number
	hasTID bool
}

// maxTrackDepth bounds the walk to the root, whatever the timeline says.
const maxTrackDepth = 100

func (d *dumper) track(item *timeline.Item) *dumpTrack {
	key := timeline.TrackLane{Track: item.Track, Lane: item.Lane}
	if t := d.tracks[key]; t != nil {
		return t
	}
	t := &dumpTrack{name: resolved.TrackText(d.trace, item.Track, item.Lane)}
	id := item.Track
	for range maxTrackDepth {
		if id == 0 {
			break
		}
		track := d.trace.Track(id)
		switch track.Kind {
		case timeline.ProcessTrack:
			t.pid, t.hasPID = track.InputID, track.InputID.HasNumber()
		case timeline.ThreadTrack:
			t.tid, t.hasTID = track.InputID, track.InputID.HasNumber()
		}
		id = track.Parent
	}
	d.tracks[key] = t
	return t
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
