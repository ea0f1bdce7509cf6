package writeback

import (
	"testing"

	"github.com/weft-trace/weft/internal/testkit"
)

// The keys of data sorted on disk agree with its order.
func TestTrackKeys(t *testing.T) { testkit.CheckKeys(t, overlayOrder) }
