package profilecalls

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestLostTime compares the losses in recorded traces with the table of the conformance data, whose times are in microseconds.
func TestLostTime(t *testing.T) {
	type figures struct{ Samples, Lost, Micros, LostMicros int64 }
	read := map[string]*trace{}
	for _, c := range []struct {
		recording string
		pid, tid  int64
		want      figures
	}{
		{"chrome/chrome-array-tiny", 27138, 27138, figures{149, 0, 21142, 0}},
		{"chrome/chrome-devtools-tiny", 26809, 26809, figures{162, 0, 19648, 0}},
		{"chrome/chrome-devtools-small", 14449, 14449, figures{844, 1, 112301, 197}},
		{"chrome/chrome-devtools-small", 14466, 14466, figures{712, 7, 78850, 567}},
		{"chrome/chrome-devtools-ui-saved-small", 26497, 26497, figures{513, 0, 62570, 0}},
		{"chrome/chrome-with-selfprof-and-inspector", 31591, 31591, figures{2010, 24, 317516, 5464}},
		{"chrome/chrome-devtools-medium", 14855, 14855, figures{1814, 8, 421831, 123}},
		{"chrome/chrome-devtools-medium", 14792, 14792, figures{1749, 4, 385116, 1198}},
		{"chrome/chrome-devtools-medium", 14779, 14779, figures{6007, 20, 1382637, 12084}},
		{"chrome/chrome-devtools-medium", 14779, 14881, figures{652, 2, 325685, 718}},
		{"chrome/chrome-devtools-medium", 14779, 14882, figures{275, 0, 8011, 0}},
		{"chrome/chrome-devtools-medium", 14779, 14942, figures{620, 12, 334000, 6434}},
		{"chrome/chrome-devtools-medium", 14779, 14944, figures{269, 0, 23577, 0}},
		{"chrome/chrome-devtools-medium", 14775, 14775, figures{79, 0, 94503, 0}},
		{"chrome/chrome-devtools-medium", 14856, 14856, figures{1782, 4, 317953, 884}},
		{"node/node-v24-all-node_trace", 21883, 21883, figures{841, 0, 343007, 0}},
	} {
		t.Run(c.recording, func(t *testing.T) {
			tr := read[c.recording]
			if tr == nil {
				tr = recorded(t, c.recording)
				read[c.recording] = tr
			}
			r := tr.chosen(c.pid, c.tid)
			if r == nil {
				t.Fatalf("thread %d of process %d has no profile", c.tid, c.pid)
			}
			_, stats := tr.calls(r, DevTools)
			got := figures{stats.Samples, stats.LostSamples, int64(stats.Time) / 1000, int64(stats.LostTime) / 1000}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			_, refined := tr.calls(r, Refined)
			if refined.Samples != stats.Samples || refined.LostTime > stats.LostTime {
				t.Errorf("refined loses %v of %d samples, the rules of DevTools %v of %d",
					refined.LostTime, refined.Samples, stats.LostTime, stats.Samples)
			}
			t.Logf("lost µs: devtools %d, refined %d", got.LostMicros, refined.LostTime/1000)
		})
	}
}
