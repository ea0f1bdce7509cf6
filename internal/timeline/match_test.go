package timeline

import (
	"context"
	"fmt"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
)

// An End finds its Begin however many Begins are open, and wherever its Begin is among them.
func TestManyOpenBegins(t *testing.T) {
	const many = 30_000
	for name, begun := range map[string]func(i int) int{
		"first in first out": func(i int) int { return i },
		"last in first out":  func(i int) int { return many - 1 - i },
		"every other first":  func(i int) int { return 2*i%many + 2*i/many },
	} {
		log := new(problem.Log)
		b := NewBuilder(Options{Problems: log})
		thread := b.Thread(b.Process(ProcessKey{Num: 1}), ThreadKey{Num: 1})
		event := uint32(0)
		put := func(kind Kind, i int) {
			err := b.Add(&Event{
				Kind: kind, Track: thread, Event: event, TS: Nanos(event), Name: fmt.Appendf(nil, "n%d", i),
			})
			if err != nil {
				t.Fatal(err)
			}
			event++
		}
		for i := range many {
			put(Begin, i)
		}
		for i := range many {
			put(End, begun(i))
		}
		tl, err := b.Finish(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if err := tl.Nest(context.Background()); err != nil {
			t.Fatal(err)
		}
		if n := log.Count(problem.EndWithoutBegin) + log.Count(problem.BeginWithoutEnd); n != 0 {
			t.Errorf("%s: %d begins or ends are alone", name, n)
		}
		dur := map[string]Nanos{}
		walk(t, tl, func(it *Item) {
			if it.Kind == ItemBegin {
				dur[string(it.Name)] = it.Dur
			}
		})
		for i := range many {
			n := begun(i)
			if got, want := dur[fmt.Sprintf("n%d", n)], Nanos(many+i-n); got != want {
				t.Fatalf("%s: slice %d is %d long, want %d", name, n, got, want)
			}
		}
	}
}

// Beyond the lanes that are tried in turn, slices that nest in the most recently used lane do not receive separate lanes.
func TestNeverEndingSlicesShareLanes(t *testing.T) {
	log := new(problem.Log)
	b := NewBuilder(Options{Problems: log})
	thread := b.Thread(b.Process(ProcessKey{Num: 1}), ThreadKey{Num: 1})
	const many = 100 * maxDepth
	for i := range many {
		err := b.Add(&Event{
			Kind: Begin, Track: thread, Event: uint32(i), TS: Nanos(i), Name: []byte("n"),
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	tl, err := b.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if err := tl.Nest(context.Background()); err != nil {
		t.Fatal(err)
	}
	if got := tl.LaneCount(thread); got != many/maxDepth-1 {
		t.Errorf("%d lanes for %d slices, want %d", got, many, many/maxDepth-1)
	}
}
