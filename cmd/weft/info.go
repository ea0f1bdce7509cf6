package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	engine "github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/trace"
)

func infoCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "info",
		Usage:     "show what a trace contains",
		UsageText: "weft info [flags] FILE|FOLDER…",
		Description: `Prints on one screen what a recording is: who made it and when, which pages and
commands it shows, which processes and threads were busy, its longest tasks and
slowest inputs, and which commands of weft say more. weft reads the input as for
a conversion, but writes nothing. "-" is standard input.

--problems lists what is wrong with the input. "lost" means that a conversion
would lose data, "repaired" that it would keep it, but changed; "usual" is what
most recordings in the format have. docs/data-problems.md explains every problem.

Examples:
   weft info trace.json
   weft info --problems trace.json
   weft info --json *.json.gz | jq -r '[.input, .overview.recording.version] | @tsv'`,
		Flags: slices.Concat([]cli.Flag{
			jsonFlag("print one line of JSON per file, with everything"),
			&cli.BoolFlag{Name: "problems", Usage: "list the data problems and where they are", DisableDefaultText: true},
			&cli.BoolFlag{Name: "details", Usage: "print what a conversion finds: tracks, profiles, calls made of samples, facts and data problems", DisableDefaultText: true},
			&cli.BoolFlag{Name: "attribute", Usage: "also count the problems that weft convert --attribute finds", DisableDefaultText: true},
			&cli.IntFlag{Name: "limit", Usage: "print at most `N` lines of each list; 0: all", DefaultText: "what fits the screen"},
			filesFromFlag(), formatFlag(), memoryFlag(),
		}, selectionFlags(), profileFlags()),
		Action: func(c *cli.Context) error {
			opts, err := inputOptions(c)
			if err != nil {
				return err
			}
			if err := checkInfoFlags(c); err != nil {
				return err
			}
			filter, err := readSelection(c)
			if err != nil {
				return err
			}
			several := false
			return eachFile(c, env, c.Args().Slice(), false, func(name string, src *input) error {
				err := info(c, env, name, src, opts, filter, several)
				several = several || err == nil
				return err
			})
		},
	}
}

// checkInfoFlags rejects flags that cannot be combined.
func checkInfoFlags(c *cli.Context) error {
	if _, err := readLimit(c); err != nil {
		return err
	}
	for _, name := range []string{"problems", "details"} {
		if !c.Bool(name) {
			continue
		}
		if c.Bool("json") {
			return usagef("--%s and --json cannot be combined; the JSON form has everything", name)
		}
		for _, f := range selectionFlags() {
			if part := f.Names()[0]; c.IsSet(part) {
				return usagef("--%s is about the whole trace; leave out --%s", name, part)
			}
		}
	}
	return nil
}

// info prints the contents of one input. The parameter several means that another input was printed before this one.
func info(c *cli.Context, env *environment, name string, src *input, opts convert.Options, filter *selection.Filter, several bool) error {
	conversion := new(convert.Report)
	opts.Report = conversion
	progress := startProgress(env, inputName(name), src.size, true)
	tr, tl, err := openTimeline(c.Context, name, progress.reader(src), opts)
	progress.Stop()
	if err != nil {
		return err
	}
	in := &reportInput{name: name, trace: tr, timeline: tl}
	var overview *report.Overview
	if in.selected, err = selectIn(c.Context, name, filter, in.timeline); err == nil && !c.Bool("problems") && !c.Bool("details") {
		overview, err = collectOverview(c, in)
	}
	if err == nil && c.Bool("attribute") {
		if overview == nil { // otherwise collectOverview has attributed the trace
			err = attributed(c, in, func(*engine.Result) error { return nil })
		}
		conversion.Problems = tr.Problems()
	}
	if err = errors.Join(err, in.Close()); err != nil {
		return err
	}
	switch {
	case c.Bool("json"):
		return writeJSON(env.stdout, &infoReport{inputName(name), conversion, newDurations(conversion.Durations), overview})
	case c.Bool("details"):
		return writeInfo(env, inputName(name), conversion)
	case c.Bool("problems"):
		return writeProblems(env, inputName(name), conversion)
	}
	s := newScreen(env)
	if c.IsSet("limit") {
		s.rows = c.Int("limit")
	}
	if several {
		s.line("")
	}
	s.overview(name, conversion, overview, in.selected != nil)
	_, err = env.stdout.Write(s.Bytes())
	return err
}

// collectOverview attributes a trace and summarises the selected part.
func collectOverview(c *cli.Context, in *reportInput) (*report.Overview, error) {
	rules := engine.Rules{}
	report.SelectCosts(&rules, in.selected)
	result, err := engine.Run(c.Context, in.timeline, rules)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", inputName(in.name), err)
	}
	overview, err := report.CollectOverview(c.Context, in.timeline, result, in.selected)
	return overview, errors.Join(err, result.Close())
}

