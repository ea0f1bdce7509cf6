package chromejson

import (
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/readertest"
	"github.com/weft-trace/weft/internal/timeline"
)

// suite runs the cases, with windows and blocks of several sizes.
var suite = readertest.Suite[Options]{
	Read:   Read,
	Common: func(o *Options) *readers.Options { return &o.Options },
	Option: func(o *Options, name, value string) error {
		switch name {
		case "args":
			o.Args = timeline.OnlyArgs(strings.Fields(value)...)
		case "offset-ns":
			o.Offset = 1_000_000_000
		}
		return nil
	},
	Variants: []func(*Options){window(16), window(100), window(4096), blocks(8), blocks(60), blocks(500)},
	Raises:   slices.DeleteFunc(problem.Kinds(), func(k problem.Kind) bool { return !raisedByReader(k) || largeInputs[k] }),
}

func window(size int) func(*Options) { return func(o *Options) { o.Window = size } }

func blocks(size int) func(*Options) {
	return func(o *Options) { o.Window, o.Workers, o.block = 4096, 3, size }
}

// TestCases compares the results of the inputs in testdata with the expected ones.
func TestCases(t *testing.T) { suite.Run(t) }

// largeInputs are the problems that only inputs too large for testdata cause.
var largeInputs = map[problem.Kind]bool{
	problem.MetadataValueOmitted: true, // TestLargeMetadata
	problem.ArgDepthLimit:        true, // TestDeepArgs
	problem.StackLimit:           true, // TestDeepStacks
}

// raisedByReader reports whether a problem of Chrome JSON is found by the reader, not by the passes after it.
func raisedByReader(k problem.Kind) bool {
	switch k {
	case problem.CompleteWithoutDuration, problem.SliceNegativeDuration, problem.AsyncMissingID, problem.AsyncMissingPid,
		problem.FlowMissingID, problem.FlowWithoutDirection:
		return true
	case problem.PidRemapped, problem.InstantDepthLimit:
		return false
	}
	if k > problem.ObjectEndWithoutBegin {
		return false // problems of other formats and passes
	}
	for _, group := range []string{"slice_", "async_", "flow_", "begin_", "end_", "container_", "link_"} {
		if strings.HasPrefix(k.Name(), group) {
			return false
		}
	}
	return true
}
