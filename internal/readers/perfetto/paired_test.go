package perfetto

import (
	"bytes"
	"context"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/readers/chromejson"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/pftrace"
)

// pairedSlack is the maximum difference between times in two recordings of one run, which read the clock separately.
const pairedSlack = 100 * 1000

// TestPairedRecordings compares two recordings of one run of Chrome: all of it as a Perfetto trace, and a part as JSON.
// Every slice on a thread in the JSON must be in the Perfetto trace, on the same thread at the same time.
func TestPairedRecordings(t *testing.T) {
	native := readTrace(t, recordings[4].open(t))
	json := readJSON(t, openRecording(t, "chrome", "chrome-paired-tiny.json.gz"))

	type key struct {
		pid  int32
		tid  int64
		name string
	}
	type span struct{ start, length timeline.Nanos }
	collect := func(tl *timeline.Timeline) map[key][]span {
		found := map[key][]span{}
		err := tl.Walk(context.Background(), func(it *timeline.Item) error {
			if it.Kind == timeline.ItemBegin && it.Dur != timeline.NoTime && tl.TrackKind(it.Track) == timeline.ThreadTrack {
				tr := tl.Track(it.Track)
				k := key{tr.PID, tr.TID, string(it.Name)}
				found[k] = append(found[k], span{it.TS, it.Dur})
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	near := func(a, b timeline.Nanos) bool { return a-b < pairedSlack && b-a < pairedSlack }
	have := collect(native.timeline)
	total, exact := 0, 0
	for k, spans := range collect(json.timeline) {
		for _, want := range spans {
			total++
			found, same := false, false
			for _, s := range have[k] {
				start, end := near(s.start, want.start), near(s.start+s.length, want.start+want.length)
				found = found || start || end
				same = same || start && end
			}
			if !found {
				t.Errorf("%v %+v is not in the Perfetto trace", k, want)
			}
			if same {
				exact++
			}
		}
	}
	// For a few slices, one recording has a much later start or end: the thread was preempted between the two clock readings.
	if total < 1000 || exact < total-10 {
		t.Errorf("%d of %d slices are equal", exact, total)
	}
}

// readJSON reads a Chrome JSON trace.
func readJSON(t *testing.T, trace []byte) *result {
	t.Helper()
	return resolve(t, func(ctx context.Context, b *timeline.Builder, log *problem.Log) error {
		return chromejson.Read(ctx, bytes.NewReader(trace), b, chromejson.Options{Options: readers.Options{Problems: log}})
	})
}

// TestOwnOutput reads back converted Chrome JSON: the events, their tracks and arguments must be the same.
func TestOwnOutput(t *testing.T) {
	for _, rec := range []struct{ kind, name string }{
		{"chrome", "chrome-devtools-tiny.json.gz"}, {"chrome", "chrome-everything-small.json.gz"},
		{"chrome", "chrome-memory-infra.json.gz"}, {"chrome", "chrome-ringbuffer.json.gz"},
		{"node", "node-v24-all-node_trace.json.gz"}, {"pytorch", "pytorch-small.json.gz"},
	} {
		t.Run(rec.name, func(t *testing.T) {
			first := readJSON(t, openRecording(t, rec.kind, rec.name))
			var out bytes.Buffer
			if err := pftrace.Write(context.Background(), &out, traceOf(context.Background(), first.timeline), pftrace.Options{Compression: pftrace.Zlib}); err != nil {
				t.Fatal(err)
			}
			compareResults(t, first, readTrace(t, out.Bytes()))
		})
	}
}