// infoReport is the output of --json.
type infoReport struct {
	Input string `json:"input"`
	*convert.Report
	Durations durations        `json:"durations"`
	Overview  *report.Overview `json:"overview"`
}

// writeInfo prints the report that converting an input would produce, with all problems.
func writeInfo(env *environment, name string, r *convert.Report) error {
	var b bytes.Buffer
	on := env.terminal(env.stdout)
	fmt.Fprintln(&b, on.Heading(printable(name)))
	row := func(label, format string, args ...any) {
		fmt.Fprintln(&b, on.Wrap(fmt.Sprintf("  %-10s%s", label, fmt.Sprintf(format, args...)), 12))
	}
	if len(r.Containers) == 0 {
		row("format", "%s", r.Format)
	} else {
		row("format", "%s in %s", r.Format, strings.Join(r.Containers, " in "))
	}
	if r.BytesUnpacked == r.BytesIn {
		row("size", "%s bytes", table.Thousands(r.BytesIn))
	} else {
		row("size", "%s bytes, %s unpacked", table.Thousands(r.BytesIn), table.Thousands(r.BytesUnpacked))
	}
	if r.Span != nil {
		row("time", "%s, from %s to %s", selection.FormatMoment(r.Span.End-r.Span.Start),
			selection.OnClock(r.Span.Start), selection.OnClock(r.Span.End))
	}
	if r.Clock != nil {
		row("clock", "%s", printable(clockLine(r.Clock)))
	}
	t, e := r.Tracks, r.Events
	row("tracks", "processes %s, threads %s, async %s, counters %s, other %s", table.Thousands(t.Processes), table.Thousands(t.Threads), table.Thousands(t.Async),
		table.Thousands(t.Counters), table.Thousands(t.Other))
	row("events", "slices %s (never ended: %s), instants %s, counter values %s, samples %s", table.Thousands(e.Slices), table.Thousands(e.Unfinished),
		table.Thousands(e.Instants), table.Thousands(e.CounterValues), table.Thousands(e.Samples))
	if own := addedText(&e); own != "" {
		row("", "%s", own)
	}
	if e.IdleStates > 0 {
		row("", "%s of samplers, which viewers show as gaps", table.Plural(e.IdleStates, "idle state", "idle states"))
	}
	if e.Screenshots > 0 {
		row("pictures", "%s, %s", table.Plural(e.Screenshots, "screenshot", "screenshots"), table.Plural(e.ScreenshotBytes, "byte", "bytes"))
	}
	row("flows", "%s", table.Thousands(e.Flows))
	for i := range r.Profiles {
		row("profile", "%s", printable(profileLine(&r.Profiles[i])))
	}
	for _, c := range r.JSCalls {
		row("JS calls", "%s: %s", withNumber(printable(c.Thread), "tid", c.TID), callsLine(&c))
	}
	for _, line := range factLines(r.Facts) {
		row("constant", "%s", printable(line))
	}
	if len(r.Facts) > 0 {
		row("facts", "%s, listed by --json", table.Thousands(len(r.Facts)))
	}
	row("problems", "%s", cmp.Or(problemSummary(r), "none"))
	listProblems(&b, on, r.Problems)
	_, err := env.stdout.Write(b.Bytes())
	return err
}

// writeProblems prints only the problems: first those specific to this recording, then the usual ones.
func writeProblems(env *environment, name string, r *convert.Report) error {
	var b bytes.Buffer
	on := env.terminal(env.stdout)
	odd, line := unusual(r), usualLine(r)
	fmt.Fprintln(&b, on.Heading(printable(name)+": problems: "+problemCounts(r)))
	listProblems(&b, on, odd)
	if line != "" {
		fmt.Fprintln(&b, on.Wrap("  "+line, 4))
	}
	listProblems(&b, on, slices.DeleteFunc(slices.Clone(r.Problems), func(p trace.Problem) bool { return !slices.Contains(r.Usual, p.Name) }))
	_, err := env.stdout.Write(b.Bytes())
	return err
}

// listProblems adds the problems and their first locations.
func listProblems(b *bytes.Buffer, on table.Terminal, problems []trace.Problem) {
	for _, p := range problems {
		line := on.Wrap(fmt.Sprintf("    %-8s  %s ×%s: %s", p.Severity, p.Name, table.Thousands(p.Count), p.Sentence), 14)
		switch p.Severity {
		case problem.Lost.String():
			line = strings.Replace(line, p.Severity, on.Severe(p.Severity), 1)
		case problem.Repaired.String():
			line = strings.Replace(line, p.Severity, on.Warning(p.Severity), 1)
		}
		fmt.Fprintln(b, line)
		for _, found := range p.Cases {
			if text := printable(caseText(&found)); text != "" {
				fmt.Fprintln(b, on.Wrap("                "+text, 18))
			}
		}
	}
}
