package attribution_test

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/attribution/writeback"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// The limits of tables grow with the memory budget, from their minimum to their full size at the default budget.
func TestLimits(t *testing.T) {
	full, least := attribution.LimitsFor(timeline.DefaultMemory), attribution.LimitsFor(0)
	if n := full.Of(attribution.MaxNodes); n != attribution.MaxNodes || full != attribution.LimitsFor(math.MaxInt64) {
		t.Errorf("with the default or more %d", n)
	}
	if n := least.Of(attribution.MaxNodes); n != attribution.MaxNodes/8 || least != attribution.LimitsFor(attribution.Least) {
		t.Errorf("with nothing %d", n)
	}
	if n := attribution.LimitsFor(timeline.DefaultMemory / 2).Of(attribution.MaxHeld); n != attribution.MaxHeld/2 {
		t.Errorf("with half of the default %d", n)
	}
}

// With little memory, weft stores fewer contexts. Contexts beyond the limit are counted, and stored contexts have exact work and
// costs.
func TestFramesWithLittleMemory(t *testing.T) {
	const frames = attribution.MaxNodes/8 + 1000
	var list []string
	for i := range frames {
		list = append(list, x("work", 1, 20*i, fmt.Sprintf(`,"args":{"frame":"F%d"}`, i)))
	}
	a := attributeIn(t, events(list...), attribution.Rules{}, 1)
	kept := len(a.Contexts.Nodes) - 1
	if want := attribution.MaxNodes/8 - 1; kept != want || a.Contexts.Size > attribution.MaxTableSize/8 {
		t.Errorf("%d frames in %d bytes, want %d", kept, a.Contexts.Size, want)
	}
	if n := a.problems.Count(problem.ContextLimit); n < uint64(frames-kept) {
		t.Errorf("context_limit was counted %d times, want at least %d", n, frames-kept)
	}
	table := a.Table(tables.TableOptions{Type: "Frame"})
	checkSums(t, table)
	if none := rowOf(table, attribution.Unattributed, ""); none.Self != timeline.Nanos(frames-kept)*10_000 || table.Busy != frames*10_000 {
		t.Errorf("%d ns of %d are unattributed, with %d frames of %d", none.Self, table.Busy, kept, frames)
	}
}

// If very many contexts are always in effect, the tracks show only contexts of the first types for each slice. The others are
// counted.
func TestIntervalLimit(t *testing.T) {
	const types, slices = 100, 1500
	var list []string
	for i := range types {
		list = append(list, enter(fmt.Sprintf("T%02d", i), fmt.Sprintf("0x%x", i), 1, 0))
	}
	for i := range slices {
		list = append(list, x("work", 1, 20*i, ""))
	}
	a := attribute(t, events(list...), attribution.Rules{Intervals: true})
	shown := map[string]int{}
	all := a.intervals(t)
	for _, i := range all {
		shown[a.Contexts.Types[i.Type]]++
	}
	total := len(all)
	if most := attribution.MaxIntervals + slices*attribution.IntervalsPerSlice; total > most || total < most-types {
		t.Errorf("%d intervals, want %d", total, most)
	}
	if n := a.problems.Count(problem.IntervalLimit); n != uint64(types*slices-total) {
		t.Errorf("interval_limit was counted %d times for %d of %d intervals", n, total, types*slices)
	}
	if shown["T00"] < slices-1 || shown["T03"] < slices-1 {
		t.Errorf("%v: want all of the first types", shown)
	}
	table := a.Table(tables.TableOptions{Type: "T99"})
	if row := rowOf(table, "ptr/0x63@1", ""); row == nil || row.Self != slices*10_000 {
		t.Errorf("a type that is not shown costs %+v", row)
	}
}

// Contexts have the same names whether or not their details are stored.
func TestNamesNotHeld(t *testing.T) {
	input := events(x("a", 1, 0, `,"args":{"frame":"F1"}`), x("b", 1, 20, `,"args":{"frame":"F2"}`), x("c", 1, 40, `,"args":{"frame":"F1"}`))
	correlations := func(limits attribution.Limits) (out []string) {
		a := attribute(t, input, attribution.Rules{Intervals: true})
		a.Contexts.Limits = limits
		if err := writeback.Of(a.Result, writeback.Parts{}).Attach(); err != nil {
			t.Fatal(err)
		}
		err := a.t.Walk(t.Context(), func(it *timeline.Item) error {
			if text := cmp.Or(it.Correlation, string(a.t.CorrelationOf(it.Args))); text != "" {
				out = append(out, text)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	want := []string{"frame/F1", "frame/F2", "frame/F1"}
	if got := correlations(attribution.Full); !slices.Equal(got, want) {
		t.Errorf("held: %v, want %v", got, want)
	}
	if got := correlations(0); !slices.Equal(got, want) {
		t.Errorf("not held: %v, want %v", got, want)
	}
}

// Notes that are encoded on demand belong to the right slices, although a walk reads ahead.
func TestNotesNotHeld(t *testing.T) {
	input := events(x("a", 1, 0, `,"args":{"frame":"F1"}`), x("b", 1, 20, `,"args":{"frame":"F2"}`), x("c", 1, 40, `,"args":{"frame":"F3"}`))
	a := attribute(t, input, attribution.Rules{})
	a.Contexts.Limits = 0
	if err := writeback.Of(a.Result, writeback.Parts{}).Attach(); err != nil {
		t.Fatal(err)
	}
	var got []string
	err := a.t.Walk(t.Context(), func(it *timeline.Item) error {
		for contexts := range a.t.ArgList(it.Notes) {
			for typ := range a.t.Members(contexts) {
				for fact := range a.t.Members(typ) {
					if string(fact.Key) == "id" {
						got = append(got, fmt.Sprintf("%s %s", it.Name, fact.Text()))
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"a frame/F1", "b frame/F2", "c frame/F3"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
