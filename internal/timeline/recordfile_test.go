package timeline

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Records come out of a file as they were written, from every place on, whatever their fields are.
func TestRecordFile(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	odd := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, int64(NoTime), 1 << 40}
	number := func() int64 {
		if random.IntN(3) == 0 {
			return odd[random.IntN(len(odd))]
		}
		return random.Int64() >> random.IntN(64)
	}
	var want []record
	f, err := newRecordFile(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	for i := range 3*recordBlockLen + 7 {
		r := record{
			ts: Nanos(number()), dur: Nanos(number()), offset: number(), a: number(), b: number(), payload: uint64(number()),
			event: uint32(number()), track: TrackID(number()), name: NameID(number()), category: CategoryID(number()), lane: uint32(number()),
			flags: recordFlags(number()),
		}
		if i%5 == 0 && i > 0 { // mostly as the one before, as in real traces
			r = want[i-1]
			r.ts += 1000
			r.payload, r.a = 0, 0
		}
		if i == recordBlockLen/2 {
			f.startBlock()
		}
		if err := f.add(&r); err != nil {
			t.Fatal(err)
		}
		want = append(want, r)
	}
	if err := f.flush(); err != nil {
		t.Fatal(err)
	}
	for first := 0; first < len(want); first += 1 + random.IntN(300) {
		count := min(random.IntN(2*recordBlockLen), len(want)-first)
		in := f.reader(first, count, 1)
		var r record
		for i := range count {
			if ok, err := in.next(&r); !ok || err != nil {
				t.Fatalf("record %d from %d on: %v, %v", first+i, first, ok, err)
			}
			if r != want[first+i] {
				t.Fatalf("record %d from %d on is %+v, want %+v", first+i, first, r, want[first+i])
			}
		}
		if ok, err := in.next(&r); ok || err != nil {
			t.Fatalf("behind the last record: %v, %v", ok, err)
		}
	}
}

// A file that was cut off gives an error.
func TestRecordFileCut(t *testing.T) {
	f, err := newRecordFile(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	for i := range 10 {
		if err := f.add(&record{ts: Nanos(i) * 1e12, dur: 1 << 50, name: 7}); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.flush(); err != nil {
		t.Fatal(err)
	}
	in := f.reader(0, 11, 0)
	var r record
	for i := range 10 {
		if ok, err := in.next(&r); !ok || err != nil {
			t.Fatalf("record %d: %v, %v", i, ok, err)
		}
	}
	if ok, err := in.next(&r); ok || err == nil {
		t.Errorf("behind the end: %v, %v", ok, err)
	}
}
