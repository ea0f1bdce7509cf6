package firefox

import (
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/readertest"
	"github.com/weft-trace/weft/internal/timeline"
)

// suite runs the cases, with windows of several sizes.
var suite = readertest.Suite[Options]{
	Read:   Read,
	Common: func(o *Options) *readers.Options { return &o.Options },
	Option: func(o *Options, name, value string) error {
		switch name {
		case "js-calls":
			o.JSCalls = true
		case "offset-ns":
			o.Offset = 1_000_000_000
		case "args":
			o.Args = timeline.OnlyArgs(value)
		}
		return nil
	},
	Variants: []func(*Options){window(16), window(100), window(4096)},
	Raises: []problem.Kind{
		problem.FirefoxNewerVersion, problem.FirefoxValueInvalid, problem.FirefoxIndexInvalid, problem.FirefoxColumnShort,
		problem.ArgumentValuesSkipped, problem.MarkerFieldMismatch, problem.MarkerIncomplete, problem.MarkerOverlapMoved,
		problem.PageUnknown, problem.ScreenshotInvalid, problem.ScreenshotNotJPEG,
		// Problems from other groups that this reader also finds:
		problem.JSONUnterminated, problem.JSONPartialEvent, problem.JSONTrailingData, problem.TopLevelMemberSkipped,
		problem.EventInvalidTimestamp, problem.EventNegativeTimestamp, problem.SliceNegativeDuration,
		problem.CounterInvalidValue, problem.PidRemapped,
	},
}

func window(size int) func(*Options) { return func(o *Options) { o.Window = size } }

// TestCases compares the results for the inputs in testdata with the expected ones.
func TestCases(t *testing.T) { suite.Run(t) }
