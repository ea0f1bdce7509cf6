package tracer

import (
	"slices"
	"testing"
)

func TestWithout(t *testing.T) {
	const before = "/* usdt:$1:p:comment */\nBEGIN { printf(\"#probelines 1\\n\"); }\n"
	const a = "usdt:$1:p:a__start { printf(\"}\\\"{\\n\"); if (1) { x(); } }\n"
	const b = "usdt:$1:p:b /comm == \"{\"/\n{\n\tprint((1, 2));\n}\n"
	const c = "usdt:$1:p:c, usdt:$1:p:d { x(); }\n"
	const pattern = "usdt:$1:p:e* { x(); }\n"
	const after = "tracepoint:x:y { }\nEND { }\n"
	whole := before + a + b + c + pattern + after
	tests := []struct {
		name       string
		program    []string
		want       string
		has, lacks []string
	}{
		{"all", []string{"p:a__start", "p:b"}, whole, []string{"p:a__start", "p:b", "p:c", "p:e*"}, nil},
		{"one", []string{"p:b", "q:a__start"}, before + b + c + pattern + after, []string{"p:b", "p:c", "p:e*"}, []string{"p:a__start"}},
		{"none", nil, before + c + pattern + after, []string{"p:c", "p:e*"}, []string{"p:a__start", "p:b"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &Script{Name: "s", Tracer: Bpftrace, Text: whole}
			got, has, lacks := s.WithoutMissingProbes(tt.program)
			if got.Text != tt.want || !slices.Equal(has, tt.has) || !slices.Equal(lacks, tt.lacks) {
				t.Errorf("has %q, lacks %q, script %q; want %+v", has, lacks, got.Text, tt)
			}
		})
	}
	// A clause without an end extends to the end of the script.
	s := &Script{Text: "usdt:$1:p:a {"}
	if got, _, lacks := s.WithoutMissingProbes(nil); got.Text != "" || len(lacks) != 1 {
		t.Errorf("%q, %q", got.Text, lacks)
	}
}

// Every clause for the program is found in the shipped scripts.
func TestWithoutShipped(t *testing.T) {
	for _, s := range all(t) {
		got, has, lacks := s.WithoutMissingProbes(nil)
		if len(has) > 0 || got.NeedsProgram() && s.Name != "uprobe" {
			t.Errorf("%s: clauses for %q stay", s.File(), has)
		}
		if same, has, _ := s.WithoutMissingProbes(lacks); same.Text != s.Text || len(has) != len(lacks) {
			t.Errorf("%s: is not the same with all of its probes", s.File())
		}
	}
}
