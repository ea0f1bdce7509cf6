package timeline

import (
	"slices"
	"testing"
)

// An event without a CPU time reports none; 0 is a valid CPU time.
func TestCPUTimeNotGiven(t *testing.T) {
	if ns, ok := (CPUTime{}).Nanos(); ok || ns != NoTime || NewCPUTime(NoTime) != (CPUTime{}) {
		t.Errorf("the zero value is %d, given %v", ns, ok)
	}
	for _, want := range []Nanos{0, 1, -1, 1 << 62, -1 << 62} {
		if ns, ok := NewCPUTime(want).Nanos(); !ok || ns != want {
			t.Errorf("%d given %v, want %d", ns, ok, want)
		}
	}
	given := cpuTimesOf(t, Event{ThreadTS: NewCPUTime(0), ThreadDur: NewCPUTime(0)})
	if want := []Nanos{0, 0}; !slices.Equal(given, want) {
		t.Errorf("CPU times %v, want %v", given, want)
	}
	if none := cpuTimesOf(t, Event{}); !slices.Equal(none, []Nanos{NoTime, NoTime}) {
		t.Errorf("CPU times %v of an event without", none)
	}
}

// cpuTimesOf returns the CPU times at the start and the end of a slice.
func cpuTimesOf(t *testing.T, ev Event) (times []Nanos) {
	t.Helper()
	b := testBuilder(t, DefaultMemory)
	ev.Kind, ev.Track, ev.TS, ev.Dur = Slice, b.Thread(b.Process(ProcessKey{Num: 1}), ThreadKey{Num: 1}), 10, 5
	_, given := ev.ThreadTS.Nanos()
	add(t, b, ev)
	tl := finishAndNest(t, b)
	if has := tl.HasThreadTime(ev.Track); has != given {
		t.Errorf("the track has CPU times: %v, want %v", has, given)
	}
	walk(t, tl, func(it *Item) {
		at, _ := it.ThreadTime.Nanos()
		times = append(times, at)
	})
	return times
}
