package main

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/internal/tracer"
	"github.com/weft-trace/weft/internal/words"
)

func probesCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "probes",
		Usage:     "record static probes of running programs with bpftrace or DTrace",
		UsageText: "weft probes list|scripts|record [flags] …",
		Description: `A probe is a point in a program that a tracer watches: a static probe that the
program declares (USDT), a function, or a system call. weft ships scripts for
bpftrace and DTrace, runs the tracer, and converts its output to a Perfetto trace.

Examples:
   weft probes list
   sudo weft probes record -c './program arguments' -o program.pftrace
   weft report layout-time program.pftrace

docs/probes.md is a tutorial, from a C program to the trace and its reports.`,
		Subcommands: []*cli.Command{
			probesListCommand(env),
			probesScriptsCommand(env),
			probesRecordCommand(env),
		},
		Action: func(c *cli.Context) error {
			subcommands := []string{"list", "scripts", "record"}
			if c.NArg() == 0 {
				return usagef("no subcommand; use weft probes %s", words.List(subcommands))
			}
			return usagef("%v", words.Unknown("subcommand of probes", c.Args().First(), subcommands))
		},
	}
}

// tracerFlag returns the flag that selects a tracer. If value is "", the default is all tracers.
func tracerFlag(value string) cli.Flag {
	return &cli.StringFlag{Name: "tracer", Value: value, Usage: "`TRACER` that runs the scripts: bpftrace or dtrace"}
}

// tracerOf reads the flag from tracerFlag: "" if it is not set and has no default.
func tracerOf(c *cli.Context) (tracer.Tracer, error) {
	name := c.String("tracer")
	if name == "" && !c.IsSet("tracer") {
		return "", nil
	}
	tr, err := tracer.ParseTracer(name)
	if err != nil {
		return "", usagef("--tracer: %v", err)
	}
	return tr, nil
}

func probesListCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "list",
		Usage:     "list the scripts and the probes that they record",
		UsageText: "weft probes list [flags]",
		Description: `Lists the scripts for each tracer, and the probes that they record, with their
arguments. The head of each script names the tracer versions it was run with:
"weft probes scripts NAME" prints it.`,
		Flags: []cli.Flag{tracerFlag(""), jsonFlag("print one line of JSON per script")},
		Action: func(c *cli.Context) error {
			if c.NArg() > 0 {
				return usagef("probes list takes no argument; to print a script, run weft probes scripts %s", c.Args().First())
			}
			tr, err := tracerOf(c)
			if err != nil {
				return err
			}
			if c.Bool("json") {
				return writeScriptsJSON(env.stdout, tr)
			}
			return listProbes(env.stdout, tr)
		},
	}
}

// listProbes lists the scripts for a tracer or, if only is empty, for all tracers, and the probes that the scripts record.
func listProbes(w io.Writer, only tracer.Tracer) error {
	scripts, err := tracer.Scripts()
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, tr := range tracer.Tracers() {
		if only != "" && only != tr {
			continue
		}
		fmt.Fprintf(&b, "Scripts for %s:\n", tr)
		listScripts(&b, scripts, tr)
		b.WriteString("\n")
	}
	b.WriteString("Probes that they record (layout stands for layout-start and layout-end):\n")
	listProviders(&b, scripts, only)
	b.WriteString(`
Next:
  weft probes scripts mozilla.bt
      prints a script, to run it elsewhere or to edit it
  sudo weft probes record -c 'PROGRAM ARGS' -o FILE.pftrace
      records a command with the default script
  sudo weft probes record --script ./mine.bt -p PID -o FILE.pftrace
      records a process with a script of your own
  weft report layout-time FILE.pftrace
      prints a table; see also layout-count, layout-phases and js-funcalls
`)
	_, err = io.WriteString(w, b.String())
	return err
}

// listScripts writes the scripts of a tracer, one per line.
func listScripts(b *strings.Builder, scripts []tracer.Script, tr tracer.Tracer) {
	for i := range scripts {
		s := &scripts[i]
		if s.Tracer != tr {
			continue
		}
		fmt.Fprintf(b, "  %-13s %s", s.Name, s.About())
		switch {
		case s.Name == tr.Default():
			b.WriteString(" (default)")
		case !s.Records():
			b.WriteString(" (prints tables; not for weft probes record)")
		}
		if strings.HasPrefix(s.TestedWith(), "Not run") {
			b.WriteString(" (not run)")
		}
		b.WriteString("\n")
	}
}

