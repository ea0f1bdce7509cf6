package events_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"

	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/events"
	weftv1 "github.com/weft-trace/weft/gen/weft/v1"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/trace"
)

// records reads a stream with the generated code, as other programs do.
func records(t *testing.T, stream []byte) (all []*weftv1.Record) {
	t.Helper()
	in := bufio.NewReader(bytes.NewReader(stream))
	for {
		record := new(weftv1.Record)
		switch err := protodelim.UnmarshalFrom(in, record); {
		case errors.Is(err, io.EOF):
			return all
		case err != nil:
			t.Fatal(err)
		}
		all = append(all, record)
	}
}

// The stream for a recording has its events in order, each with id, time and name, between a header and a footer that counts
// them.
func TestWrite(t *testing.T) {
	for _, f := range recording.Some(recording.In(t, ".")) {
		t.Run(f.Name, func(t *testing.T) {
			tr, err := convert.Open(t.Context(), bytes.NewReader(recording.Read(t, f.Path)), convert.Options{})
			if err != nil {
				t.Skip(err) // too damaged to read
			}
			defer tr.Close()
			var stream bytes.Buffer
			if err := events.Write(t.Context(), &stream, tr, events.Options{Input: f.Name}); err != nil {
				t.Fatal(err)
			}
			all := records(t, stream.Bytes())
			if header := all[0].GetHeader(); header.GetMagic() != "weft.v1" || header.GetInputs()[0].GetName() != f.Name {
				t.Errorf("header %v", header)
			}
			footer := all[len(all)-1].GetFooter()
			compare(t, tr, all[1:len(all)-1])
			counted := uint64(0)
			for _, n := range footer.GetEvents() {
				counted += n.GetCount()
			}
			if !footer.GetComplete() || counted != uint64(len(all)-2) {
				t.Errorf("footer %v after %d events", footer, len(all)-2)
			}
		})
	}
}

// compare checks that records match the events of a trace.
func compare(t *testing.T, tr *trace.Trace, records []*weftv1.Record) {
	t.Helper()
	n := 0
	for ev, err := range tr.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if n >= len(records) {
			t.Fatalf("there are only %d events", len(records))
		}
		got := records[n].GetEvent()
		if got.GetId() != uint64(ev.ID) || got.GetTsNs() != int64(ev.Time) || got.GetName() != ev.Name || got.GetParentId() != uint64(ev.Parent) {
			t.Fatalf("event %d: %v, want %+v", n, got, ev)
		}
		n++
	}
	if n != len(records) {
		t.Errorf("%d events, want %d", len(records), n)
	}
}
