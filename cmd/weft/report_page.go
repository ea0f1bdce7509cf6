package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	engine "github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/commandline"
	"github.com/weft-trace/weft/internal/compare"
	"github.com/weft-trace/weft/internal/load"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/reportpage"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/verdict"
	"github.com/weft-trace/weft/trace"
)

// pageFlagsTitle is the help title for pageFlags.
const pageFlagsTitle = "Flags of pages"

// pageFlags returns the flags for reports as pages.
func pageFlags() []cli.Flag {
	return titled(pageFlagsTitle, []cli.Flag{
		&cli.StringFlag{Name: "html", Usage: "write the report as a page to `FILE`, to read in any browser and to send around; \"-\": standard output"},
		&cli.BoolFlag{Name: "keep-urls", Usage: "show queries and fragments of urls in the page, which may hold secrets", DisableDefaultText: true},
		&cli.BoolFlag{Name: "force", Aliases: []string{"f"}, Usage: "replace an existing page", DisableDefaultText: true},
	})
}

// wantsPage reports whether a page is requested, or the report has no other form.
func wantsPage(c *cli.Context) bool { return c.IsSet("html") || c.Args().First() == allReport }

// checkPageFlags rejects flags that pages do not support, and page flags without --html.
func checkPageFlags(c *cli.Context, without []string) error {
	switch {
	case !c.IsSet("html") && (c.IsSet("keep-urls") || c.IsSet("force")):
		return usagef("--keep-urls and --force are for pages; name one with --html FILE")
	case !c.IsSet("html"):
		return nil
	case c.String("html") == "":
		return usagef("--html: name a file, or use \"-\" for standard output")
	case c.Bool("json"):
		return usagef("--html and --json cannot be combined")
	}
	for _, flag := range slices.Concat(tableFlags, without) {
		if c.IsSet(flag) {
			return usagef("--%s: a page does not have this flag", flag)
		}
	}
	if c.String("html") == "-" || c.IsSet("base") || c.IsSet("new") || c.IsSet("files-from") {
		return nil
	}
	// Check this now rather than when the page is written, because reading may take minutes. createOutput has a better error
	// for a page that is an input.
	page, err := os.Stat(c.String("html"))
	isInput := func(name string) bool {
		in, err := os.Stat(name)
		return err == nil && os.SameFile(in, page)
	}
	if err == nil && page.Mode().IsRegular() && !c.Bool("force") && !slices.ContainsFunc(c.Args().Slice(), isInput) {
		return existsError(c.String("html"))
	}
	return nil
}

// runPageReport writes a report as a page, or everything as JSON.
func runPageReport(c *cli.Context, env *environment, r *reportKind) error {
	opts, err := inputOptions(c)
	if err != nil {
		return err
	}
	in, err := openPageInput(c, env, opts)
	if err != nil {
		return err
	}
	all, err := in.collectAll(c.Context, slices.Contains(r.sections, reportpage.Slices))
	if err = errors.Join(err, in.Close()); err != nil {
		return err
	}
	if c.Bool("json") {
		in.printProblems(env, r.problems)
		in.printNotCounted(env, true)
		return writeJSON(env.stdout, struct {
			Verdict *verdict.Verdict `json:"verdict"`
			*report.All
		}{verdict.Of(all, in.report.Problems, in.report.Usual), all})
	}
	src := pageSource(in.name, in.report)
	if in.selected != nil {
		src.Selected = "what " + selectionText(c) + " selects"
	}
	page := reportpage.Options{Sections: r.sections, KeepURLs: c.Bool("keep-urls")}
	if !c.IsSet("html") {
		in.printProblems(env, r.problems)
		return printVerdict(env, in.name, verdict.Of(all, src.Problems, src.Usual))
	}
	return writePage(c, env, func(w io.Writer) error {
		return reportpage.Write(w, src, all, page)
	})
}

// printVerdict prints the verdict on a trace, and the command for the full report.
func printVerdict(env *environment, file string, v *verdict.Verdict) error {
	width := cmp.Or(env.terminal(env.stdout).Columns, commandline.Width)
	var b strings.Builder
	line := func(head, text string) { b.WriteString(commandline.Wrap(head, printable(text), width)) }
	line("", v.Heading.String()+".")
	for _, t := range v.Why {
		line("", t.String())
	}
	b.WriteString("\n")
	for i := range v.Tiles {
		t := &v.Tiles[i]
		text := t.Value
		if t.Rating != "" {
			text += " (" + string(t.Rating) + ")"
		}
		if t.Note != "" {
			text += ", " + t.Note
		}
		line(fmt.Sprintf("  %-20s", t.Label), text)
	}
	if len(v.Issues) > 0 {
		b.WriteString("\nWhat to change\n")
	}
	for i := range v.Issues {
		x := &v.Issues[i]
		class := ""
		if x.Class != verdict.Yours {
			class = " (the " + string(x.Class) + ")"
		}
		line(fmt.Sprintf("%2d. ", i+1), x.Title.String()+class+".")
		line("    ", x.Proof.String())
		line("    → ", x.Action.String())
	}
	b.WriteString("\n")
	for _, t := range v.Trust {
		line("", t.String())
	}
	fmt.Fprintf(&b, "\nAll tables and plots: weft report all --html report.html %s\n", shellWord(printable(file)))
	_, err := io.WriteString(env.stdout, b.String())
	return err
}

