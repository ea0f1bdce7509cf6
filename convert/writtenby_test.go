package convert_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/timeline"
)

// elsewhere has events that are not on the track of the thread that wrote them. Thread 3 has no other events, so the output has
// no track for it.
const elsewhere = `[
	{"ph":"X","name":"on 1","pid":1,"tid":1,"ts":0,"dur":9},
	{"ph":"X","name":"on 2","pid":1,"tid":2,"ts":0,"dur":9},
	{"ph":"b","cat":"c","id":1,"name":"async","pid":1,"tid":2,"ts":1},
	{"ph":"n","cat":"c","id":1,"name":"async instant","pid":1,"tid":1,"ts":2},
	{"ph":"e","cat":"c","id":1,"name":"async","pid":1,"tid":1,"ts":3},
	{"ph":"i","s":"p","name":"of the process","pid":1,"tid":2,"ts":4},
	{"ph":"b","cat":"c","id":2,"name":"of a thread without events","pid":1,"tid":3,"ts":5},
	{"ph":"e","cat":"c","id":2,"name":"of a thread without events","pid":1,"tid":3,"ts":6}]`

// writers returns the writing thread for each event outside threads, by kind and time; "unknown" if that thread has no track.
func writers(t *testing.T, input []byte) (all []string) {
	t.Helper()
	tl, _, err := convert.Load(t.Context(), bytes.NewReader(input), convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	err = tl.Occurrences(t.Context(), false, func(group []timeline.Head) error {
		for i := range group {
			if tl.TrackKind(group[i].Track) == timeline.ThreadTrack {
				continue
			}
			thread := "unknown"
			if id := group[i].Thread; id != 0 && tl.TrackUsed(id) {
				thread = fmt.Sprint(tl.Track(id).TID)
			}
			all = append(all, fmt.Sprintf("%v at %v: %s", group[i].Kind, group[i].TS, thread))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

// Repeated conversions preserve the thread that wrote an event on another track, because attribution depends on it, unless the
// thread has no track.
func TestWrittenBy(t *testing.T) {
	want := []string{"1 at 1µs: 2", "1 at 5µs: unknown", "2 at 3µs: 1", "2 at 6µs: unknown", "3 at 2µs: 1", "3 at 4µs: 2"}
	if got := writers(t, []byte(elsewhere)); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	trace := []byte(elsewhere)
	for range 2 {
		trace = perfettoOf(t, trace)
		if got := writers(t, trace); !slices.Equal(got, want) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}
