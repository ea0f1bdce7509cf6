package timeline_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/timeline"
)

// unfinishedLines returns complete slices on one thread, which overlap and cross, and begins without an end among them. The names
// of complete slices start with m. The lines are in random order.
func unfinishedLines(seed uint64, n int) (measured, unfinished []string) {
	r := rand.New(rand.NewPCG(seed, 5))
	span := 1 + r.IntN(4*n)
	pairs := 1 + r.IntN(4) // one Begin in this many has an End
	for i := range n {
		ts, name := r.IntN(span), fmt.Sprint("m", i)
		switch dur := r.IntN(1 + r.IntN(span)); {
		case r.IntN(3) == 0:
			task := []string{"run", "active"}[r.IntN(2)]
			if r.IntN(2) == 0 {
				unfinished = append(unfinished, fmt.Sprintf("B 1/1 %s %d task=yes", task, ts))
			} else { // the next task, with a name that no Begin has
				unfinished = append(unfinished, fmt.Sprintf("B 1/1 %s %d task=yes", task, ts), fmt.Sprintf("X 1/1 %s %d 0 task=yes", task, ts+dur))
			}
		case r.IntN(6) == 0:
			unfinished = append(unfinished, fmt.Sprintf("B 1/1 open%d %d", r.IntN(3), ts))
		case r.IntN(pairs) == 0:
			measured = append(measured, fmt.Sprintf("B 1/1 %s %d", name, ts), fmt.Sprintf("E 1/1 %s %d", name, ts+max(dur, 1)))
		default:
			measured = append(measured, fmt.Sprintf("X 1/1 %s %d %d", name, ts, dur))
		}
	}
	return measured, unfinished
}

// measuredPlaces returns the time, length and lane of each complete slice, and checks that all slices nest.
func measuredPlaces(t *testing.T, memory int64, lines []string) []string {
	t.Helper()
	tl, _ := nest(t, memory, strings.Join(lines, "\n"))
	var places []string
	nesting := nestChecker{t: t}
	walk(t, tl, func(it *timeline.Item) {
		nesting.item(it)
		if it.Kind == timeline.ItemBegin && it.Name[0] == 'm' {
			places = append(places, fmt.Sprintf("%s at %d for %d, lane %d", it.Name, it.TS, it.Dur, it.Lane))
		}
	})
	nesting.finish()
	slices.Sort(places)
	return places
}

// Begins without an end, wherever their ends are inferred, neither change a complete slice nor move it to another lane.
func TestUnfinishedSlicesMoveNothing(t *testing.T) {
	for seed := range uint64(1000) {
		measured, unfinished := unfinishedLines(seed, 5+int(seed%40))
		want := measuredPlaces(t, largeMemory, measured)
		all := slices.Concat(measured, unfinished)
		r := rand.New(rand.NewPCG(seed, 6))
		r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		memory := []int64{largeMemory, smallMemory}[seed%2]
		if got := measuredPlaces(t, memory, all); !slices.Equal(got, want) {
			t.Fatalf("seed %d: with\n%s\nthe measured slices are\n%s\nwant\n%s", seed, strings.Join(all, "\n"), strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}
