package report_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"testing"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/timeline"
)

// A stream whose slices overlap is written as tracks below its thread. Reports on the converted trace equal the reports on the
// input.
func TestStreamsOfConversions(t *testing.T) {
	input := []byte(`[
		{"ph":"M","name":"thread_name","pid":1,"tid":7,"args":{"name":"stream 7"}},
		{"ph":"X","cat":"kernel","name":"FunctionCall","ts":0,"dur":50,"pid":1,"tid":7},
		{"ph":"X","cat":"kernel","name":"Layout","ts":10,"dur":30,"pid":1,"tid":7},
		{"ph":"X","cat":"kernel","name":"Layout","ts":45,"dur":30,"pid":1,"tid":7},
		{"ph":"X","cat":"kernel","name":"Layout","ts":70,"dur":30,"pid":1,"tid":7},
		{"ph":"X","cat":"kernel","name":"Layout","ts":75,"dur":10,"pid":1,"tid":7},
		{"ph":"X","cat":"kernel","name":"Layout","ts":200,"dur":7,"pid":1,"tid":8},
		{"ph":"X","cat":"kernel","name":"Layout","ts":204,"dur":9,"pid":1,"tid":8}]`)
	first := forcedOf(t, input)
	if !bytes.Contains(first, []byte("stream 7")) {
		t.Fatalf("nothing of the stream in %s", first)
	}
	for n := range 2 {
		var out bytes.Buffer
		if _, err := convert.Convert(t.Context(), &out, bytes.NewReader(input), convert.Options{}); err != nil {
			t.Fatal(err)
		}
		input = slices.Clone(out.Bytes())
		if again := forcedOf(t, input); !bytes.Equal(first, again) {
			t.Errorf("converted %d times:\n%s, want\n%s", n+1, again, first)
		}
	}
}

// forcedOf returns the report about forced layout.
func forcedOf(t *testing.T, input []byte) []byte {
	t.Helper()
	tr, err := convert.Open(t.Context(), bytes.NewReader(input), convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	p, err := report.Collect(t.Context(), timeline.Of(tr), nil)
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(p.LayoutThrashing(report.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	return out
}
