package problem_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
)

// pageRow matches the row of one kind: name, severity, sentence, advice.
var pageRow = regexp.MustCompile("^\\| `([a-z0-9_]+)` \\| ([a-z]+) \\| (.*) \\| (.*) \\|$")

// TestPage checks that docs/data-problems.md and the table of kinds are consistent: the same names, severities and sentences in
// the same order, and advice for each.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/data-problems.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(string(page)) {
		if row := pageRow.FindStringSubmatch(strings.TrimSuffix(line, "\n")); row != nil {
			rows = append(rows, row)
		}
	}

	for i, kind := range problem.Kinds() {
		want := fmt.Sprintf("| `%s` | %s | %s |", kind.Name(), kind.Severity(), kind.Sentence())
		if i >= len(rows) {
			t.Fatalf("the page ends before the row\n%s … |", want)
		}
		if !strings.HasPrefix(rows[i][0], want) {
			t.Fatalf("row %d of the page is\n%s\nbut should begin with\n%s", i+1, rows[i][0], want)
		}
		if len(rows[i][4]) < len("Nothing.") {
			t.Errorf("%s: the page does not say what to do", kind)
		}
	}
	if extra := rows[len(problem.Kinds()):]; len(extra) > 0 {
		t.Errorf("the page has a row for %s, which is not a kind of problem", extra[0][1])
	}
}

// TestFormatPages checks that every kind is explained where it occurs: on the page of an input format, of attribution, of several
// inputs, or of the commands.
func TestFormatPages(t *testing.T) {
	paths, err := filepath.Glob("../../docs/formats/*.md")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	paths = append(paths, "../../docs/attribution.md", "../../docs/cli.md", "../../docs/merge.md")
	var pages strings.Builder
	for _, path := range paths {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pages.Write(page)
	}
	for _, kind := range problem.Kinds() {
		if !strings.Contains(pages.String(), "`"+kind.Name()+"`") {
			t.Errorf("no page in docs/formats, nor docs/attribution.md, docs/merge.md or docs/cli.md, mentions %s", kind)
		}
	}
}

// TestTable checks that every kind is usable in reports: it has a unique name in the same style, and a sentence.
func TestTable(t *testing.T) {
	name := regexp.MustCompile("^[a-z]+(_[a-z0-9]+)*$")
	seen := map[string]bool{}
	for _, kind := range problem.Kinds() {
		if !name.MatchString(kind.Name()) || seen[kind.Name()] {
			t.Errorf("kind %d: the name %q is missing, taken or not in lower case with underscores", kind, kind.Name())
		}
		seen[kind.Name()] = true
		if !strings.HasSuffix(kind.Sentence(), ".") {
			t.Errorf("%s: the sentence %q has no end", kind, kind.Sentence())
		}
	}
}
