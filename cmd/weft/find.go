package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/find"
	"github.com/weft-trace/weft/internal/flowindex"
	"github.com/weft-trace/weft/internal/inputs"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// maxHits bounds the hits kept from all inputs together, whatever --limit is.
const maxHits = 100_000

func findCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "find",
		Usage:     "find where a text is: in names, arguments, URLs, functions, threads",
		UsageText: "weft find [flags] TEXT FILE|FOLDER…",
		Description: `Searches names, categories, keys and values of arguments, functions of samples, and
the names of processes, threads and counters for TEXT, in upper or lower case, and
prints where it is: the time, the name, the track, the place, and what has the text.
A function of samples is one row, at its first sample.

"same request" is an event of another process with the same id of the request, or
the same URL, at the same time. With --flows the hits are followed: to the events
before and after them in their flows, and to the same request in other processes.
weft flows --marker N goes on from event N.

Examples:
   weft find style.css trace.json
   weft find --flows style.css profile.json.gz
   weft find --json api/checkout recordings/ | jq 'select(.table=="hits").name'`,
		Flags: slices.Concat([]cli.Flag{
			jsonFlag("print one JSON object per line"),
			&cli.BoolFlag{Name: "flows", Usage: "follow each hit to what its flows join it with, and to the same request in other processes", DisableDefaultText: true},
		}, arrangingFlags(" of a file", "in the order of time"), []cli.Flag{filesFromFlag(), formatFlag(), memoryFlag(), fromFlag(), toFlag()}),
		Action: func(c *cli.Context) error {
			q, err := newFindQuery(c, env)
			if err != nil {
				return err
			}
			return q.run(c)
		},
	}
}

// findQuery is one call of the find command, with the hits that it has found.
type findQuery struct {
	env      *environment
	text     string
	opts     convert.Options
	filter   *selection.Filter
	printing *printing
	limit    int // hits per file
	flows    bool
	kept     int
	report   table.Report
}

func newFindQuery(c *cli.Context, env *environment) (q *findQuery, err error) {
	q = &findQuery{env: env, text: c.Args().First(), flows: c.Bool("flows"), report: table.Report{Lines: true}}
	names := c.Args().Tail()
	switch {
	case q.text == "":
		return nil, usagef("no text; write weft find TEXT FILE")
	case len(q.text) > maxFindText:
		return nil, usagef("the text is longer than %d bytes", maxFindText)
	case len(names) == 1 && !exists(names[0]) && names[0] != inputs.Stdin && exists(q.text):
		return nil, usagef("%s: no such file; the text comes first: weft find %s %s", names[0], names[0], q.text)
	case len(names) == 0 && !c.IsSet(filesFrom) && exists(q.text):
		return nil, usagef("no text; write weft find TEXT %s", q.text)
	}
	if q.opts, err = inputOptions(c); err != nil {
		return nil, err
	}
	q.opts.KeepFlowIDs = q.flows
	if q.filter, err = readSelection(c); err != nil {
		return nil, err
	}
	if q.printing, err = newPrinting(c, []*table.Table{hitTable(nil, 0, 0)}); err != nil {
		return nil, err
	}
	q.limit = cmp.Or(rowLimit(c), maxHits)
	return q, nil
}

// maxFindText bounds the length of the text to find.
const maxFindText = 4096

func (q *findQuery) run(c *cli.Context) error {
	failed := eachFile(c, q.env, c.Args().Tail(), false, func(name string, src *input) error { return q.search(c.Context, name, src) })
	if len(q.report.Sections) == 0 {
		return failed
	}
	q.arrange()
	return errors.Join(q.printing.print(c, q.env, "", &q.report), failed)
}

// arrange drops files without hits from the results of several files, and the title from the result of a single file.
func (q *findQuery) arrange() {
	sections := &q.report.Sections
	if len(*sections) == 1 {
		(*sections)[0].Title, (*sections)[0].Tables[0].Flush = "", true
		return
	}
	all := len(*sections)
	*sections = slices.DeleteFunc(*sections, func(s table.Section) bool { return len(s.Tables[0].Rows) == 0 })
	if without := all - len(*sections); without > 0 {
		*sections = append(*sections, table.Section{Lines: []string{fmt.Sprintf("%q is not in %s", q.text, table.Plural(without, "file", "files"))}})
	}
}

