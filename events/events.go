// Package events writes the resolved events of a trace as a stream of protobuf messages, for programs in any language. The
// messages belong to weft.v1; the command weft schema prints the schema. Each event is self-contained: absolute times, nesting,
// names, typed arguments, flows and call stack.
//
// A stream is a Header, Events in time order, and a Footer, each preceded by its length as a varint, the usual form of delimited
// protobuf messages. Programs read it with code generated from the schema; a stream without a Footer is incomplete. weft itself
// does not read streams.
//
// What does not live here: Perfetto packets (package pftrace), and files, parts, filters and compression, which belong to the
// command weft export.
package events

import (
	"context"
	"io"

	"github.com/weft-trace/weft/internal/eventstream"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
)

// Options provides facts about the trace for the stream header. The zero value is ready to use.
type Options struct {
	Input  string // file name of the trace
	Format string // input format, as in convert.Report
	Bytes  uint64 // size of the file in bytes
	SHA256 string // of the file's contents, in hexadecimal digits; part of the stream's id
}

// Write writes a trace as an uncompressed stream of events. Equal traces and options give equal bytes.
//
// Errors come from dst, from temporary files or from ctx.
func Write(ctx context.Context, dst io.Writer, tr *trace.Trace, opts Options) error {
	tl := timeline.Of(tr)
	header := eventstream.Header{WeftVersion: pfwire.Version, Clock: tl.Clocks(), Attributes: tl.Attributes()}
	if opts != (Options{}) {
		header.Inputs = []eventstream.Input{{Name: opts.Input, Format: opts.Format, Bytes: opts.Bytes, SHA256: opts.SHA256}}
	}
	return eventstream.Write(ctx, dst, tl, &header)
}
