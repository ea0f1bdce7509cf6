package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/commandline"
)

// The manual page has every command and flag, the exit codes that the program uses and docs/cli.md lists, and examples that
// exist.
func TestManPage(t *testing.T) {
	page := strings.ReplaceAll(string(commandline.Man(newApp(&environment{}), manPage())), `\-`, "-")
	for name, command := range allCommands() {
		if !strings.Contains(page, "\n.SS "+name+"\n") {
			t.Errorf("no section about %s", name)
		}
		for _, flag := range command.Flags {
			for _, name := range flag.Names() {
				dashes := "--"
				if len(name) == 1 {
					dashes = "-"
				}
				if !strings.Contains(page, dashes+name) {
					t.Errorf("nothing about %s%s", dashes, name)
				}
			}
		}
	}
	listed, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range exitStatuses {
		row := fmt.Sprintf("| %d | %s |", s.code, s.meaning)
		if !strings.Contains(strings.ReplaceAll(string(listed), "`", ""), row) {
			t.Errorf("docs/cli.md has not %s", row)
		}
	}
	for _, example := range manExamples {
		if unknown := unknownFlags(example[1]); len(unknown) > 0 || !strings.HasPrefix(example[1], "weft ") {
			t.Errorf("%s: %q does not exist", example[1], unknown)
		}
	}
	if odd := regexp.MustCompile(`[^\n -~]`).FindString(page); odd != "" {
		t.Errorf("the page has %q", odd)
	}
}

// groff formats the page without warnings.
func TestManPageIsShown(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("no groff")
	}
	cmd := exec.Command(groff, "-man", "-Tutf8", "-ww", "-P-cbou")
	cmd.Stdin = bytes.NewReader(commandline.Man(newApp(&environment{}), manPage()))
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Errorf("%v: %s", err, &stderr)
	}
	for _, want := range []string{"\nEXIT STATUS\n", "\nEXAMPLES\n", "weft report input --kind click trace.json", "       -o FILE, --output FILE\n", "weft COMMAND [flags] FILE…"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("nothing of %q", want)
		}
	}
}
