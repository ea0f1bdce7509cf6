package flowbind_test

import (
	"context"
	"maps"
	"slices"
	"testing"

	"github.com/weft-trace/weft/internal/flowindex"
	"github.com/weft-trace/weft/internal/timeline"
)

// indexed is the complete content of an index, collected in the simplest way.
type indexed struct {
	flows   []flowindex.Flow
	members [][]flowindex.Member // by flow
}

func collect(t *testing.T, x *flowindex.Index) (all indexed) {
	t.Helper()
	for number := range x.Len() {
		f, err := x.Flow(number)
		if err != nil {
			t.Fatal(err)
		}
		var members []flowindex.Member
		err = x.Members(context.Background(), f, func(m flowindex.Member) error {
			members = append(members, m)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		all.flows, all.members = append(all.flows, f), append(all.members, members)
	}
	return all
}

// arrows returns the arrows between members, each from the slice that starts first, as Perfetto draws them.
func (all *indexed) arrows() (arrows []arrow) {
	for _, members := range all.members {
		for _, m := range members {
			if m.Previous < 0 {
				continue
			}
			from, to := members[m.Previous], m
			if to.TS < from.TS || to.TS == from.TS && to.Track == from.Track && to.Lane == from.Lane && to.Ordinal < from.Ordinal {
				from, to = to, from
			}
			arrows = append(arrows, arrow{from.Event, to.Event})
		}
	}
	return arrows
}

// outer returns the ordinal of the slice with flows directly around m, found by examining all of them.
func (all *indexed) outer(m *flowindex.Member) (uint64, bool) {
	var best flowindex.Member
	found := false
	for _, members := range all.members {
		for _, o := range members {
			long := o.End == timeline.NoTime || o.End > o.TS
			around := o.End == timeline.NoTime || m.End != timeline.NoTime && m.End <= o.End
			if o.Track != m.Track || o.Lane != m.Lane || o.Ordinal >= m.Ordinal || !long || !around {
				continue
			}
			if !found || o.Ordinal > best.Ordinal {
				best, found = o, true
			}
		}
	}
	return best.Ordinal, found
}

// reachable returns the numbers of the flows that can be reached from a flow, iterating until nothing new is found.
func (all *indexed) reachable(from int, nested bool) []int {
	slicesOf := func(number int) map[uint64]bool {
		own := map[uint64]bool{}
		for _, m := range all.members[number] {
			own[m.Ordinal] = true
		}
		return own
	}
	reached := map[int]bool{from: true}
	for again := true; again; {
		again = false
		for a := range maps.Clone(reached) {
			own := slicesOf(a)
			for b := range all.flows {
				if !reached[b] && (all.touch(own, b) || nested && all.nest(own, b)) {
					reached[b], again = true, true
				}
			}
		}
	}
	delete(reached, from)
	return slices.Sorted(maps.Keys(reached))
}

func (all *indexed) touch(own map[uint64]bool, b int) bool {
	return slices.ContainsFunc(all.members[b], func(m flowindex.Member) bool { return own[m.Ordinal] })
}

// nest reports whether a slice in flow b is directly inside a slice of own, or the reverse.
func (all *indexed) nest(own map[uint64]bool, b int) bool {
	of := map[uint64]bool{}
	for i := range all.members[b] {
		m := &all.members[b][i]
		of[m.Ordinal] = true
		if o, ok := all.outer(m); ok && own[o] {
			return true
		}
	}
	for _, members := range all.members {
		for i := range members {
			if m := &members[i]; own[m.Ordinal] {
				if o, ok := all.outer(m); ok && of[o] {
					return true
				}
			}
		}
	}
	return false
}

// On random inputs, the index contains the arrows that the second implementation of the rules finds, and reaches the flows that
// an exhaustive search reaches.
func TestIndexAgainstNaiveImplementation(t *testing.T) {
	connected := 0
	for seed := range uint64(300) {
		text := randomFlows(seed, 10+int(seed%60), []int{1, 2, 5, 20, 500}[seed%5])
		memory := []int64{largeMemory, smallMemory}[seed%2]
		tl, _ := resolve(t, memory, text)
		n := newNaive(t, tl)
		n.resolve()
		x, err := flowindex.NewIndex(context.Background(), tl)
		if err != nil {
			t.Fatal(err)
		}
		all := collect(t, x)
		if got, want := sorted(all.arrows()), sorted(n.arrows); !slices.Equal(got, want) {
			t.Errorf("arrows %v, want %v", got, want)
		}
		for number, f := range all.flows {
			for _, nested := range []bool{false, true} {
				var got []int
				err := x.Connected(context.Background(), []flowindex.Flow{f}, nested, func(c flowindex.Connection) error {
					got = append(got, c.Flow.Number)
					return nil
				})
				if err != nil {
					t.Fatal(err)
				}
				slices.Sort(got)
				if want := all.reachable(number, nested); !slices.Equal(got, want) {
					t.Errorf("from %d, nested %v: %v, want %v", number, nested, got, want)
				}
				connected += len(got)
			}
			// Find returns the flow, or a later one with its id that has already started, for every time within the flow.
			found, err := x.Find(context.Background(), f.ID, f.Start)
			if err != nil || !slices.ContainsFunc(found, func(o flowindex.Flow) bool {
				return o.Kind == f.Kind && o.Name == f.Name && o.Start == f.Start
			}) {
				t.Errorf("flow %+v is not found by its name: %v, %v", f, found, err)
			}
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Fatalf("seed %d, input:\n%s", seed, text)
		}
	}
	if connected < 1000 {
		t.Errorf("%d connections: too few to show something", connected)
	}
}
