package timeline_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// Id spaces are named after inputs, which are files. Whatever the names of the inputs are, each id space has a distinct name that
// is valid UTF-8, short and not a pid. The name stays the same when the output is read again.
func TestIDSpaceNames(t *testing.T) {
	long := strings.Repeat("x", 1023) + "é" // a rune crosses the limit
	given := []string{"a", "a\xff", "a\xfe", "7", "input 7", long, long + "2", long + "3", "a#2", "a", strings.Repeat("0", 1030)}
	names := spaceNames(t, given)
	seen := map[string]string{}
	for i, name := range names {
		if !utf8.ValidString(name) || len(name) > 1024 {
			t.Errorf("%.20q: %q", given[i], name)
		}
		if other, ok := seen[name]; ok && other != given[i] {
			t.Errorf("%.20q and %.20q are both %.20q", other, given[i], name)
		}
		seen[name] = given[i]
	}
	if names[0] != "a" || names[1] != "a\uFFFD" || names[3] != "input 7" || names[8] != "a#2" || names[9] != "a" {
		t.Errorf("%q", names)
	}

	var many []string // names with the suffixes of other names
	for i := range 20_000 {
		many = append(many, fmt.Sprintf("%s#%d", long[:1023], i+2), fmt.Sprint(long, i))
	}
	distinct := map[string]bool{}
	for _, name := range spaceNames(t, many) {
		distinct[name] = true
	}
	if len(distinct) != len(many) {
		t.Errorf("%d names of %d id spaces", len(distinct), len(many))
	}
}

// spaceNames returns the names of id spaces after reading them twice.
func spaceNames(t *testing.T, names []string) []string {
	t.Helper()
	var first []string
	for again := range 2 {
		b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log), TempDir: t.TempDir()})
		var processes []timeline.TrackID
		for i, name := range names {
			p := b.Process(timeline.ProcessKey{Num: int64(i)})
			if processes = append(processes, p); !b.SetIDSpace(p, name) {
				t.Fatalf("no room for %q", name)
			}
		}
		tl, err := b.Finish(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, p := range processes {
			found = append(found, tl.IDSpace(p))
		}
		tl.Close()
		for i := range found {
			if again > 0 && found[i] != first[i] {
				t.Errorf("%.20q becomes %.20q when it is read again", first[i], found[i])
			}
		}
		names, first = found, found
	}
	return first
}
