package pftrace

import (
	"context"
	"io"

	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
)

// Options configure Write. The zero value writes packets that are not compressed and easy to read, with all that is known
// of samples.
type Options struct {
	Compression Compression
	Packets     Packets
	Samples     Samples
	// Workers is the number of goroutines that encode and compress; 0 means one for each processor. It does not change the
	// output.
	Workers int
}

// Compression says how packets are compressed. The zero value is Uncompressed. A level may follow the name of a codec: zlib:1
// to zlib:9, zstd:1 to zstd:22. Higher levels take longer and give smaller files; without one it is zlib:2 or zstd:3.
type Compression string

const (
	// Uncompressed writes packets as they are.
	Uncompressed Compression = "none"
	// Zlib bundles packets and compresses them with zlib, which every version of Perfetto reads.
	Zlib Compression = "zlib"
	// Zstd bundles packets and compresses them with zstd, which Perfetto reads since v58.
	Zstd Compression = "zstd"
)

// Packets says in which form events are written. The zero value is Plain.
type Packets string

const (
	// Plain gives each packet its time in nanoseconds and its track. A program that reads a trace packet by packet needs to
	// know of interned data only.
	Plain Packets = "plain"
	// Compact gives the time since the packet before and the thread time since the one before, in microseconds where all
	// times are whole ones, and leaves out the track with most events. The trace is smaller by a third, without arguments by
	// half when compressed. Chrome writes its traces in this form.
	Compact Packets = "compact"
)

// Samples says in which form samples of call stacks are written. The zero value is StackSample.
type Samples string

const (
	// StackSample writes each sample with its exact time, weight, counter and processor. Perfetto reads them since v58;
	// earlier versions skip them silently.
	StackSample Samples = "stack-sample"
	// NoSamples leaves samples out.
	NoSamples Samples = "none"
)

// Write writes a trace as a Perfetto trace. Packets come in time order; equal traces and options give equal bytes. All
// versions of Perfetto since v49 read everything but call stacks of events (v53), the order of processes and threads
// (v57) and, depending on Options.Samples, samples (v58), which they leave out.
//
// The error is one of the options, of dst, of temporary files, or ctx's.
func Write(ctx context.Context, dst io.Writer, tr *trace.Trace, opts Options) error {
	wire, err := pfwire.ParseOptions(string(opts.Compression), string(opts.Packets), string(opts.Samples))
	if err != nil {
		return err
	}
	wire.Workers = opts.Workers
	return pfwire.Write(ctx, dst, timeline.Of(tr), wire)
}
