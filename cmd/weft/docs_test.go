package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// The page of the command line names every command and flag.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for name, command := range allCommands() {
		if !regexp.MustCompile(`(?m)^##+ ` + name + `$`).MatchString(page) {
			t.Errorf("no section about %s", name)
		}
		if len(command.Subcommands) == 0 && !regexp.MustCompile(`(?m)^`+name+` +\[flags\] `).MatchString(page) {
			t.Errorf("%s is not in the list of commands", name)
		}
		for _, flag := range command.Flags {
			name := flag.Names()[0]
			dashes := "--"
			if len(name) == 1 {
				dashes = "-"
			}
			if !strings.Contains(page, "`"+dashes+name) {
				t.Errorf("nothing about flag %s%s of weft %s", dashes, name, command.Name)
			}
		}
	}
}

// allCommands returns the commands and their subcommands by what is typed.
func allCommands() map[string]*cli.Command {
	commands := map[string]*cli.Command{}
	for _, command := range newApp(&environment{}).Commands {
		commands["weft "+command.Name] = command
		for _, sub := range command.Subcommands {
			commands["weft "+command.Name+" "+sub.Name] = sub
		}
	}
	return commands
}

var (
	flagInText    = regexp.MustCompile(`(?:^|[\s` + "`" + `(])--([a-z][a-z-]*)`)
	commandInText = regexp.MustCompile(`\bweft ([a-z]+)([^` + "`" + `|\n]*)`)
)

// unknownFlags returns the flags in a text that no command has, and those in calls of a command that this one does not
// have.
func unknownFlags(text string) (unknown []string) {
	commands := allCommands()
	all := []cli.Flag{cli.HelpFlag, cli.VersionFlag}
	for _, command := range commands {
		all = append(all, command.Flags...)
	}
	for _, match := range flagInText.FindAllStringSubmatch(text, -1) {
		if findFlag(all, match[1]) == nil {
			unknown = append(unknown, "--"+match[1])
		}
	}
	for _, call := range commandInText.FindAllStringSubmatch(text, -1) {
		name := "weft " + call[1]
		if words := strings.Fields(call[2]); len(words) > 0 && commands[name+" "+words[0]] != nil {
			name += " " + words[0]
		}
		command := commands[name]
		if command == nil {
			continue
		}
		for _, match := range flagInText.FindAllStringSubmatch(call[2], -1) {
			if findFlag(append(command.Flags, cli.HelpFlag), match[1]) == nil {
				unknown = append(unknown, name+" --"+match[1])
			}
		}
	}
	return unknown
}

// No page tells of flags that there are not.
func TestFlagsOfPages(t *testing.T) {
	pages(t, func(name, text string) {
		for _, flag := range unknownFlags(text) {
			t.Errorf("%s: %s does not exist", name, flag)
		}
	})
	for text, want := range map[string][]string{
		"with `--since` and `--until`":                    {"--since", "--until"},
		"`weft report cost --from 1s --to 2s t`":          nil,
		"$ weft dump --json --force t.json | head":        {"weft dump --force"},
		"sudo weft probes record --script a -p 1 --top 3": {"weft probes record --top"},
		"a dash -- and `weft convert -o x`, --quiet":      nil,
	} {
		if got := unknownFlags(text); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

// pages calls fn for all pages of the repository.
func pages(t *testing.T, fn func(name, text string)) {
	t.Helper()
	root := os.DirFS(filepath.Join("..", ".."))
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(name) != ".md" {
			return err
		}
		text, err := fs.ReadFile(root, name)
		fn(name, string(text))
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// The page about probes shows the program of testdata, and its commands print of the recording of that program what the
// page shows.
func TestProbesPage(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(root, "docs", "probes.md")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(filepath.Join("testdata", "probes", "example.c"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "```c\n"+string(program)+"```\n") {
		t.Error("the program is not that of testdata/probes/example.c")
	}
	dir := t.TempDir()
	copyTree(t, filepath.Join("testdata", "probes"), dir)
	t.Chdir(dir)
	runReadme(t, root, "weft convert -o example.pftrace example.probelines")
	commands := readmeCommands(t, page)
	if len(commands) < 5 {
		t.Fatalf("only %d commands found", len(commands))
	}
	checkCommands(t, root, page, commands)
	if err := verifyOutputs(dir); err != nil {
		t.Error(err)
	}
}

// Rows of a table that a blank line parts from its head are no table.
func TestTablesOfPages(t *testing.T) {
	pages(t, func(name, text string) {
		before, inTable := "", false
		for i, line := range strings.Split(text, "\n") {
			row := strings.HasPrefix(line, "|")
			if row && !inTable && strings.HasPrefix(before, "|") && !strings.HasPrefix(line, "|-") {
				t.Errorf("%s:%d: a row of no table", name, i)
			}
			inTable = row && (inTable || strings.HasPrefix(line, "|-"))
			before = line
		}
	})
}
