package timeline_test

import (
	"fmt"
	"testing"

	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
)

// Processes with equal names receive numbers that make their names unique.
func TestUniqueNames(t *testing.T) {
	names := timeline.UniqueNames{}
	for i, c := range [][2]string{
		{"a", "a"}, {"a #3", "a #3"}, {"a", "a #2"}, {"a", "a #4"}, {"a #2", "a #2 #2"}, {"b", "b"}, {"a", "a #5"}, {"a #3", "a #3 #2"},
	} {
		if got := names.Take(c[0]); got != c[1] {
			t.Errorf("%d: %q for %q, want %q", i, got, c[0], c[1])
		}
	}
}

// The number for the next equal name is stored, so that no search is necessary.
func TestManyUniqueNames(t *testing.T) {
	names := timeline.UniqueNames{}
	const n = 1000
	_, objects := recording.Allocated(func() {
		for range n {
			names.Take("a")
		}
	})
	if objects > 5*n {
		t.Errorf("%d names took %d allocations", n, objects)
	}
	if got, want := names.Take("a"), fmt.Sprintf("a #%d", n+1); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
