package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/bridge"
	"github.com/weft-trace/weft/internal/flowindex"
	"github.com/weft-trace/weft/internal/timeline"
)

func flowsCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "flows",
		Usage:     "list, search and navigate the flows of a trace",
		UsageText: "weft flows [flags] FILE ['flow:ID;TIME']",
		Description: `Lists the flows of a trace, or shows one. A flow connects slices and instants,
called its markers, across threads and processes.

Ids are those of the input. Inputs reuse them, so the name of a flow has an id and
a time at which the flow is active: flow:0x2a;1200ms. The list shows the name of
each flow; quote it in a shell. TIME is in nanoseconds of the trace, or has a unit
(ns, us, ms, s); a leading + counts from the start of the trace.

Examples:
   weft flows trace.json                      all flows
   weft flows trace.json 'flow:0x2a;+120ms'   the flow with this id at this time
   weft flows trace.json flow:0x2a            all flows with this id
   weft flows --marker 1234 trace.json        the flows of one event, and its neighbors
   weft flows --connected trace.json 'flow:0x2a;+120ms'
                                              all flows reachable from this flow`,
		Flags: []cli.Flag{
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object per line", DisableDefaultText: true},
			&cli.IntFlag{Name: "min", Value: 1, Usage: "list flows with at least `N` markers"},
			&cli.StringFlag{Name: "marker", Usage: "show the flows of event `N` of the input (\"event\" in dump --json)"},
			&cli.StringFlag{Name: "at", Usage: "show the flows of the markers at `TIME` on --thread"},
			&cli.StringFlag{Name: "thread", Usage: "`THREAD` for --at: a thread id, PID/TID or a name"},
			&cli.BoolFlag{Name: "connected", Usage: "show all flows reachable through markers that belong to several flows", DisableDefaultText: true},
			&cli.BoolFlag{Name: "nested", Usage: "with --connected, also pass through nested markers", DisableDefaultText: true},
			&cli.IntFlag{Name: "limit", Usage: "print at most `N` lines; 0: all", DefaultText: "all; 1000 with --connected"},
			formatFlag(), memoryFlag(), tempFlag(),
		},
		Action: func(c *cli.Context) error {
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
		},
	}
}

const defaultConnected = 1000

// flowQuery is what is asked of the flows of a file.
type flowQuery struct {
	file      string
	id        string // "": not set
	time      string // "": not set
	marker    string
	at        string
	thread    string
	connected bool
	nested    bool
	json      bool
	min       int
	limit     int
}

func newFlowQuery(c *cli.Context) (*flowQuery, error) {
	q := &flowQuery{
		marker: c.String("marker"), at: c.String("at"), thread: c.String("thread"), connected: c.Bool("connected"),
		nested: c.Bool("nested"), json: c.Bool("json"), min: c.Int("min"), limit: c.Int("limit"),
	}
	switch c.NArg() {
	case 0:
		return nil, usagef("no file; name one, or use \"-\" for standard input")
	case 1:
	case 2:
		var err error
		if q.id, q.time, err = parseFlowName(c.Args().Get(1)); err != nil {
			return nil, err
		}
	default:
		return nil, usagef("flows takes one file and one flow, not %d arguments", c.NArg())
	}
	q.file = c.Args().First()
	ways := 0
	for _, way := range []string{q.id, q.marker, q.at} {
		if way != "" {
			ways++
		}
	}
	switch {
	case ways > 1:
		return nil, usagef("a flow, --marker and --at cannot be combined")
	case (q.at == "") != (q.thread == ""):
		return nil, usagef("--at and --thread need each other")
	case q.connected && ways == 0:
		return nil, usagef("--connected needs a flow, --marker, or --at and --thread")
	case q.nested && !q.connected:
		return nil, usagef("--nested needs --connected")
	case q.limit < 0:
		return nil, usagef("--limit: %d is negative", q.limit)
	case q.connected && !c.IsSet("limit"):
		q.limit = defaultConnected
	}
	if q.limit == 0 {
		q.limit = math.MaxInt
	}
	for _, text := range []string{q.time, q.at} {
		if _, err := parseMoment(text, 0); text != "" && err != nil {
			return nil, usagef("%v", err)
		}
	}
	if _, err := strconv.ParseUint(q.marker, 10, 32); q.marker != "" && err != nil {
		return nil, usagef("--marker: %q is not the index of an event; \"event\" in dump --json is", q.marker)
	}
	return q, nil
}

