package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/compare"
	"github.com/weft-trace/weft/internal/probescripts"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/table"
)

// completeCommand is what completion scripts of shells call: weft __complete :CURRENT WORD…, with the word under the cursor and
// those before it. It prints the candidates, one a line, with a tab and what they mean behind them. The line ":files" or ":dirs"
// asks the shell for names of files or folders as well.
const completeCommand = "__complete"

// candidate is a word that a shell may complete to.
type candidate struct{ text, about string }

// Lines with which names of files or folders are asked for.
const (
	completeFiles = ":files"
	completeDirs  = ":dirs"
)

// complete answers a completion script.
func complete(app *cli.App, env *environment, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var b bytes.Buffer
	for _, c := range candidates(app, joinedWords(args[1:], strings.TrimPrefix(args[0], ":"))) {
		if c.about == "" {
			fmt.Fprintln(&b, c.text)
			continue
		}
		fmt.Fprintf(&b, "%s\t%s\n", c.text, c.about)
	}
	_, err := env.stdout.Write(b.Bytes())
	return err
}

// joinedWords puts together what bash takes apart: --format=perfetto has three words there.
func joinedWords(before []string, current string) []string {
	var words []string
	for _, word := range append(slices.Clone(before), current) {
		n := len(words)
		switch {
		case n > 0 && word == "=" && strings.HasPrefix(words[n-1], "--") && !strings.Contains(words[n-1], "="):
			words[n-1] += "="
		case n > 0 && strings.HasPrefix(words[n-1], "--") && strings.HasSuffix(words[n-1], "="):
			words[n-1] += word
		default:
			words = append(words, word)
		}
	}
	return words
}

// candidates returns what the last of the words may become. A line ":files" or ":dirs" is one of them.
func candidates(app *cli.App, words []string) []candidate {
	before, current := words[:len(words)-1], words[len(words)-1]
	command, names := (*cli.Command)(nil), app.Commands
	var others []string // those that are not flags
	needsValue := cli.Flag(nil)
	for _, word := range before {
		switch {
		case needsValue != nil:
			needsValue = nil
		case strings.HasPrefix(word, "-") && len(word) > 1:
			if command == nil {
				continue
			}
			if flag := findFlag(command.Flags, word); flag != nil && takesValue(flag, word) {
				needsValue = flag
			}
		case len(others) == 0 && findCommand(names, word) != nil:
			command = findCommand(names, word)
			names = command.Subcommands
		default:
			others = append(others, word)
		}
	}
	flagPart, value, isValue := strings.Cut(current, "=")
	switch {
	case needsValue != nil:
		return matching(flagValues(command, others, needsValue), current)
	case command != nil && strings.HasPrefix(current, "--") && isValue:
		var list []candidate
		if flag := findFlag(command.Flags, flagPart); flag != nil {
			for _, c := range matching(flagValues(command, others, flag), value) {
				if !strings.HasPrefix(c.text, ":") {
					c.text = flagPart + "=" + c.text
				}
				list = append(list, c)
			}
		}
		return list
	case strings.HasPrefix(current, "-"):
		return matching(flagCandidates(command, others), current)
	case len(names) > 0:
		return matching(commandCandidates(names), current)
	}
	return matching(argumentCandidates(command, len(others)), current)
}

// findCommand returns the command of a name, nil if there is none.
func findCommand(commands []*cli.Command, name string) *cli.Command {
	i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(name) })
	if i < 0 {
		return nil
	}
	return commands[i]
}

// matching returns the candidates that begin with a text.
func matching(all []candidate, begin string) (list []candidate) {
	for _, c := range all {
		if strings.HasPrefix(c.text, begin) || strings.HasPrefix(c.text, ":") {
			list = append(list, c)
		}
	}
	return list
}

func commandCandidates(commands []*cli.Command) (list []candidate) {
	for _, c := range commands {
		if !c.Hidden {
			list = append(list, candidate{c.Name, c.Usage})
		}
	}
	return list
}

// flagCandidates returns the flags of a command, or of the program. others are the arguments of the command so far.
func flagCandidates(command *cli.Command, others []string) (list []candidate) {
	flags := []cli.Flag{cli.HelpFlag}
	if command == nil {
		flags = append(flags, cli.VersionFlag)
	} else {
		own := command.Flags
		for _, r := range reports() {
			if command.Name == "report" && len(others) > 0 && r.name == others[0] {
				own = takenBy(&r, own)
			}
		}
		flags = append(slices.Clone(own), flags...)
	}
	for _, f := range flags {
		name := "--" + f.Names()[0]
		if len(name) == 3 {
			name = name[1:]
		}
		about := ""
		if documented, ok := f.(cli.DocGenerationFlag); ok {
			about = strings.ReplaceAll(documented.GetUsage(), "`", "")
		}
		list = append(list, candidate{name, about})
	}
	return list
}

// argumentCandidates returns what an argument of a command can be, of which there are n before it.
func argumentCandidates(command *cli.Command, n int) (list []candidate) {
	switch {
	case command == nil:
		return nil
	case command.Name == "report" && n == 0:
		for _, r := range reports() {
			list = append(list, candidate{r.name, r.usage})
		}
		return list
	case command.Name == "completion" && n == 0:
		return words(shells()...)
	case command.Name == "scripts" && n == 0:
		return scriptCandidates()
	case command.Name == "flows" && n > 0, command.Name == "dump" && n > 0, command.Name == "report" && n > 1,
		command.Name == "completion", command.Name == "scripts", command.Name == "list", command.Name == "record", command.Name == "man", command.Name == "version":
		return nil
	}
	return words(completeFiles)
}

// words are candidates that need no description.
func words(names ...string) (list []candidate) {
	for _, name := range names {
		list = append(list, candidate{text: name})
	}
	return list
}

