package attribution

import (
	"bytes"
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weft-trace/weft/convert/chromejson"
	"github.com/weft-trace/weft/flow"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/problem"
	"github.com/weft-trace/weft/timeline"
)

// FuzzRun attributes whatever can be read as a Chrome JSON trace: nothing panics, costs add up to the time in which
// threads were busy, and what is written back walks.
func FuzzRun(f *testing.F) {
	if root, ok := recording.Find(f, "conformance/contexts/README.md"); ok {
		paths, err := filepath.Glob(filepath.Join(filepath.Dir(root), "*", "*.json"))
		if err != nil {
			f.Fatal(err)
		}
		for _, path := range paths {
			if info, err := os.Stat(path); err == nil && info.Size() < 4<<10 {
				f.Add(recording.Read(f, path))
			}
		}
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		ctx := context.Background()
		log := new(problem.Log)
		b := timeline.NewBuilder(timeline.Options{Problems: log, TempDir: t.TempDir()})
		if chromejson.Read(ctx, bytes.NewReader(input), b, chromejson.Options{Problems: log, Threads: true}) != nil {
			return
		}
		tl, err := b.Finish(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer tl.Close()
		steps, err := flow.NestAndTrace(ctx, tl)
		if err != nil {
			t.Fatal(err)
		}
		defer steps.Close()
		for _, opts := range []Options{{Intervals: true}, {FileOrder: true, Cost: CostOptions{AtBegin: true}}, {FlowConflict: CommonAncestor, EndWithSlice: true, Intervals: true}} {
			if err := steps.Rewind(); err != nil {
				t.Fatal(err)
			}
			r, err := Run(ctx, tl, steps, opts)
			if err != nil {
				t.Fatal(err)
			}
			busy := busyTime(t, tl)
			for _, typ := range r.Types() {
				table, err := r.Table(TableOptions{Type: typ})
				if err != nil {
					t.Fatal(err)
				}
				if table.Busy != busy {
					t.Errorf("%s: costs of %d ns, threads were busy for %d", typ, table.Busy, busy)
				}
			}
			if opts.EndWithSlice {
				if err := r.Attach(WriteBack{}); err != nil {
					t.Fatal(err)
				}
				checkWalk(t, tl)
			}
			if err := r.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// busyTime adds up for all threads the time inside slices that end. A slice that ends after the one that it lies in is cut,
// so the outermost ones are all that counts.
func busyTime(t *testing.T, tl *timeline.Timeline) (total timeline.Nanos) {
	type span struct{ from, to timeline.Nanos }
	spans := map[timeline.TrackID][]span{}
	places := findPlaces(tl)
	err := tl.Occurrences(context.Background(), false, func(group []timeline.Occurrence) error {
		for i := range group {
			o := &group[i]
			if o.Kind == timeline.OccursSlice && o.End != timeline.NoTime && places[o.Track].role == roleThread {
				spans[places[o.Track].thread] = append(spans[places[o.Track].thread], span{o.TS, o.End})
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range spans {
		slices.SortFunc(list, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(b.to, a.to)) })
		until := timeline.Nanos(0)
		for _, s := range list {
			if s.from >= until {
				total = sum(total, s.to-s.from)
				until = s.to
			}
		}
	}
	return total
}

// checkWalk checks that the tracks of contexts nest: one slice at a time, each ended.
func checkWalk(t *testing.T, tl *timeline.Timeline) {
	open := map[timeline.TrackID]bool{}
	err := tl.Walk(context.Background(), func(it *timeline.Item) error {
		if len(it.Correlation) == 0 && !open[it.Track] {
			return nil
		}
		switch it.Kind {
		case timeline.ItemBegin:
			if open[it.Track] {
				t.Errorf("two contexts on one track at %d", it.TS)
			}
			open[it.Track] = true
		case timeline.ItemEnd:
			delete(open, it.Track)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(open) > 0 {
		t.Errorf("%d tracks of contexts have an open slice", len(open))
	}
}
