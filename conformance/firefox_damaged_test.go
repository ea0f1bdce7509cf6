package conformance

import (
	"bytes"
	"testing"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
)

// TestFirefoxDamaged checks that all complete data of a truncated profile is used. The expected result is
// encoding/json's for the text with its brackets closed after the last complete row or element.
func TestFirefoxDamaged(t *testing.T) {
	for name, separator := range map[string]string{
		"cut60pct-ff-gecko-tiny":     "],[", // between rows
		"cut60pct-ff-processed-tiny": ",",
	} {
		t.Run(name, func(t *testing.T) {
			input := recording.Bytes(t, "traces/damaged/"+name+".json")
			naive := readNaively(t, closeBrackets(t, input, separator))
			output, report := convertTrace(t, input, convert.Options{})
			p, err := project(output)
			if err != nil {
				t.Fatal(err)
			}
			wantThreads, _ := naive.count()
			var want, got firefoxCounts
			for _, c := range wantThreads {
				want.Markers += c.Markers
				want.Samples += c.Samples
				want.Values += c.Values
			}
			gotThreads, _ := countFirefox(t, output, p)
			for _, c := range gotThreads {
				got.Markers += c.Markers
				got.Samples += c.Samples
				got.Values += c.Values
			}
			if want != got || got.Markers == 0 {
				t.Errorf("%+v, want %+v", got, want)
			}
			if problems(report, "json_unterminated") != 1 || problems(report, "json_partial_event") != 1 {
				t.Errorf("the truncation is not reported: %+v", report.Problems)
			}
		})
	}
}

// closeBrackets truncates a text before the comma in the last separator and closes all open brackets.
func closeBrackets(t *testing.T, text []byte, separator string) []byte {
	t.Helper()
	end := bytes.LastIndex(text, []byte(separator))
	if end < 0 {
		t.Fatal("no separator")
	}
	text = text[:end+bytes.IndexByte([]byte(separator), ',')]
	var open []byte
	inString := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{':
			open = append(open, '}')
		case c == '[':
			open = append(open, ']')
		case c == '}' || c == ']':
			open = open[:len(open)-1]
		}
	}
	closed := bytes.Clone(text)
	for len(open) > 0 {
		closed = append(closed, open[len(open)-1])
		open = open[:len(open)-1]
	}
	return closed
}
