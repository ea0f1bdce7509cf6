package main

import (
	"strconv"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/internal/commandline"
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
			_, err := env.stdout.Write(commandline.Man(c.App, manPage()))
			return err
		},
	}
}

// manExamples are the examples of the manual page: a task and the command for it.
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

// exitStatuses are the exit codes and their meanings.
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

// manEnvironment lists the environment variables that weft reads.
var manEnvironment = [][2]string{
	{"NO_COLOR", "If it is not empty, text on terminals has no color."},
	{"TMPDIR", "The folder for temporary files."},
	{"GOMEMLIMIT, GOGC", "Settings of Go's garbage collector, which take precedence over those that follow from --memory."},
}

// manPage returns the manual page, except for the commands.
func manPage() *commandline.Page {
	page := &commandline.Page{Version: pfwire.Version, Environment: manEnvironment, Examples: manExamples,
		SeeAlso: "The pages in docs/ of the source of weft: tour.md for a start, cli.md for all commands and flags, reports.md and attribution.md for what the numbers mean."}
	for _, s := range exitStatuses {
		page.Exits = append(page.Exits, [2]string{strconv.Itoa(s.code), s.meaning})
	}
	return page
}
