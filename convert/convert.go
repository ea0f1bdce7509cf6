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
// flow), writing a trace that a program made and verifying one (package pftrace).
package convert

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/weft-trace/weft/internal/attribution/cost"
	"github.com/weft-trace/weft/internal/attribution/evidence"
	"github.com/weft-trace/weft/internal/attribution/writeback"
	"github.com/weft-trace/weft/internal/bridge"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers/chromejson"
	"github.com/weft-trace/weft/internal/readers/cpuprofile"
	"github.com/weft-trace/weft/internal/readers/firefox"
	"github.com/weft-trace/weft/internal/readers/har"
	"github.com/weft-trace/weft/internal/readers/otlp"
	"github.com/weft-trace/weft/internal/readers/perfetto"
	"github.com/weft-trace/weft/internal/readers/probes"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/unpack"
	"github.com/weft-trace/weft/internal/v8profile"
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
	began := time.Now()
	if err := opts.complete(); err != nil {
		return nil, err
	}
	l := newLoader(opts.withIntervals())
	defer l.close()
	tl, err := l.load(ctx, src)
	if err != nil {
		return nil, err
	}
	defer tl.Close()
	if l.kept != nil && l.attributed != nil {
		if added := writeback.Of(l.attributed, writeback.Parts(opts.WriteBack)); added.CanRewrite() {
			return l.keep(dst, tl, began, func(dst io.Writer, src io.Reader) error {
				return errors.Join(added.Rewrite(ctx, dst, src, l.kept.events), l.attributed.Close())
			})
		}
	}
	writeback.MarkConverted(tl)
	if err := l.markLongTasks(tl); err != nil {
		return nil, err
	}
	changed, err := l.attach(ctx)
	if err != nil {
		return nil, err
	}
	damaged := l.problems.Count(problem.PacketMalformed)+l.problems.Count(problem.PacketTruncated) > 0
	if l.kept != nil && !changed && !damaged {
		return l.keep(dst, tl, began, func(dst io.Writer, src io.Reader) error {
			_, err := io.Copy(dst, src)
			return err
		})
	}
	report := l.report
	describe(tl, report)
	writing := time.Now()
	counted := &countingWriter{w: dst}
	wire, err := l.opts.wire()
	if err != nil {
		return nil, err
	}
	wire.Workers, wire.Buffers = opts.workers(), &c.packets
	if err := pfwire.Write(ctx, counted, tl, wire); err != nil {
		return nil, err
	}
	report.BytesOut = counted.n
	report.count(tl)
	report.Events.Samples = l.opts.samplesWritten(tl)
	report.Durations.Write = time.Since(writing)
	report.Durations.Total = time.Since(began)
	return report, nil
}

// markLongTasks adds the marks of long tasks, with what an attribution says of them that is not attached yet, or takes those of an input that weft wrote away. A trace that is kept packet by
// packet stays as it is.
func (l *loader) markLongTasks(tl *timeline.Timeline) error {
	switch {
	case l.kept != nil:
		return nil
	case l.opts.NoLongTasks:
		return tl.HideLongTasks()
	}
	var describe func(timeline.LongTask, *timeline.ArgsEncoder)
	if l.attributed != nil {
		describe = writeback.Of(l.attributed, writeback.Parts(l.opts.WriteBack)).DescribeTask()
	}
	tl.MarkLongTasks(describe)
	return nil
}

// describe notes in the trace where it comes from and what is wrong with it, for those who get only the result.
func describe(tl *timeline.Timeline, r *Report) {
	tl.SetAttribute(timeline.Attribute{Key: "weft.input_format", Text: string(r.Format)})
	for _, total := range tl.Problems().Totals() {
		tl.SetAttribute(timeline.Attribute{Key: "weft.problem." + total.Kind.Name(), Int: int64(total.Count), IsInt: true})
	}
}

