package otlp

import (
	"fmt"
	"testing"
	"time"
)

// Processes of one name get numbers, and none that another name has already.
func TestUniqueNames(t *testing.T) {
	hs := hosts{names: map[string]int{}}
	for i, c := range [][2]string{
		{"a", "a"}, {"a #3", "a #3"}, {"a", "a #2"}, {"a", "a #4"}, {"a #2", "a #2 #2"}, {"b", "b"}, {"a", "a #5"}, {"a #3", "a #3 #2"},
	} {
		if got := hs.unique(c[0]); got != c[1] {
			t.Errorf("%d: %q for %q, want %q", i, got, c[0], c[1])
		}
	}
}

// Processes of one name take time in proportion to their number: 40,000 of them take some milliseconds, not minutes.
func TestManyUniqueNames(t *testing.T) {
	hs := hosts{names: map[string]int{}}
	const n = 40_000
	began := time.Now()
	for range n {
		hs.unique("a")
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("%d names took %v", n, took)
	}
	if got, want := hs.unique("a"), fmt.Sprintf("a #%d", n+1); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
