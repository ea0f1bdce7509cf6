// Package convert turns traces of several formats into Perfetto traces. It is what the command weft convert runs, and
// the place to start for programs that use weft as a library:
//
//	report, err := convert.Convert(ctx, out, in, convert.Options{})
//
// Convert unpacks gzip, zstd and zip, recognizes the format by the content, reads the events, resolves nesting and flows,
// and writes the result. Open stops before writing and gives the trace, for programs that want to look at the events;
// Inspect only says what is in a trace.
//
// What does not live here: the model of a trace (package trace), contexts and costs (package attribution), flows (package
// flow), writing a trace that a program made and verifying one (package pftrace); and the work, which is in internal/load.
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

// Convert reads a trace from src and writes it to dst as a Perfetto trace. The same input and options give the same
// bytes.
//
// An input that cannot be read is an error, which says where in the input it was found; bad data inside a readable
// input is not, it is counted in the report. When Convert returns an error, dst may hold a part of a trace.
//
// When ctx is done Convert returns its error soon, even if src blocks. That is why src is read in a goroutine, some
// chunks ahead: when Convert returns before the end of src, after an error most of all, a last Read of src may still be
// under way.
//
// Reuse a Converter to convert many traces.
func Convert(ctx context.Context, dst io.Writer, src io.Reader, opts Options) (*Report, error) {
	return new(Converter).Convert(ctx, dst, src, opts)
}

// A Converter converts one trace after the other. It keeps memory and compressors from one for the next, which are most
// of the work on a small trace. The zero Converter is ready to use. It must not be used by several goroutines at once.
type Converter struct {
	packets pfwire.Buffers
}

// Convert does what the function Convert does, and gives the same bytes.
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

// Open reads a trace of any format from src and resolves it, for programs that want its events. The trace must be closed;
// src is not needed any more when Open returns.
//
// Options that only concern an output have no effect: Compression, Packets, Samples and KeepPackets. With Attribute the trace
// holds what attribution adds to an output, as WriteBack says: notes, tracks and facts. To ask for whom the work was done
// leave it nil and call attribution.Run. Memory and TempDir also hold for what the trace needs while it is open.
//
// Errors are as for Convert: bad data inside a readable input is not an error, it is counted, see trace.Trace.Problems. When
// ctx is done, Open returns its error soon, and so do loops over what it returned: ctx governs the trace until it is closed.
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

// Inspect reads a trace from src as Open does and says what is in it. The report has everything but what concerns an output.
func Inspect(ctx context.Context, src io.Reader, opts Options) (*Report, error) {
	t, err := inspected(ctx, src, opts)
	if err != nil {
		return nil, err
	}
	return t.Report, t.Close()
}

// inspected reads a trace, all of whose problems are known.
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
