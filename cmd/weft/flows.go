package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/flowindex"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/words"
)

func flowsCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "flows",
		Usage:     "list, search and navigate the flows of a trace",
		UsageText: "weft flows [flags] FILE ['flow:ID;TIME']",
		Description: `Lists the flows of a trace, or shows one. A flow connects slices and instants,
called its markers, across threads and processes.

Ids are the input's. Inputs reuse them, so the name of a flow has an id and
a time at which the flow is active: flow:0x2a;120ms. The list shows the name of
each flow; quote it in a shell. flow=853, as weft dump prints, is the flow of
an arrow of the converted trace.

Examples:
   weft flows trace.json                      all flows
   weft flows --process Renderer trace.json   flows with a marker in this process
   weft flows trace.json 'flow:0x2a;120ms'    the flow with this id at this time
   weft flows trace.json flow:0x2a            all flows with this id
   weft flows --marker 1234 trace.json        the flows of one event, and its neighbors
   weft flows --marker 120ms --thread 7 trace.json
                                              the flows at this time on this thread
   weft flows --grep style.css trace.json     flows with this text in a marker
   weft flows --across-processes --sort length trace.json
                                              the longest flows between processes
   weft flows --connected trace.json 'flow:0x2a;120ms'
                                              all flows reachable from this flow, as a tree
   weft flows --connected --nested --name 'PHttp::Msg_*' --from 2s --to 2.1s profile.json
                                              where these messages came from and led to`,
		Flags: append([]cli.Flag{
			jsonFlag("print one JSON object per line"),
			&cli.StringFlag{Name: "grep", Usage: "list flows of which a marker has `TEXT` in its name, category or arguments, as weft find does"},
			&cli.BoolFlag{Name: "across-processes", Usage: "list flows with markers in several processes", DisableDefaultText: true},
			&cli.StringFlag{Name: "sort", Usage: "sort the list by `COLUMN`, largest first (start: the first one first), with - before it the other way round: " + strings.Join(flowColumns, ", "), DefaultText: "in the order of the first markers"},
			&cli.StringFlag{Name: "marker", Usage: "`N|TIME`: show the flows of event N of the input (event=N in weft dump), or of the markers on --thread at TIME"},
			&cli.BoolFlag{Name: "connected", Usage: "show all flows reachable through markers that belong to several flows", DisableDefaultText: true},
			&cli.BoolFlag{Name: "nested", Usage: "with --connected, also pass through nested markers", DisableDefaultText: true},
			&cli.IntFlag{Name: "limit", Usage: "print at most `N` lines; 0: all", DefaultText: "all; 1000 with --connected"},
			formatFlag(), memoryFlag(),
		}, selectionFlags()...),
		Action: withJSONErrors(env, 0, func(c *cli.Context) error {
			opts, err := inputOptions(c)
			if err != nil {
				return err
			}
			opts.KeepFlowIDs = true
			query, err := newFlowQuery(c)
			if err != nil {
				return err
			}
			return query.run(c.Context, env, opts)
		}),
	}
}

const defaultConnected = 1000

// flowQuery is one call of the flows command.
type flowQuery struct {
	file      string
	id        string            // "": not set
	time      *selection.Moment // nil: not set
	arrow     uint64            // id of a flow in the output; 0: not set
	marker    string
	at        *selection.Moment
	thread    string // for at
	filter    *selection.Filter
	connected bool
	nested    bool
	json      bool
	limit     int
	list      flowList
}

func newFlowQuery(c *cli.Context) (q *flowQuery, err error) {
	q = &flowQuery{
		marker: c.String("marker"), connected: c.Bool("connected"), nested: c.Bool("nested"), json: c.Bool("json"),
		list: flowList{grep: c.String("grep"), across: c.Bool("across-processes"), sort: c.String("sort")},
	}
	switch c.NArg() {
	case 0:
		return nil, usagef("no file; name one, or use \"-\" for standard input")
	case 1:
	case 2:
		if err := q.parseFlow(c.Args().Get(1)); err != nil {
			return nil, err
		}
	default:
		return nil, usagef("flows takes one file and one flow, not %d arguments", c.NArg())
	}
	q.file = c.Args().First()
	if _, err := strconv.ParseUint(q.marker, 10, 32); q.marker != "" && err != nil {
		at, err := selection.ParseMoment(q.marker)
		if err != nil {
			return nil, usagef("--marker: %q is neither the number of an event, as in event=N of weft dump, nor a time such as 120ms", q.marker)
		}
		q.at, q.marker = &at, ""
	}
	if q.limit, err = readLimit(c); err != nil {
		return nil, err
	}
	switch {
	case q.connected && !c.IsSet("limit"):
		q.limit = defaultConnected
	case q.limit == 0:
		q.limit = math.MaxInt
	}
	if q.filter, err = readSelection(c); err != nil {
		return nil, err
	}
	return q, q.check(c)
}

