package report

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/timeline"
)

// With a sample at each depth of a deep stack, the work of all reports is linear in the number of samples: each stack is visited
// a few times, however many are on top of it. Every third sample is a collector sample, and the next one is a style sample.
func TestDeepStacksTakeLinearWork(t *testing.T) {
	const depth = 3 * timeline.MaxStackDepth
	tr := newTrace(t, inNanos)
	id := tr.b.PushFrame(0, tr.b.Frame(timeline.Frame{Function: "(root)"}))
	states := []string{"(garbage collector)", "(style)", "f"}
	for i := range timeline.Nanos(depth) {
		id = tr.b.PushFrame(id, tr.b.Frame(timeline.Frame{Function: fmt.Sprint("f", i), File: "http://a.example/x.js"}))
		top := tr.b.PushFrame(id, tr.b.Frame(timeline.Frame{Function: states[i%3]}))
		tr.add(timeline.Event{Kind: timeline.Sample, TS: i * ms, Value: timeline.Int(int64(ms)), Callstack: top})
	}
	p := tr.collect()
	opts := Options{Top: 1}
	samples, err := p.Samples(opts)
	if err != nil || samples.Threads[0].FunctionCount < depth {
		t.Fatalf("%+v, %v", samples, err)
	}
	if _, err := p.GC(opts); err != nil {
		t.Fatal(err)
	}
	p.LayoutThrashing(opts)
	p.outermostURL(p.Threads[0])
	if trees, err := p.stackTrees(t.Context()); err != nil || len(trees) != 1 {
		t.Fatalf("%+v, %v", trees, err)
	}
	if most := 20 * depth; p.stacks.steps > most || len(p.stacks.nodes) > 3*depth {
		t.Errorf("%d visits of %d stacks, want at most %d", p.stacks.steps, len(p.stacks.nodes), most)
	}
}

// For random stacks with recursion, the times of functions equal the times that a search through each stack yields.
func TestFunctionsOfRandomStacks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		tr := newTrace(t, inNanos)
		type times struct{ self, total timeline.Nanos }
		want, longest := map[string]times{}, 0
		for i := range timeline.Nanos(60) {
			var names []string
			text := "(root)"
			for range 1 + r.IntN(6) {
				name := string(rune('a' + r.IntN(4)))
				names, text = append(names, name), text+"|"+name+"@u"
			}
			weight := timeline.Nanos(1 + r.IntN(100))
			tr.sample(i*ms, weight, text)
			longest = max(longest, len(names))
			own := want[names[len(names)-1]]
			own.self += weight
			want[names[len(names)-1]] = own
			slices.Sort(names)
			for _, name := range slices.Compact(names) {
				all := want[name]
				all.total += weight
				want[name] = all
			}
		}
		got := map[string]times{}
		p := tr.collect()
		for _, f := range p.functions(p.Threads[0]) {
			got[f.Function] = times{f.Self.Sum().Time, f.Total.Time}
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(times{})); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	}
}

// Stacks are sorted by their frames, outermost first; each comes before the stacks on top of it, and the unknown stack comes
// last.
func TestOrderOfStacks(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	table := newStackTable()
	texts := map[stackID]string{0: "~"}
	ids := []stackID{0}
	for range 200 {
		id, text := stackID(0), ""
		for range 1 + r.IntN(5) {
			name := string(rune('a' + r.IntN(3)))
			id, text = table.push(id, Frame{Function: name}), text+name
		}
		texts[id] = text
		ids = append(ids, id)
	}
	table.sort(ids, func(stackID) timeline.Nanos { return 0 })
	if !slices.IsSortedFunc(ids, func(a, b stackID) int { return strings.Compare(texts[a], texts[b]) }) {
		t.Error("not in the order of their texts")
	}
}

// Lists of frames are bounded, individually and in total.
func TestListsOfFramesAreLimited(t *testing.T) {
	table := newStackTable()
	var id stackID
	for i := range timeline.MaxStackDepth + 10 {
		id = table.push(id, Frame{Line: int64(i + 1)})
	}
	if frames := table.list(id); len(frames) != timeline.MaxStackDepth || frames[len(frames)-1].Line != timeline.MaxStackDepth+10 {
		t.Errorf("%d frames", len(frames))
	}
	table.listed = maxListed
	if frames := table.list(id); len(frames) != shortList || frames[0].Line != timeline.MaxStackDepth+10-shortList+1 {
		t.Errorf("%d frames", len(frames))
	}
}
