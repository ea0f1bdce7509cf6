package conformance

import (
	"bytes"
	"context"
	"io"
	"testing"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/pftrace"
)

// maxShown limits the rows that a failing comparison prints.
const maxShown = 10

// convertTrace converts an input, verifies the output and returns it.
func convertTrace(tb testing.TB, input []byte, opts convert.Options) ([]byte, *convert.Report) {
	tb.Helper()
	var output bytes.Buffer
	report, err := convert.Convert(context.Background(), &output, bytes.NewReader(input), opts)
	if err != nil {
		tb.Fatalf("convert: %v", err)
	}
	verify(tb, bytes.NewReader(output.Bytes()))
	return output.Bytes(), report
}

// verify fails the test if a trace breaks a rule of the format.
func verify(tb testing.TB, trace io.Reader) {
	tb.Helper()
	report, err := pftrace.Verify(context.Background(), trace, pftrace.VerifyOptions{Strict: true})
	if err != nil {
		tb.Fatalf("verify: %v", err)
	}
	for _, f := range report.Findings {
		if !f.Warning {
			tb.Errorf("verify: %s ×%d (perfetto.md %s): %s %v", f.Rule, f.Count, f.Section, f.Sentence, f.Cases)
		}
	}
}

// mustProject converts an input and projects the output.
func mustProject(tb testing.TB, input []byte, opts convert.Options) (*projection, *convert.Report) {
	tb.Helper()
	output, report := convertTrace(tb, input, opts)
	p, err := project(output)
	if err != nil {
		tb.Fatalf("projecting the output: %v", err)
	}
	return p, report
}

// compare compares a table of the expected result with weft's, allowing for the known differences.
func compare(t *testing.T, trace string, want, got *table) {
	t.Helper()
	missing, extra := differences(want, got)
	known := knownDifference(trace, want.name)
	if len(missing) == known.missing && len(extra) == known.extra {
		return
	}
	t.Errorf("%s: %d rows are missing and %d are too many; known are %d and %d", want.name, len(missing), len(extra), known.missing, known.extra)
	show(t, "missing", missing)
	show(t, "extra", extra)
}

func show(t *testing.T, what string, rows []string) {
	t.Helper()
	for i, r := range rows {
		if i == maxShown {
			t.Logf("%s: … and %d more", what, len(rows)-i)
			return
		}
		t.Logf("%s: %s", what, r)
	}
}

// loadTimeline reads a trace and returns its timeline.
func loadTimeline(ctx context.Context, src io.Reader, opts convert.Options) (*timeline.Timeline, error) {
	tr, err := convert.Open(ctx, src, opts)
	if err != nil {
		return nil, err
	}
	return timeline.Of(tr), nil
}
