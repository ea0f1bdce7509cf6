package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	engine "github.com/weft-trace/weft/internal/attribution"
	costtables "github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/eventstream"
	"github.com/weft-trace/weft/internal/load"
	"github.com/weft-trace/weft/internal/migrate"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// eventFormFlags returns the flags for export forms that contain events.
func eventFormFlags() []cli.Flag {
	return titled("Flags for events (--as proto, parquet, jsonl)", []cli.Flag{
		&cli.StringFlag{Name: "types", Usage: "only events of these types: `LIST` of slice, instant, counter, sample", DefaultText: "all"},
		argsFlag(),
		callDetailsFlag(),
		&cli.BoolFlag{Name: "places", Usage: "add the place of each event in the input: input_event and input_byte", DisableDefaultText: true},
		&cli.StringFlag{Name: "compress", Usage: "compress with `CODEC`: zstd, gzip or none", DefaultText: "what the name of -o says; without -o zstd for proto and none for jsonl"},
		&cli.StringFlag{Name: "split", Usage: "begin a new file after `SIZE|N`: a size before compression such as 512MiB, or a number of events"},
		&cli.StringFlag{Name: "manifest", Usage: "list the files in `FILE` as JSON, written when all of them are complete"},
		&cli.BoolFlag{Name: "attribute", Usage: "add contexts to events, and with --as proto what each context cost (docs/attribution.md)", DisableDefaultText: true},
		strictFlag(""),
	})
}

// contentFlags are the flags that determine the contents of a stream: they go into its header and its stream_id.
var contentFlags = []string{
	"types", "args", "places", "attribute", "process", "thread", "name", "category", "context",
	"from", "to", "format", "js-calls", "profile", "details",
}

// An eventExport exports one input in a form that contains events.
type eventExport struct {
	env       *environment
	input     string
	form      *exportForm
	place     string
	manifest  string // "": none
	force     bool
	quiet     bool
	strict    strictness
	opts      convert.Options
	filter    *selection.Filter
	kinds     []resolved.Kind // nil: all
	codec     string
	split     splitRule
	attribute bool
	rules     engine.Rules
	places    bool     // add each event's position in the input
	content   []string // contentFlags that are set, as NAME=VALUE
}

// splitRule determines when a new part starts; both 0: never.
type splitRule struct {
	bytes, events uint64
}

// newEventExport reads the flags. The parameter job contains the settings common to all forms.
func newEventExport(c *cli.Context, job *exportJob) (x *eventExport, err error) {
	x = &eventExport{
		env: job.env, input: job.input, form: job.form, force: job.force, quiet: job.quiet, opts: job.opts, filter: job.filter,
		manifest: c.String("manifest"), strict: readStrict(c), attribute: c.Bool("attribute"),
	}
	for _, name := range []string{"of", "by"} {
		if c.IsSet(name) {
			return nil, usagef("--%s is for profiles; --as %s has events", name, x.form.name)
		}
	}
	x.opts.NoLongTasks = true // in traces that weft wrote, these are not events of the recording
	x.places = c.Bool("places")
	if x.kinds, err = readKinds(c); err != nil {
		return nil, err
	}
	if x.split, err = readSplit(c); err != nil {
		return nil, err
	}
	if err := x.readAttribution(c); err != nil {
		return nil, err
	}
	for _, name := range contentFlags {
		if !c.IsSet(name) {
			continue
		}
		values := []string{fmt.Sprint(c.Value(name))}
		if list := c.StringSlice(name); list != nil {
			values = list
		}
		for _, v := range values {
			x.content = append(x.content, name+"="+v)
		}
	}
	slices.Sort(x.content)
	if err := x.readCodec(c, job); err != nil {
		return nil, err
	}
	switch {
	case c.IsSet("manifest") && x.manifest == "":
		return nil, usagef("--manifest: the name is empty")
	case x.place == "-" && x.split != splitRule{}:
		return nil, usagef("--split makes several files, which standard output cannot take; name one with -o")
	case x.place == "-" && x.manifest != "":
		return nil, usagef("--manifest lists files, and the events go to standard output; name a file with -o")
	}
	return x, nil
}

