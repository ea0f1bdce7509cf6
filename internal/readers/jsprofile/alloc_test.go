//go:build !race

// With the race detector, compiled code allocates memory in places where it otherwise does not.

package jsprofile

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
)

// Individual samples need no allocations: ten times as many samples cost only the memory that stores them.
func TestNoAllocationPerSample(t *testing.T) {
	allocs := func(samples int) float64 {
		input := chain(400, elements(samples, func(i int) string { return fmt.Sprintf(`{"stackId":%d,"timestamp":%d}`, 15+i%7, i*10) }))
		return testing.AllocsPerRun(2, func() {
			b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log), Memory: 1 << 40})
			if err := Read(context.Background(), strings.NewReader(input), b, Options{Options: readers.Options{Problems: new(problem.Log)}}); err != nil {
				t.Fatal(err)
			}
		})
	}
	const more = 18_000
	if few, many := allocs(2_000), allocs(2_000+more); many-few > more/50 {
		t.Errorf("%v allocations for 2,000 samples, %v for 20,000", few, many)
	}
}

// A profile may use all of its memory limit: growing lists store nothing twice. An input that needs more causes an error when
// the limit is reached.
func TestMemoryOfLists(t *testing.T) {
	const limit, slack = 8 << 20, 512 << 10 // slack is for blocks that are not full
	for name, element := range map[string]string{
		"samples": `{"timestamp":1,"stackId":0}`, "stacks": `{"frameId":1,"parentId":0}`, "frames": `{"name":"f","line":1}`,
		"resources": `"r"`, "views": `{"startTime":1}`,
	} {
		const elements = 1 << 20
		input := `{"samples":[],"` + name + `":[` + strings.Repeat(element+",", elements-1) + element + `]}`
		b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log)})
		var err error
		got, _ := recording.Allocated(func() {
			_, err = parse(context.Background(), strings.NewReader(input), b, Options{Options: readers.Options{Problems: new(problem.Log), Window: 4096}, ProfileMemory: limit})
		})
		var full *collections.MemoryLimitError
		if !errors.As(err, &full) {
			t.Errorf("%s: %v", name, err)
		}
		if got > limit+slack {
			t.Errorf("%s: %d bytes were allocated, and %d may be held", name, got, limit)
		}
	}
}
