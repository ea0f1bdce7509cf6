// Package otlp reads OpenTelemetry traces into a timeline: OTLP spans in protobuf and JSON.
//
// The comments cite docs/formats/otlp.md. A file becomes:
//
//	a resource        a process; its first span has the attributes of the resource
//	a span            a slice; consecutive children within it nest in it
//	any other parent  an arrow to the child
//	a link            an arrow from the linked span
//	an event          an instant on the track of its span
//
// Both forms are read as streams with one span in memory at a time (json.go, proto.go). JSON spans are converted to protobuf
// immediately (transcode.go), so that all other code reads only one form. OTLP stores spans in the order in which they end, and
// a parent may come anywhere after its children, so encoded spans wait in a spool and are placed in order of their start times
// (place.go, emit.go). Other parents and links are joined by id, on disk if there are many (join.go).
//
// Bad data in individual spans is counted in readers.Options.Problems and never stops reading. An error from Read means that
// the input as a whole is unreadable.
package otlp

import (
	"bufio"
	"context"
	"errors"
	"io"

	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// ErrNoSpans reports an OTLP input without a list of spans, such as logs or metrics.
var ErrNoSpans = errors.New("not OTLP traces: there are no resourceSpans")

// Read reads the unpacked spans in r into b. Errors from r, b and ctx, and errors about inputs that are not OTLP traces, include
// the position in the input.
func Read(ctx context.Context, r io.Reader, b *timeline.Builder, opts readers.Options) (err error) {
	c := newCollector(b, opts)
	defer func() { err = errors.Join(err, c.spans.Close()) }()
	in := bufio.NewReaderSize(readers.Cancelled(ctx, r), detectWithin)
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
	if opts.Offset == 0 { // times with an offset belong to no clock
		b.SetClocks(timeline.Clocks{Trace: timeline.ClockRealtime})
	}
	return emit(ctx, c)
}
