package flowbind

import (
	"testing"

	"github.com/weft-trace/weft/internal/extsort/keytest"
)

// The keys of data sorted on disk agree with its order.
func TestKeys(t *testing.T) {
	t.Run("ends", func(t *testing.T) { keytest.Check(t, endOrder) })
	t.Run("references", func(t *testing.T) { keytest.Check(t, refOrder) })
	t.Run("steps", func(t *testing.T) { keytest.Check(t, stepOrder) })
}
