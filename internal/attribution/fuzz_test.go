package attribution_test

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/attribution/writeback"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
)

// knobs holds options in a form that a fuzzer can change.
type knobs uint16

// The bits of knobs. Bits from firstSource on disable sources.
const (
	knobEndWithSlice knobs = 1 << iota
	knobKeep
	knobAncestor
	knobAtBegin
	knobFromStart
	knobWindow
	knobAttach
	knobOnDisk
	firstSource
)

// options returns the options of knobs.
func (k knobs) options(from, to int64) attribution.Rules {
	has := func(bit knobs) bool { return k&bit != 0 }
	opts := attribution.Rules{
		EndWithSlice: has(knobEndWithSlice), Intervals: has(knobAttach),
		Cost: attribution.CostOptions{AtBegin: has(knobAtBegin), FromStart: has(knobFromStart)},
	}
	switch {
	case has(knobKeep):
		opts.FlowConflict = attribution.KeepActive
	case has(knobAncestor):
		opts.FlowConflict = attribution.CommonAncestor
	}
	if has(knobWindow) {
		opts.Cost.Window = attribution.Window{From: timeline.Nanos(from), To: timeline.Nanos(to)}
	}
	if k < firstSource {
		return opts
	}
	opts.Sources = []attribution.Via{}
	for via := attribution.ViaExplicit; via < attribution.NumVia; via++ {
		if !has(firstSource << (via - attribution.ViaExplicit)) {
			opts.Sources = append(opts.Sources, via)
		}
	}
	return opts
}

// FuzzRun attributes anything that can be read as a Chrome JSON trace, with any options. It checks that nothing panics, that
// costs add up to the busy time of threads in the window, with costs in memory and on disk, and that the written attribution can
// be walked.
func FuzzRun(f *testing.F) {
	if root := recording.Path(f, "conformance/contexts/README.md"); root != "" {
		paths, err := filepath.Glob(filepath.Join(filepath.Dir(root), "*", "*.json"))
		if err != nil {
			f.Fatal(err)
		}
		for i, path := range paths {
			if info, err := os.Stat(path); err == nil && info.Size() < 4<<10 {
				input := recording.Read(f, path)
				f.Add(input, uint16(knobAttach), int64(0), int64(0))
				f.Add(input, uint16(i*0x9e37), int64(i*1000), int64(i*7000)) // any options
			}
		}
	}
	f.Fuzz(func(t *testing.T, input []byte, bits uint16, from, to int64) {
		opts := knobs(bits).options(from, to)
		memory := int64(timeline.DefaultMemory)
		if knobs(bits)&knobOnDisk != 0 {
			memory = 1 // tables in memory have a minimum size
		}
		l, err := readChrome(t, input, memory)
		if err != nil {
			return
		}
		a := l.attribute(t, opts)
		for _, typ := range tables.Of(a.Result).Types() {
			checkSums(t, a.Table(tables.TableOptions{Type: typ}))
		}
		checkBusy(t, a, opts.Cost)
		if knobs(bits)&knobAttach != 0 {
			if err := writeback.Of(a.Result, writeback.Parts{}).Attach(); err != nil {
				t.Fatal(err)
			}
			checkWalk(t, a.t)
		}
	})
}

// busyTime sums, for all threads, the time in a window inside slices with an end. A slice that ends after the enclosing slice is
// clipped, so only the outermost slices count.
func busyTime(t *testing.T, tl *timeline.Timeline, window attribution.Window) (total timeline.Nanos) {
	type span struct{ from, to timeline.Nanos }
	spans := map[timeline.TrackID][]span{}
	places := attribution.TracksOf(tl)
	err := tl.Occurrences(context.Background(), false, func(group []timeline.Head) error {
		for i := range group {
			o := &group[i]
			if o.Kind == timeline.ItemBegin && o.End != timeline.NoTime && !o.DidNotEnd && places[o.Track].Place == attribution.PlaceThread {
				spans[places[o.Track].Thread] = append(spans[places[o.Track].Thread], span{o.TS, o.End})
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
				from, to := max(s.from, window.From), min(s.to, window.To)
				total = attribution.Add(total, max(to-from, 0))
				until = s.to
			}
		}
	}
	return total
}

// checkWalk checks that the slices on context tracks do not overlap, and that all of them end.
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
