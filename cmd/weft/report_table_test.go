package main

import (
	"bytes"
	"cmp"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/timeline"
)

// Numbers stand below each other whatever script the names are in: wide characters take two columns, marks none.
func TestTableOfWideNames(t *testing.T) {
	tb := table{title: "Functions", columns: []column{texts("name", "function"), counts("n", "samples"), texts("url", "where")}}
	for i, name := range []string{"layout", "計算量", "gro\u0308ße", "テスト"} {
		tb.rows = append(tb.rows, []cell{textCell(name), countCell(int64(9 << (4 * i))), textCell("a.js")})
	}
	const want = `
  Functions
  function  samples  where
  layout          9  a.js
  計算量        144  a.js
  gro` + "\u0308" + `ße       2,304  a.js
  テスト     36,864  a.js
`
	var b bytes.Buffer
	if tb.writeText(&b, terminal{}); b.String() != want {
		t.Errorf("got %s\nwant %s", b.String(), want)
	}
}

// On a terminal, functions of samples have their names before numbers that people miss less.
func TestSamplesOfTerminal(t *testing.T) {
	c := newConsole(strings.NewReader(""), true)
	c.width = func(io.Writer) int { return 70 }
	args := []string{"weft", "report", "samples", "--limit", "2", "../../testdata/traces/cpuprofile/cdp-page-small.cpuprofile.gz"}
	if code := run(t.Context(), args, &c.environment); code != exitOK {
		t.Fatal(code, c.err.String())
	}
	for _, want := range []string{"self ms  total ms  function   location", "/main.js:14:19\n", ", sampled by V8"} {
		if !strings.Contains(c.out.String(), want) {
			t.Errorf("no %q in\n%s", want, c.out.String())
		}
	}
}

// The same holds for stacks, and for the list of flows.
func TestNamesOnTerminal(t *testing.T) {
	const recording = "../../testdata/traces/chrome/chrome-devtools-tiny.json.gz"
	for _, test := range []struct{ command, want string }{
		{"report layout-thrashing", "function"},
		{"report gc", "location"},
		{"flows", "FLOW                     MARKERS  FIRST MARKER"},
	} {
		c := newConsole(strings.NewReader(""), true)
		c.width = func(io.Writer) int { return 80 }
		args := append([]string{"weft"}, strings.Fields(test.command)...)
		if code := run(t.Context(), append(args, recording), &c.environment); code != exitOK {
			t.Fatal(test.command, code, c.err.String())
		}
		if !strings.Contains(c.out.String(), test.want) {
			t.Errorf("%s: no %q in\n%s", test.command, test.want, c.out.String())
		}
	}
}

// A table leaves out what people miss least, and then shortens the widest texts.
func TestTableOfTerminal(t *testing.T) {
	for columns, want := range map[int]string{
		0: "name                          n  ms     p50 ms  where\nthe first of two long names  12  0.002   0.001  a thread with a name",
		// 2 columns in front of each, and those of the widest cell: 29 + 4 + 7 + 8 + 22.
		70: "name                          n  ms     p50 ms  where\nthe first of two long names  12  0.002   0.001  a thread with a name",
		69: "name                          n  ms     where\nthe first of two long names  12  0.002  a thread with a name",
		61: "name                         ms     where\nthe first of two long names  0.002  a thread with a name",
		50: "name                   ms     where\nthe first of… names  0.002  a thread with a name",
		45: "name ms where\nthe first … names 0.002 a thread w…a name",
		10: "name              ms\nthe …mes  0.002",
	} {
		tb := table{columns: []column{
			texts("name", "name"), spare(1, counts("n", "n")), times("ms_ns", "ms"), spare(2, times("p50_ns", "p50 ms")), texts("where", "where"),
		}, rows: [][]cell{{textCell("the first of two long names"), countCell(12), timeCell(2000), timeCell(1000), textCell("a thread with a name")}}}
		tb.fit(columns)
		var b bytes.Buffer
		tb.writeText(&b, terminal{})
		got := strings.Join(strings.Fields(b.String()), " ")
		if want := strings.Join(strings.Fields(want), " "); got != want {
			t.Errorf("in %d columns:\n%s\nwant\n%s", columns, got, want)
		}
	}
}

// Tables print times of the trace as --from takes them, and sort by them as numbers.
func TestMomentsOfTables(t *testing.T) {
	const profile, chrome = "../../testdata/traces/cpuprofile/node-v24-thread1.cpuprofile.gz", "../../testdata/traces/chrome/chrome-devtools-tiny.json.gz"
	for _, args := range [][]string{
		{"report", "samples", "--table", "buckets", "--bucket", "100ms", profile}, {"report", "gc", "--table", "buckets", "--bucket", "100ms", profile},
		{"report", "cost", "--type", "input", chrome}, {"report", "input", chrome}, {"report", "input", "--sort", "-ts_ns", chrome},
	} {
		text := string(runWeft(t, args...))
		found := 0
		for line := range strings.Lines(text) {
			i := slices.IndexFunc(strings.Fields(line), func(word string) bool { return strings.HasSuffix(word, "ms") && word != "ms" && len(word) > 5 })
			if i < 0 || strings.Contains(line, ":") {
				continue
			}
			from := strings.Fields(line)[i]
			if code := run(t.Context(), []string{"weft", "info", "--from", from, args[len(args)-1]}, &newConsole(strings.NewReader(""), false).environment); code != exitOK {
				t.Errorf("weft %s prints %s, which --from does not take", strings.Join(args, " "), from)
			}
			found++
		}
		if found < 3 {
			t.Errorf("weft %s has %d times in\n%s", strings.Join(args, " "), found, text)
		}
	}
	sorted := strings.Fields(string(runWeft(t, "report", "input", "--sort", "ts_ns", "--csv", "--columns", "ts_ns", chrome)))[1:]
	if !slices.IsSortedFunc(sorted, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) }) {
		t.Errorf("not sorted: %v", sorted)
	}
}

// Lengths of time are rounded, not cut.
func TestRounded(t *testing.T) {
	for length, want := range map[timeline.Nanos]string{
		72_987_000: "73.0 ms", 13_884_000: "13.9 ms", 999_949_999: "999.9 ms", 999_950_000: "1,000.0 ms", 1_528_493_000: "1.53 s",
		123_500_000_000: "124 s", 123_499_999_999: "123 s", 9_999_000: "9.999 ms", math.MaxInt64: "9,223,372,037 s", 0: "0.000 ms",
	} {
		if got := lengthText(length); got != want {
			t.Errorf("%d: %s, want %s", length, got, want)
		}
	}
}
