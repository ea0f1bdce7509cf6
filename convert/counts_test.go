package convert_test

import (
	"bytes"
	"os"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	pb "github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/pftrace"
)

// slicesOf counts the rows of the slice table in Perfetto's trace_processor: slices by their begin events, and instants as slices
// without length.
func slicesOf(t *testing.T, output []byte) (n int64) {
	trace := new(pb.Trace)
	if err := proto.Unmarshal(output, trace); err != nil {
		t.Fatal(err)
	}
	for _, p := range trace.Packet {
		switch p.GetTrackEvent().GetType() {
		case pb.TrackEvent_TYPE_SLICE_BEGIN, pb.TrackEvent_TYPE_INSTANT:
			n++
		}
	}
	return n
}

// The counts do not depend on weft's additions; together with the additions, they equal Perfetto's count for the output.
func TestCounts(t *testing.T) {
	states, marks := false, false
	const marked = "traces/perfetto/chrome-paired-tiny.pftrace.gz" // has long tasks
	files := append(recording.Some(recording.In(t, ".")), recording.File{Name: marked, Path: recording.Path(t, marked)})
	for _, f := range files {
		data, err := os.ReadFile(f.Path)
		if err != nil {
			t.Fatal(err)
		}
		read := new(convert.Report)
		tr, err := convert.Open(t.Context(), bytes.NewReader(data), convert.Options{Report: read})
		if err != nil {
			continue // not all recordings are readable
		}
		if err := tr.Close(); err != nil {
			t.Fatal(err)
		}
		for _, attribute := range []*attribution.Options{nil, {}} {
			var out bytes.Buffer
			opts := convert.Options{Compression: pftrace.Uncompressed, Attribute: attribute}
			report, err := convert.Convert(t.Context(), &out, bytes.NewReader(data), opts)
			if err != nil {
				t.Fatal(f.Name, err)
			}
			e := report.Events
			if all := e.Slices + e.Instants + e.AddedSlices + e.AddedInstants; all != slicesOf(t, out.Bytes()) {
				t.Errorf("%s: %d slices and instants, the output has %d", f.Name, all, slicesOf(t, out.Bytes()))
			}
			again := new(convert.Report)
			tr, err := convert.Open(t.Context(), bytes.NewReader(out.Bytes()), convert.Options{Report: again})
			if err != nil {
				t.Fatal(f.Name, err)
			}
			if err := tr.Close(); err != nil {
				t.Fatal(err)
			}
			if again.Events != e {
				t.Errorf("%s: %+v, and of the output %+v", f.Name, e, again.Events)
			}
			states, marks = states || e.IdleStates > 0, marks || e.AddedSlices > 0 && attribute == nil
			if e.AddedSlices, e.AddedInstants = read.Events.AddedSlices, read.Events.AddedInstants; e != read.Events {
				t.Errorf("%s: a conversion counts %+v, reading %+v", f.Name, e, read.Events)
			}
		}
	}
	if !states || !marks {
		t.Error("no recording has idle states, or none marks of long tasks")
	}
}
