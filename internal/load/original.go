package load

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/weft-trace/weft/internal/attribution/writeback"
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers/perfetto"
	"github.com/weft-trace/weft/internal/timeline"
)

// KeepPackets converts a trace with an attribution, as One and Write do, but copies a Perfetto trace packet by packet and adds
// packets for the attribution. It encodes the trace anew if the trace is damaged or already has a different attribution.
func KeepPackets(ctx context.Context, dst io.Writer, src io.Reader, opts Options, buffers *pfwire.Buffers) (*Report, error) {
	var original *originalTrace
	defer func() { original.Close() }()
	t, err := load(ctx, opts, nil, func(l *loader) error {
		return l.readOne(ctx, src, func(ctx context.Context, r io.Reader, f Format) (err error) {
			if f != FormatPerfetto {
				return l.readFormat(ctx, r, f)
			}
			if original, err = newOriginalTrace(&l.opts); err != nil {
				return err
			}
			return original.read(ctx, l, r)
		})
	})
	if err != nil {
		return nil, err
	}
	defer t.Close()
	if original != nil {
		return t.Report, original.write(ctx, dst, t, buffers)
	}
	return t.Report, t.Write(ctx, dst, buffers)
}

// originalTrace is a copy of a Perfetto trace, with the positions of the packets that contain its events.
type originalTrace struct {
	file   *extsort.File
	events *writeback.Packets
}

func newOriginalTrace(opts *Options) (*originalTrace, error) {
	file, err := extsort.NewFile(opts.TempDir)
	if err != nil {
		return nil, err
	}
	memory := opts.Memory
	if memory <= 0 {
		memory = timeline.DefaultMemory
	}
	return &originalTrace{file, writeback.NewPackets(memory/16, opts.TempDir)}, nil
}

// Close removes the temporary copy.
func (k *originalTrace) Close() error {
	if k == nil {
		return nil
	}
	return errors.Join(k.file.Close(), k.events.Close())
}

// read reads and copies the trace. It keeps the events of V8 profiles as events, because calls would have no packets.
func (k *originalTrace) read(ctx context.Context, l *loader, r io.Reader) error {
	opts, err := l.perfettoOptions()
	if err != nil {
		return err
	}
	opts.Located, opts.Described = k.events.Add, k.events.AddThread
	return perfetto.Read(ctx, io.TeeReader(r, k.file), l.builder, opts)
}

// write writes the trace with the attribution: it inserts the attribution into the copy, writes the copy unchanged if the copy
// already contains exactly this attribution, or encodes the trace anew.
func (k *originalTrace) write(ctx context.Context, dst io.Writer, t *Trace, buffers *pfwire.Buffers) error {
	added := t.additions()
	if added.CanRewrite() {
		return k.copy(t, dst, func(dst io.Writer, src io.Reader) error { return added.Rewrite(ctx, dst, src, k.events) })
	}
	writeback.MarkConverted(t.Timeline)
	began := time.Now()
	changed, err := added.AttachChanged(ctx)
	if err = errors.Join(err, t.closeAttribution()); err != nil {
		return err
	}
	t.Report.Durations.Attribute += time.Since(began)
	problems := t.Timeline.Problems()
	if !changed && problems.Count(problem.PacketMalformed)+problems.Count(problem.PacketTruncated) == 0 {
		return k.copy(t, dst, func(dst io.Writer, src io.Reader) error {
			_, err := io.Copy(dst, src)
			return err
		})
	}
	return t.write(ctx, dst, buffers)
}

// copy calls the function write, which writes the copy to dst. It records the size of the output and the duration of the call.
func (k *originalTrace) copy(t *Trace, dst io.Writer, write func(dst io.Writer, src io.Reader) error) error {
	began := time.Now()
	counted := &countingWriter{w: dst}
	if err := k.file.Flush(); err != nil {
		return err
	}
	if err := write(counted, k.file.Section(0, k.file.Size())); err != nil {
		return err
	}
	t.Report.BytesOut, t.Report.Copied, t.Report.Durations.Write = counted.n, true, time.Since(began)
	t.Count()
	return nil
}
