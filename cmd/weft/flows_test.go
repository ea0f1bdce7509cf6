package main

import (
	"testing"
)

func TestParseFlowName(t *testing.T) {
	for text, want := range map[string][2]string{
		"flow:0x2a;1200ms": {"0x2a", "1200ms"}, "flow:7": {"7", ""}, "flow:a;b;5us": {"a;b", "5us"}, "flow:a;b": {"a;b", ""},
		"flow:;5s": {";5s", ""}, "flow:x;@1us": {"x", "@1us"}, "flow:x;5kg": {"x;5kg", ""},
	} {
		id, at, err := parseFlowName(text)
		when := ""
		if at != nil {
			when = at.String()
		}
		if err != nil || id != want[0] || when != want[1] {
			t.Errorf("%q: %q at %q, %v; want %q", text, id, when, err, want)
		}
	}
	for _, text := range []string{"", "flow:", "0x2a", "id:7", "flow:x;5", "flow:x;1.5"} {
		if id, at, err := parseFlowName(text); err == nil {
			t.Errorf("%q: %q at %v; want an error", text, id, at)
		}
	}
}
