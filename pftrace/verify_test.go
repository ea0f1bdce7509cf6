package pftrace

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// verifyBytes verifies a trace that is in memory.
func verifyBytes(t testing.TB, trace []byte, opts VerifyOptions) *VerifyReport {
	t.Helper()
	report, err := Verify(context.Background(), bytes.NewReader(trace), opts)
	if err != nil {
		t.Fatal(err)
	}
	return report
}

// sharedTraces returns the Perfetto recordings in the sibling directory shared, if there is one.
func sharedTraces(t testing.TB) []string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if found, _ := filepath.Glob(filepath.Join(dir, "shared", "traces", "perfetto", "*.pftrace.gz")); len(found) > 0 {
			return found
		}
	}
	return nil
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

// Chrome's own traces break no rule; what they do that weft does not are warnings.
func TestVerifyRecordings(t *testing.T) {
	for _, path := range sharedTraces(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			report := verifyBytes(t, readGzip(t, path), VerifyOptions{})
			t.Logf("%d packets, %d events", report.Packets, report.Events)
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
