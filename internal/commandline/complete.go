package commandline

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// A Candidate is a possible completion.
type Candidate struct{ Text, About string }

// Candidate texts that make the shell complete file or folder names.
const (
	Files   = ":files"
	Folders = ":dirs"
)

// Words returns candidates that need no description.
func Words(names ...string) (list []Candidate) {
	for _, name := range names {
		list = append(list, Candidate{Text: name})
	}
	return list
}

// Vocabulary provides the completions of a program's commands. The parameter words holds the arguments before the cursor, without
// flags.
type Vocabulary interface {
	// Flags returns the flags that can follow.
	Flags(command *cli.Command, words []string) []cli.Flag
	// Values returns the possible values of a flag.
	Values(command *cli.Command, words []string, flag cli.Flag) []Candidate
	// Arguments returns the possible next arguments.
	Arguments(command *cli.Command, words []string) []Candidate
}

// Complete answers a shell's completion script. The parameter args has the form :CURRENT WORD…: the word at the cursor, then the
// words before it. Complete prints one candidate per line; if the candidate has a description, a tab and the description follow.
func Complete(w io.Writer, app *cli.App, args []string, v Vocabulary) error {
	if len(args) == 0 {
		return nil
	}
	var b bytes.Buffer
	for _, c := range Candidates(app, joinedWords(args[1:], strings.TrimPrefix(args[0], ":")), v) {
		if c.About != "" {
			c.Text += "\t" + c.About
		}
		fmt.Fprintln(&b, c.Text)
	}
	_, err := w.Write(b.Bytes())
	return err
}

// joinedWords joins words that bash has split: bash passes --format=perfetto as three words.
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

// Candidates returns the completions of the last word.
func Candidates(app *cli.App, words []string, v Vocabulary) []Candidate {
	before, current := words[:len(words)-1], words[len(words)-1]
	command, commands := (*cli.Command)(nil), app.Commands
	var others []string // words other than flags and their values
	needsValue := cli.Flag(nil)
	for _, word := range before {
		switch {
		case needsValue != nil:
			needsValue = nil
		case isFlag(word):
			if command == nil {
				continue
			}
			if flag := FindFlag(command.Flags, word); flag != nil && TakesValue(flag, word) {
				needsValue = flag
			}
		case len(others) == 0 && FindCommand(commands, word) != nil:
			command = FindCommand(commands, word)
			commands = command.Subcommands
		default:
			others = append(others, word)
		}
	}
	switch {
	case needsValue != nil:
		return matching(values(command, others, needsValue, v), current)
	case command != nil && strings.HasPrefix(current, "--") && strings.Contains(current, "="):
		return valueCandidates(command, others, current, v)
	case strings.HasPrefix(current, "-"):
		return matching(flagCandidates(command, others, v), current)
	case len(commands) > 0:
		return matching(commandCandidates(commands), current)
	case command == nil:
		return nil
	}
	return matching(v.Arguments(command, others), current)
}

// values returns the possible values of a flag; nothing if the flag is not allowed here.
func values(command *cli.Command, others []string, flag cli.Flag, v Vocabulary) []Candidate {
	if !slices.Contains(v.Flags(command, others), flag) {
		return nil
	}
	return v.Values(command, others, flag)
}

// valueCandidates returns the completions of --flag=VALUE.
func valueCandidates(command *cli.Command, others []string, current string, v Vocabulary) (list []Candidate) {
	name, value, _ := strings.Cut(current, "=")
	flag := FindFlag(command.Flags, name)
	if flag == nil {
		return nil
	}
	for _, c := range matching(values(command, others, flag, v), value) {
		if !strings.HasPrefix(c.Text, ":") {
			c.Text = name + "=" + c.Text
		}
		list = append(list, c)
	}
	return list
}

// matching returns the candidates that start with a text, and those that make the shell complete file names.
func matching(all []Candidate, text string) (list []Candidate) {
	for _, c := range all {
		if strings.HasPrefix(c.Text, text) || strings.HasPrefix(c.Text, ":") {
			list = append(list, c)
		}
	}
	return list
}

func commandCandidates(commands []*cli.Command) (list []Candidate) {
	for _, c := range commands {
		list = append(list, Candidate{c.Name, c.Usage})
	}
	return list
}

// flagCandidates returns the flags of a command, or of the program.
func flagCandidates(command *cli.Command, others []string, v Vocabulary) (list []Candidate) {
	flags := []cli.Flag{cli.HelpFlag, cli.VersionFlag}
	if command != nil {
		flags = append(slices.Clone(v.Flags(command, others)), cli.HelpFlag)
	}
	for _, f := range flags {
		about := ""
		if documented, ok := f.(cli.DocGenerationFlag); ok {
			about = strings.ReplaceAll(documented.GetUsage(), "`", "")
		}
		list = append(list, Candidate{dashed(f.Names()[0]), about})
	}
	return list
}
