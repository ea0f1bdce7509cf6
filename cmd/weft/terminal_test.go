package main

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/cellwidth"
	"github.com/weft-trace/weft/internal/recording"
)

// colored are commands whose text has headings, or what people must not miss.
func colored(t *testing.T) [][]string {
	traces := filepath.Join(recording.Testdata(t), "traces")
	chrome := filepath.Join(traces, "chrome", "chrome-devtools-tiny.json.gz")
	calls := [][]string{
		{"--help"}, {"report", "slices", "--help"}, {"info", chrome}, {"info", "--details", chrome}, {"info", "--problems", chrome}, {"flows", chrome},
		{"flows", "--connected", "--limit", "3", chrome}, {"compare", chrome, chrome, "--all"}, {"verify", chrome},
		{"report", "layout-count", "--sort", "count", filepath.Join(traces, "firefox", "gecko", "ff-gecko-tiny.json.gz")},
		{"report", "samples", chrome, filepath.Join(traces, "chrome", "chrome-devtools-small.json.gz")}, {"convert"}, {"dump", "missing.json"}, {"report", "tasks", filepath.Join(traces, "chrome", "chrome-memory-infra.json.gz")},
	}
	for _, name := range []string{"samples", "gc", "layout-thrashing", "input", "slices", "cost"} {
		calls = append(calls, []string{"report", name, chrome})
	}
	return calls
}

// Headings are bold on terminals only, and not with NO_COLOR. Color changes nothing else, and every line fits.
func TestColor(t *testing.T) {
	for _, args := range colored(t) {
		said := func(isTerminal bool, noColor, term string) string {
			t.Setenv("NO_COLOR", noColor)
			t.Setenv("TERM", term)
			c := newConsole(strings.NewReader(""), isTerminal)
			c.width = func(io.Writer) int { return 120 }
			run(t.Context(), append([]string{"weft"}, args...), &c.environment)
			if c.out.Len() == 0 {
				return c.err.String()
			}
			return c.out.String() // standard error may show progress
		}
		pipe, terminal, plain := said(false, "", "xterm"), said(true, "", "xterm"), said(true, "1", "xterm")
		if strings.Contains(pipe, "\x1b") || strings.Contains(plain, "\x1b") || strings.Contains(said(true, "", "dumb"), "\x1b") {
			t.Errorf("weft %s: color in a pipe, with NO_COLOR or on a dumb terminal", args)
		}
		if !strings.Contains(terminal, "\x1b[") || emphasis.ReplaceAllString(terminal, "") != plain {
			t.Errorf("weft %s: on a terminal\n%q\nwith NO_COLOR\n%q", args, terminal, plain)
		}
	}
}

// A line that is too long is cut to the width that people see, and stays bold.
func TestCutColored(t *testing.T) {
	on := terminal{columns: 10, color: true}
	for text, want := range map[string]string{
		on.heading("0123456789"):         on.heading("0123456789"),
		on.heading("0123456789a"):        on.heading("012345678…"),
		on.severe("lost") + " of 100":    "lost of 1…",
		on.severe("lost") + " of 1":      on.severe("lost") + " of 1",
		on.heading("計算量計算量") + "\nshort": on.heading("計算量計…") + "\nshort",
	} {
		got := strings.TrimSuffix(string(on.cut([]byte(text+"\n"))), "\n")
		if got != want || cellwidth.Of(emphasis.ReplaceAllString(strings.Split(got, "\n")[0], "")) > 10 {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
