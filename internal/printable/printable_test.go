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

func TestMarks(t *testing.T) {
	for text, want := range map[string]string{
		"\u202egnp.\u2066x": `\u202egnp.\u2066x`, "\u06a9\u200c\u0647 👩\u200d💻 計": "\u06a9\u200c\u0647 👩\u200d💻 計", "a\n\u2028": "a\n" + `\u2028`,
	} {
		if got := printable.Marks(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}
