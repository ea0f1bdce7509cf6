package probes

import (
	"testing"

	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/readertest"
)

// suite are the cases, which are read through windows of all sizes, and sorted on disk.
var suite = func() readertest.Suite[readers.Options] {
	s := readertest.Spooled(Read)
	s.Lines = true
	return s
}()

// TestCases compares what is read from the inputs in testdata with what is expected.
func TestCases(t *testing.T) { suite.Run(t) }
