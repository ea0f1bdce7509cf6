package writeback

import (
	"testing"

	"github.com/weft-trace/weft/internal/extsort/keytest"
)

// The keys of data sorted on disk agree with its order.
func TestTrackKeys(t *testing.T) { keytest.Check(t, overlayOrder) }
