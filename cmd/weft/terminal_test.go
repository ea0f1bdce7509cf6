package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/words"
)

// colored returns commands whose text has headings, or parts that users must not miss.
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

// Headings are bold on terminals only, and not with NO_COLOR. Shares have bars in the same cases. Color changes nothing else, and
// every line fits.
func TestColor(t *testing.T) {
	for _, args := range colored(t) {
		said := func(isTerminal bool, noColor, term string) string {
			t.Setenv("NO_COLOR", noColor)
			t.Setenv("TERM", term)
			c := newConsole(strings.NewReader(""), isTerminal)
			c.width = func(io.Writer) int { return 250 } // with fewer columns, bars would take the room of a column
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
		if !strings.Contains(terminal, "\x1b[") || withoutBars(terminal) != withoutBars(plain) {
			t.Errorf("weft %s: on a terminal\n%q\nwith NO_COLOR\n%q", args, terminal, plain)
		}
	}
}

// withoutBars returns text without colors, bars, the room that they take, and the line of info that consists only of bars.
func withoutBars(text string) string {
	return bars.ReplaceAllString(busyLine.ReplaceAllString(emphasis.ReplaceAllString(text, ""), ""), " ")
}

var (
	bars     = regexp.MustCompile("[▏▎▍▌▋▊▉█ ]+")
	busyLine = regexp.MustCompile("(?m)^  busy .*\n")
)

// emphasis matches terminal sequences for emphasis.
var emphasis = regexp.MustCompile("\x1b\\[[0-9;]*m")

// Lines longer than the terminal's width continue below the start of their text. Numbers keep their units, and names their
// ids.
func TestWrap(t *testing.T) {
	on := table.Terminal{Columns: 40}
	for line, want := range map[string]string{
		"   work      script 12.345 ms, layout 1.500 ms, gc 0.123 ms": "   work      script 12.345 ms, layout\n             1.500 ms, gc 0.123 ms",
		"  計算量 計算量 計算量 計算量 計算量 計算量":                                   "  計算量 計算量 計算量 計算量 計算量\n             計算量",
		"short":                                  "short",
		"of Renderer and Browser [pid 14449], 5": "of Renderer and Browser [pid 14449], 5",
		"of Renderer and also the Browser [pid 14449], 5.000 ms":              "of Renderer and also the Browser\n             [pid 14449], 5.000 ms",
		"to http://example.org/a/path/that/is/longer/than/a/line.js:12:34 in": "to http://example.org/a/pat…ine.js:12:34\n             in",
	} {
		if got := on.Wrap(line, 13); got != want {
			t.Errorf("%q:\n%s\nwant\n%s", line, got, want)
		}
		if got := (table.Terminal{}).Wrap(line, 13); got != line {
			t.Errorf("%q in a pipe: %q", line, got)
		}
	}
}

// Shortened texts do not cut numbers.
func TestElideTo(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  string
	}{
		{"CrRendererMain 14449", 20, "CrRendererMain 14449"}, {"CrRendererMain 14449", 16, "CrRendere… 14449"},
		{"thread 48213 (python)", 16, "thread …thon)"}, {"thread 48213 2147483647", 16, "thre… 2147483647"},
		{"Browser [pid 14368]", 16, "Bro… [pid 14368]"}, {"http://a.localhost/main.js:14:19", 20, "http://a.loc…s:14:19"},
		{strings.Repeat("ü", 61), 60, strings.Repeat("ü", 39) + "…" + strings.Repeat("ü", 20)},
		{"12345678901234567890", 8, "1…0"}, {"first … last", 8, "firs…ast"}, {"計算量計算量", 7, "計算…量"},
	} {
		if got := table.Elide(test.text, test.width); got != test.want || words.Width(got) > test.width {
			t.Errorf("%q in %d columns: %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

// A page shows the names of processes, not their command lines.
func TestPageNamesProcesses(t *testing.T) {
	page := string(runWeft(t, "report", "all", "--html", "-", filepath.Join(recording.Testdata(t), "traces", "otlp", "browser.json.gz")))
	if !strings.Contains(page, "chromium --type=renderer [pid 10699]") || strings.Contains(page, "--crashpad") {
		t.Error("the page shows a command line")
	}
}

// copiesOf returns several copies of a file.
func copiesOf(t *testing.T, path string, n int) (paths []string) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		to := filepath.Join(t.TempDir(), strconv.Itoa(i)+filepath.Base(path))
		if err := os.WriteFile(to, data, 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, to)
	}
	return paths
}

// Whatever the width of a terminal, no line is longer, no number is cut, the column by which a table is sorted is shown, and
// command lines never replace process names.
func TestWidths(t *testing.T) {
	traces := filepath.Join(recording.Testdata(t), "traces")
	chrome, browser := filepath.Join(traces, "chrome", "chrome-devtools-tiny.json.gz"), filepath.Join(traces, "otlp", "browser.json.gz")
	torch, tasks := filepath.Join(traces, "pytorch", "pytorch-small.json.gz"), filepath.Join(traces, "chrome", "chrome-memory-infra.json.gz")
	cut := regexp.MustCompile(`[0-9]…( |$)`)
	for _, test := range []struct {
		args string
		in   []string
		want string // part of the column titles
	}{
		{"report cost --by process", []string{browser}, "self ms"},
		{"report cost --by process --sort -slices", []string{browser}, "slices"},
		{"report slices --by process", []string{browser}, "self ms"},
		{"report slices --by thread", []string{browser}, "self ms"},
		{"report slices --by process --process chromium*--type=renderer*", []string{browser}, "chromium --"},
		{"report slices --by thread", []string{browser, chrome}, "self ms"},
		{"report cost --type process", []string{browser, chrome}, "self ms"},
		{"report slices", []string{torch}, "self ms"},
		{"flows", []string{chrome}, "MARKERS"},
		{"flows --sort length", []string{chrome}, "LENGTH"},
		{"report tasks", []string{tasks}, "  ms  "},
		{"report tasks --table parts", []string{tasks}, "self ms"},
		{"report input --kind all", []string{chrome}, "latency ms"},
		{"report samples", []string{chrome}, "self ms"},
		{"report gc", []string{chrome}, "gc ms"},
		{"compare --all", copiesOf(t, torch, 8), "verdict"},
		{"flows", []string{chrome}, "FIRST MARKER"},
		{"flows --connected --name LatencyInfo.Flow --limit 0", []string{chrome}, "LENGTH"},
		{"info", []string{browser}, "processes"},
	} {
		for _, columns := range []int{0, 60, 80, 100, 120} {
			c := newConsole(strings.NewReader(""), columns > 0)
			c.width = func(io.Writer) int { return columns }
			args := append([]string{"weft"}, strings.Fields(test.args)...)
			if args[1] == "compare" {
				args = append(args, "--base")
				args = append(args, test.in[:4]...)
				args = append(args, "--new")
				args = append(args, test.in[4:]...)
			} else {
				args = append(args, test.in...)
			}
			if code := run(t.Context(), args, &c.environment); code != exitOK {
				t.Fatal(args, code, c.err.String())
			}
			text := emphasis.ReplaceAllString(c.out.String(), "")
			for line := range strings.Lines(text) {
				line = strings.TrimSuffix(line, "\n")
				switch {
				case columns > 0 && words.Width(line) > columns:
					t.Errorf("weft %s in %d columns: a longer line\n%s", test.args, columns, line)
				case cut.MatchString(line), strings.Contains(line, "--crashpad"):
					t.Errorf("weft %s in %d columns: a number or a command line is cut\n%s", test.args, columns, line)
				}
			}
			if test.want != "" && !strings.Contains(text, test.want) {
				t.Errorf("weft %s in %d columns: no %q in\n%s", test.args, columns, test.want, text)
			}
		}
	}
}
