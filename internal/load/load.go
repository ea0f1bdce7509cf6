// Package load reads a trace in any format, or merges several traces, into a resolved timeline.
//
//	t, err := load.One(ctx, src, opts)
//	t, err := load.OneWithSurvey(ctx, src, opts, survey)
//	t, err := load.Many(ctx, job, opts)
//
// One and Many unpack the input (package inputs), detect its format (detect.go), let the format's reader fill a timeline.Builder
// (readFormat), derive calls from V8 samples (jscalls.go), resolve nesting and flows (package flowbind) and, if requested,
// attribute the work (package attribution). Many reads each input twice: once for clues to its offset, and once for its events
// (many.go, package merge). The caller decides how to use the Trace: Write writes it; Attach and Walk prepare it for callers that
// read the events. KeepPackets implements weft attribute (original.go).
//
// What does not live here: the public form of this API (package convert), flags and files (cmd/weft).
package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	engine "github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/readers/chromejson"
	"github.com/weft-trace/weft/internal/readers/cpuprofile"
	"github.com/weft-trace/weft/internal/readers/firefox"
	"github.com/weft-trace/weft/internal/readers/har"
	"github.com/weft-trace/weft/internal/readers/otlp"
	"github.com/weft-trace/weft/internal/readers/perfetto"
	"github.com/weft-trace/weft/internal/readers/probes"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// A Trace is a resolved timeline with its report. Count completes the report with facts that only a walk over all events reveals.
type Trace struct {
	Timeline *timeline.Timeline
	Report   *Report

	opts       Options
	began      time.Time
	attributed *engine.Result // not yet attached to the timeline; may be nil
}

// One reads a trace from src. It returns the same errors as convert.Convert.
func One(ctx context.Context, src io.Reader, opts Options) (*Trace, error) {
	return OneWithSurvey(ctx, src, opts, nil)
}

// OneWithSurvey is One for a trace that is both reported on and written: survey receives the trace before attribution, with a
// separate report that survey can complete. Problems that survey adds do not appear in the returned trace, which equals the
// result of One.
func OneWithSurvey(ctx context.Context, src io.Reader, opts Options, survey func(*Trace) error) (*Trace, error) {
	return load(ctx, opts, survey, func(l *loader) error { return l.readOne(ctx, src, l.readFormat) })
}

// Close frees the trace's memory and removes its temporary files.
func (t *Trace) Close() error { return errors.Join(t.closeAttribution(), t.Timeline.Close()) }

func (t *Trace) closeAttribution() error {
	if t.attributed == nil {
		return nil
	}
	err := t.attributed.Close()
	t.attributed = nil
	return err
}

// load reads a trace, resolves it and attributes its work; survey may be nil.
func load(ctx context.Context, opts Options, survey func(*Trace) error, read func(l *loader) error) (*Trace, error) {
	began := time.Now()
	if err := opts.complete(); err != nil {
		return nil, err
	}
	if opts.Attribute != nil && !opts.allArgs() {
		return nil, errAttributionArgs
	}
	l := newLoader(opts)
	defer l.closeProfiles()
	if err := read(l); err != nil {
		return nil, errors.Join(err, l.builder.Close())
	}
	l.report.Durations.Read = time.Since(began)
	tl, err := l.resolve(ctx)
	if err != nil {
		return nil, errors.Join(err, l.builder.Close())
	}
	t := &Trace{Timeline: tl, Report: l.report, opts: opts, began: began}
	if survey != nil {
		surveyed, report := *t, *l.report
		surveyed.Report = &report
		err = tl.WithOwnProblems(func() error { return survey(&surveyed) })
	}
	if err == nil {
		err = t.attribute(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, t.Close())
	}
	return t, nil
}

// errAttributionArgs is the error for options that would drop arguments that attribution reads.
var errAttributionArgs = errors.New("attribution needs all arguments of events")

// attribute attributes the work to contexts if this was requested.
func (t *Trace) attribute(ctx context.Context) (err error) {
	if t.opts.Attribute == nil {
		return nil
	}
	began := time.Now()
	opts := *t.opts.Attribute
	opts.Workers = cmp.Or(opts.Workers, t.opts.workers())
	opts.Intervals = opts.Intervals || !t.opts.WriteBack.NoTracks // tracks require them
	rules, err := engine.RulesOf(&opts)
	if err != nil {
		return err
	}
	if t.attributed, err = engine.Run(ctx, t.Timeline, rules); err != nil {
		return err
	}
	contexts := tables.Of(t.attributed)
	t.Report.Contexts = append([]string{}, slices.DeleteFunc(contexts.Types(), contexts.IsDerived)...)
	t.Report.Durations.Attribute = time.Since(began)
	return nil
}

// loader reads one or more inputs into a Builder.
type loader struct {
	opts       Options
	problems   *problem.Log
	builder    *timeline.Builder
	args       timeline.ArgFilter // selects the arguments that readers keep
	whole      *timeline.Builder  // receives all events; differs from builder while one input of a merge is read
	threads    []*jsThread
	v8Profiles []foundProfile         // all V8 profiles in the trace
	assembled  []*v8profile.Assembler // one for each input with profiles
	report     *Report

	profileOf timeline.TrackID // in a merge: the thread sampled by the current .cpuprofile; 0: unknown
	pages     pages            // in a merge: tracks and offsets of the current self-profiles
}

func newLoader(opts Options) *loader {
	l := &loader{opts: opts, problems: new(problem.Log), report: &Report{}, args: opts.argFilter()}
	l.builder = timeline.NewBuilder(timeline.Options{
		Memory:   opts.Memory,
		TempDir:  opts.TempDir,
		Problems: l.problems,
		Moved:    timeline.Nanos(opts.TimeOffset),

		KnownName:   engine.Knows,
		KeepFlowIDs: opts.KeepFlowIDs,
	})
	l.whole = l.builder
	return l
}

