package commandline

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/internal/words"
)

// A Call is a parsed command line.
type Call struct {
	// Args are for cli.App.Run, which does not recognize flags after the first other argument: "weft convert a --force" becomes
	// "weft convert --force -- a".
	Args []string
	// Help is set if help is requested for Command or, if Command is nil, for the program; it overrides everything else.
	Help    bool
	Version bool // the version is requested
	Command *cli.Command
	Words   []string // the words after the command, unchanged
}

// Parse parses a command line, whose first word is the name of the program. The parameter removed contains the messages for flags
// that were removed or renamed.
func Parse(app *cli.App, args []string, removed map[string]string) (*Call, error) {
	first := slices.IndexFunc(args[min(1, len(args)):], func(arg string) bool { return !strings.HasPrefix(arg, "-") }) + 1
	if first == 0 {
		first = len(args)
	}
	call := &Call{Args: args}
	if err := call.appFlags(app, args[min(1, len(args)):first]); err != nil || call.Help || call.Version || first == len(args) {
		return call, err
	}
	words := args[first:]
	if words[0] == "help" && (len(words) == 1 || words[1] == "help" || app.Command(words[1]) != nil) { // weft help report input
		call.Help = true
		if words = words[1:]; len(words) == 0 || words[0] == "help" {
			return call, nil
		}
	}
	commands := app.Commands
	for len(words) > 0 && FindCommand(commands, words[0]) != nil {
		call.Command = FindCommand(commands, words[0])
		commands, words = call.Command.Subcommands, words[1:]
	}
	if call.Command == nil {
		return call, nil
	}
	call.Words = words
	p := parser{flags: call.Command.Flags, rest: words, removed: removed}
	if err := p.parse(); err != nil {
		return nil, err
	}
	call.Help = call.Help || p.help
	call.Args = slices.Concat(args[:len(args)-len(words)], p.set, []string{"--"}, p.others)
	return call, nil
}

// FindCommand returns the command with a name; nil if there is none.
func FindCommand(commands []*cli.Command, name string) *cli.Command {
	i := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(name) })
	if i < 0 {
		return nil
	}
	return commands[i]
}

// appFlags reads the flags before the command. Most flags belong after it.
func (c *Call) appFlags(app *cli.App, args []string) error {
	own := []cli.Flag{cli.HelpFlag, cli.VersionFlag}
	for _, arg := range args {
		switch flag := FindFlag(own, arg); {
		case flag == cli.HelpFlag:
			c.Help = true
			continue
		case flag == cli.VersionFlag:
			c.Version = true
			continue
		case arg == "--" || arg == "-":
			continue
		}
		for _, command := range app.Commands {
			if FindFlag(command.Flags, arg) != nil {
				return Usagef("flag %s belongs after the command: %s %s … %[1]s", arg, app.Name, command.Name)
			}
		}
		return unknownFlag(arg, own, nil)
	}
	return nil
}

// A parser separates the words after a command into flags and other arguments.
type parser struct {
	flags       []cli.Flag
	rest        []string
	removed     map[string]string
	set, others []string
	help        bool
}

func (p *parser) parse() error {
	for len(p.rest) > 0 && !p.help {
		arg := p.next()
		switch {
		case arg == "--":
			p.others, p.rest = append(p.others, p.rest...), nil
		case !isFlag(arg):
			p.others = append(p.others, arg)
		default:
			if err := p.flag(arg); err != nil {
				return err
			}
		}
	}
	return nil
}

// next returns the next word.
func (p *parser) next() string {
	arg := p.rest[0]
	p.rest = p.rest[1:]
	return arg
}

// isFlag reports whether a word is a flag; "-" is standard input or output.
func isFlag(arg string) bool { return len(arg) > 1 && arg[0] == '-' }

