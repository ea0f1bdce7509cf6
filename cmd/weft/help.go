package main

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

// setHelp gives a command its help. The cli package would sort flags by name, and write those that may be repeated twice.
func setHelp(c *cli.Command) {
	head, _, ok := strings.Cut(cli.CommandHelpTemplate, "{{if .VisibleFlagCategories}}")
	if !ok || len(c.Subcommands) > 0 {
		return
	}
	c.CustomHelpTemplate = head + "\n\n" + strings.ReplaceAll(flagHelp(append(c.Flags[:len(c.Flags):len(c.Flags)], cli.HelpFlag)), "{{", `{{"{{"}}`)
}

// flagHelp lists flags by their titles, in their order.
func flagHelp(flags []cli.Flag) string {
	var b strings.Builder
	b.WriteString("OPTIONS:\n")
	for i, group := range flagGroups(flags) {
		if i > 0 {
			b.WriteString("\n   " + group.title + "\n\n")
		}
		width := 0
		for _, f := range group.flags {
			names, _ := flagTexts(f)
			width = max(width, utf8.RuneCountInString(names))
		}
		for _, f := range group.flags {
			names, text := flagTexts(f)
			b.WriteString("   " + names + strings.Repeat(" ", width-utf8.RuneCountInString(names)) + "  " + text + "\n")
		}
	}
	return b.String()
}

// flagTexts returns the names of a flag with what its value is called, and what it does.
func flagTexts(f cli.Flag) (names, text string) {
	names, text, _ = strings.Cut(cli.FlagStringer(f), "\t")
	return repeated.ReplaceAllString(names, ""), text
}

// repeated matches the second time that a flag is written, because it may be repeated.
var repeated = regexp.MustCompile(` \[ --.* \]$`)