// closeProfiles frees the memory that V8 samples use.
func (l *loader) closeProfiles() error {
	l.threads = nil
	var err error
	for _, a := range l.assembled {
		err = errors.Join(err, a.Close())
	}
	l.assembled = nil
	return err
}

// resolve turns the events into a timeline with calls, nesting and flows.
func (l *loader) resolve(ctx context.Context) (*timeline.Timeline, error) {
	began := time.Now()
	tl, err := l.builder.Finish(ctx)
	if err != nil {
		return nil, err
	}
	l.report.Profiles = l.listProfiles(tl)
	if l.report.JSCalls, err = l.addCalls(ctx, tl); err != nil {
		return nil, errors.Join(err, tl.Close())
	}
	if err := l.closeProfiles(); err != nil {
		return nil, errors.Join(err, tl.Close())
	}
	nest := flowbind.NestAndResolve
	if l.opts.Attribute != nil {
		nest = flowbind.NestAndTrace
	}
	if err := nest(ctx, tl); err != nil {
		return nil, errors.Join(err, tl.Close())
	}
	l.report.Durations.Resolve = time.Since(began)
	return tl, nil
}

// readOne reads the only input. The parameter read is the reader for the input's format.
func (l *loader) readOne(ctx context.Context, src io.Reader, read func(ctx context.Context, r io.Reader, f Format) error) error {
	in, err := openInput(ctx, src, l.opts.From, l.opts.TempDir)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := l.opts.SelfProfile.check(in.format); err != nil {
		return err
	}
	if err := l.withinMemory(ctx, func(ctx context.Context) error { return read(ctx, in, in.format) }); err != nil {
		if l.opts.From == FormatAuto && ctx.Err() == nil && l.builder.Full() == nil && in.failed == nil && !explained(err) {
			return &misread{err, in.format}
		}
		return err
	}
	l.report.Format, l.report.Containers = in.format, in.unpacked.Containers
	l.countInput(in, "")
	return nil
}

// countInput records the size of an input and any damage to its container; prefix precedes the description of the damage.
func (l *loader) countInput(in *input, prefix string) {
	l.report.BytesIn += in.unpacked.PackedBytes()
	l.report.BytesUnpacked += in.n
	if damage := in.unpacked.Damage(); damage != nil {
		l.problems.Add(problem.ContainerDamaged, problem.Position{Event: -1, Offset: in.n}, prefix+damage.Error())
	}
}

// withinMemory calls read, and cancels the call if the memory budget is exceeded.
func (l *loader) withinMemory(ctx context.Context, read func(ctx context.Context) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	l.builder.WhenFull(stop)
	defer l.builder.WhenFull(nil)
	err := read(ctx)
	if full := l.builder.Full(); full != nil {
		return full
	}
	return err
}

// readFormat reads an input with the reader for its format.
func (l *loader) readFormat(ctx context.Context, r io.Reader, f Format) error {
	b, opts := l.builder, &l.opts
	if opts.Profile != "" && opts.Profile != ProfileAll && f != FormatChromeJSON && f != FormatPerfetto {
		return fmt.Errorf("this is %s; a V8 profile can be chosen in %s or %s", formats[f], formats[FormatChromeJSON],
			formats[FormatPerfetto])
	}
	switch f {
	case FormatChromeJSON:
		return l.readChrome(ctx, r)
	case FormatPerfetto:
		return l.readPerfetto(ctx, r)
	case FormatCPUProfile:
		return cpuprofile.Read(ctx, r, b, l.cpuProfile())
	case FormatFirefox:
		return firefox.Read(ctx, r, b, firefox.Options{Options: l.readerOptions(), JSCalls: opts.JSCalls != JSCallsOff})
	case FormatJSProfile:
		return l.readSelfProfile(ctx, r)
	case FormatProbes:
		return probes.Read(ctx, r, b, l.readerOptions())
	case FormatOTLP:
		return otlp.Read(ctx, r, b, l.readerOptions())
	case FormatHAR:
		return har.Read(ctx, r, b, l.readerOptions())
	}
	return fmt.Errorf("%w: %s", ErrUnknownFormat, f)
}

// readerOptions returns the options common to all readers.
func (l *loader) readerOptions() readers.Options {
	o := &l.opts
	return readers.Options{
		Problems: l.problems, Args: l.args, Offset: o.TimeOffset, NoScreenshots: o.NoScreenshots, Memory: o.Memory, TempDir: o.TempDir,
	}
}

// readChrome reads a Chrome JSON trace and adds its V8 profiles.
func (l *loader) readChrome(ctx context.Context, r io.Reader) error {
	opts := chromejson.Options{Options: l.readerOptions(), Workers: l.opts.workers(), Profiles: l.profileAssembler()}
	if err := chromejson.Read(ctx, r, l.builder, opts); err != nil {
		return err
	}
	return l.addProfiles(ctx, opts.Profiles)
}

// readPerfetto reads a Perfetto trace and adds its V8 profiles.
func (l *loader) readPerfetto(ctx context.Context, r io.Reader) error {
	opts, err := l.perfettoOptions()
	if err != nil {
		return err
	}
	opts.Profiles = l.profileAssembler()
	if err := perfetto.Read(ctx, r, l.builder, opts); err != nil {
		return err
	}
	return l.addProfiles(ctx, opts.Profiles)
}

func (l *loader) perfettoOptions() (perfetto.Options, error) {
	if l.opts.TimeOffset != 0 {
		return perfetto.Options{}, errors.New("a time offset cannot be added to a Perfetto trace, whose clocks are defined")
	}
	return perfetto.Options{Options: l.readerOptions()}, nil
}
