package pftrace

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"testing"

	"github.com/weft-trace/weft/internal/recording"
)

// verifyBytes verifies a trace in memory.
func verifyBytes(t testing.TB, trace []byte, opts VerifyOptions) *VerifyReport {
	t.Helper()
	report, err := Verify(context.Background(), bytes.NewReader(trace), opts)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

func readGzip(t testing.TB, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Chrome's own traces break no rules; where they differ from weft's, there are warnings.
func TestVerifyRecordings(t *testing.T) {
	for _, f := range recording.In(t, "perfetto") {
		t.Run(f.Name, func(t *testing.T) {
			t.Parallel()
			report := verifyBytes(t, readGzip(t, f.Path), VerifyOptions{})
			if report.Events == 0 {
				t.Error("no events")
			}
			for _, f := range report.Findings {
				log := t.Logf
				if !f.Warning {
					log = t.Errorf
				}
				log("%s (%d): %v", f.Rule, f.Count, f.Cases)
			}
		})
	}
}
