package selection_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/timeline"
)

// span is the Span of a trace of 2 s whose clock starts an hour earlier.
var span = selection.Span{Start: 3600_000_000_000, End: 3602_000_000_000}

func TestParseMoment(t *testing.T) {
	for text, want := range map[string]timeline.Nanos{
		"0":                   0,
		"0.0":                 0,
		"1.5s":                1_500_000_000,
		"300ms":               300_000_000,
		"2,000ms":             2_000_000_000,
		"1,234.567ms":         1_234_567_000,
		"12us":                12_000,
		"12µs":                12_000, // micro sign
		"12μs":                12_000, // Greek letter
		"7ns":                 7,
		"7.000ns":             7,
		"1.000000001s":        1_000_000_001,
		"0.0000010000ms":      1,
		"@3600s":              0,
		"@3601.5s":            1_500_000_000,
		"@3,600,000.000001ms": 1,
	} {
		m, err := selection.ParseMoment(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		at, err := m.In(span)
		if err != nil || at-span.Start != want {
			t.Errorf("%s is %d, %v; want %d", text, at-span.Start, err, want)
		}
		if m.String() != text {
			t.Errorf("%s is written %s", text, m)
		}
	}
}

func TestParseMomentErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "is not a time",
		"@":                      "is not a time",
		"ms":                     "is not a time",
		"+5ms":                   "is not a time",
		"-5ms":                   "is not a time",
		"1.s":                    "is not a time",
		".5s":                    "is not a time",
		"1e3ms":                  "is not a time",
		"0x10ns":                 "is not a time",
		"5 ms":                   "is not a time",
		"1,00ms":                 "is not a time",
		"1000,000ms":             "is not a time",
		",000ms":                 "is not a time",
		"1.5.0s":                 "is not a time",
		"@@5s":                   "is not a time",
		"chrome-json":            "is not a time",
		"5":                      "5 has no unit; write 5s, 5ms, 5us or 5ns after the start of the trace, or @5ns on its clock",
		"@5":                     "5 has no unit; write @5s, @5ms, @5us or @5ns on the clock of the trace",
		"1.5":                    "1.5 has no unit",
		"0.5ns":                  "finer than a nanosecond",
		"0.0000005ms":            "finer than a nanosecond",
		"9223372036.854775808s":  "too large",
		"99999999999999999999ns": "too large",
	} {
		if _, err := selection.ParseMoment(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %s", text, err, want)
		}
	}
}

// The error for a time outside the trace states the span of the trace, and suggests the other form if the time would then be
// inside.
func TestOutside(t *testing.T) {
	const spans = "which lasts 2000ms (from @3600000ms to @3602000ms)"
	for text, want := range map[string]string{
		"2.1s":                  "2.1s is outside the trace, " + spans,
		"3601s":                 "3601s is outside the trace, " + spans + "; did you mean @3601s?",
		"@1s":                   "@1s is outside the trace, " + spans + "; did you mean 1s?",
		"@9s":                   "@9s is outside the trace, " + spans,
		"9223372036.854775807s": "9223372036.854775807s is outside the trace, " + spans,
	} {
		m, err := selection.ParseMoment(text)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.In(span); !errors.Is(err, selection.ErrOutside) || err.Error() != want {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
}

func TestWindow(t *testing.T) {
	const first, last = math.MinInt64, math.MaxInt64
	for _, test := range []struct {
		from, to string
		first    timeline.Nanos
		last     timeline.Nanos
		err      string
	}{
		{"", "", first, last, ""},
		{"1s", "", span.Start + 1e9, last, ""},
		{"", "1s", first, span.Start + 1e9, ""},
		{"0", "@3601s", span.Start, span.Start + 1e9, ""},
		{"1s", "2s", span.Start + 1e9, last, ""}, // the end of the trace is inside
		{"2s", "", span.End, last, ""},
		{"1s", "1s", 0, 0, "--to: 1s is not after --from 1s"},
		{"1s", "@3601s", 0, 0, "--to: @3601s is not after --from 1s"},
		{"", "0s", 0, 0, "--to: 0s is not after the start of the trace"},
		{"", "@3600s", 0, 0, "--to: @3600s is not after the start of the trace"},
		{"5", "", 0, 0, "--from: 5 has no unit"},
		{"", "5", 0, 0, "--to: 5 has no unit"},
		{"3s", "", 0, 0, "--from: 3s is outside the trace"},
		{"", "3s", 0, 0, "--to: 3s is outside the trace"},
	} {
		w, err := selection.ParseWindow(test.from, test.to)
		var from, to timeline.Nanos
		if err == nil {
			from, to, err = w.In(span)
		}
		switch {
		case test.err != "":
			if err == nil || !strings.HasPrefix(err.Error(), test.err) {
				t.Errorf("%q to %q: %v; want %s", test.from, test.to, err, test.err)
			}
		case err != nil || from != test.first || to != test.last:
			t.Errorf("%q to %q is %d to %d, %v; want %d to %d", test.from, test.to, from, to, err, test.first, test.last)
		case w.Whole() != (test.from == "" && test.to == ""):
			t.Errorf("%q to %q: the whole trace: %v", test.from, test.to, w.Whole())
		}
	}
}

func TestFormatMoment(t *testing.T) {
	for at, want := range map[timeline.Nanos]string{
		0: "0ms", 1: "0.000001ms", 250_000: "0.25ms", 100_000_000: "100ms", -1_500_000: "-1.5ms",
		math.MaxInt64: "9223372036854.775807ms", math.MinInt64: "-9223372036854.775808ms",
	} {
		if got := selection.FormatMoment(at); got != want {
			t.Errorf("%d is written %s; want %s", at, got, want)
		}
	}
}

// FuzzParseMoment checks that Parse does not panic, and that a formatted time parses to the same time.
func FuzzParseMoment(f *testing.F) {
	for _, text := range []string{"", "0", "5", "1.5s", "@1,234.5ms", "12µs", "9223372036.854775807s", "1,00ns", "@.s", "+1s"} {
		f.Add(text, int64(3600), int64(7200))
	}
	f.Fuzz(func(t *testing.T, text string, start, end int64) {
		s := selection.Span{Start: timeline.Nanos(max(start, 0)), End: timeline.Nanos(max(start, end, 0))}
		m, err := selection.ParseMoment(text)
		if err != nil {
			return
		}
		at, err := m.In(s)
		if err != nil {
			return
		}
		if at < s.Start || at > s.End {
			t.Fatalf("%q is %d, outside of %v", text, at, s)
		}
		for _, form := range []string{s.Since(at), selection.OnClock(at)} {
			again, err := selection.ParseMoment(form)
			if err != nil {
				t.Fatalf("%q of %q: %v", form, text, err)
			}
			if back, err := again.In(s); err != nil || back != at {
				t.Fatalf("%q of %q is %d, %v; want %d", form, text, back, err, at)
			}
		}
	})
}
