package readers

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-trace/weft/internal/extsort"
)

type value struct {
	ts  int64
	num uint32
}

var form = extsort.FormOf[value]()

func newSpool(tb testing.TB, limit int64) *Spool[value] {
	s := NewSpool(limit, tb.TempDir(), form, func(v *value) int64 { return v.ts })
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Error(err)
		}
	})
	return s
}

// Values are returned with their payloads in time order, from memory and disk; simultaneous values keep the order in which they
// were added.
func TestOrder(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, limit := range []int64{1, 5_000, 100_000, 1 << 30} {
		for _, span := range []int64{1, 100, 1 << 62} {
			s := newSpool(t, limit)
			var want []value
			for i := range uint32(3_000) {
				v := value{rnd.Int64N(span) - span/2, i}
				want = append(want, v)
				if err := s.Add(&v, payloadOf(i)); err != nil {
					t.Fatal(err)
				}
			}
			if spilled := s.Held() < len(want); spilled != (limit < 1<<30) {
				t.Errorf("limit %d: %d values are in memory", limit, s.Held())
			}
			slices.SortStableFunc(want, func(a, b value) int { return cmp.Compare(a.ts, b.ts) })
			i := 0
			err := s.Each(func(v *value, payload []byte) error {
				if *v != want[i] || !bytes.Equal(payload, payloadOf(v.num)) {
					t.Fatalf("limit %d, span %d: value %d is %v with %d bytes, want %v", limit, span, i, *v, len(payload), want[i])
				}
				i++
				return nil
			})
			if err != nil || i != len(want) {
				t.Errorf("%d of %d values, error %v", i, len(want), err)
			}
		}
	}
}

// payloadOf returns payloads of all sizes, including empty ones and some larger than a chunk.
func payloadOf(i uint32) []byte {
	if i%1000 == 999 {
		return bytes.Repeat([]byte{byte(i)}, chunkSize+int(i))
	}
	return []byte(fmt.Sprint(i)[:min(i%5, 1)])
}

// An error from fn ends Each.
func TestError(t *testing.T) {
	for _, limit := range []int64{1, 1 << 30} {
		s := newSpool(t, limit)
		for i := range uint32(10) {
			if err := s.Add(&value{int64(i), i}, nil); err != nil {
				t.Fatal(err)
			}
		}
		want, calls := errors.New("enough"), 0
		err := s.Each(func(*value, []byte) error {
			calls++
			return want
		})
		if err != want || calls != 1 {
			t.Errorf("error %v after %d calls", err, calls)
		}
	}
}
