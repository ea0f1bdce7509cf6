package trace_test

import (
	"testing"

	"github.com/weft-trace/weft/trace"
)

// All kinds and roles have words.
func TestKindsAndRolesHaveWords(t *testing.T) {
	seen := map[string]bool{}
	check := func(word string) {
		t.Helper()
		if word == "" || word == "unknown" || seen[word] {
			t.Errorf("%q is no word for it", word)
		}
		seen[word] = true
	}
	for r := range trace.RoleCatalogue + 1 {
		check(r.String())
	}
	clear(seen)
	for k := range trace.ArrayKind + 1 {
		check(k.String())
	}
	clear(seen)
	for _, k := range []trace.TrackKind{trace.TraceTrack, trace.ProcessTrack, trace.ThreadTrack, trace.NamedTrack, trace.CounterTrack} {
		check(k.String())
	}
}