// check rejects meaningless combinations of flags.
func (q *flowQuery) check(c *cli.Context) error {
	ways := 0
	for _, is := range []bool{q.id != "" || q.arrow != 0, q.marker != "", q.at != nil} {
		if is {
			ways++
		}
	}
	threads := c.StringSlice("thread")
	switch {
	case ways > 1:
		return usagef("a flow and --marker cannot be combined")
	case q.at != nil && len(threads) != 1:
		return usagef("--marker: a time needs one --thread")
	case q.connected && ways == 0 && q.filter.All() && q.list.grep == "":
		return usagef("--connected needs a flow, --marker, or flags such as --name and --grep that select markers")
	case c.IsSet("grep") && q.list.grep == "":
		return usagef("--grep: the text is empty")
	case len(q.list.grep) > maxFindText:
		return usagef("--grep: the text is longer than %d bytes", maxFindText)
	case !slices.Contains(flowColumns, strings.TrimPrefix(q.list.sort, "-")) && c.IsSet("sort"):
		return &usageError{Message: "--sort: " + words.Unknown("column", strings.TrimPrefix(q.list.sort, "-"), flowColumns).Error()}
	case q.connected && strings.TrimPrefix(q.list.sort, "-") == "connected":
		return usagef("--sort connected is for the list; with --connected, sort by another column")
	case q.nested && !q.connected:
		return usagef("--nested needs --connected")
	case q.at != nil:
		q.thread = threads[0]
	}
	for _, name := range append(namesOf(selectionFlags()), "grep", "across-processes", "sort") {
		if ways > 0 && c.IsSet(name) && !(q.at != nil && name == "thread") {
			return usagef("--%s: this flag selects flows for the list; one flow is shown whole", name)
		}
	}
	return nil
}

// parseFlow parses a flow as commands print it: flow:ID;TIME, flow:ID, or flow=NUMBER from weft dump.
func (q *flowQuery) parseFlow(text string) (err error) {
	if number, ok := strings.CutPrefix(text, "flow="); ok {
		number, _, _ = strings.Cut(number, ":") // dump appends the direction
		if q.arrow, err = strconv.ParseUint(number, 10, 64); err != nil || q.arrow == 0 {
			return usagef("invalid flow %q; weft dump prints flow=NUMBER, and weft flows flow:ID", text)
		}
		return nil
	}
	q.id, q.time, err = parseFlowName(text)
	return err
}

// parseFlowName splits "flow:ID;TIME"; the time may be missing. An id may contain a semicolon if no number follows it.
func parseFlowName(text string) (id string, at *selection.Moment, err error) {
	id, ok := strings.CutPrefix(text, "flow:")
	if !ok || id == "" {
		return "", nil, usagef("invalid flow %q; write %s or '%[2]s;TIME'; to search markers for a text, write --grep %[1]s", text, "flow:"+cmp.Or(id, "ID"))
	}
	i := strings.LastIndexByte(id, ';')
	if i < 1 {
		return id, nil, nil
	}
	m, err := selection.ParseMoment(id[i+1:])
	switch {
	case err == nil:
		return id[:i], &m, nil
	case strings.Trim(id[i+1:], "@0123456789.") == "": // a time without a unit rather than text
		return "", nil, usagef("%s: %v", text, err)
	}
	return id, nil, nil
}

