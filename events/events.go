// Package events writes the resolved events of a trace as a stream of protobuf messages, for programs in any language:
// weft.v1, whose schema weft schema prints. Each event is complete in itself: absolute times, the place in the nesting, names,
// typed arguments, flows, call stack.
//
// A stream is a Header, Events in the order of time, and a Footer, each preceded by its length as a varint, as protobuf's libraries
// write delimited messages. Programs read it with the code that protobuf generates from the schema; a stream without Footer is
// incomplete. weft itself does not read streams.
//
// What does not live here: Perfetto's packets (package pftrace), and files, parts, filters and compression, which the command
// weft export has.
package events

import (
	"context"
	"io"

	"github.com/weft-trace/weft/internal/eventstream"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
)

// Options say what the header of a stream tells about the trace. The zero value is ready to use.
type Options struct {
	Input  string // the name of the file that the trace was read from
	Format string // its format, as convert.Report has it
	Bytes  uint64 // its size
	SHA256 string // of its content, in hexadecimal digits. It decides about the id of the stream
}

// Write writes a trace as a stream of events. Equal traces and options give equal bytes. The stream is not compressed.
//
// The error is one of dst, of temporary files, or ctx's.
func Write(ctx context.Context, dst io.Writer, tr *trace.Trace, opts Options) error {
	tl := timeline.Of(tr)
	header := eventstream.Header{WeftVersion: pfwire.Version, Clock: tl.Clocks(), Attributes: tl.Attributes()}
	if opts != (Options{}) {
		header.Inputs = []eventstream.Input{{Name: opts.Input, Format: opts.Format, Bytes: opts.Bytes, SHA256: opts.SHA256}}
	}
	return eventstream.Write(ctx, dst, tl, &header)
}
