package jsonscan

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"unicode"
)

// A JSON decoder restores the texts, with U+FFFD for invalid UTF-8 bytes.
func FuzzAppendString(f *testing.F) {
	for _, text := range []string{"", "plain", "\"\\/\x00\x1f\x7f", "über 😀", "cut \xf0\x9f\x98", "\xff\xfe", "\u2028", "\u0080\u009b\u009f\u00a0"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		out := AppendString([]byte("x"), text)
		if string(out) != string(AppendString([]byte("x"), []byte(text))) {
			t.Fatal("another text for bytes")
		}
		var back string
		if err := json.Unmarshal(out[1:], &back); err != nil || strings.ContainsFunc(string(out), unicode.IsControl) {
			t.Fatalf("%q becomes %s: %v", text, out, err)
		}
		if want := string([]rune(text)); back != want {
			t.Errorf("%q is read as %q, want %q", text, back, want)
		}
		encoded, err := json.Marshal(text)
		if escaped := Escape(encoded); err != nil || json.Unmarshal(escaped, &back) != nil || back != string([]rune(text)) || strings.ContainsFunc(string(escaped), unicode.IsControl) {
			t.Errorf("%s becomes %s", encoded, escaped)
		}
	})
}

func TestAppendDouble(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1.5: "1.5", 1e300: "1e+300", math.Inf(1): `"Infinity"`, math.Inf(-1): `"-Infinity"`, 9007199254740993: "9.007199254740992e+15",
	} {
		if got := string(AppendDouble(nil, v)); got != want {
			t.Errorf("%v becomes %s, want %s", v, got, want)
		}
	}
	if got := string(AppendDouble(nil, math.NaN())); got != `"NaN"` {
		t.Errorf("NaN becomes %s", got)
	}
}
