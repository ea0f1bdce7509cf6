package main

import (
	"cmp"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/timeline"
)

// On a terminal, tables of sampled functions keep the names and drop less important numbers.
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

// On a terminal, tables of stacks and the list of flows also keep the names.
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

// Tables print trace times in the form that --from accepts, and sort by them as numbers.
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

// Durations are rounded, not truncated.
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
