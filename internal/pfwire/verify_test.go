package pfwire_test

import (
	"bytes"
	"testing"

	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/pftrace"
)

func init() {
	pfwire.VerifyWritten = func(t testing.TB, trace []byte) {
		t.Helper()
		report, err := pftrace.Verify(t.Context(), bytes.NewReader(trace), pftrace.VerifyOptions{Strict: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range report.Findings {
			if !f.Warning {
				t.Errorf("%s (%d): %v", f.Rule, f.Count, f.Cases)
			}
		}
	}
}
