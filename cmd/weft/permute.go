package main

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// permute moves the flags of a command in front of its other arguments: "convert a.json --force" means
// "convert --force -- a.json". The cli package stops to look for flags at the first other argument. What follows "--"
// stays as it is, and "-" alone is no flag. Who asks for help gets that of the command, whatever else stands there: the cli
// package would look for a command that is called like the first other argument.
func permute(app *cli.App, args []string) ([]string, error) {
	at := slices.IndexFunc(args[min(1, len(args)):], func(arg string) bool { return !strings.HasPrefix(arg, "-") }) + 1
	if at == 0 {
		return args, nil
	}
	command := app.Command(args[at])
	if command == nil {
		return args, nil
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
			return append(slices.Clone(args[:at+1]), arg), nil
		}
		flags = append(flags, arg)
		if !takesValue(command, arg) {
			continue
		}
		if i++; i == len(rest) {
			return nil, usagef("flag %s needs a value", arg)
		}
		flags = append(flags, rest[i])
	}
	return slices.Concat(args[:at+1], flags, []string{"--"}, others), nil
}

// takesValue reports whether the argument behind a flag is its value. Unknown flags take none; the cli package
// complains about them later.
func takesValue(command *cli.Command, arg string) bool {
	name := strings.TrimLeft(arg, "-")
	if strings.Contains(name, "=") {
		return false
	}
	for _, flag := range command.Flags {
		if slices.Contains(flag.Names(), name) {
			_, isBool := flag.(*cli.BoolFlag)
			return !isBool
		}
	}
	return false
}
