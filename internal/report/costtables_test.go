package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	costtables "github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/table"
)

// costText returns a cost table as text, without its heading.
func costText(t *costtables.Table) string {
	var b bytes.Buffer
	CostReport("", []*costtables.Table{t}).WriteText(&b, table.Terminal{}, "")
	return b.String()[1:]
}

// Numbers are aligned whatever script the names are in; long names are shortened in the middle; columns without values are
// left out.
func TestCostText(t *testing.T) {
	table := costtables.Table{Type: "Frame", Group: costtables.GroupPage, Split: costtables.SplitThread, Busy: 4_000_000, Rows: []costtables.Row{
		{Amounts: costtables.Amounts{ID: "frame/A", Name: "計算量", Part: "Main 1/1", Self: 2_500_000, Total: 12_500_000, Slices: 3, ForcedStyle: 1000, ForcedLayout: 500}},
		{Amounts: costtables.Amounts{ID: "frame/B", Name: strings.Repeat("a", 40) + strings.Repeat("b", 40), Part: "1/2", Self: 1_500_000, NetworkBytes: 1250}},
	}}
	want := `
Frame by page                                                 thread    self ms     %  total ms  slices  forced ms  received KB
計算量                                                        Main 1/1    2.500  62.5    12.500       3      0.002          0.0
` + strings.Repeat("a", 39) + "…" + strings.Repeat("b", 20) + `  1/2         1.500  37.5     0.000       0      0.000          1.2
`
	if got := costText(&table); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

// Control characters in names are escaped in the text.
func TestCostTextIsPrintable(t *testing.T) {
	text := costText(&costtables.Table{Type: "T\x07", Rows: []costtables.Row{{Amounts: costtables.Amounts{ID: "1", Name: "a\nb\x1b"}}}})
	head, rest, _ := strings.Cut(text[1:], "\n")
	if !strings.HasPrefix(head, `T\a `) || !strings.HasPrefix(rest, `a\nb\x1b `) || strings.Count(rest, "\n") != 1 {
		t.Errorf("got %q", text)
	}
}

// If contexts have the same name, their ids are appended to the name; a context in several rows keeps its name.
func TestSameNames(t *testing.T) {
	got := costNames(&costtables.Table{Rows: []costtables.Row{
		{Amounts: costtables.Amounts{ID: "frame/F1", Name: "about:blank", Part: "1/1"}}, {Amounts: costtables.Amounts{ID: "frame/F2", Name: "about:blank"}},
		{Amounts: costtables.Amounts{ID: "frame/F3", Name: "http://a.test/", Part: "1/1"}}, {Amounts: costtables.Amounts{ID: "frame/F3", Name: "http://a.test/", Part: "1/2"}},
	}})
	want := []string{"about:blank (frame/F1)", "about:blank (frame/F2)", "http://a.test/", "http://a.test/"}
	if !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
}

// The text shows the time of each input event since the start of the trace, so that readers can find the event in the trace.
func TestInputTimes(t *testing.T) {
	text := costText(&costtables.Table{Type: "InputEvent", Start: 1_000_000, Rows: []costtables.Row{
		{Amounts: costtables.Amounts{ID: "latency/1", Name: "KEY_PRESSED 1"}, Input: &costtables.InputInfo{Start: 1_000_000}},
		{Amounts: costtables.Amounts{ID: "latency/2", Name: "KEY_RELEASED 2"}, Input: &costtables.InputInfo{Start: 50_000_000}},
		{Amounts: costtables.Amounts{ID: "(unattributed)", Name: "(unattributed)"}},
	}})
	const want = `
InputEvent      at        self ms    %
KEY_PRESSED 1   0.000ms     0.000  0.0
KEY_RELEASED 2  49.000ms    0.000  0.0
(unattributed)              0.000  0.0
`
	if text != want {
		t.Errorf("got\n%s\nwant%s", text, want)
	}
}
