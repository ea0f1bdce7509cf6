// Package events writes the resolved events of a trace as a stream of protobuf messages, for programs in any language:
// weft.v1, whose schema weft schema prints. Each event is complete in itself: absolute times, the place in the nesting, names,
// typed arguments, flows, call stack.
//
// A stream is a Header, Events in the order of time, and a Footer, each behind its length as a varint, as protobuf's libraries
// write delimited messages. convert.Open reads it back; a stream without Footer is incomplete.
//
// What does not live here: Perfetto's packets (package pftrace), and files, parts, filters and compression, which the command
// weft export has.
package events

import (
	"context"
	"fmt"
	"io"

	"github.com/weft-trace/weft/internal/bridge"
	"github.com/weft-trace/weft/internal/eventstream"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/trace"
)

// Options say what the header of a stream tells about the trace. The zero value is ready to use.
type Options struct {
	Input  string // the name of the file that the trace was read from
	Format string // its format, as convert.Report has it
	Bytes  uint64 // its size
	SHA256 string // of its content, in hexadecimal digits. It decides about the id of the stream
}

// Write writes a trace as a stream of events. Equal traces and options give equal bytes. The stream is not compressed; one that
// went through gzip or zstd is read back as well.
//
// The error is one of dst, of temporary files, or ctx's. A trace that was itself read from a stream is refused.
func Write(ctx context.Context, dst io.Writer, tr *trace.Trace, opts Options) error {
	tl, err := bridge.TimelineOf(tr)
	if err != nil {
		return fmt.Errorf("events: %w", err)
	}
	header := eventstream.Header{WeftVersion: pfwire.Version, Clock: tl.Clocks(), Attributes: tl.Attributes()}
	if opts != (Options{}) {
		header.Inputs = []eventstream.Input{{Name: opts.Input, Format: opts.Format, Bytes: opts.Bytes, SHA256: opts.SHA256}}
	}
	return eventstream.Write(ctx, dst, tl, &header)
}
