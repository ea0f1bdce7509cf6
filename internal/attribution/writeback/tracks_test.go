package writeback

import (
	"testing"

	"github.com/weft-trace/weft/internal/extsort/keytest"
)

// What is sorted on disk has keys that agree with its order.
func TestTrackKeys(t *testing.T) { keytest.Check(t, overlayOrder) }
