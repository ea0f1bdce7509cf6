package convert

import (
	"context"
	"errors"
	"io"

	"github.com/weft-trace/weft/internal/bridge"
	"github.com/weft-trace/weft/trace"
)

// Open reads a trace of any format from src and resolves it, for programs that want its events. The trace must be closed;
// src is not needed any more when Open returns.
//
// Options that only concern an output have no effect: Compression, Packets, Samples and KeepPackets. With Attribute the trace
// holds what attribution adds to an output, as WriteBack says: notes, tracks and facts. To ask for whom the work was done
// leave it nil and call attribution.Run. Memory and TempDir also hold for what the trace needs while it is open.
//
// Errors are as for Convert: bad data inside a readable input is not an error, it is counted, see trace.Trace.Problems. When
// ctx is done, Open returns its error soon, and so do loops over what it returned: ctx governs the trace as long as it is open.
func Open(ctx context.Context, src io.Reader, opts Options) (*trace.Trace, error) {
	opts.KeepPackets, opts.Samples = false, ""
	tl, report, err := load(ctx, src, opts)
	if err != nil {
		return nil, err
	}
	if opts.NoLongTasks {
		if err := tl.HideLongTasks(); err != nil {
			return nil, errors.Join(err, tl.Close())
		}
	}
	if opts.Report != nil {
		report.addFacts(tl)
		*opts.Report = *report
	}
	return bridge.Trace[trace.Trace](ctx, tl), nil
}

// Inspect reads a trace from src as Open does and says what is in it. The report has everything but what concerns an output.
func Inspect(ctx context.Context, src io.Reader, opts Options) (*Report, error) {
	opts.KeepPackets, opts.Samples = false, ""
	tl, report, err := load(ctx, src, opts)
	if err != nil {
		return nil, err
	}
	report.addFacts(tl)
	return report, tl.Close()
}
