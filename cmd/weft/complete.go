package main

import (
	"context"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/commandline"
	"github.com/weft-trace/weft/internal/compare"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/tracer"
)

// completeCommand is the command that shells' completion scripts call: weft __complete :CURRENT WORD…, with the word under
// the cursor and the words before it. It prints the candidates, one per line, each followed by a tab and its meaning. The
// line ":files" or ":dirs" tells the shell to add file or folder names.
const completeCommand = "__complete"

// vocabulary provides the words that may follow weft's commands.
type vocabulary struct{}

// Flags implements commandline.Vocabulary. Each report has flags of its own.
func (vocabulary) Flags(command *cli.Command, words []string) []cli.Flag {
	for _, r := range reports() {
		if command.Name == "report" && len(words) > 0 && r.name == words[0] {
			return takenBy(&r, command.Flags)
		}
	}
	return command.Flags
}

// Arguments implements commandline.Vocabulary.
func (vocabulary) Arguments(command *cli.Command, words []string) (list []commandline.Candidate) {
	switch n := len(words); {
	case command.Name == "report" && n == 0:
		for _, r := range reports() {
			list = append(list, commandline.Candidate{Text: r.name, About: r.usage})
		}
		return list
	case command.Name == "completion" && n == 0:
		return commandline.Words(shells()...)
	case command.Name == "scripts" && n == 0:
		return scriptCandidates()
	case command.Name == "find" && n == 0, command.Name == "flows" && n > 0, command.Name == "dump" && n > 0, command.Name == "report" && n > 1,
		command.Name == "completion", command.Name == "scripts", command.Name == "list", command.Name == "record", command.Name == "man", command.Name == "version":
		return nil
	}
	return commandline.Words(commandline.Files)
}

func scriptCandidates() (list []commandline.Candidate) {
	scripts, err := tracer.Scripts()
	if err != nil {
		return nil
	}
	for i := range scripts {
		list = append(list, commandline.Candidate{Text: scripts[i].Name, About: scripts[i].About()})
	}
	return list
}

// Values implements commandline.Vocabulary.
func (vocabulary) Values(command *cli.Command, others []string, flag cli.Flag) []commandline.Candidate {
	switch name := flag.Names()[0]; name {
	case "format":
		var formats []string
		for _, f := range convert.Formats() {
			formats = append(formats, string(f))
		}
		return commandline.Words(formats...)
	case "kind":
		return commandline.Words(append(strings.Split(kindList(), ", "), "all")...)
	case "process", "thread", "name", "category":
		return namesIn(others, name)
	case "table", "sort", "columns":
		if command.Name == "flows" {
			return commandline.Words(flowColumns...)
		}
		if command.Name == "compare" {
			return columnCandidates(new(compareQuery).forms())
		}
		if len(others) > 0 {
			return tableCandidates(others[0], name)
		}
		return nil
	case "as":
		var forms []commandline.Candidate
		for i := range exportForms {
			forms = append(forms, commandline.Candidate{Text: exportForms[i].name, About: exportForms[i].usage})
		}
		return forms
	case "by":
		if command.Name == "export" {
			return commandline.Words("context", "page", "frame", "script", "input")
		}
		if command.Name == "compare" {
			return commandline.Words(compare.ByNames()...)
		}
		if len(others) > 0 && others[0] != costReport {
			return commandline.Words("name", "category", "thread", "process")
		}
		return commandline.Words("context", "page", "class", "entity", "type", "process", "thread", "category")
	case "type":
		return commandline.Words("frame", "page", "script", "entity", "input", "process", "thread")
	case "context":
		return commandline.Words("frame=", "page=", "script=", "input=")
	case "context-rule":
		list := commandline.Words("scope=slice", "flow=keep", "flow=lca")
		for _, source := range attribution.SourceNames() {
			list = append(list, commandline.Candidate{Text: "sources=" + source})
		}
		return list
	case "paint":
		return commandline.Words(report.PaintOptions()...)
	case "mode":
		if len(others) > 0 && others[0] == "js-funcalls" {
			return commandline.Words(sampledMode)
		}
		return commandline.Words(report.TimeModes[:]...)
	case "self-profile":
		return commandline.Words("interval=", "origin=", "end=", "thread=")
	case "script":
		return append(scriptCandidates(), commandline.Candidate{Text: commandline.Files})
	case "o", "html", "report-file", "phases", "lines", "base", "new", "ui", filesFrom, baseFilesFrom, newFilesFrom, inputsFrom:
		return commandline.Words(commandline.Files)
	case "out-dir", "out", "root":
		return commandline.Words(commandline.Folders)
	default:
		return commandline.Words(choices[name]...)
	}
}