// parseFlowName takes "flow:ID;TIME" apart; the time may be missing. An id may hold a semicolon, if no time is behind it.
func parseFlowName(text string) (id, at string, err error) {
	id, ok := strings.CutPrefix(text, "flow:")
	if !ok || id == "" {
		return "", "", usagef("invalid flow %q; write %s or '%[2]s;TIME'", text, "flow:"+cmp.Or(id, "ID"))
	}
	i := strings.LastIndexByte(id, ';')
	if i < 1 {
		return id, "", nil
	}
	if _, err := parseMoment(id[i+1:], 0); err != nil {
		return id, "", nil
	}
	return id[:i], id[i+1:], nil
}

// timeUnits are the units of moments and the powers of ten by which they differ from nanoseconds. Longer names come before
// those that they end with.
var timeUnits = []struct {
	name   string
	digits int
}{{"ns", 0}, {"us", 3}, {"µs", 3}, {"μs", 3}, {"ms", 6}, {"s", 9}}

var errMoment = errors.New("is not a time; write nanoseconds, or a number with ns, us, ms or s")

// parseMoment reads a point in time: nanoseconds, or a decimal number with a unit; "+" in front counts from start. The
// number is never rounded.
func parseMoment(text string, start timeline.Nanos) (timeline.Nanos, error) {
	number, relative := strings.CutPrefix(text, "+")
	digits := 0
	for _, unit := range timeUnits {
		if rest, ok := strings.CutSuffix(number, unit.name); ok {
			number, digits = rest, unit.digits
			break
		}
	}
	whole, fraction, _ := strings.Cut(number, ".")
	for len(fraction) > digits && fraction[len(fraction)-1] == '0' {
		fraction = fraction[:len(fraction)-1]
	}
	switch {
	case whole == "" || strings.Trim(whole+fraction, "0123456789") != "":
		return 0, fmt.Errorf("%q %w", text, errMoment)
	case len(fraction) > digits && number == strings.TrimPrefix(text, "+"):
		return 0, fmt.Errorf("%q nanoseconds is finer than a nanosecond; add a unit: %[1]ss, %[1]sms or %[1]sus", text)
	case len(fraction) > digits:
		return 0, fmt.Errorf("%q is finer than a nanosecond", text)
	}
	n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", digits-len(fraction)), 10, 64)
	if err != nil || relative && n > math.MaxInt64-int64(start) {
		return 0, fmt.Errorf("%q is too large", text)
	}
	if relative {
		n += int64(start)
	}
	return timeline.Nanos(n), nil
}

func (q *flowQuery) run(ctx context.Context, env *environment, opts convert.Options) (err error) {
	src, err := openInput(ctx, env, q.file)
	if err != nil {
		return err
	}
	defer src.Close()
	progress := startProgress(env, inputName(q.file), src.size, !env.isTerminal(env.stdout))
	tr, err := convert.Open(ctx, progress.reader(src), opts)
	progress.Stop()
	if err != nil {
		return fmt.Errorf("%s: %w", inputName(q.file), withoutPath(err))
	}
	defer func() { err = errors.Join(err, tr.Close()) }()
	trace := bridge.Timeline(tr)
	index, err := flowindex.NewIndex(ctx, trace)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, index.Close()) }()

	w := bufio.NewWriterSize(env.stdout, outputBuffer)
	p := &flowPrinter{
		ctx: ctx, trace: trace, index: index, start: trace.Totals().Start, w: w, limit: q.limit,
		tracks: dumper{trace: trace, tracks: map[trackKey]*dumpTrack{}},
	}
	p.form = &flowText{p}
	if q.json {
		p.form = &flowJSON{p}
	}
	err = q.answer(p)
	if err == nil || errors.Is(err, errLimit) {
		return w.Flush()
	}
	return err
}

