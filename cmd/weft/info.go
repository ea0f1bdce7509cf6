package main

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
)

func infoCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "info",
		Usage:     "show what a trace contains",
		UsageText: "weft info [flags] FILE…",
		Description: `Prints format, size, time span, tracks, events by kind, flows and data problems.
weft reads the input as for a conversion, but writes nothing. "-" is standard
input.

"lost" means that a conversion would lose data, "repaired" that it would keep it,
but changed. docs/data-problems.md explains every problem.`,
		Flags: append([]cli.Flag{
			jsonFlag("print one line of JSON per file"),
			formatFlag(), memoryFlag(), tempFlag(),
		}, profileFlags()...),
		Action: func(c *cli.Context) error {
			opts, err := inputOptions(c)
			if err != nil {
				return err
			}
			return eachFile(c, env, func(name string, src *input) error {
				return info(c, env, name, src, opts)
			})
		},
	}
}

func info(c *cli.Context, env *environment, name string, src *input, opts convert.Options) error {
	progress := startProgress(env, inputName(name), src.size, true)
	report, err := convert.Inspect(c.Context, progress.reader(src), opts)
	progress.Stop()
	if err != nil {
		return fmt.Errorf("%s: %w", inputName(name), withoutPath(err))
	}
	if c.Bool("json") {
		return writeJSON(env.stdout, &infoReport{Input: inputName(name), Report: report, Durations: newDurations(report.Durations)})
	}
	return writeInfo(env.stdout, inputName(name), report)
}

// infoReport is what --json writes.
type infoReport struct {
	Input string `json:"input"`
	*convert.Report
	Durations durations `json:"durations"`
}

func writeInfo(w io.Writer, name string, r *convert.Report) error {
	var b bytes.Buffer
	fmt.Fprintln(&b, printable(name))
	row := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "  %-10s%s\n", label, fmt.Sprintf(format, args...))
	}
	if len(r.Containers) == 0 {
		row("format", "%s", r.Format)
	} else {
		row("format", "%s in %s", r.Format, strings.Join(r.Containers, " in "))
	}
	if r.BytesUnpacked == r.BytesIn {
		row("size", "%d bytes", r.BytesIn)
	} else {
		row("size", "%d bytes, %d unpacked", r.BytesIn, r.BytesUnpacked)
	}
	if r.Span != nil {
		row("time", "%s, from %d ns to %d ns", time.Duration(r.Span.End-r.Span.Start), r.Span.Start, r.Span.End)
	}
	if r.Clock != nil {
		row("clock", "%s", printable(clockLine(r.Clock)))
	}
	t, e := r.Tracks, r.Events
	row("tracks", "processes %d, threads %d, async %d, counters %d, other %d", t.Processes, t.Threads, t.Async, t.Counters, t.Other)
	row("events", "slices %d (never ended: %d), instants %d, counter values %d, samples %d", e.Slices, e.Unfinished,
		e.Instants, e.CounterValues, e.Samples)
	if e.Screenshots > 0 {
		row("pictures", "%s, %s", plural(e.Screenshots, "screenshot", "screenshots"), plural(e.ScreenshotBytes, "byte", "bytes"))
	}
	row("flows", "%d", e.Flows)
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
		row("facts", "%d, listed by --json", len(r.Facts))
	}
	counts := problemSummary(r)
	if counts == "" {
		counts = "none"
	}
	row("problems", "%s", counts)
	for _, p := range r.Problems {
		fmt.Fprintf(&b, "    %-8s  %s ×%d: %s\n", p.Severity, p.Name, p.Count, p.Sentence)
		for _, found := range p.Cases {
			if text := printable(caseText(&found)); text != "" {
				fmt.Fprintf(&b, "                %s\n", text)
			}
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}
