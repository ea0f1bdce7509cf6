package timeline_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/timeline"
)

// lateItem describes an item with its arguments, reading them if necessary.
func lateItem(t *testing.T, it *timeline.Item) string {
	t.Helper()
	if err := it.ReadArgs(); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprint(it.Kind, it.TS, it.Dur, it.Track, it.Lane, it.Event, it.Offset, it.Ordinal, it.NameID, string(it.Name), string(it.Category),
		it.ThreadTime, it.ThreadDuration, it.Complete, it.DidNotEnd, it.Thread, it.Callstack, fmt.Sprintf(" %x", it.Args))
}

// WalkLate returns the same items as Walk, and their arguments on request, even repeatedly, both in memory and from disk.
func TestWalkLate(t *testing.T) {
	for seed := range uint64(6) {
		text := strings.Join(randomLines(seed, 2000), "\n")
		for _, memory := range []int64{largeMemory, smallMemory} {
			tl, log := resolve(t, memory, text)
			var want, got []string
			walk(t, tl, func(it *timeline.Item) {
				want = append(want, lateItem(t, it), fmt.Sprint(it.Flows))
			})
			problems := log.Totals()
			err := tl.WalkLate(context.Background(), func(it *timeline.Item) error {
				if len(it.Args) > 0 && it.Callstack == 0 && len(it.Name) > 0 && it.NameID != 0 {
					t.Errorf("arguments that nobody asked for: %s", lateItem(t, it))
				}
				got = append(got, lateItem(t, it), fmt.Sprint(it.Flows))
				if again := lateItem(t, it); again != got[len(got)-2] {
					t.Errorf("read again: %s, before %s", again, got[len(got)-2])
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Errorf("seed %d, memory %d: %s", seed, memory, firstDifference(strings.Join(want, "\n"), strings.Join(got, "\n")))
			}
			if again := log.Totals(); fmt.Sprint(again) != fmt.Sprint(problems) {
				t.Errorf("problems %v, after another walk %v", problems, again)
			}
		}
	}
}

// WalkSlices returns the slices on the requested tracks, in the order of Walk. It counts no problems.
func TestWalkSlices(t *testing.T) {
	for seed := range uint64(6) {
		text := strings.Join(randomLines(seed, 2000), "\n")
		for _, memory := range []int64{largeMemory, smallMemory} {
			tl, log := resolve(t, memory, text)
			wanted := func(id timeline.TrackID) bool { return id%3 != 1 }
			var want, got []string
			problems := fmt.Sprint(log.Totals())
			err := tl.WalkSlices(context.Background(), wanted, func(it *timeline.Item) error {
				if len(it.Flows) > 0 {
					t.Errorf("flows %v", it.Flows)
				}
				got = append(got, lateItem(t, it))
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
			if after := fmt.Sprint(log.Totals()); after != problems {
				t.Errorf("seed %d: problems %s, before %s", seed, after, problems)
			}
			walk(t, tl, func(it *timeline.Item) {
				if wanted(it.Track) && (it.Kind == timeline.ItemBegin || it.Kind == timeline.ItemEnd) {
					want = append(want, lateItem(t, it))
				}
			})
			if len(want) < 500 {
				t.Fatalf("%d begins and ends: too few to show something", len(want))
			}
			if !slices.Equal(got, want) {
				t.Errorf("seed %d, memory %d: %s", seed, memory, firstDifference(strings.Join(want, "\n"), strings.Join(got, "\n")))
			}
		}
	}
}

// An error from the callback, or a context that is done, ends a walk over slices.
func TestWalkSlicesEnds(t *testing.T) {
	tl, _ := resolve(t, largeMemory, "X 1/1 a 0 10\nX 1/1 b 20 10")
	all := func(timeline.TrackID) bool { return true }
	calls := 0
	err := tl.WalkSlices(context.Background(), all, func(*timeline.Item) error {
		calls++
		return context.DeadlineExceeded
	})
	if err != context.DeadlineExceeded || calls != 1 {
		t.Errorf("%d calls, error %v", calls, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := tl.WalkSlices(ctx, all, func(*timeline.Item) error { return nil }); err != context.Canceled {
		t.Errorf("error %v", err)
	}
}

// MayHaveArg is false for an argument that no event has.
func TestMayHaveArg(t *testing.T) {
	tl, _ := resolve(t, largeMemory, "X 1/1 a 0 10 args=here:1")
	if !tl.MayHaveArg("here") || tl.MayHaveArg("not here") {
		t.Errorf("here: %v, not here: %v", tl.MayHaveArg("here"), tl.MayHaveArg("not here"))
	}
}
