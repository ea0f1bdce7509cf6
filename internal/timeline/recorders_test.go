package timeline_test

import (
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// TestSamplersOfLongNames checks that a thread name that resembles the names for another input's samples is processed in linear
// time.
func TestSamplersOfLongNames(t *testing.T) {
	b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log), TempDir: t.TempDir()})
	process := b.Process(timeline.ProcessKey{Num: 7})
	if err := b.Add(&timeline.Event{Kind: timeline.Sample, Track: b.Thread(process, timeline.ThreadKey{Num: 7}), Value: timeline.Int(1)}); err != nil {
		t.Fatal(err)
	}
	b.Thread(process, timeline.ThreadKey{Text: "Samples of thread " + strings.Repeat(" (", 1<<21)})
	tl, err := b.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	if left, all := tl.Samplers(); len(left) > 0 || len(all) > 0 {
		t.Errorf("samples of %v are left out: %+v", left, all)
	}
}

// TestTraceparentKey checks that text that is not a traceparent has no key.
func TestTraceparentKey(t *testing.T) {
	const trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	for text, want := range map[string]string{
		"00-" + trace + "-" + span + "-01":                    "w3c:" + trace + ":" + span,
		"00-" + strings.ToUpper(trace) + "-" + span + "-01":   "w3c:" + trace + ":" + span,
		"00-" + trace + "-0000000000000000-01":                "",
		"00-" + trace + "-00f067aa0ba902b-01":                 "",
		"":                                                    "",
		"00-zzf92f3577b34da6a3ce929d0e0e4736-" + span + "-01": "",
	} {
		if got := timeline.TraceparentKey(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
