package timeline_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/weft-trace/weft/internal/timeline"
)

// Processes of one name get numbers, and none that another name has already.
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

// Processes of one name take time in proportion to their number: 40,000 of them take some milliseconds, not minutes.
func TestManyUniqueNames(t *testing.T) {
	names := timeline.UniqueNames{}
	const n = 40_000
	began := time.Now()
	for range n {
		names.Take("a")
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("%d names took %v", n, took)
	}
	if got, want := names.Take("a"), fmt.Sprintf("a #%d", n+1); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
