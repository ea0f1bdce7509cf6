package otlp

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/wire"
)

// If no child starts before its parent, no arrow leads backwards, however coarse the clock: browsers' SDKs count whole
// milliseconds.
func TestSameStarts(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := 2 + rng.IntN(30)
		starts, spans := make([]uint64, n), make([][]byte, n)
		id := func(i int) []byte { return binary.BigEndian.AppendUint64(nil, uint64(i+1)) }
		for i := range n {
			span := wire.AppendBytes(wire.AppendString(nil, spanTraceID, "0123456789abcdef"), spanSpanID, id(i))
			starts[i] = 1 + uint64(rng.IntN(3))
			if i > 0 {
				parent := rng.IntN(i)
				starts[i] = max(starts[i], starts[parent])
				span = wire.AppendBytes(span, spanParentSpanID, id(parent))
				if linked := rng.IntN(i); starts[linked] <= starts[i] {
					link := wire.AppendBytes(wire.AppendString(nil, linkTraceID, "0123456789abcdef"), linkSpanID, id(linked))
					span = wire.AppendBytes(span, spanLinks, link)
				}
			}
			span = wire.AppendFixed64(span, spanStart, starts[i]*1_000_000)
			spans[i] = wire.AppendFixed64(span, spanEnd, (starts[i]+uint64(rng.IntN(5)))*1_000_000)
		}
		rng.Shuffle(n, func(i, j int) { spans[i], spans[j] = spans[j], spans[i] })
		var message []byte
		for i, span := range spans { // the spans belong to two services
			attribute := wire.AppendBytes(wire.AppendString(nil, keyValueKey, "service.name"), keyValueValue, wire.AppendString(nil, valueString, fmt.Sprint(i%2)))
			resource := wire.AppendBytes(nil, resourceSpansResource, wire.AppendBytes(nil, resourceAttributes, attribute))
			message = wire.AppendBytes(message, tracesResourceSpans,
				wire.AppendBytes(resource, resourceSpansScopeSpans, wire.AppendBytes(nil, scopeSpansSpans, span)))
		}
		_, log, err := suite.Load(t, strings.NewReader(string(message)), readers.Options{})
		if err != nil || log.Count(problem.FlowBackwards) != 0 {
			t.Fatalf("seed %d: %d arrows lead backwards, error %v", seed, log.Count(problem.FlowBackwards), err)
		}
	}
}
