package main

import (
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/timeline"
)

func TestParseMoment(t *testing.T) {
	const start = 1_000_000
	for text, want := range map[string]timeline.Nanos{
		"0": 0, "123": 123, "+123": start + 123, "5ns": 5, "1.5us": 1500, "1.5µs": 1500, "1.5μs": 1500, "2ms": 2_000_000,
		"+2ms": start + 2_000_000, "0.000001ms": 1, "1.0000000000s": 1_000_000_000, "3.s": 3_000_000_000,
		"9223372036854775807": 1<<63 - 1, "9223372036.854775807s": 1<<63 - 1, "9007199254740.993us": 9_007_199_254_740_993,
	} {
		if got, err := parseMoment(text, start); err != nil || got != want {
			t.Errorf("%q: %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "+", "ms", "1.5", "1.5ns", "0.0000001ms", "-1", "1e3", "0x10", "1h", "1 ms", "++1", ".5s",
		"9223372036854775808", "9223372037s", "+9223372036854775807",
	} {
		if got, err := parseMoment(text, start); err == nil {
			t.Errorf("%q: %d; want an error", text, got)
		}
	}
}

func TestParseFlowName(t *testing.T) {
	for text, want := range map[string][2]string{
		"flow:0x2a;1200ms": {"0x2a", "1200ms"}, "flow:7": {"7", ""}, "flow:a;b;5": {"a;b", "5"}, "flow:a;b": {"a;b", ""},
		"flow:;5": {";5", ""}, "flow:x;+1us": {"x", "+1us"},
	} {
		if id, at, err := parseFlowName(text); err != nil || id != want[0] || at != want[1] {
			t.Errorf("%q: %q at %q, %v; want %q", text, id, at, err, want)
		}
	}
	for _, text := range []string{"", "flow:", "0x2a", "id:7"} {
		if id, at, err := parseFlowName(text); err == nil {
			t.Errorf("%q: %q at %q; want an error", text, id, at)
		}
	}
}

func TestElide(t *testing.T) {
	short, long := strings.Repeat("ü", 60), strings.Repeat("a", 40)+"123"+strings.Repeat("ü", 19)
	if elide(short) != short || elide(long) != strings.Repeat("a", 40)+"…"+strings.Repeat("ü", 19) {
		t.Errorf("%q, %q", elide(short), elide(long))
	}
}
