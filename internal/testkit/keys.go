package testkit

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/weft-trace/weft/internal/extsort"
)

// CheckKeys checks that the key of an order is consistent with its comparison: of two values with different keys, the one with the
// smaller key must be less. The values are random, with bytes biased towards those at which numbers change sign or overflow.
func CheckKeys[T any](t *testing.T, by extsort.Order[T]) {
	t.Helper()
	form := extsort.FormOf[T]()
	rng := rand.New(rand.NewPCG(1, 2))
	bools := offsetsOfBools(reflect.TypeFor[T](), 0)
	fill := func(b []byte) {
		for i := range b {
			b[i] = [...]byte{0, 1, 0x7f, 0x80, 0xff, byte(rng.Uint32())}[rng.IntN(6)]
		}
	}
	for range 20_000 {
		a, b := new(T), new(T)
		bytes := form.Bytes(b)
		fill(form.Bytes(a))
		copy(bytes, form.Bytes(a))
		if at := rng.IntN(len(bytes)); rng.IntN(2) == 0 {
			fill(bytes[at:]) // keep the first fields equal
		} else {
			fill(bytes[:at])
		}
		for _, i := range bools {
			form.Bytes(a)[i] &= 1
			bytes[i] &= 1
		}
		x, y, order := by.Key(a), by.Key(b), by.Compare(a, b)
		if x < y && order >= 0 || x > y && order <= 0 {
			t.Fatalf("the keys of\n%+v and\n%+v are %#x and %#x, Compare gives %d", *a, *b, x, y, order)
		}
		if back := -by.Compare(b, a); (order < 0) != (back < 0) || (order > 0) != (back > 0) {
			t.Fatalf("Compare gives %d, and %d with the arguments swapped", order, -back)
		}
	}
}

// offsetsOfBools returns the offsets of the bools in a type; such bytes can only be 0 or 1.
func offsetsOfBools(t reflect.Type, at uintptr) (offsets []uintptr) {
	switch t.Kind() {
	case reflect.Bool:
		return []uintptr{at}
	case reflect.Array:
		for i := range t.Len() {
			offsets = append(offsets, offsetsOfBools(t.Elem(), at+uintptr(i)*t.Elem().Size())...)
		}
	case reflect.Struct:
		for i := range t.NumField() {
			offsets = append(offsets, offsetsOfBools(t.Field(i).Type, at+t.Field(i).Offset)...)
		}
	}
	return offsets
}
