package pftrace

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestVerifyPage checks that the table of rules equals its copy in the documentation.
func TestVerifyPage(t *testing.T) {
	page, err := os.ReadFile("../docs/formats/perfetto.md")
	if err != nil {
		t.Fatal(err)
	}
	classes := map[ruleClass]string{
		alwaysViolation: "violation", ownViolation: "violation in weft's traces", alwaysWarning: "warning",
	}
	var want strings.Builder
	for _, r := range rules {
		fmt.Fprintf(&want, "| `%s` | %s | %s | %s |\n", r.name, classes[r.class], r.section, r.sentence)
	}
	if !strings.HasSuffix(string(page), "|---|---|---|---|\n"+want.String()) {
		t.Errorf("docs/formats/perfetto.md must end with the table of rules, which is\n%s", want.String())
	}
	for _, r := range rules {
		chapter, _, _ := strings.Cut(r.section, ".")
		if !strings.Contains(string(page), "\n## "+chapter+" ") {
			t.Errorf("%s cites section %s, which docs/formats/perfetto.md does not have", r.name, r.section)
		}
	}
}
