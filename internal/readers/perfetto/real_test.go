package perfetto

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/pftrace"
)

// recording is a trace recorded by Chrome, with the numbers of its events.
type recording struct {
	name string
	// Numbers of events by type, according to the recording's description. Instants include the legacy marks and
	// profile chunks. The fourth recording has two legacy asynchronous slices. It also has states: each ends the
	// previous slice and, if it has a name, starts another one. Flows counts the flow ids of all events.
	begins, ends, instants, counters, flows int
}

var recordings = []recording{
	{name: "chrome-devtools-tiny.pftrace.gz", begins: 2485, ends: 2476, instants: 330 + 31, flows: 278 + 18},
	{name: "chrome-devtools-small.pftrace.gz", begins: 12476, ends: 12462, instants: 2150 + 193, flows: 1830 + 316},
	{name: "chrome-devtools-medium.pftrace.gz", begins: 98779, ends: 98764, instants: 16529 + 1335, flows: 15168 + 1780},
	{name: "chrome-everything-clean.pftrace.gz", begins: 22530 + 2 + 113, ends: 22513 + 2 + 28, instants: 5781 + 41, counters: 242, flows: 9188 + 2205},
	{name: "chrome-paired-tiny.pftrace.gz", begins: 28475, ends: 28864, instants: 2956 + 265, flows: 3986 + 1484},
}

func (rec *recording) open(t testing.TB) []byte {
	t.Helper()
	return openRecording(t, "perfetto", rec.name)
}

// openRecording returns an unpacked recording: from the project's testdata, or from a folder "shared" next to a parent
// folder. It skips the test if the recording is in neither, because most are too large for the project.
func openRecording(t testing.TB, kind, name string) []byte {
	t.Helper()
	candidates := []string{filepath.Join("..", "..", "testdata", "traces", kind, name)}
	dir, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
		candidates = append(candidates, filepath.Join(dir, "shared", "traces", kind, name))
	}
	for _, path := range candidates {
		packed, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		trace, err := io.ReadAll(z)
		if err != nil {
			t.Fatal(err)
		}
		return trace
	}
	t.Skip("the recording is not part of the project: " + name)
	return nil
}

func TestRecordings(t *testing.T) {
	for _, rec := range recordings {
		t.Run(rec.name, func(t *testing.T) {
			got := readTrace(t, rec.open(t))
			if n := got.counts[timeline.ItemBegin]; n != rec.begins {
				t.Errorf("%d slices, want %d", n, rec.begins)
			}
			closed := int(got.log.Count(problem.BeginClosedByNext) + got.log.Count(problem.BeginClosedByParent))
			if n := got.counts[timeline.ItemEnd] - closed + int(got.log.Count(problem.EndWithoutBegin)); n != rec.ends {
				t.Errorf("%d ends, want %d", n, rec.ends)
			}
			if got.flows != rec.flows {
				t.Errorf("%d flow ids, want %d", got.flows, rec.flows)
			}
			if n := got.counts[timeline.ItemInstant]; n != rec.instants {
				t.Errorf("%d instants, want %d", n, rec.instants)
			}
			if n := got.counts[timeline.ItemCounter]; n != rec.counters {
				t.Errorf("%d counter values, want %d", n, rec.counters)
			}
			for _, k := range []problem.Kind{
				problem.PacketMalformed, problem.PacketInvalidState, problem.PacketMissingTimestamp,
				problem.PacketUnresolvedClock, problem.InternedIDUnknown, problem.SliceOverlapMoved,
			} {
				if n := got.log.Count(k); n != 0 {
					t.Errorf("%s: %d", k, n)
				}
			}
			reencode(t, rec, got)
		})
	}
}

// reencode writes the timeline with weft and reads it again: the events must be the same, the file valid and smaller.
func reencode(t *testing.T, rec recording, first *result) {
	t.Helper()
	ctx := context.Background()
	var out bytes.Buffer
	if err := pftrace.Write(ctx, &out, traceOf(ctx, first.timeline), pftrace.Options{}); err != nil {
		t.Fatal(err)
	}
	if was := len(rec.open(t)); out.Len() >= was {
		t.Errorf("%d bytes became %d", was, out.Len())
	} else {
		t.Logf("%d bytes became %d", was, out.Len())
	}
	report, err := pftrace.Verify(ctx, bytes.NewReader(out.Bytes()), pftrace.VerifyOptions{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range report.Findings {
		t.Logf("%s (warning: %v) %d: %v", f.Rule, f.Warning, f.Count, f.Cases[0])
	}
	if !report.OK() {
		t.Error("the file breaks the rules above")
	}
	second := readTrace(t, out.Bytes())
	compareResults(t, first, second)
}

// compareResults compares the results for an input and for weft's conversion of it.
func compareResults(t *testing.T, first, second *result) {
	t.Helper()
	for _, k := range second.log.Totals() {
		if k.Kind.Severity() != problem.Info {
			t.Errorf("%s: %d %v", k.Kind, k.Count, k.Cases)
		}
	}
	attributes := map[string]string{}
	for _, a := range second.timeline.Attributes() {
		attributes[a.Key] = attributeValue(a)
	}
	for _, a := range first.timeline.Attributes() {
		if got, want := attributes[a.Key], attributeValue(a); got != want {
			t.Errorf("attribute %s is %s, want %s", a.Key, got, want)
		}
	}
	compare(t, "events", first.lines, second.lines)
	compare(t, "flows", first.edges, second.edges)
}

// compare compares two lists in any order, because the order of simultaneous events on different tracks is undefined.
func compare(t *testing.T, what string, want, got []string) {
	t.Helper()
	slices.Sort(want)
	slices.Sort(got)
	if slices.Equal(want, got) {
		return
	}
	diff := cmp.Diff(onlyIn(want, got), onlyIn(got, want))
	if len(diff) > 4000 {
		diff = diff[:4000]
	}
	t.Errorf("%s (-first +second):\n%s", what, diff)
}

// onlyIn returns the lines that are only in the first of two sorted lists.
func onlyIn(a, b []string) (only []string) {
	for _, line := range a {
		for len(b) > 0 && b[0] < line {
			b = b[1:]
		}
		if len(b) > 0 && b[0] == line {
			b = b[1:]
			continue
		}
		only = append(only, line)
	}
	return only
}
