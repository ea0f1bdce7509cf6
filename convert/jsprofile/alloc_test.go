//go:build !race

// With the race detector, the compiler allocates where it otherwise does not.

package jsprofile

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/problem"
	"github.com/weft-trace/weft/timeline"
)

// Nothing is allocated for single samples: what ten times as many samples cost more is the memory that holds them.
func TestNoAllocationPerSample(t *testing.T) {
	allocs := func(samples int) float64 {
		input := chain(400, elements(samples, func(i int) string { return fmt.Sprintf(`{"stackId":%d,"timestamp":%d}`, 15+i%7, i*10) }))
		return testing.AllocsPerRun(2, func() {
			b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log), Memory: 1 << 40})
			if err := Read(context.Background(), strings.NewReader(input), b, Options{Problems: new(problem.Log)}); err != nil {
				t.Fatal(err)
			}
		})
	}
	const more = 18_000
	if few, many := allocs(2_000), allocs(2_000+more); many-few > more/50 {
		t.Errorf("%v allocations for 2,000 samples, %v for 20,000", few, many)
	}
}
