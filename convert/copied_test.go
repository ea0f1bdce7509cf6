package convert_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"testing"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
)

// TestNothingOfACopyIsLost attributes a Chrome recording that has flows without a start: a conversion loses these, but a copy
// contains their packets. Unreadable data is lost in both.
func TestNothingOfACopyIsLost(t *testing.T) {
	packed, err := os.ReadFile("../testdata/traces/perfetto/chrome-devtools-tiny.pftrace.gz")
	if err != nil {
		t.Fatal(err)
	}
	zr, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	trace, err := io.ReadAll(zr)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name         string
		trace        []byte
		keep, copied bool
		lost         bool
	}{
		{"converted", trace, false, false, true},
		{"copied", trace, true, true, false},
		{"cut and copied", trace[:len(trace)-1], true, true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			opts := convert.Options{Attribute: &attribution.Options{}, KeepPackets: c.keep}
			report, err := convert.Convert(context.Background(), io.Discard, bytes.NewReader(c.trace), opts)
			if err != nil {
				t.Fatal(err)
			}
			if report.Copied != c.copied || (report.Lost() > 0) != c.lost {
				t.Errorf("copied %t, lost %d", report.Copied, report.Lost())
			}
		})
	}
}
