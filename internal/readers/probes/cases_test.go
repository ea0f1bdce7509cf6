package probes

import (
	"fmt"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readertest"
	"github.com/weft-trace/weft/internal/timeline"
)

// suite are the cases, which are read through windows of all sizes, and sorted on disk.
var suite = readertest.Suite[Options]{
	Read:    Read,
	Prepare: func(o *Options, log *problem.Log, dir string) { o.Problems, o.TempDir = log, dir },
	Option: func(o *Options, name, value string) (err error) {
		switch name {
		case "args":
			o.Args = timeline.OnlyArgs(value)
		case "offset":
			_, err = fmt.Sscan(value, &o.Offset)
		}
		return err
	},
	Lines: true,
	Ways:  []func(*Options){func(o *Options) { o.window = 16 }, func(o *Options) { o.window = 100 }, func(o *Options) { o.spool = 1 }},
}

// TestCases compares what is read from the inputs in testdata with what is expected.
func TestCases(t *testing.T) { suite.Run(t) }
