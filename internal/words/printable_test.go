package words_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/words"
)

// Spreadsheets evaluate texts that look like a formula, so texts from traces must not look like one. Numbers stay numbers.
func TestPrintableFields(t *testing.T) {
	fields := []string{"=cmd|'/C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "-12", "+1.5e-7", "-", "", "a=b", "'", "\t=1", "-13 [ frameCon ]"}
	want := []string{"'=cmd|'/C calc'!A0", "'+1+1", "'-2+3", "'@SUM(A1)", "-12", "+1.5e-7", "'-", "", "a=b", "'", `\t=1`, "'-13 [ frameCon ]"}
	if got := words.PrintableFields(fields); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestPrintable(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "",
		"计算量 🦊 \u00a0\\\"\ufffd":        "计算量 🦊 \u00a0\\\"\ufffd",
		"a\nb\tc\x1b[31m\x7f":           `a\nb\tc\x1b[31m\x7f`,
		"ç®\u0097":                      `ç®\u0097`,
		"\xff\x9b":                      `\xff\x9b`,
		"\u202egnp.\u2066x":             `\u202egnp.\u2066x`,
		"a\u2028\u200f\ufeff":           `a\u2028\u200f\ufeff`,
		"\U000e0041":                    `\U000e0041`,
		"\u06a9\u200c\u0647 👩\u200d💻 計": "\u06a9\u200c\u0647 👩\u200d💻 計", // joiners, which are part of the spelling
		"\u06dd١":                       "\u06dd١",                       // a visible format character
	} {
		got := words.Printable(text)
		if got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
		if again := words.Printable(got); again != got {
			t.Errorf("%q becomes %q the second time", got, again)
		}
	}
}

// Special agrees with the tables, which it does not need for most characters.
func TestSpecial(t *testing.T) {
	for r := rune(0xA0); r <= unicode.MaxRune; r++ {
		joiner := r == '\u200c' || r == '\u200d'
		want := unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r) && !joiner
		if got := words.Special(r); got != want {
			t.Errorf("%U: %v, want %v", r, got, want)
		}
	}
}

// No function here changes the prefix that PlainPrefix finds.
func TestPlainPrefix(t *testing.T) {
	for text, want := range map[string]int{"": 0, "a\\b~ ": 5, "ab\x7f": 2, "\tx": 0, "aé": 1} {
		if got := words.PlainPrefix([]byte(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// Data for programs keeps characters that only confuse people.
func TestFieldsForPrograms(t *testing.T) {
	if got, want := words.PrintableFields([]string{"a\u202eb", "\x00\u0085\xff"}), []string{"a\u202eb", `\x00\u0085\xff`}; !reflect.DeepEqual(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Escaped JSON has the same meaning.
func FuzzPrintableJSON(f *testing.F) {
	for _, text := range []string{"", "plain", "\u202e \u009b31m \\ \" \x1b", "\U000e0041\u200d", "\u2028"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			t.Skip("not JSON")
		}
		var plain strings.Builder
		encoder := json.NewEncoder(&plain)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(map[string]string{text: text}); err != nil {
			t.Fatal(err)
		}
		escaped := words.PrintableJSON([]byte(strings.TrimSuffix(plain.String(), "\n")))
		var back map[string]string
		if err := json.Unmarshal(escaped, &back); err != nil || len(back) != 1 || back[text] != text {
			t.Errorf("%s becomes %s: %q, %v", plain.String(), escaped, back, err)
		}
		if strings.ContainsFunc(string(escaped), words.Special) {
			t.Errorf("%q is left in %q", text, escaped)
		}
	})
}
