package commandline

import "testing"

// roff markup is escaped.
func TestRoffText(t *testing.T) {
	for text, want := range map[string]string{
		".SH x": `\&.SH x`, "'x": `\&'x`, `a\b`: `a\eb`, "a-b.c": `a\-b.c`, "…": `\[u2026]`, "": "",
	} {
		if got := roffText(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