// flag reads a flag and its values.
func (p *parser) flag(arg string) error {
	if p.help = slices.Contains(cli.HelpFlag.Names(), strings.TrimLeft(arg, "-")); p.help {
		return nil
	}
	flag := FindFlag(p.flags, arg)
	if flag == nil {
		short := shortFlags(p.flags, arg)
		p.set = append(p.set, short...)
		if short == nil {
			return unknownFlag(arg, p.flags, p.removed)
		}
		return nil
	}
	p.set = append(p.set, arg)
	name, value, hasValue := strings.Cut(arg, "=")
	if !TakesValue(flag, arg) {
		if hasValue {
			return checkValue(flag, name, value)
		}
		return nil
	}
	if len(p.rest) == 0 {
		return Usagef("flag %s needs a value", arg)
	}
	value = p.next()
	p.set = append(p.set, value)
	if _, isList := flag.(*ListFlag); isList {
		for len(p.rest) > 0 && !isFlag(p.rest[0]) {
			p.set = append(p.set, arg, p.next())
		}
	}
	return checkValue(flag, name, value)
}

// checkValue returns a UsageError if a flag's value is invalid.
func checkValue(flag cli.Flag, name, value string) (err error) {
	message := ""
	switch flag := flag.(type) {
	case *cli.IntFlag:
		_, err = strconv.ParseInt(value, 0, 64)
		message = "is not an integer"
	case *cli.DurationFlag:
		_, err = time.ParseDuration(value)
		message = "is not a duration; write, for example, 500ms"
	case *cli.BoolFlag:
		_, err = strconv.ParseBool(value)
		message = "is not allowed; this flag takes no value"
	case *OptionalFlag:
		if _, isBool := strconv.ParseBool(value); isBool != nil && !slices.Contains(flag.Values, value) {
			return Usagef("%s: %q is not a valid value", name, value)
		}
	}
	if err != nil {
		return Usagef("--%s: %q %s", strings.TrimLeft(name, "-"), value, message)
	}
	return nil
}

// shortFlags splits combined short flags: -fq is -f -q. It returns nil if any of them is unknown or takes a value.
func shortFlags(flags []cli.Flag, arg string) (short []string) {
	if strings.HasPrefix(arg, "--") || len(arg) < 3 {
		return nil
	}
	for _, letter := range arg[1:] {
		one := "-" + string(letter)
		if _, isBool := FindFlag(flags, one).(*cli.BoolFlag); !isBool {
			return nil
		}
		short = append(short, one)
	}
	return short
}

// flagName returns the name of the flag in a word.
func flagName(arg string) string {
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	return name
}

// FindFlag returns the flag that a word names; nil if there is none.
func FindFlag(flags []cli.Flag, arg string) cli.Flag {
	i := slices.IndexFunc(flags, func(f cli.Flag) bool { return slices.Contains(f.Names(), flagName(arg)) })
	if i < 0 {
		return nil
	}
	return flags[i]
}

// unknownFlag returns the UsageError for an unknown flag.
func unknownFlag(arg string, flags []cli.Flag, removed map[string]string) error {
	name := flagName(arg)
	if text, ok := removed[name]; ok {
		return &UsageError{text}
	}
	var names []string
	for _, f := range flags {
		for _, name := range f.Names() {
			if len(name) > 1 {
				names = append(names, name)
			}
		}
	}
	if near := words.Near(name, names); near != "" {
		return Usagef("unknown flag %s; did you mean %s?", dashed(name), dashed(near))
	}
	if !strings.HasPrefix(arg, "--") && len(name) > 1 {
		return Usagef("unknown flag %s; if it is a file, write ./%[1]s", arg)
	}
	return Usagef("unknown flag %s", dashed(name))
}

// TakesValue reports whether the word after a flag is its value.
func TakesValue(flag cli.Flag, arg string) bool {
	switch flag.(type) {
	case *cli.BoolFlag, *OptionalFlag:
		return false
	}
	return !strings.Contains(arg, "=")
}