func (q *flowQuery) answer(p *flowPrinter) error {
	switch {
	case q.marker != "" || q.at != "":
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
		return p.connected(flows, q.nested)
	case q.id != "":
		flows, err := q.flows(p)
		if err != nil {
			return err
		}
		if q.connected {
			return p.connected(flows, q.nested)
		}
		return p.flows(flows)
	}
	return p.list(q.min)
}

// flows returns the flows that the id means, at its time or ever.
func (q *flowQuery) flows(p *flowPrinter) (flows []flowindex.Flow, err error) {
	if q.time == "" {
		err = p.index.Each(p.ctx, q.id, func(f flowindex.Flow) error {
			if len(flows) < p.limit {
				flows = append(flows, f)
			}
			return nil
		})
	} else {
		at, timeErr := parseMoment(q.time, p.start)
		if timeErr != nil {
			return nil, timeErr
		}
		flows, err = p.index.Find(p.ctx, q.id, at)
	}
	if err == nil && len(flows) == 0 {
		err = fmt.Errorf("%s: %w", inputName(q.file), q.noFlow(p))
	}
	return flows, err
}

// noFlow is the error for an id that means no flow. If it means one later, the time may be meant on another clock: viewers
// count from the start of the recording.
func (q *flowQuery) noFlow(p *flowPrinter) error {
	if q.time == "" {
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
	return fmt.Errorf("no flow has the id %s at or before %s; the first begins at %d, which is +%sms",
		q.id, q.time, first, milliseconds(max(first-p.start, 0)))
}

// markers returns the ordinals of the slices and instants that were asked for.
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
	at, err := parseMoment(q.at, p.start)
	if err != nil {
		return nil, err
	}
	threads := p.threads(q.thread)
	if len(threads) == 0 {
		return nil, fmt.Errorf("%s: there is no thread %s", inputName(q.file), q.thread)
	}
	if at < p.start {
		return nil, fmt.Errorf("%s: %s is before the start of the trace, %sms; for a time since the start, write +%s", inputName(q.file), q.at,
			milliseconds(p.start), q.at)
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

// errFound ends a walk.
var errFound = errors.New("found")

// openSlice is what is said of a slice around an event.
type openSlice struct {
	name  string
	event uint32
	flows int
}

// noFlowOfEvent is the error for an event without flow. It says whether there is such an event, and which slice around it
// has flows: those of a slice are often wanted with what happens inside.
func noFlowOfEvent(p *flowPrinter, event uint32) error {
	found, last, some := error(nil), uint32(0), false
	err := timeline.WalkNested(p.ctx, p.trace, func(item *timeline.Item, open *timeline.OpenSlices[openSlice]) error {
		switch item.Kind {
		case timeline.ItemBegin, timeline.ItemInstant:
			if item.Event == event {
				found = withoutFlow(fmt.Sprintf("event %d (%s) has no flow", event, item.Name), open)
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

// noMarker is the error for an event that is neither slice nor instant. An event of a flow stands for the slice around it.
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
		return fmt.Errorf("event %d is neither a slice nor an instant; dump --json shows their indexes", event)
	}
	var around timeline.OpenSlices[openSlice]
	err = p.trace.Walk(p.ctx, func(item *timeline.Item) error {
		if item.TS > ts {
			return errFound
		}
		if item.Kind == timeline.ItemBegin && item.Track == track && (item.Dur == timeline.NoTime || ts-item.TS <= item.Dur) {
			*around.Push(timeline.NoTime) = openSlice{string(item.Name), item.Event, flowCount(item)}
		}
		return nil
	})
	if err != nil && err != errFound {
		return err
	}
	return withoutFlow(fmt.Sprintf("event %d is a flow event, not a slice or an instant", event), &around)
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

// withoutFlow is the error for an event without flow, with which of the slices around it has some.
func withoutFlow(text string, around *timeline.OpenSlices[openSlice]) error {
	for ; around.Len() > 0; around.Pop() {
		slice := around.Innermost()
		if slice.flows == 1 {
			return fmt.Errorf("%s; its enclosing slice, event %d (%s), has one", text, slice.event, slice.name)
		}
		if slice.flows > 1 {
			return fmt.Errorf("%s; its enclosing slice, event %d (%s), has %d", text, slice.event, slice.name, slice.flows)
		}
	}
	return errors.New(text)
}
