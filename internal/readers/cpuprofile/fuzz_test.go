package cpuprofile

import (
	"math"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/readertest"
	"github.com/weft-trace/weft/internal/timeline"
)

// FuzzRead checks that no input makes the reader panic, and that the result is a valid trace with the calls on their
// thread or on a track below it.
func FuzzRead(f *testing.F) {
	for _, c := range readertest.Cases(f) {
		f.Add(c.Input, int64(0), false)
		f.Add(c.Input, int64(math.MaxInt64-20_000), true)
	}
	f.Fuzz(func(t *testing.T, input string, offset int64, separate bool) {
		tl, _, err := suite.Load(t, strings.NewReader(input), Options{Options: readers.Options{Offset: timeline.Nanos(offset)}, SeparateCalls: separate})
		if err == nil {
			readertest.Verify(t, tl)
		}
	})
}
