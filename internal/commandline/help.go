package commandline

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/internal/words"
)

// Width is the width of help texts if the terminal's width is unknown.
const Width = 100

// minText is the minimum width that Wrap wraps text to; narrower terminals wrap it themselves.
const minText = 20

// A help builds a help text.
type help struct {
	strings.Builder
	width   int
	heading func(string) string
}

// AppHelp returns the help of a program, with flag descriptions wrapped at a width in columns. The function heading styles
// titles.
func AppHelp(app *cli.App, width int, heading func(string) string) string {
	h := &help{width: width, heading: heading}
	h.section("NAME", app.Name+" - "+app.Usage)
	h.section("USAGE", app.UsageText)
	h.section("VERSION", app.Version)
	h.section("DESCRIPTION", app.Description)
	h.commands(app.Commands)
	h.title("GLOBAL OPTIONS:")
	h.flags([]cli.Flag{cli.HelpFlag, cli.VersionFlag})
	return h.String()
}

// CommandHelp returns the help of a command. name is its full name: "weft probes list".
func CommandHelp(command *cli.Command, name string, width int, heading func(string) string) string {
	h := &help{width: width, heading: heading}
	h.section("NAME", name+" - "+command.Usage)
	h.section("USAGE", command.UsageText)
	h.section("DESCRIPTION", command.Description)
	h.commands(command.Subcommands)
	h.title("OPTIONS:")
	for i, group := range flagGroups(append(command.Flags[:len(command.Flags):len(command.Flags)], cli.HelpFlag)) {
		if i > 0 {
			h.WriteByte('\n')
			h.title("   " + group.title)
			h.WriteByte('\n')
		}
		h.flags(group.flags)
	}
	return h.String()
}

func (h *help) title(text string) { h.WriteString(h.heading(text) + "\n") }

// section writes a text, indented, below its title. It writes nothing if the text is empty.
func (h *help) section(title, text string) {
	if text == "" {
		return
	}
	h.title(title + ":")
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if line != "" {
			line = "   " + line
		}
		h.WriteString(line + "\n")
	}
	h.WriteByte('\n')
}

// commands lists commands.
func (h *help) commands(commands []*cli.Command) {
	if len(commands) == 0 {
		return
	}
	h.title("COMMANDS:")
	width := 0
	for _, c := range commands {
		width = max(width, len(c.Name))
	}
	for _, c := range commands {
		h.WriteString("   " + c.Name + strings.Repeat(" ", width-len(c.Name)) + "  " + c.Usage + "\n")
	}
	h.WriteByte('\n')
}

// flags lists flags with aligned and wrapped descriptions.
func (h *help) flags(flags []cli.Flag) {
	width := 0
	for _, f := range flags {
		names, _ := flagTexts(f)
		width = max(width, utf8.RuneCountInString(names))
	}
	for _, f := range flags {
		names, text := flagTexts(f)
		head := "   " + names + strings.Repeat(" ", width-utf8.RuneCountInString(names)) + "  "
		h.WriteString(Wrap(head, text, h.width))
	}
}

// Wrap returns a head followed by a text, which is wrapped at a width. Further lines are indented to the start of the text. If
// the text would have fewer columns than minText, it is not wrapped.
func Wrap(head, text string, width int) string {
	indent := words.Width(head)
	if width-indent < minText {
		return head + text + "\n"
	}
	var b strings.Builder
	b.WriteString(head)
	column := 0
	for word := range strings.FieldsSeq(text) {
		length := words.Width(word)
		switch {
		case column == 0:
		case indent+column+1+length > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += length
	}
	b.WriteByte('\n')
	return b.String()
}

// flagTexts returns the names of a flag with the name of its value, and its description.
func flagTexts(f cli.Flag) (names, text string) {
	names, text, _ = strings.Cut(cli.FlagStringer(f), "\t")
	return repeated.ReplaceAllString(names, ""), text
}

// repeated matches the second occurrence of a flag, which package cli writes if the flag may be repeated.
var repeated = regexp.MustCompile(` \[ --.* \]$`)

// flagGroup is a group of flags with a title, which may be empty.
type flagGroup struct {
	title string
	flags []cli.Flag
}

// flagGroups groups the flags of a command by title, in order of appearance; flags without a title come first.
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
