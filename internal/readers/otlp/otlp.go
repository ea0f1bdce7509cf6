// Package otlp reads traces of OpenTelemetry into a timeline: spans as OTLP has them, in protobuf and in JSON.
//
// The comments cite docs/formats/otlp.md. What becomes of a file:
//
//	a resource        a process, and an instant with the attributes of the resource
//	a span            a slice; its children nest in it as far as they lie in it one after the other
//	any other parent  an arrow to the child
//	a link            an arrow from the linked span
//	an event          an instant on the track of its span
//
// Both forms are read as streams, of which a span is held at a time (json.go, proto.go). A span of JSON is written as protobuf at
// once (transcode.go), so that all that follows reads one form. OTLP has spans in the order in which they ended, and a parent may
// come anywhere after its children, so spans wait in a spool, encoded, and are placed in the order of their starts (place.go,
// emit.go). Parents and links that are not found on the way there are joined by their ids, on disk if there are many (join.go).
//
// Bad data in single spans is counted in readers.Options.Problems and never stops reading. An error from Read means that the input as a
// whole cannot be read.
package otlp

import (
	"bufio"
	"context"
	"errors"
	"io"

	"github.com/weft-trace/weft/internal/jsondoc"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// ErrNoSpans is the error for an input of OTLP without a list of spans: logs or metrics, for example.
var ErrNoSpans = errors.New("no OTLP traces: there are no resourceSpans")

// Read reads the spans of r, which is unpacked, into b. Errors are errors of r, b and ctx, and inputs that are not traces of OTLP;
// each states its position in the input.
func Read(ctx context.Context, r io.Reader, b *timeline.Builder, opts readers.Options) (err error) {
	c := newCollector(b, opts)
	defer func() { err = errors.Join(err, c.spans.Close()) }()
	in := bufio.NewReaderSize(jsondoc.Cancelled(ctx, r), detectWithin)
	head, err := in.Peek(detectWithin)
	if err != nil && err != io.EOF {
		return err
	}
	if form := formOf(head); form != noForm {
		err = readProto(in, form, c)
	} else {
		err = readJSON(in, c)
	}
	if err != nil {
		return err
	}
	if opts.Offset == 0 { // else the times have no clock
		b.SetClocks(timeline.Clocks{Trace: timeline.ClockRealtime})
	}
	return emit(ctx, c)
}
