// Package keytest checks in tests that the key of a codec orders values as their comparison does.
package keytest

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/weft-trace/weft/internal/extsort"
)

// Check makes values of random bytes, many of which are those at which numbers change their sign or overflow. Of two with
// different keys, the one with the smaller key must be the lesser one. The codec must write what it has read.
func Check[T any](t *testing.T, codec extsort.Codec[T], compare func(a, b *T) int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, 2))
	fill := func(b []byte) {
		for i := range b {
			b[i] = [...]byte{0, 1, 0x7f, 0x80, 0xff, byte(rng.Uint32())}[rng.IntN(6)]
		}
	}
	bufs, values := [2][]byte{make([]byte, codec.Size), make([]byte, codec.Size)}, [2]T{}
	for range 20_000 {
		fill(bufs[0])
		copy(bufs[1], bufs[0])
		if at := rng.IntN(codec.Size); rng.IntN(2) == 0 {
			fill(bufs[1][at:]) // the first members are the same
		} else {
			fill(bufs[1][:at])
		}
		for i, b := range bufs {
			codec.Get(b, &values[i])
		}
		a, b := &values[0], &values[1]
		x, y, order := codec.Key(a), codec.Key(b), compare(a, b)
		if x < y && order >= 0 || x > y && order <= 0 {
			t.Fatalf("the keys of\n%+v and\n%+v are %#x and %#x, compare gives %d", *a, *b, x, y, order)
		}
		if back := -compare(b, a); (order < 0) != (back < 0) || (order > 0) != (back > 0) {
			t.Fatalf("compare gives %d and the other way round %d", order, -back)
		}
		var again T
		written, twice := make([]byte, codec.Size), make([]byte, codec.Size)
		codec.Put(written, a)
		codec.Get(written, &again)
		if codec.Put(twice, &again); !bytes.Equal(written, twice) || compare(a, &again) != 0 {
			t.Fatalf("%+v is written and read again as %+v", *a, again)
		}
	}
}
