package reportpage_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/load"
	"github.com/weft-trace/weft/internal/reportpage"
)

// Reading once for both the page and the trace gives the same bytes as reading once for each.
func TestSurvey(t *testing.T) {
	const traces = "../../testdata/traces"
	for _, file := range []string{
		"chrome/chrome-devtools-tiny.json.gz", "damaged/object-mid-event-50pct.json.gz", "damaged/array-mid-string.json.gz", "merge/rank0.json.gz",
		"otlp/browser.json.gz", "perfetto/chrome-devtools-tiny.pftrace.gz", "cpuprofile/cdp-page-small.cpuprofile.gz", "probes/syscalls.probelines.gz",
	} {
		input, err := os.ReadFile(filepath.Join(traces, file))
		if err != nil {
			t.Fatal(err)
		}
		page := func(tr *load.Trace) []byte {
			html, _, err := reportpage.Survey(t.Context(), tr, filepath.Base(file))
			if err != nil {
				t.Fatal(err)
			}
			return html
		}
		alone, err := load.One(t.Context(), bytes.NewReader(input), load.Options{TempDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		wantPage := page(alone)
		if err := alone.Close(); err != nil {
			t.Fatal(err)
		}
		for _, opts := range []load.Options{{TempDir: t.TempDir()}, {TempDir: t.TempDir(), Attribute: &attribution.Options{}}} {
			var want, got bytes.Buffer
			wantReport, err := convert.Convert(t.Context(), &want, bytes.NewReader(input), opts)
			if err != nil {
				t.Fatal(err)
			}
			var gotPage []byte
			tr, err := load.OneWithSurvey(t.Context(), bytes.NewReader(input), opts, func(tr *load.Trace) error {
				gotPage = page(tr)
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if err := tr.Write(t.Context(), &got, nil); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(gotPage, wantPage) {
				t.Errorf("%s, attributed %t: another page", file, opts.Attribute != nil)
			}
			if !bytes.Equal(got.Bytes(), want.Bytes()) {
				t.Errorf("%s, attributed %t: another trace, of %d bytes and not %d", file, opts.Attribute != nil, got.Len(), want.Len())
			}
			if n := len(tr.Report.Problems); n != len(wantReport.Problems) {
				t.Errorf("%s, attributed %t: %d problems, not %d", file, opts.Attribute != nil, n, len(wantReport.Problems))
			}
			if err := tr.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}
