package cpuprofile

import (
	"bytes"
	"context"
	"errors"
	"math"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/weft-trace/weft/internal/bridge"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/pftrace"
	"github.com/weft-trace/weft/trace"
)

// FuzzRead holds that no input makes the reader panic, and that what it makes of an input is a valid trace, with the calls
// on their thread or on a track beside.
func FuzzRead(f *testing.F) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		f.Fatal("no cases", err)
	}
	for _, path := range paths {
		ar, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(ar.Files[0].Data, int64(0), false)
		f.Add(ar.Files[0].Data, int64(math.MaxInt64-20_000), true)
	}
	f.Fuzz(func(t *testing.T, data []byte, offset int64, separate bool) {
		log := new(problem.Log)
		b := timeline.NewBuilder(timeline.Options{Problems: log, TempDir: t.TempDir()})
		opts := Options{Problems: log, Offset: timeline.Nanos(offset), SeparateCalls: separate}
		if err := Read(context.Background(), bytes.NewReader(data), b, opts); err != nil {
			if err := b.Close(); err != nil {
				t.Fatal(err)
			}
			return
		}
		tl, err := b.Finish(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer tl.Close()
		var out bytes.Buffer
		if err := errors.Join(tl.Nest(context.Background()), pftrace.Write(context.Background(), &out, bridge.Trace[trace.Trace](context.Background(), tl), pftrace.Options{})); err != nil {
			t.Fatal(err)
		}
		report, err := pftrace.Verify(context.Background(), &out, pftrace.VerifyOptions{Strict: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, finding := range report.Findings {
			if !finding.Warning {
				t.Errorf("%s: %s %v", finding.Rule, finding.Sentence, finding.Cases)
			}
		}
	})
}