// load reads a trace from src and resolves it. The report has everything but what concerns an output.
func load(ctx context.Context, src io.Reader, opts Options) (*timeline.Timeline, *Report, error) {
	began := time.Now()
	if err := opts.complete(); err != nil {
		return nil, nil, err
	}
	l := newLoader(opts.withIntervals())
	defer l.close() // a trace that was kept, too: nothing is written beside its packets
	tl, err := l.load(ctx, src)
	if err != nil {
		return nil, nil, err
	}
	if _, err := l.attach(ctx); err != nil {
		return nil, nil, errors.Join(err, tl.Close())
	}
	report := l.report
	walked := func() {
		report.count(tl)
		report.Durations.Total = time.Since(began)
		if opts.Report != nil {
			*opts.Report = *report
		}
	}
	if bridge.LeaveWalk(ctx, walked) {
		return tl, report, nil
	}
	// A walk finds the last problems: what cannot be written as it is.
	if err := tl.Walk(ctx, func(*timeline.Item) error { return nil }); err != nil {
		return nil, nil, errors.Join(err, tl.Close())
	}
	walked()
	return tl, report, nil
}

// load does all but the counting of events and tracks.
func (l *loader) load(ctx context.Context, src io.Reader) (*timeline.Timeline, error) {
	if l.opts.Attribute != nil && !l.opts.allArgs() {
		return nil, errors.Join(errAttributionArgs, l.builder.Close())
	}
	began := time.Now()
	if err := l.readInput(ctx, src); err != nil {
		return nil, errors.Join(err, l.builder.Close())
	}
	l.report.Durations.Read = time.Since(began)

	began = time.Now()
	tl, err := l.builder.Finish(ctx)
	if err != nil {
		return nil, errors.Join(err, l.builder.Close())
	}
	l.report.Profiles = l.js.list(tl)
	if l.report.JSCalls, err = l.js.addCalls(ctx, tl); err != nil {
		return nil, errors.Join(err, tl.Close())
	}
	if err := l.closeProfiles(); err != nil {
		return nil, errors.Join(err, tl.Close())
	}
	l.report.Durations.Resolve = time.Since(began)
	if err := l.resolve(ctx, tl); err != nil {
		return nil, errors.Join(err, tl.Close())
	}
	return tl, nil
}

// loader reads an input into a timeline.
type loader struct {
	opts      Options
	problems  *problem.Log
	builder   *timeline.Builder
	js        jsThreads
	assembled []*v8profile.Assembler // one for each input with profiles
	report    *Report

	reading   bool             // of a merge: the events are being read, not the clues
	profileOf timeline.TrackID // of a merge: the thread that the .cpuprofile being read is of; 0: one of its own
	pages     pages            // of a merge: where the self-profiles being read go

	attributed *cost.Result // nil if that was not asked for
	kept       *keptTrace   // nil if it is not kept
}

// closeProfiles frees what is held of V8's samples.
func (l *loader) closeProfiles() error {
	l.js.threads = nil
	var err error
	for _, a := range l.assembled {
		err = errors.Join(err, a.Close())
	}
	l.assembled = nil
	return err
}

func newLoader(opts Options) *loader {
	l := &loader{opts: opts, problems: new(problem.Log), report: &Report{}}
	l.builder = timeline.NewBuilder(timeline.Options{
		Memory:   opts.Memory,
		TempDir:  opts.TempDir,
		Problems: l.problems,
		Moved:    timeline.Nanos(opts.TimeOffset),

		KnownName:   evidence.Knows,
		KeepFlowIDs: opts.KeepFlowIDs,
	})
	l.js = jsThreads{opts: &l.opts, problems: l.problems}
	return l
}

// readInput reads the input, or all inputs of a merge.
func (l *loader) readInput(ctx context.Context, src io.Reader) error {
	if done, err := l.readMerged(ctx); done {
		return err
	}
	return l.read(ctx, src)
}

// read unpacks the input, finds its format and lets the reader of that format fill the builder.
func (l *loader) read(ctx context.Context, src io.Reader) error {
	unpacked, err := unpack.Open(ctx, src, l.opts.TempDir)
	if err != nil {
		return err
	}
	defer unpacked.Close()
	plain := newReplay(unpacked, replayMemory, l.opts.TempDir)
	defer plain.Close()

	r := l.report
	r.Format = l.opts.From
	if r.Format == FormatAuto {
		if r.Format, err = detect(plain); err != nil {
			return err
		}
	}
	if err := l.opts.SelfProfile.check(r.Format); err != nil {
		return err
	}
	counted := &countingReader{r: plain}
	if r.Format == FormatPerfetto && l.opts.KeepPackets {
		if err := l.keepTrace(counted); err != nil {
			return err
		}
	}
	if err := l.readFormat(ctx, counted, r.Format); err != nil {
		return err
	}
	r.Containers = unpacked.Containers
	r.BytesIn = unpacked.PackedBytes()
	r.BytesUnpacked = counted.n
	if damage := unpacked.Damage(); damage != nil {
		l.problems.Add(problem.ContainerDamaged, problem.Position{Event: -1, Offset: counted.n}, damage.Error())
	}
	return nil
}

