package jsprofile

import (
	"strconv"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/readertest"
	"github.com/weft-trace/weft/internal/timeline"
)

// suite runs the cases, with windows of several sizes.
var suite = readertest.Suite[Options]{
	Read:     Read,
	Common:   func(o *Options) *readers.Options { return &o.Options },
	Option:   option,
	Variants: []func(*Options){window(16), window(100)},
	Raises:   own(),
}

func window(size int) func(*Options) { return func(o *Options) { o.Window = size } }

// own returns the problems that only this reader finds.
func own() (kinds []problem.Kind) {
	for k := problem.BadStack; k <= problem.SamplingGap; k++ {
		kinds = append(kinds, k)
	}
	return kinds
}

// option sets an option named in the comment of a case. Times are in milliseconds.
func option(o *Options, name, value string) error {
	switch name {
	case "thread":
		o.ThreadName = value
		return nil
	case "args":
		o.Args = timeline.OnlyArgs(value)
		return nil
	case "interval", "origin", "end", "offset":
	default:
		return nil
	}
	ms, err := strconv.ParseInt(value, 10, 64)
	ns := timeline.Nanos(ms) * 1_000_000
	switch name {
	case "interval":
		o.Interval = ns
	case "origin":
		o.TimeOrigin = &ns
	case "end":
		o.End = &ns
	case "offset":
		o.Offset = ns
	}
	return err
}

// TestCases compares the results of the inputs in testdata with the expected ones.
func TestCases(t *testing.T) { suite.Run(t) }