// listProviders writes the probes that scripts declare and their arguments, by provider.
func listProviders(b *strings.Builder, scripts []tracer.Script, only tracer.Tracer) {
	var providers []string
	probes := map[string][]string{} // by provider, as printed
	seen := map[string]bool{}
	for i := range scripts {
		s := &scripts[i]
		if only != "" && s.Tracer != only {
			continue
		}
		for _, p := range s.Probes() {
			provider, name, _ := strings.Cut(p.Name, ":")
			base := pairSuffix.ReplaceAllString(name, "")
			key := provider + ":" + base
			if base != name {
				key += "-" // keeps a pair apart from a probe with the pair's name
			}
			if seen[key] {
				continue
			}
			seen[key] = true
			if probes[provider] == nil {
				providers = append(providers, provider)
			}
			probes[provider] = append(probes[provider], fmt.Sprintf("%s(%s)", base, argumentNames(p.Arguments)))
		}
	}
	slices.Sort(providers)
	for _, provider := range providers {
		const column, width = 17, 100
		line := fmt.Sprintf("  %-*s", column-2, provider)
		for i, probe := range probes[provider] {
			if i > 0 && len(line)+len(probe) > width {
				fmt.Fprintln(b, line)
				line = strings.Repeat(" ", column)
			}
			line += " " + probe
		}
		fmt.Fprintln(b, line)
	}
}

// pairSuffix matches the suffix by which the names of a pair of probes differ.
var pairSuffix = regexp.MustCompile(`-(start|end|done|begin|entry|return)$`)

// argumentNames returns the names of the arguments in a declaration.
func argumentNames(declared string) string {
	var names []string
	for _, argument := range strings.Fields(declared) {
		if name, _, ok := strings.Cut(argument, ":"); ok {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

func probesScriptsCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "scripts",
		Usage:     "print a script, or list all scripts",
		UsageText: "weft probes scripts [flags] [NAME]",
		Description: `Prints the script NAME, to run it on another machine or as a template for your own
probes; without NAME, lists all scripts. The head of a script says how to run it,
and names the tracer versions it was run with.

Examples:
   weft probes scripts --tracer bpftrace
   weft probes scripts --tracer bpftrace mozilla > mozilla.bt
   weft probes scripts layout.d > layout.d`,
		Flags: []cli.Flag{tracerFlag(""), jsonFlag("print one line of JSON per script; of NAME with its text")},
		Action: func(c *cli.Context) error {
			tr, err := tracerOf(c)
			if err != nil {
				return err
			}
			switch c.NArg() {
			case 0:
				if c.Bool("json") {
					return writeScriptsJSON(env.stdout, tr)
				}
				return listScriptsOf(env.stdout, tr)
			case 1:
				script, err := findScript(tr, c.Args().First())
				if err != nil {
					return err
				}
				if c.Bool("json") {
					r := newScriptReport(script)
					r.Text = script.Text
					return writeJSON(env.stdout, r)
				}
				_, err = io.WriteString(env.stdout, script.Text)
				return err
			}
			return usagef("probes scripts takes one name, not %d", c.NArg())
		},
	}
}

// listScriptsOf writes the scripts of one tracer or, if only is empty, of all.
func listScriptsOf(w io.Writer, only tracer.Tracer) error {
	scripts, err := tracer.Scripts()
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, tr := range tracer.Tracers() {
		if only == "" {
			fmt.Fprintf(&b, "%s:\n", tr)
		}
		if only == "" || only == tr {
			listScripts(&b, scripts, tr)
		}
	}
	_, err = io.WriteString(w, b.String())
	return err
}

// findScript returns one of the scripts that weft ships.
func findScript(tr tracer.Tracer, name string) (*tracer.Script, error) {
	script, err := tracer.FindScript(tr, name)
	if errors.Is(err, tracer.ErrUnknownScript) {
		return nil, usagef("%s", unknownScript(tr, name))
	}
	if err != nil {
		return nil, usagef("%v", err)
	}
	return script, nil
}

// unknownScript returns the message for a script that no tracer, or only another one, has; it suggests a similar name.
func unknownScript(tr tracer.Tracer, name string) string {
	message := fmt.Sprintf("unknown script %q", name)
	if tr != "" {
		message += " for " + string(tr)
	}
	var names []string
	if scripts, err := tracer.Scripts(); err == nil {
		for _, s := range scripts {
			if tr == "" || s.Tracer == tr {
				names = append(names, s.Name)
			}
		}
	}
	if near := words.Near(name, names); near != "" {
		return message + "; did you mean " + near + "?"
	}
	return message + "; weft probes list shows all"
}
