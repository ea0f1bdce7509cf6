package convert

import (
	"context"
	"io"
	"testing"

	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/tracegen"
)

// serverInputs are recordings of requests by servers and browsers. A unit is a request with its spans, or an archive entry.
var serverInputs = []struct {
	name  string
	write func(w io.Writer, units int) error
	size  int // approximate bytes of a unit
}{
	{"otlp/json", func(w io.Writer, n int) error { return tracegen.WriteSpans(w, tracegen.Spans{Seed: 1, Requests: n}) }, 4800},
	{"otlp/protobuf", func(w io.Writer, n int) error {
		return tracegen.WriteSpans(w, tracegen.Spans{Seed: 1, Requests: n, Protobuf: true})
	}, 2100},
	{"har", func(w io.Writer, n int) error { return tracegen.WriteArchive(w, tracegen.Archive{Seed: 1, Entries: n}) }, 2250},
}

// TestMemoryOfRequests checks that memory does not grow beyond the budget with the size of spans and archives. The growing parts
// are small: trace ids, which are texts shared by events, and the descent of spans, up to limits. The inputs are generated while
// they are read; the larger ones are 200 MB long.
func TestMemoryOfRequests(t *testing.T) {
	recording.NeedAll(t, "converts 900 MB")
	const large = 200 << 20
	for _, in := range serverInputs {
		t.Run(in.name, func(t *testing.T) {
			peak := func(size int) (memory, read int64) {
				r, w := io.Pipe()
				go func() { w.CloseWithError(in.write(w, size/in.size)) }()
				watch := &recording.MemoryWatch{Input: r}
				report, err := Convert(context.Background(), watch, watch, Options{Workers: 1, Memory: 2 << 20, TempDir: t.TempDir()})
				if err != nil {
					t.Fatal(err)
				}
				if lost := report.Lost(); lost > 0 {
					t.Errorf("%d events are lost", lost)
				}
				return watch.Peak, watch.Size
			}
			first, few := peak(large / 2)
			second, many := peak(large)
			t.Logf("%d MB: %d KiB, %d MB: %d KiB", few/1e6, first>>10, many/1e6, second>>10)
			if added := second - first; added > (many-few)/10 {
				t.Errorf("%d MB more take %d bytes more", (many-few)/1e6, added)
			}
		})
	}
}
