package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/recording"
)

// difference is a number of rows in which weft's result intentionally differs from a table.
type difference struct {
	trace          string // name of the case or recording
	table          string
	missing, extra int // rows only in the table, and only in weft's output
	reason         string
}

// knownDifferences are all differences between weft's results and the tables. docs/conformance.md has the same list.
var knownDifferences = []difference{}

// knownDifference returns the expected difference, or its zero value.
func knownDifference(trace, table string) difference {
	for _, d := range knownDifferences {
		if d.trace == trace && d.table == table {
			return d
		}
	}
	return difference{}
}

// The documentation lists exactly the differences that the tests accept.
func TestKnownDifferencesAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(recording.Testdata(t), "..", "docs", "conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(page), "## Known differences\n")
	if !ok {
		t.Fatal("docs/conformance.md has no section Known differences")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	rows := 0
	for _, line := range strings.Split(section, "\n") {
		if strings.HasPrefix(line, "| `") {
			rows++
		}
	}
	if rows != len(knownDifferences) {
		t.Errorf("docs/conformance.md lists %d differences, the tests accept %d", rows, len(knownDifferences))
	}
	for _, d := range knownDifferences {
		line := fmt.Sprintf("| `%s` | %s | %d | %d | %s |", d.trace, d.table, d.missing, d.extra, d.reason)
		if !strings.Contains(section, line) {
			t.Errorf("docs/conformance.md lacks the line\n%s", line)
		}
		if d.reason == "" {
			t.Errorf("%s, %s: no reason given", d.trace, d.table)
		}
	}
}
