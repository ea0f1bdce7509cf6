package main

import (
	"io/fs"
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
		if !regexp.MustCompile(`(?m)^weft ` + command.Name + ` +\[flags\] `).MatchString(page) {
			t.Errorf("weft %s is not in the list of commands", command.Name)
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

// Rows of a table that a blank line parts from its head are no table.
func TestTablesOfPages(t *testing.T) {
	root := os.DirFS(filepath.Join("..", ".."))
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(name) != ".md" {
			return err
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		before, inTable := "", false
		for i, line := range strings.Split(string(text), "\n") {
			row := strings.HasPrefix(line, "|")
			if row && !inTable && strings.HasPrefix(before, "|") && !strings.HasPrefix(line, "|-") {
				t.Errorf("%s:%d: a row of no table", name, i)
			}
			inTable = row && (inTable || strings.HasPrefix(line, "|-"))
			before = line
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
