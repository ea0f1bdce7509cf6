package compare

import (
	"testing"

	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/report"
)

// The names of contexts are comparable between recordings.
func TestContextName(t *testing.T) {
	for _, test := range []struct {
		row  tables.Row
		want string
	}{
		{tables.Row{Amounts: tables.Amounts{ID: "(unattributed)", Name: "(unattributed)"}, None: true}, Unattributed},
		{tables.Row{Amounts: tables.Amounts{ID: "a.localhost", Name: "a.localhost"}}, "a.localhost"},
		{tables.Row{Amounts: tables.Amounts{ID: "frame/D3F33045", Name: "D3F33045"}}, Unnamed},
		{tables.Row{Amounts: tables.Amounts{ID: "frame/D3F33045", Name: "https://example.org/"}}, "https://example.org/"},
		{tables.Row{Amounts: tables.Amounts{ID: "isolate/1132@14449", Name: "isolate 1132"}}, Unnamed},
		{tables.Row{Amounts: tables.Amounts{ID: "graphics/2.93@14449", Name: "frame 2.93"}}, Unnamed},
		{tables.Row{Amounts: tables.Amounts{ID: "script/http://a.localhost:8701/main.js", Name: "http://a.localhost:8701/main.js"}}, "http://a.localhost:8701/main.js"},
		{tables.Row{Amounts: tables.Amounts{ID: "latency/-551", Name: "KeyDown @1709 ms", Class: "KeyDown"}, Input: &tables.InputInfo{}}, "KeyDown"},
		{tables.Row{Amounts: tables.Amounts{ID: "object/7", Name: "Document 7", Class: "Document"}}, "Document"},
	} {
		if got := contextName(&test.row); got != test.want {
			t.Errorf("%s %s: %q, want %q", test.row.ID, test.row.Name, got, test.want)
		}
	}
}

func TestPlaceName(t *testing.T) {
	for want, id := range map[string]report.ThreadID{
		"main of app": {Process: "app", Thread: "main"}, "app": {Process: "app"}, "main": {Thread: "main"}, Unnamed: {},
	} {
		if got := threadName(&id); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestParseBy(t *testing.T) {
	for i, name := range ByNames() {
		if by, err := ParseBy(name); err != nil || by != By(i) || by.String() != name {
			t.Errorf("%s: %v, %v", name, by, err)
		}
	}
	if _, err := ParseBy("functions"); err == nil {
		t.Error("functions is a way to compare")
	}
}
