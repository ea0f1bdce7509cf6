package main

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/recording"
)

// A command of the README, and the output that the README shows.
type readmeCommand struct {
	line   string
	output []string
}

// readmeCommands returns the commands in the console blocks of a page.
func readmeCommands(t *testing.T, page string) (commands []readmeCommand) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	inside := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console"
		case !inside:
		case strings.HasPrefix(line, "$ "):
			commands = append(commands, readmeCommand{line: line[2:]})
		default:
			last := &commands[len(commands)-1]
			last.output = append(last.output, line)
		}
	}
	return commands
}

var update = flag.Bool("update", false, "write the output of the commands into the pages")

// varies matches text that changes from run to run, or with every byte of the output: times, sizes, numbers of packets.
var varies = regexp.MustCompile(`[0-9.]+ [KMG]?i?B, in [0-9.]+m?s|→ [0-9.]+ [KMG]?i?B(, in [0-9.]+m?s)?|[0-9,]+ packets`)

// The README's commands work as shown, in order. Each prints the output that the README shows, or starts with it. The traces
// that they write are valid.
func TestReadme(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	copyTree(t, filepath.Join(root, "testdata", "traces"), filepath.Join(dir, "testdata", "traces"))
	t.Chdir(dir)
	page := filepath.Join(root, "README.md")
	commands := readmeCommands(t, page)
	if len(commands) < 7 {
		t.Fatalf("only %d commands found", len(commands))
	}
	checkCommands(t, root, page, commands)
	if err := verifyOutputs(dir); err != nil {
		t.Error(err)
	}
}

// The commands on the pages about attribution, reports, several inputs and the command line, and in the tour, print what the
// pages show.
func TestPages(t *testing.T) {
	t.Run("attribution", func(t *testing.T) { checkPage(t, "attribution.md") })
	t.Run("reports", func(t *testing.T) { checkPage(t, "reports.md") })
	t.Run("tour", func(t *testing.T) { checkPage(t, "tour.md") })
	t.Run("merge", func(t *testing.T) { checkPage(t, "merge.md") })
	t.Run("cli", func(t *testing.T) { checkPage(t, "cli.md") })
}

func checkPage(t *testing.T, name string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, producer := range []string{"chrome", "perfetto", "pytorch", "node", "cpuprofile", "jsprofile", "firefox/gecko", "merge", "otlp"} {
		copyTree(t, filepath.Join(root, "testdata", "traces", producer), dir)
	}
	if err := os.Mkdir(filepath.Join(dir, "converted"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"cpuprofile/cdp-tiny.cpuprofile.gz", "pytorch/pytorch-small.json.gz"} {
		copyTree(t, filepath.Join(root, "testdata", "traces", filepath.FromSlash(file)), filepath.Join(dir, "archive", filepath.FromSlash(file)))
	}
	t.Chdir(dir)
	page := filepath.Join(root, "docs", name)
	commands := readmeCommands(t, page)
	if len(commands) == 0 {
		t.Fatalf("only %d commands found", len(commands))
	}
	checkCommands(t, root, page, commands)
	if err := verifyOutputs(dir); err != nil {
		t.Error(err)
	}
}

// checkCommands runs the commands of a page and compares what they print.
func checkCommands(t *testing.T, root, page string, commands []readmeCommand) {
	for _, c := range commands {
		got := runReadme(t, root, c.line)
		if len(c.output) == 0 {
			continue
		}
		lines := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
		at := slices.IndexFunc(c.output, func(want string) bool {
			got := ""
			if len(lines) > 0 {
				got, lines = lines[0], lines[1:]
			}
			return varies.ReplaceAllString(got, "") != varies.ReplaceAllString(want, "")
		})
		switch {
		case at < 0:
		case *update:
			lines = strings.Split(strings.TrimSuffix(got, "\n"), "\n")
			replaceInReadme(t, page, c, lines[:min(len(lines), len(c.output))])
		default:
			t.Errorf("$ %s\n%s shows\n%s\nthe command prints\n%s", c.line, filepath.Base(page), strings.Join(c.output, "\n"), got)
		}
	}
}

// replaceInReadme replaces the output that a page shows for a command with the command's current output.
func replaceInReadme(t *testing.T, path string, c readmeCommand, lines []string) {
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	head := "$ " + c.line + "\n"
	changed := strings.Replace(string(text), head+strings.Join(c.output, "\n"), head+strings.Join(lines, "\n"), 1)
	if err := os.WriteFile(path, []byte(changed), 0o666); err != nil {
		t.Fatal(err)
	}
}

// runReadme runs a command line and returns its output and errors.
func runReadme(t *testing.T, root, line string) string {
	t.Helper()
	args := strings.Fields(line)
	for i, word := range args {
		if len(word) > 1 && strings.HasPrefix(word, "'") && strings.HasSuffix(word, "'") {
			args[i] = word[1 : len(word)-1]
		}
	}
	switch {
	case line == "go test ./...":
		return "" // the command that runs this test
	case line == "go install ./cmd/weft":
		if !recording.All() {
			return "" // it would build weft once more
		}
		cmd := exec.Command("go", args[1:]...)
		cmd.Dir, cmd.Env = root, append(os.Environ(), "GOBIN="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("$ %s\n%v\n%s", line, err, out)
		}
		return ""
	case strings.HasPrefix(line, "go run ./cmd/weft "):
		args = args[2:]
		args[0] = "weft"
	case args[0] != "weft":
		t.Errorf("this test cannot run $ %s", line)
		return ""
	}
	stdin, stdout := new(bytes.Buffer), new(bytes.Buffer)
	var target string
	for len(args) > 2 && (args[len(args)-2] == "<" || args[len(args)-2] == ">") {
		name := args[len(args)-1]
		if args[len(args)-2] == ">" {
			target = name
		} else if text, err := os.ReadFile(name); err == nil {
			stdin.Write(text)
		} else {
			t.Error(err)
		}
		args = args[:len(args)-2]
	}
	stderr := new(bytes.Buffer)
	code := run(t.Context(), args, &environment{
		stdin: stdin, stdout: stdout, stderr: stderr, isTerminal: func(io.Writer) bool { return false },
	})
	if code != 0 {
		t.Errorf("$ %s\nexit code %d\n%s", line, code, stderr)
	}
	if target != "" {
		if err := os.WriteFile(target, stdout.Bytes(), 0o666); err != nil {
			t.Error(err)
		}
		return stderr.String()
	}
	return stdout.String() + stderr.String()
}

func copyTree(t *testing.T, from, to string) {
	t.Helper()
	err := filepath.WalkDir(from, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.MkdirAll(filepath.Join(to, rel), 0o777)
		}
		text, err := os.ReadFile(path)
		target := filepath.Join(to, rel)
		return errors.Join(err, os.MkdirAll(filepath.Dir(target), 0o777), os.WriteFile(target, text, 0o666))
	})
	if err != nil {
		t.Fatal(err)
	}
}
