package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/internal/pfwire"
)

func manCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "man",
		Usage:     "print the manual page",
		UsageText: "weft man [flags]",
		Description: `Prints the manual page of weft and all its commands, as man(1) reads it.

   weft man | man -l -                                 read it
   weft man > ~/.local/share/man/man1/weft.1           install it; then: man weft`,
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return usagef("man takes no argument")
			}
			_, err := env.stdout.Write(manPage(c.App))
			return err
		},
	}
}

// manExamples are the examples of the manual page: what people want, and the command for it.
var manExamples = [][2]string{
	{"What is in this recording, and what can be asked of it?", "weft info trace.json"},
	{"See it in Perfetto:", "weft convert trace.json"},
	{"Convert an archive, with its folders, and replace what is there:", "weft convert --force --out-dir converted recordings/"},
	{"Why was this click slow?", "weft report input --kind click trace.json"},
	{"What took time between 1.5 and 2 seconds on one thread?", "weft report slices --thread CrRendererMain --from 1.5s --to 2s trace.json"},
	{"Which functions took time, in all profiles of a folder?", "weft report samples profiles/"},
	{"What did each page cost?", "weft report cost --type page trace.json"},
	{"Where did this message of Firefox go?", "weft flows --connected --name 'PHttpChannel::*' profile.json.gz"},
	{"Fail a build that made something 10 % slower:", "weft compare --fail-over 10% --base before/ --new after/"},
	{"Open the samples in pprof:", "weft export --as pprof -o cpu.pb.gz trace.json && go tool pprof -http=: cpu.pb.gz"},
	{"Count the events of each name with jq:", "weft dump --json trace.json | jq -r .name | sort | uniq -c"},
}

// exitStatuses are the exit codes and what they mean.
var exitStatuses = []struct {
	code    int
	meaning string
}{
	{exitOK, "done"},
	{exitFailed, "something failed: an input cannot be read, an output cannot be written, verify found a violation"},
	{exitUsage, "the command line is wrong"},
	{exitStrict, "--strict: weft converted everything, but data was lost that most recordings in the format do not lack; --strict=all: any data was lost"},
	{exitSlower, "compare --fail-over: something is slower than allowed"},
	{exitStopped, "migrate: the run had to stop, because the disk is full, for example"},
	{exitInterrupted, "interrupted (Ctrl-C, SIGTERM, SIGHUP)"},
	{exitBrokenPipe, "the reader of the output closed the pipe, as head does"},
}

// manEnvironment are the variables of the environment that weft reads.
var manEnvironment = [][2]string{
	{"NO_COLOR", "If it is not empty, text on terminals has no color."},
	{"TMPDIR", "The folder for temporary files."},
	{"GOMEMLIMIT, GOGC", "Settings of Go's garbage collector, which take precedence over those that follow from --memory."},
}

// manPage is the manual page of a program, in the macros of man(7).
func manPage(app *cli.App) []byte {
	p := new(roff)
	fmt.Fprintf(p, ".TH WEFT 1 \"\" \"weft %s\" \"User Commands\"\n", pfwire.Version)
	p.section("NAME")
	p.line("weft - " + app.Usage)
	p.section("SYNOPSIS")
	p.synopsis("weft COMMAND [flags] FILE…")
	p.section("DESCRIPTION")
	p.text(app.Description)
	p.section("COMMANDS")
	for _, c := range app.Commands {
		p.command(app.Name, c)
	}
	p.section("EXIT STATUS")
	for _, s := range exitStatuses {
		p.tagged(fmt.Sprint(s.code), s.meaning)
	}
	p.section("ENVIRONMENT")
	for _, e := range manEnvironment {
		p.tagged(e[0], e[1])
	}
	p.section("EXAMPLES")
	for _, e := range manExamples {
		fmt.Fprintln(p, ".PP")
		p.line(e[0])
		p.preformatted([]string{e[1]})
	}
	p.section("SEE ALSO")
	p.line("The pages in docs/ of the source of weft: tour.md for a start, cli.md for all commands and flags, reports.md and attribution.md for what the numbers mean.")
	return p.Bytes()
}

// roff is text in the macros of man(7).
type roff struct{ bytes.Buffer }

func (p *roff) section(title string) { fmt.Fprintf(p, ".SH %s\n", title) }

// line writes a line of text. Nothing in it is markup.
func (p *roff) line(text string) { fmt.Fprintln(p, roffText(text)) }

// roffText escapes what roff would take for markup, and characters beyond ASCII, which it reads in no encoding that is certain. A minus stays
// one, so that it can be searched for and copied.
func roffText(text string) string {
	var b strings.Builder
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		b.WriteString(`\&`)
	}
	for _, r := range text {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r > '~':
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// tagged writes a term in bold and, indented below, what is said about it.
func (p *roff) tagged(term, text string) {
	fmt.Fprintf(p, ".TP\n\\fB%s\\fR\n", roffText(term))
	p.line(text)
}

// synopsis writes lines that say how a command is called.
func (p *roff) synopsis(lines string) {
	for line := range strings.SplitSeq(lines, "\n") {
		fmt.Fprintf(p, ".br\n\\fB%s\\fR\n", roffText(line))
	}
}

// preformatted writes lines as they are.
func (p *roff) preformatted(lines []string) {
	fmt.Fprint(p, ".RS 4\n.nf\n")
	for _, line := range lines {
		p.line(line)
	}
	fmt.Fprint(p, ".fi\n.RE\n")
}

// text writes a description: paragraphs, and lines that are indented, which stay as they are.
func (p *roff) text(description string) {
	for block := range strings.SplitSeq(strings.TrimSpace("\n"+description), "\n\n") {
		fmt.Fprintln(p, ".PP")
		var asIs []string
		for line := range strings.SplitSeq(block, "\n") {
			if rest, ok := strings.CutPrefix(line, "   "); ok {
				asIs = append(asIs, rest)
				continue
			}
			if asIs != nil {
				p.preformatted(asIs)
				asIs = nil
			}
			p.line(line)
		}
		if asIs != nil {
			p.preformatted(asIs)
		}
	}
}

// command writes what there is about a command and those below it.
func (p *roff) command(parent string, c *cli.Command) {
	name := parent + " " + c.Name
	fmt.Fprintf(p, ".SS %s\n", roffText(name))
	p.line(c.Usage)
	if c.UsageText != "" {
		fmt.Fprintln(p, ".PP")
		p.synopsis(c.UsageText)
	}
	if c.Description != "" {
		p.text(c.Description)
	}
	for _, group := range flagGroups(c.Flags) {
		if group.title != "" {
			fmt.Fprintf(p, ".PP\n\\fI%s\\fR\n", roffText(group.title))
		}
		for _, f := range group.flags {
			p.tagged(flagTexts(f))
		}
	}
	for _, sub := range c.Subcommands {
		p.command(name, sub)
	}
}

// flagGroup are flags that stand below one title; "": those without.
type flagGroup struct {
	title string
	flags []cli.Flag
}

// flagGroups returns the flags of a command by their titles, in their order; those without a title come first.
func flagGroups(flags []cli.Flag) (groups []flagGroup) {
	groups = []flagGroup{{}}
	at := map[string]int{"": 0}
	for _, f := range flags {
		title := ""
		if c, ok := f.(cli.CategorizableFlag); ok {
			title = c.GetCategory()
		}
		i, ok := at[title]
		if !ok {
			i = len(groups)
			at[title] = i
			groups = append(groups, flagGroup{title: title})
		}
		groups[i].flags = append(groups[i].flags, f)
	}
	return groups
}
