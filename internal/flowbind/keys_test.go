package flowbind

import (
	"testing"

	"github.com/weft-trace/weft/internal/testkit"
)

// The keys of data sorted on disk agree with its order.
func TestKeys(t *testing.T) {
	t.Run("ends", func(t *testing.T) { testkit.CheckKeys(t, endOrder) })
	t.Run("references", func(t *testing.T) { testkit.CheckKeys(t, refOrder) })
	t.Run("steps", func(t *testing.T) { testkit.CheckKeys(t, stepOrder) })
}