// readFormat reads an input of a format, until that takes more memory than it may.
func (l *loader) readFormat(ctx context.Context, r io.Reader, f Format) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	l.builder.WhenFull(stop)
	defer l.builder.WhenFull(nil)
	err := l.readKnown(ctx, r, f)
	if full := l.builder.Full(); full != nil {
		return full
	}
	return err
}

func (l *loader) readKnown(ctx context.Context, r io.Reader, f Format) error {
	b, log, opts := l.builder, l.problems, &l.opts
	if opts.Profile != "" && opts.Profile != ProfileAll && f != FormatChromeJSON && f != FormatPerfetto {
		return fmt.Errorf("this is %s; a V8 profile can be chosen in %s or %s", formats[f], formats[FormatChromeJSON],
			formats[FormatPerfetto])
	}
	switch f {
	case FormatChromeJSON:
		return l.readChrome(ctx, r)
	case FormatPerfetto:
		if opts.TimeOffset != 0 {
			return errors.New("a time offset cannot be added to a Perfetto trace, whose clocks are defined")
		}
		return l.readPerfetto(ctx, r)
	case FormatCPUProfile:
		return cpuprofile.Read(ctx, r, b, l.cpuProfile())
	case FormatFirefox:
		return firefox.Read(ctx, r, b, firefox.Options{
			Problems: log,
			KeepArg:  opts.keepArg(),
			Offset:   timeline.Nanos(opts.TimeOffset),
			JSCalls:  opts.JSCalls != JSCallsOff,

			NoScreenshots: opts.NoScreenshots,
		})
	case FormatJSProfile:
		return l.readSelfProfile(ctx, r)
	case FormatProbes:
		return probes.Read(ctx, r, b, probes.Options{
			Problems: log, Offset: timeline.Nanos(opts.TimeOffset), KeepArg: opts.keepArg(), Memory: opts.Memory, TempDir: opts.TempDir,
		})
	case FormatOTLP:
		return otlp.Read(ctx, r, b, otlp.Options{
			Problems: log, Offset: timeline.Nanos(opts.TimeOffset), KeepArg: opts.keepArg(), Memory: opts.Memory, TempDir: opts.TempDir,
		})
	case FormatHAR:
		return har.Read(ctx, r, b, har.Options{
			Problems: log, Offset: timeline.Nanos(opts.TimeOffset), KeepArg: opts.keepArg(), Memory: opts.Memory, TempDir: opts.TempDir,
		})
	}
	return fmt.Errorf("%w: %s", ErrUnknownFormat, f)
}

// readChrome reads a Chrome JSON trace and what its V8 profiles make of it.
func (l *loader) readChrome(ctx context.Context, r io.Reader) error {
	opts := chromejson.Options{
		Problems: l.problems,
		Args:     l.opts.chromeJSONArgs(),
		Offset:   timeline.Nanos(l.opts.TimeOffset),
		Workers:  l.opts.workers(),

		NoScreenshots: l.opts.NoScreenshots,
	}
	opts.Profiles = l.profileAssembler()
	if err := chromejson.Read(ctx, r, l.builder, opts); err != nil {
		return err
	}
	return l.js.addProfiles(ctx, l.builder, opts.Profiles)
}

// readPerfetto reads a Perfetto trace and what its V8 profiles make of it. Of a trace that is kept packet by packet they stay
// events: calls would have no packets.
func (l *loader) readPerfetto(ctx context.Context, r io.Reader) error {
	opts := l.perfettoOptions()
	if l.kept == nil {
		opts.Profiles = l.profileAssembler()
	}
	if err := perfetto.Read(ctx, r, l.builder, opts); err != nil {
		return err
	}
	return l.js.addProfiles(ctx, l.builder, opts.Profiles)
}

type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}