func scriptCandidates() (list []candidate) {
	scripts, err := probescripts.All()
	if err != nil {
		return nil
	}
	for i := range scripts {
		list = append(list, candidate{scripts[i].Name, scripts[i].About()})
	}
	return list
}

// flagValues returns what the value of a flag can be. others are the arguments of the command so far.
func flagValues(command *cli.Command, others []string, flag cli.Flag) []candidate {
	switch name := flag.Names()[0]; name {
	case "format":
		var formats []string
		for _, f := range convert.Formats() {
			formats = append(formats, string(f))
		}
		return words(formats...)
	case "strict":
		return words(string(strictAll))
	case "kind":
		return words(append(strings.Split(kindList(), ", "), "all")...)
	case "table", "sort", "columns":
		if command.Name == "compare" {
			return columnCandidates(new(compareQuery).forms())
		}
		if len(others) > 0 {
			return tableCandidates(others[0], name)
		}
		return nil
	case "as":
		var forms []candidate
		for i := range exportForms {
			forms = append(forms, candidate{exportForms[i].name, exportForms[i].usage})
		}
		return forms
	case "by":
		if command.Name == "export" {
			return words("context", "page", "frame", "script", "input")
		}
		if command.Name == "compare" {
			return words(compare.ByNames()...)
		}
		if len(others) > 0 && others[0] != costReport {
			return words("name", "category", "thread", "process")
		}
		return words("context", "page", "class", "entity", "type", "process", "thread", "category")
	case "type":
		return words("frame", "page", "script", "entity", "input", "process", "thread")
	case "context":
		return words("frame=", "page=", "script=", "input=")
	case "context-sources":
		return words(attribution.SourceNames()...)
	case "paint":
		return words(report.PaintOptions()...)
	case "mode":
		return words(report.TimeModes[:]...)
	case "script":
		return append(scriptCandidates(), candidate{text: completeFiles})
	case "o", "html", "report-file", "phases", "lines", "base", "new", "ui", filesFrom, baseFilesFrom, newFilesFrom, inputsFrom:
		return words(completeFiles)
	case "out-dir", "out", "root":
		return words(completeDirs)
	default:
		return words(choices[name]...)
	}
}

// choices are the values of flags that have few.
var choices = map[string][]string{
	"args":          {"all", "none"},
	"charge":        {"exact", "begin"},
	"compress":      {"zlib", "zstd", "none"},
	"context-scope": {"thread", "slice"},
	"flow-conflict": {"replace", "keep", "lca"},
	"js-calls":      {"refined", "devtools", "off"},
	"of":            {"samples", "slices"},
	"memory":        {"64MiB", "256MiB", "1GiB", "4GiB"},
	"packets":       {"compact", "plain"},
	"perfetto":      {"skip", "copy", "convert"},
	"per":           {"recording", "second"},
	"profile":       {"all"},
	"redo":          {"version", "all"},
	"samples":       {"stack-sample", "none"},
	"screenshots":   {"on", "off"},
	"tracer":        {"bpftrace", "dtrace"},
	"write-back":    {"all", "notes", "tracks", "catalogue", "costs"},
}

// tableCandidates returns the tables of a report, or their columns.
func tableCandidates(name, flag string) (list []candidate) {
	for _, r := range reports() {
		if r.name != name || r.forms == nil {
			continue
		}
		if flag != "table" {
			return columnCandidates(r.forms())
		}
		for _, t := range r.forms() {
			list = append(list, candidate{t.Name, t.Title})
		}
	}
	return list
}

// columnCandidates returns the columns of tables.
func columnCandidates(forms []*table.Table) (list []candidate) {
	for _, t := range forms {
		for _, c := range t.Columns {
			named := candidate{strings.TrimSuffix(c.Key, "_ns"), c.Title}
			if named.text != "" && !slices.ContainsFunc(list, func(other candidate) bool { return other.text == named.text }) {
				list = append(list, named)
			}
		}
	}
	return list
}

// takenBy returns those of the flags of the command report that one report takes.
func takenBy(r *reportKind, flags []cli.Flag) []cli.Flag {
	return slices.DeleteFunc(slices.Clone(flags), func(f cli.Flag) bool { return !r.takes(f.Names()[0]) })
}

// narrowHelp has the help of the command report be about one report, if an argument names it: with its flags only.
func narrowHelp(command *cli.Command, args []string) {
	for _, r := range reports() {
		if !slices.Contains(args, r.name) {
			continue
		}
		command.Usage = r.usage
		command.UsageText = "weft report " + r.name + " [flags] FILE"
		if r.many != nil {
			command.UsageText += "|FOLDER…"
		}
		command.Description = "For example:\n\n   " + r.example + "\n\ndocs/reports.md and docs/attribution.md define the numbers. \"-\" is standard input."
		command.Flags = takenBy(&r, command.Flags)
		for _, f := range command.Flags {
			if hasFlag(ownReportFlags(), f.Names()[0]) {
				titled("Flags of "+r.name, []cli.Flag{f})
				narrowUsage(f, r.name)
			}
		}
		command.HelpName = "report " + r.name
		setHelp(command)
		return
	}
}

// narrowUsage leaves out of what a flag does which reports it is about, where the help is about one.
func narrowUsage(f cli.Flag, name string) {
	switch f := f.(type) {
	case *cli.BoolFlag:
		f.Usage = strings.TrimPrefix(f.Usage, name+": ")
	case *cli.StringFlag:
		f.Usage = strings.TrimPrefix(strings.TrimPrefix(f.Usage, name+": "), "layout: ")
		if f.Name != "by" {
			return
		}
		if f.Usage, f.DefaultText = costByUsage, "context"; name == "slices" {
			f.Usage, f.DefaultText = slicesByUsage, "name"
		}
	}
}
