package migrate

import (
	"errors"
	"fmt"
	"testing"

	"github.com/weft-trace/weft/internal/collections"
)

// A file that exceeds its memory budget is recorded as such, whatever needs the memory.
func TestFailureOfMemory(t *testing.T) {
	for _, full := range []collections.MemoryLimit{collections.ProfileMemoryLimit(1 << 20), {What: "tracks are held in memory", Limit: 1 << 20}} {
		err := fmt.Errorf("trace.json: %w", errors.Join(full.Add(2<<20), nil))
		var fail *failure
		if got := conversionFailure(t.Context(), err, nil, new(hashedOutput)); !errors.As(got, &fail) || fail.kind != KindMemory {
			t.Errorf("%v is %v", err, got)
		}
	}
}
