package commandline

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

// A Page is the content of a manual page other than the commands.
type Page struct {
	Version     string
	Exits       [][2]string // exit codes and their meanings
	Environment [][2]string // variables and their effects
	Examples    [][2]string // tasks and the commands for them
	SeeAlso     string
}

// Man returns the manual page of a program in man(7) macros.
func Man(app *cli.App, page *Page) []byte {
	p := new(roff)
	fmt.Fprintf(p, ".TH %s 1 \"\" \"%s %s\" \"User Commands\"\n", strings.ToUpper(app.Name), app.Name, page.Version)
	p.section("NAME")
	p.line(app.Name + " - " + app.Usage)
	p.section("SYNOPSIS")
	p.synopsis(app.UsageText)
	p.section("DESCRIPTION")
	p.text(app.Description)
	p.section("COMMANDS")
	for _, c := range app.Commands {
		p.command(app.Name, c)
	}
	p.section("EXIT STATUS")
	for _, e := range page.Exits {
		p.tagged(e[0], e[1])
	}
	p.section("ENVIRONMENT")
	for _, e := range page.Environment {
		p.tagged(e[0], e[1])
	}
	p.section("EXAMPLES")
	for _, e := range page.Examples {
		fmt.Fprintln(p, ".PP")
		p.line(e[0])
		p.preformatted([]string{e[1]})
	}
	p.section("SEE ALSO")
	p.line(page.SeeAlso)
	return p.Bytes()
}

// roff is text in man(7) macros.
type roff struct{ bytes.Buffer }

func (p *roff) section(title string) { fmt.Fprintf(p, ".SH %s\n", title) }

// line writes a line of text without markup.
func (p *roff) line(text string) { fmt.Fprintln(p, roffText(text)) }

// roffText escapes markup and, because the encoding that roff expects is uncertain, non-ASCII characters. It preserves a
// minus as a minus, so that it can be searched for and copied.
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

// tagged writes a term in bold and its description indented below.
func (p *roff) tagged(term, text string) {
	fmt.Fprintf(p, ".TP\n\\fB%s\\fR\n", roffText(term))
	p.line(text)
}

// synopsis writes lines with the syntax of a command.
func (p *roff) synopsis(lines string) {
	for line := range strings.SplitSeq(lines, "\n") {
		fmt.Fprintf(p, ".br\n\\fB%s\\fR\n", roffText(line))
	}
}

// preformatted writes lines without filling them.
func (p *roff) preformatted(lines []string) {
	fmt.Fprint(p, ".RS 4\n.nf\n")
	for _, line := range lines {
		p.line(line)
	}
	fmt.Fprint(p, ".fi\n.RE\n")
}

// text writes a description. Its indented lines are preformatted.
func (p *roff) text(description string) {
	for block := range strings.SplitSeq(strings.TrimSpace("\n"+description), "\n\n") {
		fmt.Fprintln(p, ".PP")
		var indented []string
		for line := range strings.SplitSeq(block, "\n") {
			if rest, ok := strings.CutPrefix(line, "   "); ok {
				indented = append(indented, rest)
				continue
			}
			if indented != nil {
				p.preformatted(indented)
				indented = nil
			}
			p.line(line)
		}
		if indented != nil {
			p.preformatted(indented)
		}
	}
}

// command writes the documentation of a command and its subcommands.
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
