package timeline

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-trace/weft/internal/minheap"
)

// Open slices come out by their ends, of those that end together the one that began last first; whether they nest, overlap or
// come from the segment before.
func TestOpenSlices(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, lengths := range []int64{1, 5, 1000} {
		s := openSlices{others: minheap.New((*openSlice).before)}
		var want []openSlice
		for i := range 5 {
			o := openSlice{end: Nanos(1 + r.Int64N(lengths)), ordinal: uint64(i)}
			s.others.Push(o)
			want = append(want, o)
		}
		for ordinal := uint64(5); ordinal < 3000; ordinal++ {
			now := Nanos(ordinal / 3)
			for o := s.pop(now); o != nil; o = s.pop(now) {
				next := slices.MinFunc(want, func(a, b openSlice) int {
					if a.before(&b) {
						return -1
					}
					return 1
				})
				if o.end != next.end || o.ordinal != next.ordinal {
					t.Fatalf("lengths up to %d: the slice %d ends at %d, want %d at %d", lengths, o.ordinal, o.end, next.ordinal, next.end)
				}
				want = slices.DeleteFunc(want, func(o openSlice) bool { return o.ordinal == next.ordinal })
			}
			if i := slices.IndexFunc(want, func(o openSlice) bool { return o.end <= now }); i >= 0 {
				t.Fatalf("lengths up to %d: a slice that ends at %d is open at %d", lengths, want[i].end, now)
			}
			rec := record{kind: Slice, ts: now, dur: Nanos(1 + r.Int64N(lengths))}
			s.push(&rec, ordinal)
			want = append(want, openSlice{end: rec.ts + rec.dur, ordinal: ordinal})
		}
	}
}
