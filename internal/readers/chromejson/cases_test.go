package chromejson

import (
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readertest"
)

// suite are the cases, which are read through windows of all sizes, and in blocks of all sizes.
var suite = readertest.Suite[Options]{
	Options: caseOptions,
	Dump:    dump,
	Ways: []func(*Options){
		window(16), window(100), window(4096), blocks(8), blocks(60), blocks(500),
	},
}

func window(size int) func(*Options) { return func(opts *Options) { opts.window = size } }

func blocks(size int) func(*Options) {
	return func(opts *Options) { opts.window, opts.Workers, opts.block = 4096, 3, size }
}

// caseOptions reads the options in the comment of a case.
func caseOptions(_ testing.TB, c *readertest.Case) (opts Options) {
	for option, value := range c.Options() {
		switch option {
		case "args":
			opts.Args = OnlyArgs(strings.Fields(value)...)
		case "offset-ns":
			opts.Offset = 1_000_000_000
		}
	}
	return opts
}

// TestCases compares what is read from the inputs in testdata with what is expected.
func TestCases(t *testing.T) { suite.Run(t) }

// largeInputs are the problems that only inputs raise that are too large for a file of testdata.
var largeInputs = map[problem.Kind]bool{
	problem.MetadataValueOmitted: true, // TestLargeMetadata
	problem.ArgDepthLimit:        true, // TestDeepArgs
	problem.StackLimit:           true, // TestDeepStacks
}

// raisedByReader reports whether a problem of chrome-json.md 18 is found by the reader, not by the passes after it.
func raisedByReader(k problem.Kind) bool {
	switch k {
	case problem.CompleteWithoutDuration, problem.SliceNegativeDuration, problem.AsyncMissingID, problem.AsyncMissingPid,
		problem.FlowMissingID, problem.FlowWithoutDirection:
		return true
	case problem.PidRemapped, problem.InstantDepthLimit:
		return false
	}
	if k > problem.ObjectEndWithoutBegin {
		return false // of other formats and passes
	}
	for _, group := range []string{"slice_", "async_", "flow_", "begin_", "end_", "container_", "link_"} {
		if strings.HasPrefix(k.Name(), group) {
			return false
		}
	}
	return true
}

// TestEveryProblemHasACase holds that each problem that the reader can raise is raised by a case.
func TestEveryProblemHasACase(t *testing.T) {
	raised := readertest.Raised(t, func(c *readertest.Case) *problem.Log {
		_, log, _ := read(t, strings.NewReader(c.Input), caseOptions(t, c))
		return log
	})
	for _, k := range problem.Kinds() {
		if raisedByReader(k) && !raised[k] && !largeInputs[k] {
			t.Errorf("no case raises %s", k)
		}
	}
}