func readKinds(c *cli.Context) (kinds []resolved.Kind, err error) {
	if !c.IsSet("types") {
		return nil, nil
	}
	for name := range strings.SplitSeq(c.String("types"), ",") {
		kind, ok := resolved.ParseKind(strings.TrimSpace(name))
		if !ok {
			return nil, unknownValue("types", "type", name, "slice", "instant", "counter", "sample")
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

func readSplit(c *cli.Context) (s splitRule, err error) {
	text := c.String("split")
	if !c.IsSet("split") {
		return s, nil
	}
	if n, err := strconv.ParseUint(text, 10, 63); err == nil {
		s.events = n
	} else if size, err := migrate.ParseSize(text); err == nil {
		s.bytes = uint64(size)
	} else {
		return s, usagef("--split: %q is neither a size, such as 512MiB, nor a number of events", text)
	}
	if s == (splitRule{}) {
		return s, usagef("--split must be greater than 0")
	}
	return s, nil
}

func (x *eventExport) readAttribution(c *cli.Context) error {
	if !x.attribute {
		return nil
	}
	if args := c.String("args"); args != "all" {
		return usagef("--args %s: attribution needs all arguments; leave out --args", args)
	}
	opts, err := contextOptions(c)
	if err != nil {
		return err
	}
	x.rules, err = engine.RulesOf(opts)
	x.rules.Workers = x.opts.Workers
	return err
}

// readCodec chooses the compression of the output and then its path, whose suffix depends on it.
func (x *eventExport) readCodec(c *cli.Context, job *exportJob) error {
	x.codec = c.String("compress")
	switch name := c.String("o"); {
	case x.form.packed && c.IsSet("compress"):
		return usagef("--compress: the columns of %s are compressed already; leave it out", x.form.name)
	case x.form.packed:
		x.codec = eventstream.NoCompression
	case c.IsSet("compress"):
	case name != "":
		x.codec = codecOf(name)
	case x.form.compressed && job.place != "-":
		x.codec = eventstream.Zstd
	default:
		x.codec = eventstream.NoCompression
	}
	suffix, ok := eventstream.Suffix(x.codec)
	if !ok {
		return unknownValue("compress", "codec", x.codec, eventstream.Codecs()...)
	}
	if x.place = job.place; x.place != "-" && c.String("o") == "" {
		x.place += suffix
	}
	return nil
}

// codecOf returns the codec that a file name implies.
func codecOf(name string) string {
	for _, codec := range eventstream.Codecs() {
		if suffix, _ := eventstream.Suffix(codec); suffix != "" && strings.HasSuffix(name, suffix) {
			return codec
		}
	}
	return eventstream.NoCompression
}

func (x *eventExport) run(ctx context.Context) error {
	out, err := x.newParts(ctx)
	if err != nil {
		return err
	}
	defer out.abort()
	t, header, err := x.open(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(x.write(ctx, t.Timeline, header, out), t.Close()); err != nil {
		return err
	}
	if err := out.commit(); err != nil {
		return err
	}
	return x.report(out)
}

// open reads the input and makes the header.
func (x *eventExport) open(ctx context.Context) (*load.Trace, *eventstream.Header, error) {
	src, err := openInput(ctx, x.env, x.input)
	if err != nil {
		return nil, nil, err
	}
	defer src.Close()
	progress := startProgress(x.env, inputName(x.input), src.size, !x.quiet)
	defer progress.Stop()
	hashed := &hashedReader{r: progress.reader(src), hash: sha256.New()}
	t, err := openUnwalked(ctx, x.input, hashed, x.opts)
	if err != nil {
		return nil, nil, err
	}
	// Bytes that the reader did not need belong to the file too.
	if _, err := io.Copy(io.Discard, hashed); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("%s: %w", inputName(x.input), withoutPath(err)), t.Close())
	}
	inputs := []eventstream.Input{{Format: string(t.Report.Format), Bytes: hashed.n, SHA256: hex.EncodeToString(hashed.hash.Sum(nil))}}
	if x.input != "-" {
		inputs[0].Name = filepath.Base(x.input)
	}
	return t, &eventstream.Header{
		WeftVersion: pfwire.Version, Inputs: inputs, Options: x.content, Clock: t.Timeline.Clocks(), Attributes: t.Timeline.Attributes(),
	}, nil
}

// hashedReader hashes the bytes that pass through it.
type hashedReader struct {
	r    io.Reader
	hash hash.Hash
	n    uint64
}

func (h *hashedReader) Read(p []byte) (int, error) {
	n, err := h.r.Read(p)
	h.hash.Write(p[:n])
	h.n += uint64(n)
	return n, err
}

// write writes the events and the costs.
func (x *eventExport) write(ctx context.Context, tl *timeline.Timeline, header *eventstream.Header, out *parts) error {
	selected, err := selectIn(ctx, x.input, x.filter, tl)
	if err != nil {
		return err
	}
	opts := resolved.Options{Kinds: x.kinds, NoPositions: !x.places}
	if selected != nil {
		opts.Selected = selected.Item
	}
	var result *engine.Result
	if x.attribute {
		report.SelectCosts(&x.rules, selected)
		if result, err = engine.Run(ctx, tl, x.rules); err != nil {
			return fmt.Errorf("%s: %w", inputName(x.input), err)
		}
		defer result.Close()
		opts.Contexts = newContextSets(result).of
	}
	rows := resolved.NewReader(tl)
	defer rows.Close()
	if err := out.begin(tl, header); err != nil {
		return err
	}
	leftOut, err := rows.Walk(ctx, opts, out.event)
	if err != nil {
		return err
	}
	if result != nil && x.form.costs {
		if err := eachCost(result, out.cost); err != nil {
			return err
		}
	}
	return out.end(leftOut, tl.Problems())
}

// contextSets returns the contexts of events, and caches them by set.
type contextSets struct {
	result *engine.Result
	sets   [][]resolved.Context // by SetID; nil: not requested yet
}

func newContextSets(r *engine.Result) *contextSets {
	return &contextSets{r, make([][]resolved.Context, r.Sets.Lists.Len())}
}

// of returns the contexts of a slice or instant.
func (s *contextSets) of(ordinal uint64) ([]resolved.Context, error) {
	set, err := s.result.Of(ordinal)
	if err != nil || int(set) >= len(s.sets) {
		return nil, err
	}
	if s.sets[set] == nil {
		list := []resolved.Context{}
		for _, c := range s.result.Set(set) {
			out := resolved.Context{Type: c.Type, Name: c.Name, Via: resolved.ParseVia(c.Via.String()), Hops: c.Hops}
			if c.ID.ID != "" || c.ID.Scope != "" {
				out.ID = c.ID.String()
			}
			for _, id := range c.Candidates {
				out.Candidates = append(out.Candidates, id.String())
			}
			list = append(list, out)
		}
		s.sets[set] = list
	}
	return s.sets[set], nil
}

// eachCost calls fn for the rows of all cost tables.
func eachCost(result *engine.Result, fn func(*eventstream.Cost) error) error {
	all := costtables.Of(result)
	for _, typ := range all.Types() {
		table, err := all.Table(costtables.TableOptions{Type: typ})
		if err != nil {
			return err
		}
		for i := range table.Rows {
			row := &table.Rows[i]
			c := eventstream.Cost{
				Type: typ, ContextID: row.ID, Name: row.Name, By: table.By, Self: row.Self, Total: row.Total, CPU: row.CPU,
				CPUUnknown: row.WithoutCPU, Slices: row.Slices,
			}
			for k := range costtables.Columns {
				column := &costtables.Columns[k]
				if v := column.Value(row); column.In(row) && v != 0 && !slices.Contains(costFields, column.Name) {
					c.Metrics = append(c.Metrics, eventstream.Metric{Name: column.Name, Value: v})
				}
			}
			if err := fn(&c); err != nil {
				return err
			}
		}
	}
	return nil
}

// costFields are the columns that are fields of a Cost.
var costFields = []string{"self_ns", "total_ns", "self_cpu_ns", "self_without_cpu_ns", "slices"}

// report prints what was written.
func (x *eventExport) report(out *parts) error {
	if !x.quiet {
		words := table.Plural(int64(out.total), "event", "events")
		if out.leftOut > 0 {
			words += ", " + table.Thousands(int64(out.leftOut)) + " left out"
		}
		name := outputName(x.place)
		if len(out.files) > 1 {
			name = outputName(filepath.Join(filepath.Dir(x.place), filepath.Base(out.files[0].File)))
			words += " in " + table.Plural(int64(len(out.files)), "file", "files")
		}
		fmt.Fprintf(x.env.stderr, "%s: %s\n", printable(name), words)
		if !cmp.Or(x.strict, strictUnusual).allows(out.lost) {
			n, why := out.lost.unusual, "(details: "+problemsOf(shellWord(printable(inputName(x.input))))+")"
			if x.strict == strictAll {
				n = out.lost.all
			}
			fmt.Fprintf(x.env.stderr, "problems: %s lost %s\n", table.Thousands(int64(min(n, math.MaxInt64))), why)
		}
	}
	return x.strict.judge(x.env, out.lost, "")
}
