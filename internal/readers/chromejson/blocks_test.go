package chromejson

import (
	"bytes"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
)

// Large inputs are read in blocks from about the first megabyte to the last. Tests that compare reading in blocks with
// sequential reading would also pass if nothing were read in blocks. The recordings have one event per line, and white space
// between events.
func TestBlocksReachTheEnd(t *testing.T) {
	for _, name := range []string{"traces/chrome/chrome-devtools-small.json", "traces/node/node-v24-all-node_trace.json"} {
		data := recording.Bytes(t, name)
		log := new(problem.Log)
		b := timeline.NewBuilder(timeline.Options{Problems: log})
		rd := newReader(t.Context(), bytes.NewReader(data), b, Options{Options: readers.Options{Problems: log}, Workers: 2})
		if err := rd.document(); err != nil {
			t.Fatal(err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		// blocksFrom is after the end of the last reading in blocks.
		if least := int64(len(data)) - 2*blockSize; rd.blocksFrom < least {
			t.Errorf("%s: %d bytes, read in blocks up to byte %d", name, len(data), rd.blocksFrom)
		}
	}
}