func (q *flowQuery) run(ctx context.Context, env *environment, opts convert.Options) (err error) {
	src, err := openInput(ctx, env, q.file)
	if err != nil {
		return err
	}
	defer src.Close()
	progress := startProgress(env, inputName(q.file), src.size, !env.isTerminal(env.stdout))
	tr, trace, err := openTimeline(ctx, q.file, progress.reader(src), opts)
	progress.Stop()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tr.Close()) }()
	q.list.selected, err = selectIn(ctx, q.file, q.listFilter(), trace)
	if err != nil {
		return err
	}
	index, err := flowindex.NewIndex(ctx, trace)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, index.Close()) }()

	w := bufio.NewWriterSize(env.stdout, outputBuffer)
	p := &flowPrinter{
		ctx: ctx, trace: trace, index: index, span: selection.SpanOf(trace), w: w, limit: q.limit,
		nested: q.nested, tracks: map[timeline.TrackLane]*markerTrack{},
	}
	p.form = &flowText{flowPrinter: p, on: env.terminal(env.stdout)}
	if q.json {
		p.form = &flowJSON{p}
	}
	err = q.answer(p)
	if err == nil || errors.Is(err, errLimit) {
		return w.Flush()
	}
	return err
}

// listFilter returns the filter for the list of flows; nil if --marker is a time, because --thread then belongs to the
// marker.
func (q *flowQuery) listFilter() *selection.Filter {
	if q.at != nil {
		return nil
	}
	return q.filter
}

func (q *flowQuery) answer(p *flowPrinter) error {
	switch {
	case q.marker != "" || q.at != nil:
		markers, err := q.markers(p)
		if err != nil {
			return err
		}
		if !q.connected {
			return p.markers(markers)
		}
		flows, err := p.flowsOf(markers)
		if err != nil {
			return err
		}
		return p.connected(flows)
	case q.id != "" || q.arrow != 0:
		flows, err := q.flows(p)
		if err != nil {
			return err
		}
		if q.connected {
			return p.connected(flows)
		}
		return p.flows(flows)
	}
	if q.connected {
		flows, err := p.selectedFlows(&q.list)
		if err != nil {
			return fmt.Errorf("%s: %w", inputName(q.file), err)
		}
		return p.connected(flows)
	}
	return p.list(&q.list)
}

// flows returns the flows with the requested id, at the requested time if a time is requested.
func (q *flowQuery) flows(p *flowPrinter) (flows []flowindex.Flow, err error) {
	switch {
	case q.arrow != 0:
		flows, err = p.behindArrow(q.arrow)
	case q.time == nil:
		err = p.index.Each(p.ctx, q.id, func(f flowindex.Flow) error {
			if len(flows) < p.limit {
				flows = append(flows, f)
			}
			return nil
		})
	default:
		at, timeErr := q.time.In(p.span)
		if timeErr != nil {
			return nil, fmt.Errorf("%s: %w", inputName(q.file), timeErr)
		}
		flows, err = p.index.Find(p.ctx, q.id, at)
	}
	if err == nil && len(flows) == 0 {
		err = fmt.Errorf("%s: %w", inputName(q.file), q.noFlow(p))
	}
	return flows, err
}

// noFlow returns the error for an id without a flow. If the id has flows only after the requested time, the error states when the
// first of them begins.
func (q *flowQuery) noFlow(p *flowPrinter) error {
	switch {
	case q.arrow != 0:
		return fmt.Errorf("no event has flow=%d; weft dump prints those that there are", q.arrow)
	case q.time == nil:
		return fmt.Errorf("no flow has the id %s", q.id)
	}
	first := timeline.Nanos(math.MaxInt64)
	err := p.index.Each(p.ctx, q.id, func(f flowindex.Flow) error {
		first = min(first, f.Start)
		return nil
	})
	switch {
	case err != nil:
		return err
	case first == math.MaxInt64:
		return fmt.Errorf("no flow has the id %s", q.id)
	}
	return fmt.Errorf("no flow has the id %s at or before %s; the first begins at %s", q.id, q.time, p.span.Since(first))
}

