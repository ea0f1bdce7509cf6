package printable_test

import (
	"testing"

	"github.com/weft-trace/weft/internal/printable"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"":                    "",
		"计算量 🦊 \u00a0\\\"":    "计算量 🦊 \u00a0\\\"",
		"a\nb\tc\x1b[31m\x7f": `a\nb\tc\x1b[31m\x7f`,
		"ç®\u0097":            `ç®\u0097`,
		"\xff":                `\xff`,
	} {
		if got := printable.Text(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
	if got := printable.Record([]string{"a", "\x00"}); got[0] != "a" || got[1] != `\x00` {
		t.Errorf("%q", got)
	}
}
