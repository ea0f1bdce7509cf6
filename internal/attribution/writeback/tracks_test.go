package writeback

import (
	"testing"

	"github.com/weft-trace/weft/internal/testkit"
)

// Keys of data that is sorted on disk agree with its order.
func TestTrackKeys(t *testing.T) { testkit.CheckKeys(t, overlayOrder) }