// markers returns the ordinals of the requested slices and instants.
func (q *flowQuery) markers(p *flowPrinter) ([]uint64, error) {
	if q.marker != "" {
		event, err := strconv.ParseUint(q.marker, 10, 32)
		if err != nil {
			return nil, err
		}
		found, err := p.index.OfEvent(p.ctx, uint32(event))
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("%s: %w", inputName(q.file), noFlowOfEvent(p, uint32(event)))
		}
		return found, err
	}
	at, err := q.at.In(p.span)
	if err != nil {
		return nil, fmt.Errorf("%s: --marker: %w", inputName(q.file), err)
	}
	threads, err := selection.FindThreads(p.trace, q.thread)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", inputName(q.file), err)
	}
	var found []uint64
	for _, thread := range threads {
		some, err := p.index.At(p.ctx, thread, at)
		if err != nil {
			return nil, err
		}
		found = append(found, some...)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("%s: thread %s has no marker with a flow at or before %s", inputName(q.file), q.thread, q.at)
	}
	return found, nil
}

// errFound ends a walk once the event is found.
var errFound = errors.New("found")

// openSlice is a slice around an event.
type openSlice struct {
	name  string
	event uint32
	flows int
}

// noFlowOfEvent returns the error for an event without a flow. It states whether the event exists, and which slice around it
// has flows.
func noFlowOfEvent(p *flowPrinter, event uint32) error {
	found, last, some := error(nil), uint32(0), false
	err := timeline.WalkNested(p.ctx, p.trace, func(item *timeline.Item, open *timeline.OpenSlices[openSlice]) error {
		switch item.Kind {
		case timeline.ItemBegin, timeline.ItemInstant:
			if item.Event == event {
				var around []openSlice
				for i := range open.Len() {
					around = append(around, *open.At(i))
				}
				found = withoutFlow(fmt.Sprintf("event %d (%s) has no flow", event, item.Name), around)
				return errFound
			}
			last, some = max(last, item.Event), true
			if item.Kind == timeline.ItemBegin {
				*open.Innermost() = openSlice{string(item.Name), item.Event, flowCount(item)}
			}
		}
		return nil
	})
	switch {
	case err != nil && err != errFound:
		return err
	case found != nil:
		return found
	case !some:
		return fmt.Errorf("event %d is not a marker; the trace has no slices and no instants", event)
	case event > last:
		return fmt.Errorf("event %d is not a marker; the last slice or instant is event %d", event, last)
	}
	return noMarker(p, event)
}

// noMarker returns the error for an event that is neither a slice nor an instant. For an event of a flow, it names the slice
// around it.
func noMarker(p *flowPrinter, event uint32) error {
	found, track, ts := false, timeline.TrackID(0), timeline.Nanos(0)
	err := p.trace.Scan(p.ctx, func(group []timeline.Record) error {
		for _, r := range group {
			if r.Event() == event && r.Kind() == timeline.FlowStep {
				found, track, ts = true, r.Track(), r.TS()
				return errFound
			}
		}
		return nil
	})
	if err != nil && err != errFound {
		return err
	}
	if !found {
		return fmt.Errorf("event %d is neither a slice nor an instant; weft dump shows their numbers", event)
	}
	var around []openSlice
	err = p.trace.Walk(p.ctx, func(item *timeline.Item) error {
		if item.TS > ts {
			return errFound
		}
		if item.Kind == timeline.ItemBegin && item.Track == track && (item.Dur == timeline.NoTime || ts-item.TS <= item.Dur) {
			around = append(around, openSlice{string(item.Name), item.Event, flowCount(item)})
		}
		return nil
	})
	if err != nil && err != errFound {
		return err
	}
	return withoutFlow(fmt.Sprintf("event %d is a flow event, not a slice or an instant", event), around)
}

// flowCount returns the number of flows that a slice or instant belongs to.
func flowCount(item *timeline.Item) (n int) {
	for _, f := range item.Flows {
		if f.ID != 0 {
			n++
		}
	}
	return n
}

// withoutFlow returns the error for an event without a flow. It names the innermost slice around the event that has a flow.
func withoutFlow(text string, around []openSlice) error {
	for _, slice := range slices.Backward(around) {
		if slice.flows == 1 {
			return fmt.Errorf("%s; its enclosing slice, event %d (%s), has one", text, slice.event, slice.name)
		}
		if slice.flows > 1 {
			return fmt.Errorf("%s; its enclosing slice, event %d (%s), has %d", text, slice.event, slice.name, slice.flows)
		}
	}
	return errors.New(text)
}
