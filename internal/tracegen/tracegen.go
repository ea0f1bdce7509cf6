// Package tracegen generates traces for tests and benchmarks: large traces in the format of PyTorch's profiler and others, and
// small random traces with known results. The same parameters always result in the same bytes.
package tracegen

import (
	"math/rand/v2"
	"strconv"
)

// newRand returns the random number generator for a seed. It yields the same numbers on every machine.
func newRand(seed uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
}

// appendMicros appends nanoseconds as microseconds with three decimals, as many profilers print them.
func appendMicros(dst []byte, ns int64) []byte {
	dst = strconv.AppendInt(dst, ns/1000, 10)
	rest := ns % 1000
	return append(dst, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
}
