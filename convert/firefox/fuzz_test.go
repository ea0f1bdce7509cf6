package firefox

import (
	"bytes"
	"context"
	"path/filepath"
	"slices"
	"testing"
	"testing/iotest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/weft-trace/weft/pftrace"
	"github.com/weft-trace/weft/problem"
	"github.com/weft-trace/weft/timeline"
)

// FuzzRead holds that no input makes the reader or the passes behind it panic or hang, that what is read does not depend
// on how the input arrives, and that what is written breaks no rule.
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
		f.Add(bytes.TrimSuffix(ar.Files[0].Data, []byte("\n")))
	}
	f.Add(jslb(jsonSlab(`{"meta":{"startTime":0,"preprocessedProfileVersion":70},"shared":{"stringArray":["a"]},"threads":[{"markers":{"name":{"$s":1},"startTime":[1]}}]}`),
		numberSlab(slabInt8, []int8{0})))
	f.Fuzz(func(t *testing.T, input []byte) {
		opts := Options{JSCalls: true, window: 1 << 16}
		tl, log, err := read(t, memory, bytes.NewReader(input), opts)
		opts.window = 16
		small, smallLog, smallErr := read(t, smallMemory, iotest.OneByteReader(bytes.NewReader(input)), opts)
		if (err == nil) != (smallErr == nil) {
			t.Fatalf("large window: %v; small window: %v", err, smallErr)
		}
		if err != nil {
			return
		}
		if tl.Len() != small.Len() || !slices.EqualFunc(log.Totals(), smallLog.Totals(), sameTotal) {
			t.Fatalf("large window: %d records, %v; small window: %d records, %v", tl.Len(), log.Totals(), small.Len(), smallLog.Totals())
		}
		last := timeline.Nanos(0)
		err = tl.Walk(context.Background(), func(it *timeline.Item) error {
			if it.TS < last {
				t.Fatalf("an item at %d after %d", it.TS, last)
			}
			last = it.TS
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		verify(t, tl)
	})
}

// verify writes a timeline as a Perfetto trace and holds that against all rules of the format.
func verify(t *testing.T, tl *timeline.Timeline) {
	t.Helper()
	var trace bytes.Buffer
	if err := pftrace.Write(context.Background(), &trace, tl, pftrace.Options{Workers: 1}); err != nil {
		t.Fatal(err)
	}
	report, err := pftrace.Verify(context.Background(), &trace, pftrace.VerifyOptions{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	if !report.OK() {
		t.Fatalf("the trace that is written breaks rules: %+v", report.Findings)
	}
}

func sameTotal(a, b problem.Total) bool { return a.Kind == b.Kind && a.Count == b.Count }
