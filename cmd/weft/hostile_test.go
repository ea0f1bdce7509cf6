package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/words"
)

// marks are in all names in TestNothingReachesTheTerminal: direction marks, sequences that color, name and clear a terminal,
// line ends, NUL, a C1 control, and invisible characters.
const marks = "\u202eE\u2066\u200f\x1b[31m\x1b]0;t\x07\x1b[2J\r\n\x00\u009b31m\u2028\ufeff\u00ad"

// No text from an input, including its name, reaches a terminal with characters that control the terminal or reorder its text:
// not in tables, not in messages, not in what weft prints if it has no result. In JSON and in exported data all texts are
// unchanged.
func TestNothingReachesTheTerminal(t *testing.T) {
	recording.NeedAll(t, "runs 40 commands on 8 formats")
	t.Setenv("NO_COLOR", "1")
	dir := t.TempDir()
	names := hostileInputs(t, dir)
	for i, name := range names {
		other := names[(i+1)%len(names)]
		for _, args := range [][]string{
			{"info"}, {"info", "--details"}, {"info", "--problems"}, {"dump", "--ends"}, {"flows"}, {"flows", "--connected", "--marker", "1"},
			{"convert", "--force", "-o", filepath.Join(dir, "out"+fileMarks)}, {"attribute", "--force", "-o", filepath.Join(dir, "out")},
			{"report", "samples"}, {"report", "gc"}, {"report", "layout-thrashing"}, {"report", "js-funcalls"}, {"report", "layout-time"},
			{"report", "input"}, {"report", "tasks"}, {"report", "slices"}, {"report", "slices", "--by", "thread"},
			{"report", "slices", "--by", "category"}, {"report", "slices", "--by", "data.type"}, {"report", "slices", "--by", marks},
			{"report", "cost"}, {"report", "cost", "--type", "script"}, {"report", "cost", "--type", "all"}, {"report", "cost", "--type", marks},
			{"dump", "--thread", marks}, {"dump", "--process", marks}, {"dump", "--name", marks}, {"dump", "--category", marks},
			{"dump", "--context", "script=" + marks}, {"dump", "--from", marks}, {"flows", "--marker", marks}, {"report", marks}, {"verify"},
			{"merge", "--force", "--keep-going", "-o", filepath.Join(dir, "merged"), other}, {"compare", name}, {"compare", "--fail-over", "1%", name},
			{"export", "--of", "samples", "--as", marks}, {"export", "--of", "samples", "--as", "pprof", "--force", "-o", filepath.Join(dir, "pprof")}, {marks},
		} {
			for _, terminal := range []bool{false, true} {
				c := newConsole(strings.NewReader(""), terminal)
				c.width = func(io.Writer) int { return 80 }
				code := run(t.Context(), append(append([]string{"weft"}, args...), name), &c.environment)
				if code == exitUsage && !mayBeWrong(args) {
					t.Errorf("weft %q %q tests nothing: %s", args, name, c.err.String())
				}
				for what, text := range map[string]string{"output": c.out.String(), "message": c.err.String()} {
					text = strings.ReplaceAll(text, clearLine, "") // from the progress
					if at := strings.IndexFunc(text, harmful); at >= 0 {
						t.Errorf("weft %q %q: %s with %q", args, name, what, text[max(at-40, 0):min(at+20, len(text))])
					}
					if !utf8.ValidString(text) {
						t.Errorf("weft %q %q: %s is not UTF-8", args, name, what)
					}
				}
			}
		}
		if lines := string(runWeft(t, "dump", name)); !strings.Contains(lines, `\u202eE\u2066`) {
			t.Errorf("weft dump %q prints no marks: what is tested here?", name)
		}
		if lines := string(runWeft(t, "dump", "--json", name)); !strings.Contains(lines, "\u202eE\u2066") {
			t.Errorf("weft dump --json %q changes texts", name)
		}
	}
}

// mayBeWrong reports whether weft may reject the given command-line arguments, because they have marks or name a trace argument
// that not every input has.
func mayBeWrong(args []string) bool {
	return slices.Contains(args, "--by") || slices.ContainsFunc(args, func(arg string) bool { return strings.Contains(arg, marks) })
}

// harmful reports whether a character may do more in a terminal than be displayed, except for line ends and tabs, which weft
// writes itself.
func harmful(r rune) bool { return r != '\n' && r != '\t' && words.Special(r) }

// fileMarks are the marks that file names can contain.
const fileMarks = "\u202e\x1b[31m\r\n\u009b2J\u200f"

// hostileInputs writes inputs in all formats, with marks in their names and in all their texts.
func hostileInputs(t *testing.T, dir string) (names []string) {
	t.Helper()
	cases, err := txtar.ParseFile(filepath.Join("testdata", "hostile", "names.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	quoted, err := json.Marshal(marks)
	if err != nil {
		t.Fatal(err)
	}
	put := func(name, content string) string {
		path := filepath.Join(dir, fileMarks+name)
		if os.WriteFile(path, []byte(content), 0o666) != nil { // as on Windows
			path = filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(content), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		return path
	}
	for _, file := range cases.Files {
		place := string(quoted[1 : len(quoted)-1])
		if strings.HasSuffix(file.Name, ".probelines") {
			place = strings.NewReplacer("\n", "", "\r", "", "\x00", "").Replace(marks) // lines end texts, and so does NUL
		}
		names = append(names, put(file.Name, strings.ReplaceAll(string(file.Data), "☠", place)))
	}
	converted := put("converted.pftrace", "")
	runWeft(t, "attribute", "--quiet", "--force", "-o", converted, names[0])
	firefox := string(unpacked(t, filepath.Join(recording.Testdata(t), "traces", "firefox", "processed", "ff-processed-imported-chrome-devtools-tiny.json.gz")))
	for _, name := range []string{"CrRendererMain", "RunTask", "FunctionCall", "https://"} {
		firefox = strings.ReplaceAll(firefox, name, name+string(quoted[1:len(quoted)-1]))
	}
	return append(names, converted, put("firefox.json", firefox))
}