// writePage writes the --html file.
func writePage(c *cli.Context, env *environment, write func(io.Writer) error) error {
	out, err := createOutput(c.Context, env, c.String("html"), c.Bool("force"))
	if err != nil {
		return err
	}
	if err := write(out); err != nil {
		out.Abort()
		return fmt.Errorf("%s: %w", outputName(c.String("html")), withoutPath(err))
	}
	return out.Commit()
}

// pageInput is the input of a page. Making the page walks all events, so that no separate walk is needed.
type pageInput struct {
	*reportInput
	loaded *load.Trace
}

func newPageInput(ctx context.Context, name string, src io.Reader, opts convert.Options) (*pageInput, error) {
	t, err := openUnwalked(ctx, name, src, opts)
	if err != nil {
		return nil, err
	}
	in := &reportInput{name: name, trace: new(trace.Trace), timeline: t.Timeline, report: t.Report}
	timeline.Hold(ctx, in.trace, t.Timeline)
	return &pageInput{in, t}, nil
}

// openPageInput reads the trace that the command's second argument names, and resolves the selection.
func openPageInput(c *cli.Context, env *environment, opts convert.Options) (*pageInput, error) {
	filter, err := readSelection(c)
	if err != nil {
		return nil, err
	}
	name := c.Args().Get(1)
	src, err := openInput(c.Context, env, name)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	progress := startProgress(env, inputName(name), src.size, true)
	in, err := newPageInput(c.Context, name, progress.reader(src), opts)
	progress.Stop()
	if err != nil {
		return nil, err
	}
	if in.selected, err = selectIn(c.Context, name, filter, in.timeline); err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return in, nil
}

// collectAll attributes a trace and makes all reports on the selected part; slices is for report.AllOptions.
func (in *pageInput) collectAll(ctx context.Context, slices bool) (*report.All, error) {
	rules := engine.Rules{}
	report.SelectCosts(&rules, in.selected)
	all, err := report.CollectAll(ctx, in.timeline, rules, report.AllOptions{Selected: in.selected, Slices: slices})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", inputName(in.name), err)
	}
	in.loaded.Count()
	return all, nil
}

// pageSource names the file of a page, never its folder.
func pageSource(name string, report *convert.Report) *reportpage.Source {
	if name == "-" {
		return reportpage.NewSource("", report)
	}
	return reportpage.NewSource(filepath.Base(name), report)
}

// selectionText returns the selection flags as written on the command line.
func selectionText(c *cli.Context) string {
	var words []string
	for _, f := range selectionFlags() {
		name := f.Names()[0]
		values := []string{c.String(name)}
		if _, many := f.(*cli.StringSliceFlag); many {
			values = c.StringSlice(name)
		}
		for _, v := range values {
			if c.IsSet(name) {
				words = append(words, "--"+name+" "+v)
			}
		}
	}
	return strings.Join(words, " ")
}

// writePage writes a comparison as a page.
func (q *compareQuery) writePage(c *cli.Context, env *environment, r, stacks *compare.Result) error {
	shown := *r // names without folders
	shown.Base, shown.New = withoutFolders(r.Base), withoutFolders(r.New)
	page := &reportpage.Comparison{
		Title: comparedTitle(r.Base) + " → " + comparedTitle(r.New), By: q.by, Per: q.per(), Result: &shown, Stacks: stacks, KeepURLs: c.Bool("keep-urls"),
	}
	if text := selectionText(c); text != "" {
		page.Selected = "what " + text + " selects"
	}
	return writePage(c, env, func(w io.Writer) error { return reportpage.WriteComparison(w, page) })
}

func withoutFolders(list []compare.Recording) []compare.Recording {
	list = slices.Clone(list)
	for i := range list {
		list[i].Name = filepath.Base(list[i].Name)
	}
	return list
}

// comparedTitle names the recordings of a version: by the file, or by the folder that contains them all.
func comparedTitle(list []compare.Recording) string {
	if len(list) == 1 {
		return filepath.Base(list[0].Name)
	}
	dir := filepath.Dir(list[0].Name)
	for _, r := range list {
		if filepath.Dir(r.Name) != dir {
			dir = "."
		}
	}
	if name := filepath.Base(dir); name != "." && name != ".." && name != string(filepath.Separator) {
		return name
	}
	return table.Count(len(list), "recording")
}
