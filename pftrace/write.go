package pftrace

import (
	"context"
	"io"

	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
)

// Options configures Write. The zero value writes uncompressed, easily readable packets with all sample data.
type Options struct {
	Compression Compression
	Packets     Packets
	Samples     Samples
	// Workers is the number of goroutines that encode and compress; 0 means one per processor. It does not affect the output.
	Workers int
}

// Compression is a codec with an optional level: zlib:1 to zlib:9, zstd:1 to zstd:22. Higher levels are slower and produce
// smaller files; the default levels are zlib:2 and zstd:3. The zero value means Uncompressed.
type Compression string

const (
	// Uncompressed writes packets without compression.
	Uncompressed Compression = "none"
	// Zlib bundles packets and compresses them with zlib, which every version of Perfetto reads.
	Zlib Compression = "zlib"
	// Zstd bundles packets and compresses them with zstd, which Perfetto has read since v58.
	Zstd Compression = "zstd"
)

// Packets is the form of the event packets. The zero value means Plain.
type Packets string

const (
	// Plain writes each packet with its time in nanoseconds and its track. Programs that read a trace packet by packet need
	// nothing else except interned data.
	Plain Packets = "plain"
	// Compact writes times and thread times as differences from the previous ones, in microseconds if all times are whole
	// microseconds, and omits the track with the most events. The compressed trace is smaller by a third, or by half if events
	// have no arguments. Chrome writes its traces in this form.
	Compact Packets = "compact"
)

// Samples is the form of call-stack samples. The zero value means StackSample.
type Samples string

const (
	// StackSample writes each sample with its exact time, weight, counter and processor. Perfetto has read such samples since
	// v58; earlier versions skip them silently.
	StackSample Samples = "stack-sample"
	// NoSamples omits samples.
	NoSamples Samples = "none"
)

// Write writes a trace as a Perfetto trace. Packets are in time order; equal traces and options give equal bytes. All Perfetto
// versions since v49 read everything, with three exceptions: call stacks of events need v53, the order of processes and threads
// needs v57 and, depending on Options.Samples, samples need v58. Earlier versions skip these data.
//
// Errors come from the options, dst, temporary files or ctx.
func Write(ctx context.Context, dst io.Writer, tr *trace.Trace, opts Options) error {
	wire, err := pfwire.ParseOptions(string(opts.Compression), string(opts.Packets), string(opts.Samples))
	if err != nil {
		return err
	}
	wire.Workers = opts.Workers
	return pfwire.Write(ctx, dst, timeline.Of(tr), wire)
}
