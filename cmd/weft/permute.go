package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/internal/suggest"
)

// permute moves the flags of a command in front of its other arguments: "convert a.json --force" means "convert --force
// -- a.json". The cli package stops to look for flags at the first other argument. What follows "--" stays as it is,
// and "-" alone is not a flag. A flag that asks for help shows that of the command, whatever else is there: the cli
// package would look for a command that is called like the first other argument.
func permute(app *cli.App, args []string) ([]string, error) {
	at := slices.IndexFunc(args[min(1, len(args)):], func(arg string) bool { return !strings.HasPrefix(arg, "-") }) + 1
	if at == 0 {
		at = len(args)
	}
	if err := checkAppFlags(app, args[min(1, len(args)):at]); err != nil || at == len(args) {
		return args, err
	}
	if args[at] == "help" && at+1 < len(args) && app.Command(args[at+1]) != nil { // weft help report input
		args = append(slices.Delete(slices.Clone(args), at, at+1), "--help")
	}
	command := app.Command(args[at])
	if command == nil {
		return args, nil
	}
	if rest, ok := reportCompare(command, args[at+1:]); ok {
		command = app.Command("compare")
		args = append([]string{args[0], command.Name}, rest...)
		at = 1
	}
	if at+1 < len(args) {
		if sub := subcommand(command, args[at+1]); sub != nil {
			command, at = sub, at+1
		}
	}
	var flags, others []string
	rest := args[at+1:]
	for i := 0; i < len(rest); i++ {
		arg := rest[i]
		if arg == "--" {
			others = append(others, rest[i+1:]...)
			break
		}
		if len(arg) < 2 || arg[0] != '-' {
			others = append(others, arg)
			continue
		}
		if slices.Contains(cli.HelpFlag.Names(), strings.TrimLeft(arg, "-")) {
			if command.Name == "report" {
				narrowHelp(command, rest)
			}
			return append(slices.Clone(args[:at+1]), arg), nil
		}
		flag := findFlag(command.Flags, arg)
		if flag == nil {
			if short := shortFlags(command.Flags, arg); short != nil {
				flags = append(flags, short...)
				continue
			}
			return nil, unknownFlag(arg, command.Flags)
		}
		flags = append(flags, arg)
		if !takesValue(flag, arg) {
			continue
		}
		if i++; i == len(rest) {
			return nil, usagef("flag %s needs a value", arg)
		}
		flags = append(flags, rest[i])
		for takesSeveral(command, flag) && i+1 < len(rest) && (rest[i+1] == "-" || !strings.HasPrefix(rest[i+1], "-")) {
			i++
			flags = append(flags, arg, rest[i])
		}
	}
	return slices.Concat(args[:at+1], flags, []string{"--"}, others), nil
}

// reportCompare returns the words after "report compare", which is the command compare under the name of a report: someone who wants a
// page of a comparison looks for it there. ok is false if another report is asked for, or another command.
func reportCompare(command *cli.Command, rest []string) (words []string, ok bool) {
	if command.Name != "report" {
		return nil, false
	}
	for i := 0; i < len(rest); i++ {
		arg := rest[i]
		if len(arg) < 2 || arg[0] != '-' {
			return slices.Delete(slices.Clone(rest), i, i+1), arg == "compare"
		}
		flag := findFlag(command.Flags, arg)
		if flag == nil {
			break
		}
		if takesValue(flag, arg) {
			i++
		}
	}
	return nil, false
}

// takesSeveral reports whether the words after a flag are its values, up to the next flag.
func takesSeveral(command *cli.Command, flag cli.Flag) bool {
	name := flag.Names()[0]
	return command.Name == "compare" && (name == "base" || name == "new")
}

// shortFlags takes short flags without values apart that stand together: -fq is -f -q. It is nil if one of them is not such a flag.
func shortFlags(flags []cli.Flag, arg string) (short []string) {
	if strings.HasPrefix(arg, "--") || len(arg) < 3 {
		return nil
	}
	for _, letter := range arg[1:] {
		one := "-" + string(letter)
		if _, isBool := findFlag(flags, one).(*cli.BoolFlag); !isBool {
			return nil
		}
		short = append(short, one)
	}
	return short
}

// subcommand returns the subcommand of a command with a name, nil if there is none.
func subcommand(command *cli.Command, name string) *cli.Command {
	i := slices.IndexFunc(command.Subcommands, func(sub *cli.Command) bool { return sub.HasName(name) })
	if i < 0 {
		return nil
	}
	return command.Subcommands[i]
}

// checkAppFlags checks the flags in front of the command, which has most of them.
func checkAppFlags(app *cli.App, args []string) error {
	own := []cli.Flag{cli.HelpFlag, cli.VersionFlag}
	for _, arg := range args {
		if findFlag(own, arg) != nil || arg == "--" || arg == "-" {
			continue
		}
		for _, command := range app.Commands {
			if findFlag(command.Flags, arg) != nil {
				return usagef("flag %s belongs after the command: weft %s … %[1]s", arg, command.Name)
			}
		}
		return unknownFlag(arg, own)
	}
	return nil
}

// flagName returns the name in an argument that is a flag.
func flagName(arg string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return name
}

// findFlag returns the flag that an argument names; nil if there is none.
func findFlag(flags []cli.Flag, arg string) cli.Flag {
	i := slices.IndexFunc(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), flagName(arg)) })
	if i < 0 {
		return nil
	}
	return flags[i]
}

// unknownFlag is the usage error for an unknown flag.
func unknownFlag(arg string, flags []cli.Flag) error {
	var names []string
	for _, f := range flags {
		for _, name := range f.Names() {
			if len(name) > 1 {
				names = append(names, name)
			}
		}
	}
	dashed := func(name string) string {
		if len(name) == 1 {
			return "-" + name
		}
		return "--" + name
	}
	switch name := flagName(arg); {
	case name == "from" && slices.Contains(names, "format"):
		return usagef("unknown flag --from; the format of the input is --format")
	case name == "join":
		return usagef("there is no --join any more; weft merge -o FILE TRACE PROFILE puts a profile into the trace recorded with it")
	}
	if near := suggest.Near(flagName(arg), names); near != "" {
		return usagef("unknown flag %s; did you mean %s?", dashed(flagName(arg)), dashed(near))
	}
	return usagef("unknown flag %s", dashed(flagName(arg)))
}

// takesValue reports whether the argument behind a flag is its value.
func takesValue(flag cli.Flag, arg string) bool {
	_, isBool := flag.(*cli.BoolFlag)
	_, isOptional := flag.(*optionalFlag)
	return !isBool && !isOptional && !strings.Contains(arg, "=")
}
