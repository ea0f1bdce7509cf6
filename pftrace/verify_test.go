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

// recordings returns the Perfetto recordings in testdata, and those in a folder shared beside the checkout.
func recordings(t testing.TB) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join("..", "testdata", "traces", "perfetto", "*.pftrace.gz"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no recordings in testdata (%v)", err)
	}
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if more, _ := filepath.Glob(filepath.Join(dir, "shared", "traces", "perfetto", "*.pftrace.gz")); len(more) > 0 {
			return append(found, more...)
		}
	}
	t.Log("no folder shared beside the checkout: only the recording in testdata is used")
	return found
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
	for _, path := range recordings(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			report := verifyBytes(t, readGzip(t, path), VerifyOptions{})
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
