package main

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/weft-trace/weft/internal/commandline"
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
		if commandline.FindFlag(all, match[1]) == nil {
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
			if commandline.FindFlag(append(command.Flags, cli.HelpFlag), match[1]) == nil {
				unknown = append(unknown, name+" --"+match[1])
			}
		}
	}
	return unknown
}

// recordedFlags are the command lines of recorded programs in the output of weft info, and the flags of Slurm and of Perfetto's program.
var recordedFlags = regexp.MustCompile(`(?m)^  command .*$|^#SBATCH .*$|\b(?:sbatch|trace_processor_shell) (?:--[a-z][^ ]* )+`)

// goneFlagsOfPages are the sections of the changelog about what a version removed.
var goneFlagsOfPages = regexp.MustCompile(`(?s)\n### Removed\n.*?(\n## |$)`)

// Every flag that a page mentions exists.
func TestFlagsOfPages(t *testing.T) {
	pages(t, func(name, text string) {
		text, _, _ = strings.Cut(text, "\n## Apache Beam\n") // weft-beam has flags of its own; a test of its module looks at them
		text = goneFlagsOfPages.ReplaceAllString(text, "")
		for _, flag := range unknownFlags(recordedFlags.ReplaceAllString(text, "")) {
			t.Errorf("%s: %s does not exist", name, flag)
		}
	})
	for text, want := range map[string][]string{
		"with `--since` and `--until`":                      {"--since", "--until"},
		"`weft report cost --from 1s --to 2s t`":            nil,
		"$ weft dump --json --force t.json | head":          {"weft dump --force"},
		"sudo weft probes record --script a -p 1 --limit 3": {"weft probes record --limit"},
		"a dash -- and `weft convert -o x`, --quiet":        nil,
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
		if err == nil && entry.Name() == "node_modules" {
			return fs.SkipDir
		}
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

// Rows that a blank line separates from their table's head are not a table.
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

var (
	citation     = regexp.MustCompile(`\b((?:[a-z]+/)*[a-z][a-z-]*\.md)(?: (\d+(?:, \d+)*)\b|, (rules? \d+(?:(?:, | and )\d+)*|[A-Z][a-z]+(?: [a-z]+)*))?`)
	ownCitation  = regexp.MustCompile(`\(sections? (\d+(?: and \d+)*)`)
	strayCite    = regexp.MustCompile(`\bspec(?:/| )[a-z-]*(?:\.md|\d)`)
	numberInText = regexp.MustCompile(`\d+`)
)

// A citer knows the sections of pages, by the name of the page without its folder.
type citer map[string]map[string]bool

// add reads the sections of a page: the numbers and titles of its headings, and its numbered rules.
func (c citer) add(name, text string) {
	sections := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^## (?:(\d+) )?(.*)$`).FindAllStringSubmatch(text, -1) {
		sections[m[1]], sections[m[2]] = true, true
	}
	for _, m := range regexp.MustCompile(`(?m)^(\d+)\. `).FindAllStringSubmatch(text, -1) {
		sections["rule "+m[1]] = true
	}
	if base := path.Base(name); c[base] == nil || path.Dir(name) == "docs/formats" { // of two with one name comments mean that of the format
		c[base] = sections
	}
}

// wrong returns the citations in the text of a file that lead nowhere. own is the page of the file's folder, "" if it has none.
func (c citer) wrong(text, own string) (wrong []string) {
	wrong = strayCite.FindAllString(text, -1)
	for _, m := range citation.FindAllStringSubmatch(text, -1) {
		sections, ok := c[path.Base(m[1])]
		ok = ok || strings.HasSuffix(m[1], "README.md")
		for _, number := range numberInText.FindAllString(m[2], -1) {
			ok = ok && sections[number]
		}
		if strings.HasPrefix(m[3], "rule") {
			for _, number := range numberInText.FindAllString(m[3], -1) {
				ok = ok && sections["rule "+number]
			}
		} else if m[3] != "" {
			ok = ok && slices.ContainsFunc(slices.Collect(maps.Keys(sections)), func(s string) bool {
				return s != "" && strings.HasPrefix(m[3], s)
			})
		}
		if !ok {
			wrong = append(wrong, m[0])
		}
	}
	for _, m := range ownCitation.FindAllStringSubmatch(text, -1) {
		for _, number := range numberInText.FindAllString(m[1], -1) {
			if !c[own][number] {
				wrong = append(wrong, m[0])
			}
		}
	}
	return wrong
}

// What comments cite is in the repository: pages, and their sections and rules.
func TestCitations(t *testing.T) {
	known := citer{}
	pages(t, known.add)
	own := map[string]string{
		"internal/readers/chromejson": "chrome-json.md", "internal/readers/firefox": "firefox.md", "internal/readers/otlp": "otlp.md",
		"internal/readers/har": "har.md",
	}
	root := os.DirFS(filepath.Join("..", ".."))
	cited := 0
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "gen" || name == ".git"):
			return fs.SkipDir
		case name == "cmd/weft/docs_test.go" || !slices.Contains([]string{".go", ".txtar"}, path.Ext(name)):
			return nil
		}
		text, err := fs.ReadFile(root, name)
		cited += len(citation.FindAll(text, -1))
		for _, wrong := range known.wrong(string(text), own[path.Dir(name)]) {
			t.Errorf("%s cites %s", name, wrong)
		}
		return err
	})
	if err != nil || cited < 100 {
		t.Errorf("%d citations: %v", cited, err)
	}
	for text, want := range map[string]int{
		"(spec contexts.md S8)": 2, "(contexts.md 8)": 1, "(spec 9.3)": 1, "chrome-json.md 9": 0, "chrome-json.md 9, 77": 1,
		"attribution.md, rules 6 and 10": 0, "attribution.md, rule 99": 1, "attribution.md, Cost": 0, "attribution.md, Luck": 1,
		"(section 9)": 0, "(sections 9 and 99)": 1, "docs/formats/none.md": 1,
	} {
		if got := known.wrong(text, "chrome-json.md"); len(got) != want {
			t.Errorf("%s: %q, want %d", text, got, want)
		}
	}
}
