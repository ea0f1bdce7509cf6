package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The page of the command line names every command and flag, and no flag that there is not.
func TestDocumentation(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	known := map[string]bool{"help": true}
	for _, command := range newApp(&environment{}).Commands {
		if !strings.Contains(page, "## weft "+command.Name+"\n") {
			t.Errorf("no section about weft %s", command.Name)
		}
		for _, flag := range command.Flags {
			name := flag.Names()[0]
			known[name] = true
			dashes := "--"
			if len(name) == 1 {
				dashes = "-"
			}
			if !strings.Contains(page, "`"+dashes+name) {
				t.Errorf("nothing about flag %s%s of weft %s", dashes, name, command.Name)
			}
		}
	}
	for _, match := range regexp.MustCompile(`--([a-z][a-z-]+)`).FindAllStringSubmatch(page, -1) {
		if !known[match[1]] {
			t.Errorf("flag --%s does not exist", match[1])
		}
	}
}
