package resolved_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/testkit"
	"github.com/weft-trace/weft/internal/timeline"
)

// eachRecording runs a test on each readable recording.
func eachRecording(t *testing.T, test func(t *testing.T, tl *timeline.Timeline)) {
	for _, f := range recording.In(t, ".") {
		t.Run(f.Name, func(t *testing.T) {
			tr, err := convert.Open(t.Context(), bytes.NewReader(recording.Read(t, f.Path)), convert.Options{TempDir: t.TempDir()})
			if err != nil {
				t.Skip(err) // some recordings are unreadable
			}
			defer tr.Close()
			test(t, timeline.Of(tr))
		})
	}
}

// walk collects the results of a function for all rows.
func walk[T any](t *testing.T, tl *timeline.Timeline, opts resolved.Options, of func(*resolved.Row) T) (all []T, leftOut uint64) {
	t.Helper()
	r := resolved.NewReader(tl)
	defer r.Close()
	leftOut, err := r.Walk(t.Context(), opts, func(row *resolved.Row) error {
		all = append(all, of(row))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, leftOut
}

// event holds the parts of a row that the tests compare.
type event struct {
	kind         resolved.Kind
	id, parent   uint64
	depth        int
	start, end   timeline.Nanos // end is NoTime if the event has no end
	track, text  string
	arrows, args int
}

func eventOf(row *resolved.Row) event {
	e := event{kind: row.Kind, id: row.ID, parent: row.Parent, depth: row.Depth, start: row.Item.TS, end: row.Item.TS, arrows: len(row.FlowsIn)}
	if row.Kind == resolved.Slice {
		if e.end = timeline.NoTime; row.Item.Dur != timeline.NoTime {
			e.end = row.Item.TS + row.Item.Dur
		}
	}
	e.track, e.text = fmt.Sprintf("%q", row.Track.Path), string(row.Item.Name)
	for range row.Args() {
		e.args++
	}
	return e
}

// Every event has a unique id; the ids of samples follow all others; a parent precedes and encloses its children; arrows come
// from existing events; all events of the trace are present.
func TestRows(t *testing.T) {
	eachRecording(t, func(t *testing.T, tl *timeline.Timeline) {
		rows, leftOut := walk(t, tl, resolved.Options{}, eventOf)
		if leftOut != 0 {
			t.Errorf("%d rows were left out", leftOut)
		}
		byID := make(map[uint64]*event, len(rows))
		var counts [resolved.KindCount + 1]int64
		var arrows int64
		last := map[bool]uint64{}
		for i := range rows {
			e := &rows[i]
			sample := e.kind == resolved.Sample
			counts[e.kind]++
			arrows += int64(e.arrows)
			if !sample && e.id != last[false]+1 {
				t.Fatalf("%+v: the event before it has the id %d", *e, last[false])
			}
			if e.id == 0 || byID[e.id] != nil {
				t.Fatalf("%+v: the id is taken", *e)
			}
			byID[e.id] = e
			last[sample] = max(last[sample], e.id)
			if sample && e.id <= last[false] || sample && e.id != last[true] {
				t.Fatalf("%+v: samples have ids behind those of all others, in their order", *e)
			}
			if e.parent == 0 {
				if e.depth != 0 {
					t.Fatalf("%+v has no parent", *e)
				}
				continue
			}
			p := byID[e.parent]
			if p == nil || p.kind != resolved.Slice || p.depth != e.depth-1 || p.track != e.track {
				t.Fatalf("%+v: parent %+v", *e, p)
			}
			if p.start > e.start || p.end != timeline.NoTime && (e.end == timeline.NoTime || e.end > p.end) {
				t.Fatalf("%+v is not in its parent %+v", *e, p)
			}
		}
		n := tl.Totals()
		want := [...]int64{resolved.Slice: n.Slices, resolved.Instant: n.Instants, resolved.Counter: n.CounterValues, resolved.Sample: n.Samples}
		if counts != want || arrows != n.Flows {
			t.Errorf("events %v, want %v; %d arrows, want %d", counts, want, arrows, n.Flows)
		}
	})
}

// A selection does not change the selected events, and the others are counted.
func TestOptions(t *testing.T) {
	eachRecording(t, func(t *testing.T, tl *timeline.Timeline) {
		all, _ := walk(t, tl, resolved.Options{}, eventOf)
		for name, opts := range map[string]resolved.Options{
			"slices":         {Kinds: []resolved.Kind{resolved.Slice}},
			"points":         {Kinds: []resolved.Kind{resolved.Instant, resolved.Counter, resolved.Sample}},
			"every third ns": {Selected: func(it *timeline.Item) bool { return it.TS%3 == 0 }},
		} {
			want := slices.DeleteFunc(slices.Clone(all), func(e event) bool {
				return opts.Kinds != nil && !slices.Contains(opts.Kinds, e.kind) || opts.Selected != nil && e.start%3 != 0
			})
			got, leftOut := walk(t, tl, opts, eventOf)
			if !slices.Equal(got, want) || leftOut != uint64(len(all)-len(want)) {
				t.Errorf("%s: %d rows, %d left out; want %d and %d", name, len(got), leftOut, len(want), len(all)-len(want))
			}
		}
	})
}

// ends returns the data from the end events of slices, by ordinal, as a walk finds it.
func ends(t *testing.T, tl *timeline.Timeline) map[uint64]string {
	found := map[uint64]string{}
	begins := map[uint64]bool{} // slices without an end event
	err := tl.Walk(t.Context(), func(it *timeline.Item) error {
		switch at, ok := it.ThreadTime.Nanos(); {
		case it.Kind == timeline.ItemBegin && it.Complete:
			begins[it.Ordinal] = true
		case it.Kind == timeline.ItemEnd && !begins[it.Ordinal] && (ok || len(it.Args) > 0):
			found[it.Ordinal] = fmt.Sprint(at, ok, string(it.Args))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// SliceEnds finds the same data as a walk.
func TestSliceEnds(t *testing.T) {
	any := 0
	eachRecording(t, func(t *testing.T, tl *timeline.Timeline) {
		want := ends(t, tl)
		any += len(want)
		err := tl.SliceEnds(t.Context(), func(e *timeline.SliceEnd) error {
			at, ok := e.ThreadTime.Nanos()
			if got := fmt.Sprint(at, ok, string(e.Args)); got != want[e.Ordinal] {
				t.Errorf("slice %d ends with %s, want %s", e.Ordinal, got, want[e.Ordinal])
			}
			delete(want, e.Ordinal)
			return nil
		})
		if err != nil || len(want) > 0 {
			t.Errorf("%d ends were not found; error %v", len(want), err)
		}
		if len(want) > 0 && !tl.HasSliceEnds() {
			t.Error("HasSliceEnds is false")
		}
	})
	if any == 0 {
		t.Error("no recording has ends with arguments or CPU times")
	}
}

// open creates a timeline from its text form.
func open(t *testing.T, text string) *timeline.Timeline {
	t.Helper()
	b := timeline.NewBuilder(timeline.Options{TempDir: t.TempDir()})
	if err := testkit.Add(b, text); err != nil {
		t.Fatal(err)
	}
	tl, err := b.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tl.Close() })
	if err := tl.Nest(context.Background()); err != nil {
		t.Fatal(err)
	}
	return tl
}

// A nested walk returns the same ends.
func TestWalkInsideWalk(t *testing.T) {
	tl := open(t, "B 1/1 a 0 args=a:0,b:1\nX 1/1 b 1 1\nE 1/1 a 5 args=b:2,c:3")
	r := resolved.NewReader(tl)
	defer r.Close()
	args := func(row *resolved.Row) (text string) {
		for a := range row.Args() {
			text += fmt.Sprintf("%s=%s%d ", a.Key, a.Text(), a.Int())
		}
		return text
	}
	var outer, inner []string
	_, err := r.Walk(t.Context(), resolved.Options{}, func(row *resolved.Row) error {
		outer = append(outer, args(row))
		if row.ID != 1 {
			return nil
		}
		_, err := r.Walk(t.Context(), resolved.Options{}, func(row *resolved.Row) error {
			inner = append(inner, args(row))
			return nil
		})
		return err
	})
	want := []string{"a=0 b=2 c=3 ", ""}
	if err != nil || !slices.Equal(outer, inner) || !slices.Equal(outer, want) {
		t.Errorf("outside %q, inside %q, want %q; error %v", outer, inner, want, err)
	}
}
