package probes

import (
	"testing"

	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/readertest"
)

// suite runs the cases, with windows of several sizes and with sorting on disk.
var suite = func() readertest.Suite[readers.Options] {
	s := readertest.Spooled(Read)
	s.Lines = true
	return s
}()

// TestCases compares the results of the inputs in testdata with the expected ones.
func TestCases(t *testing.T) { suite.Run(t) }
