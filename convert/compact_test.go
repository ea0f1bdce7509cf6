package convert_test

import (
	"slices"
	"testing"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/pftrace"
)

// The events that attribution adds have times in the trace's unit, so that compact packets, whose times are in microseconds, are
// as exact as other packets: both the catalogue, whose simultaneous entries are moved apart, and everything after it.
func TestAttributedTimesOfCompactPackets(t *testing.T) {
	const short = `[{"ph":"X","name":"a","pid":1,"tid":1,"ts":1,"dur":3,"args":{"data":{"frame":"F"}}},{"ph":"X","name":"b","pid":1,"tid":2,"ts":1,"dur":2,"args":{"data":{"frame":"G"}}},
		{"ph":"X","name":"c","pid":1,"tid":3,"ts":1,"dur":2,"args":{"data":{"frame":"H"}}},{"ph":"X","name":"d","pid":1,"tid":4,"ts":1,"dur":3,"args":{"data":{"frame":"I"}}},
		{"ph":"X","name":"e","pid":1,"tid":5,"ts":1,"dur":2,"args":{"data":{"frame":"J"}}},{"ph":"X","name":"f","pid":1,"tid":6,"ts":1,"dur":3,"args":{"data":{"frame":"K"}}}]`
	inputs := map[string][]byte{"more contexts than microseconds": []byte(short)}
	for _, name := range []string{"traces/chrome/chrome-devtools-small.json.gz", "traces/chrome/chrome-everything-small.json.gz"} {
		inputs[name] = recording.Bytes(t, name)
	}
	for name, input := range inputs {
		opts := convert.Options{Attribute: &attribution.Options{}}
		_, plain := marksOf(t, convertedWith(t, input, opts))
		opts.Packets = pftrace.Compact
		if _, compact := marksOf(t, convertedWith(t, input, opts)); !slices.Equal(compact, plain) {
			t.Errorf("%s: other events in compact packets", name)
		}
	}
}