// choices maps flags with few values to these values.
var choices = map[string][]string{
	"args":        {"all", "none"},
	"charge":      {"exact", "begin"},
	"compress":    {"zstd", "zlib", "none"},
	"js-calls":    {"refined", "devtools", "off"},
	"of":          {"samples", "slices"},
	"memory":      {"64MiB", "256MiB", "1GiB", "4GiB"},
	"packets":     {"compact", "plain"},
	"perfetto":    {"skip", "copy", "convert"},
	"per":         {"recording", "second"},
	"profile":     {"all"},
	"redo":        {"version", "all"},
	"strict":      {"all"},
	"samples":     {"stack-sample", "none"},
	"screenshots": {"on", "off"},
	"types":       {"slice", "instant", "counter", "sample"},
	"tracer":      {"bpftrace", "dtrace"},
	"write-back":  {"all", "notes", "tracks", "catalogue", "costs"},
}

// Limits for completion from a file, so that a shell never hangs.
const (
	completionTime  = 2 * time.Second
	completionNames = 20_000
)

// namesIn returns candidates for a selection flag: the names in the trace that the last file among the words contains. If weft
// cannot read the file in time, namesIn returns nil, because completion cannot show errors.
func namesIn(words []string, flag string) (list []commandline.Candidate) {
	ctx, cancel := context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	for _, name := range slices.Backward(words) {
		if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			return nil
		}
		defer f.Close()
		tr, tl, err := openTimeline(ctx, name, f, convert.Options{})
		if err != nil {
			return nil
		}
		defer tr.Close()
		for _, text := range selection.Names(tl, flag) {
			// Lines that start with a colon are for the shell, and a control character would end the line or the candidate.
			if len(list) < completionNames && text[0] != ':' && strings.IndexFunc(text, unicode.IsControl) < 0 {
				list = append(list, commandline.Candidate{Text: text})
			}
		}
		return list
	}
	return nil
}

// tableCandidates returns the tables of a report, or their columns.
func tableCandidates(name, flag string) (list []commandline.Candidate) {
	for _, r := range reports() {
		if r.name != name || r.forms == nil {
			continue
		}
		if flag != "table" {
			return columnCandidates(r.forms())
		}
		for _, t := range r.forms() {
			list = append(list, commandline.Candidate{Text: t.Name, About: t.Title})
		}
	}
	return list
}

// columnCandidates returns the columns of tables.
func columnCandidates(forms []*table.Table) (list []commandline.Candidate) {
	for _, t := range forms {
		for _, c := range t.Columns {
			named := commandline.Candidate{Text: strings.TrimSuffix(c.Key, "_ns"), About: c.Title}
			if named.Text != "" && !slices.ContainsFunc(list, func(other commandline.Candidate) bool { return other.Text == named.Text }) {
				list = append(list, named)
			}
		}
	}
	return list
}

// takenBy returns the flags of the report command that one report accepts.
func takenBy(r *reportKind, flags []cli.Flag) []cli.Flag {
	return slices.DeleteFunc(slices.Clone(flags), func(f cli.Flag) bool { return !r.takes(f.Names()[0]) })
}

// narrowHelp narrows the help of the report command to one report and the flags of that report, if an argument names one. It
// returns the full name of the command, with the report's name if an argument names a report.
func narrowHelp(command *cli.Command, args []string) (name string) {
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
		return "weft report " + r.name
	}
	return "weft report"
}

// narrowUsage removes the report's name from a flag's usage, for help about one report.
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
