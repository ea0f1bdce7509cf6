package timeline

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Ends are ordered by time. Among simultaneous ends, the end of the slice that began last comes first. This holds whether slices
// nest, overlap or come from the previous segment.
func TestPendingEnds(t *testing.T) {
	type end = openSlice[pendingEnd]
	r := rand.New(rand.NewPCG(11, 12))
	for _, lengths := range []int64{1, 5, 1000} {
		p := newPendingEnds()
		var want []end
		for i := range 5 {
			o := end{Nanos(1 + r.Int64N(lengths)), pendingEnd{ordinal: uint64(i)}}
			p.others.Push(o)
			want = append(want, o)
		}
		for ordinal := uint64(5); ordinal < 3000; ordinal++ {
			now := Nanos(ordinal / 3)
			for o := p.pop(now); o != nil; o = p.pop(now) {
				next := slices.MinFunc(want, func(a, b end) int {
					if comesFirst(&a, &b) {
						return -1
					}
					return 1
				})
				if *o != next {
					t.Fatalf("lengths up to %d: the slice %d ends at %d, want %d at %d", lengths, o.value.ordinal, o.end, next.value.ordinal, next.end)
				}
				want = slices.DeleteFunc(want, func(o end) bool { return o == next })
			}
			if i := slices.IndexFunc(want, func(o end) bool { return o.end <= now }); i >= 0 {
				t.Fatalf("lengths up to %d: a slice that ends at %d is open at %d", lengths, want[i].end, now)
			}
			rec := record{flags: flagsOf(Slice), ts: now, dur: Nanos(1 + r.Int64N(lengths))}
			p.push(&rec, ordinal)
			o := end{end: rec.ts + rec.dur}
			o.value.set(&rec, ordinal)
			want = append(want, o)
		}
	}
}