// search adds the hits from one input.
func (q *findQuery) search(ctx context.Context, name string, src *input) (err error) {
	progress := startProgress(q.env, inputName(name), src.size, true)
	tr, tl, err := openTimeline(ctx, name, progress.reader(src), q.opts)
	progress.Stop()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, tr.Close()) }()
	selected, err := selectIn(ctx, name, q.filter, tl)
	if err != nil {
		return err
	}
	found, err := find.Collect(ctx, tl, q.text, selected, min(q.limit, maxHits-q.kept))
	if err != nil {
		return err
	}
	if q.kept += len(found.Hits); q.kept == maxHits && found.All > len(found.Hits) {
		printNote(q.env, name, fmt.Sprintf("the limit of %s hits is reached; --from and --to select a part", table.Thousands(maxHits)))
	}
	hits := newHitRows(tl, inputName(name), found)
	section := table.Section{Title: printable(inputName(name)), Lines: []string{q.summary(found)}}
	if q.flows {
		section.Details, err = q.follow(ctx, tl, found, hits)
	}
	section.Tables = []*table.Table{hitTable(hits, tl.Start(), found.All)}
	q.report.Sections = append(q.report.Sections, section)
	q.report.Head = append(q.report.Head, table.JSON(struct {
		Table string         `json:"table"`
		Input string         `json:"input"`
		Hits  int            `json:"hits"`
		Kinds map[string]int `json:"kinds"`
	}{"summary", inputName(name), found.All, found.Kinds}))
	return err
}

// summary counts the hits by kind.
func (q *findQuery) summary(found *find.Result) string {
	if found.All == 0 {
		return fmt.Sprintf("%q was not found", q.text)
	}
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(found.Kinds)) {
		n := found.Kinds[kind]
		kinds = append(kinds, table.Plural(n, kind, strings.TrimSuffix(kind, "s")+map[bool]string{true: "es", false: "s"}[strings.HasSuffix(kind, "s")]))
	}
	return table.Count(found.All, "hit") + ": " + strings.Join(kinds, ", ")
}

// hitRow is a hit in JSON form.
type hitRow struct {
	Input    string          `json:"input"`
	Kind     string          `json:"kind"`
	TS       *timeline.Nanos `json:"ts_ns,omitempty"`  // absent for processes, threads, counters and tracks
	Dur      *timeline.Nanos `json:"dur_ns,omitempty"` // of slices; absent for a slice that never ends
	Event    *uint32         `json:"event,omitempty"`  // of slices and instants
	Name     string          `json:"name"`
	Category string          `json:"category,omitempty"`
	Track    string          `json:"track"`
	Where    []string        `json:"where"`
	Text     string          `json:"text,omitempty"`         // the text that matched, if it is not the name
	Samples  int64           `json:"samples,omitempty"`      // of functions
	Same     []uint32        `json:"same_request,omitempty"` // events in other processes
	Flows    []*memberObject `json:"flows,omitempty"`        // with --flows

	place string // the track for people
}

func newHitRows(tl *timeline.Timeline, input string, found *find.Result) []hitRow {
	rows := make([]hitRow, len(found.Hits))
	for i := range found.Hits {
		h := &found.Hits[i]
		row := &rows[i]
		*row = hitRow{
			Input: input, Kind: h.Kind, Name: h.Name, Category: h.Category, Track: resolved.TrackText(tl, h.Track, h.Lane), Where: h.Where,
			Text: h.Text, Samples: h.Samples,
		}
		row.place = pathText(row.Track)
		if h.TS != timeline.NoTime {
			row.TS = &h.TS
		}
		if h.Dur != timeline.NoTime && h.Kind == resolved.Slice.String() {
			row.Dur = &h.Dur
		}
		if h.IsEvent() {
			row.Event = &h.Event
		}
		for _, other := range h.SameRequest {
			row.Same = append(row.Same, other.Event)
		}
	}
	return rows
}

