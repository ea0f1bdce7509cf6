package attribution

import (
	"testing"

	"github.com/weft-trace/weft/internal/extsort/keytest"
)

// What is sorted on disk has keys that agree with its order.
func TestKeys(t *testing.T) {
	t.Run("evidence", func(t *testing.T) { keytest.Check(t, evidenceCodec, compareEvidence) })
	t.Run("begun", func(t *testing.T) { keytest.Check(t, begunCodec, compareBegun) })
	t.Run("stamps", func(t *testing.T) { keytest.Check(t, stampCodec, compareStamps) })
	t.Run("cells", func(t *testing.T) { keytest.Check(t, cellCodec, compareCells) })
	t.Run("intervals", func(t *testing.T) { keytest.Check(t, intervalCodec, compareIntervals) })
	t.Run("overlay", func(t *testing.T) { keytest.Check(t, overlayCodec, compareOverlay) })
}
