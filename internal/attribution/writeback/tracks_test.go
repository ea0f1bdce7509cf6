package writeback

import (
	"testing"

	"github.com/weft-trace/weft/internal/extsort/keytest"
)

// Keys of data that is sorted on disk agree with its order.
func TestTrackKeys(t *testing.T) { keytest.Check(t, overlayOrder) }
