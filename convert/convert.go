// Package convert turns traces in several formats into Perfetto traces. It implements the command weft convert, and is the
// starting point for programs that use weft as a library:
//
//	report, err := convert.Convert(ctx, out, in, convert.Options{})
//
// Convert unpacks gzip, zstd and zip, detects the format by content, reads the events, resolves nesting and flows, and writes the
// result. Open returns the trace instead of writing it, for programs that read the events; Inspect only reports on a trace.
//
// What does not live here: the model of a trace (package trace), contexts and costs (package attribution), flows (package flow),
// writing and verifying traces (package pftrace), and the implementation (internal/load).
package convert

import (
	"context"
	"errors"
	"io"

	"github.com/weft-trace/weft/internal/load"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
)

// Convert reads a trace from src and writes it to dst as a Perfetto trace. The same input and options produce the same bytes.
//
// Bad data in a readable input is not an error; the report counts it. For an unreadable input, Convert returns an error that
// states the position. When Convert returns an error, dst may contain part of a trace.
//
// When ctx is done, Convert returns promptly, even if src blocks: a goroutine reads src a few chunks ahead. If Convert returns
// before the end of src, usually with an error, a last Read of src may still be running.
//
// To convert many traces, reuse a Converter.
func Convert(ctx context.Context, dst io.Writer, src io.Reader, opts Options) (*Report, error) {
	return new(Converter).Convert(ctx, dst, src, opts)
}

// A Converter converts traces one at a time. It reuses memory and compressors, whose setup dominates the conversion of a small
// trace. The zero Converter is ready to use. It is not safe for concurrent use.
type Converter struct {
	packets pfwire.Buffers
}

// Convert is like the function Convert but reuses c's memory; its output is the same.
func (c *Converter) Convert(ctx context.Context, dst io.Writer, src io.Reader, opts Options) (*Report, error) {
	if opts.KeepPackets && opts.Attribute != nil {
		return load.KeepPackets(ctx, dst, src, opts, &c.packets)
	}
	t, err := load.One(ctx, src, opts)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	if err := t.Write(ctx, dst, &c.packets); err != nil {
		return nil, err
	}
	return t.Report, nil
}

// Open reads a trace of any format from src and resolves it, for programs that read its events. The caller must close
// the trace; src is not used after Open returns.
//
// Options that concern only an output have no effect: Compression, Packets, Samples and KeepPackets. With Attribute, the trace
// contains the additions that attribution writes to an output, as WriteBack specifies: notes, tracks and facts. For the
// attribution itself, leave Attribute nil and call attribution.Run. Memory and TempDir also apply to the open trace.
//
// Errors are as for Convert: bad data in a readable input is counted, see trace.Trace.Problems. ctx applies until the trace is
// closed: when ctx is done, Open and loops over the trace return promptly.
func Open(ctx context.Context, src io.Reader, opts Options) (*trace.Trace, error) {
	t, err := inspected(ctx, src, opts)
	if err != nil {
		return nil, err
	}
	if opts.Report != nil {
		*opts.Report = *t.Report
	}
	tr := new(trace.Trace)
	timeline.Hold(ctx, tr, t.Timeline)
	return tr, nil
}

// Inspect reads a trace from src, as Open does, and reports on it. The report lacks only the parts that concern an output.
func Inspect(ctx context.Context, src io.Reader, opts Options) (*Report, error) {
	t, err := inspected(ctx, src, opts)
	if err != nil {
		return nil, err
	}
	return t.Report, t.Close()
}

// inspected reads a trace and finds all problems in it.
func inspected(ctx context.Context, src io.Reader, opts Options) (*load.Trace, error) {
	opts.Samples = ""
	t, err := load.One(ctx, src, opts)
	if err != nil {
		return nil, err
	}
	if err = t.Attach(); err == nil {
		err = t.Walk(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}