// hitTable returns the table of the hits in one input.
func hitTable(hits []hitRow, start timeline.Nanos, all int) *table.Table {
	return table.New(table.Table{Name: "hits", RowNoun: "hits", All: all}, hits,
		table.Texts("input", "", func(h *hitRow) string { return h.Input }),
		table.MomentCells("ts_ns", "time", func(h *hitRow) table.Cell {
			if h.TS == nil {
				return table.None
			}
			return table.Moment(*h.TS, start)
		}),
		table.OptionalTimes("dur_ns", "ms", func(h *hitRow) *timeline.Nanos { return h.Dur }).DropOrder(3),
		table.Texts("kind", "kind", func(h *hitRow) string { return h.Kind }).Words().DropOrder(4),
		table.Texts("event", "event", func(h *hitRow) string {
			if h.Event == nil {
				return ""
			}
			return strconv.Itoa(int(*h.Event)) // without commas, for --marker
		}).Words().DropOrder(5),
		table.Names("name", "name", 60, func(h *hitRow) string { return h.Name }).Noted(producers.RecorderNote),
		table.Texts("category", "", func(h *hitRow) string { return h.Category }),
		table.Cells(table.Column{Key: "track", Title: "track"}, func(h *hitRow) table.Cell { return table.Cell{Text: h.Track, Short: h.place} }),
		table.Texts("where", "where", func(h *hitRow) string { return strings.Join(h.Where, ", ") }),
		table.Cells(table.Column{Key: "text", Title: "text"}, func(h *hitRow) table.Cell {
			if h.Text == "" {
				return table.None
			}
			return table.Name(h.Text, 60)
		}).IfAny().DropOrder(2),
		table.Cells(table.Column{Key: "samples", Title: "samples", Kind: table.CountKind}, func(h *hitRow) table.Cell {
			if h.Samples == 0 {
				return table.None
			}
			return table.Number(h.Samples)
		}).IfAny().DropOrder(1),
		table.Texts("same_request", "same request, event", func(h *hitRow) string { return strings.Trim(fmt.Sprint(h.Same), "[]") }).IfAny().DropOrder(1),
	)
}

// hitFlows collects the flows that flowPrinter finds for hits.
type hitFlows struct {
	flowForm
	of map[uint64][]hitFlow // by ordinal
}

// hitFlow is a hit that is a marker of a flow.
type hitFlow struct {
	flow           flowindex.Flow
	marker         *marker
	previous, next []*marker
}

func (f *hitFlows) markerHead(*marker) error { return nil }

func (f *hitFlows) membership(flow flowindex.Flow, m *marker, previous, next []*marker) error {
	f.of[m.Ordinal] = append(f.of[m.Ordinal], hitFlow{flow, m, previous, next})
	return nil
}

// follow finds the flows of hits. It adds them to the rows, and returns a block of lines for each hit.
func (q *findQuery) follow(ctx context.Context, tl *timeline.Timeline, found *find.Result, rows []hitRow) (details []table.Detail, err error) {
	index, err := flowindex.NewIndex(ctx, tl)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, index.Close()) }()
	of := &hitFlows{of: map[uint64][]hitFlow{}}
	p := &flowPrinter{ctx: ctx, trace: tl, index: index, span: selection.SpanOf(tl), limit: maxHits, tracks: map[timeline.TrackLane]*markerTrack{}, form: of}
	var ordinals []uint64
	for i := range found.Hits {
		if h := &found.Hits[i]; h.IsEvent() {
			ordinals = append(ordinals, h.Ordinal)
		}
	}
	if err := p.markers(ordinals); err != nil {
		return nil, err
	}
	text := &flowText{flowPrinter: p}
	json := &flowJSON{p}
	for i := range found.Hits {
		h := &found.Hits[i]
		d := table.Detail{Width: 14, Title: fmt.Sprintf("%s  %s · %s", text.since(h.TS), table.Elide(rows[i].Name, maxName), rows[i].place)}
		for _, o := range h.SameRequest {
			d.Add("same request", text.hitLine(o.TS, o.Name, pathText(resolved.TrackText(tl, o.Track, o.Lane)), o.Event), 0)
		}
		for _, f := range of.of[h.Ordinal] {
			rows[i].Flows = append(rows[i].Flows, json.memberships(f.flow, f.marker, f.previous, f.next))
			if f.flow.Members == 1 {
				continue // it leads to no other marker
			}
			d.Add("flow", fmt.Sprintf("%s, marker %s of %s", printable(p.name(f.flow)), table.Thousands(f.marker.N+1), table.Thousands(f.flow.Members)), 0)
			for _, m := range f.previous {
				d.Add("  from", text.hitLine(m.TS, m.Name, pathText(m.track.name), m.Event), 0)
			}
			for _, m := range f.next {
				d.Add("  to", text.hitLine(m.TS, m.Name, pathText(m.track.name), m.Event), 0)
			}
		}
		if len(d.Lines) > 0 {
			details = append(details, d)
		}
	}
	return details, nil
}

// hitLine describes a neighbour of a hit in a flow.
func (t *flowText) hitLine(ts timeline.Nanos, name, place string, event uint32) string {
	return fmt.Sprintf("%s  %s · %s, event %d", t.since(ts), table.Elide(cmp.Or(name, "(no name)"), maxName), place, event)
}
