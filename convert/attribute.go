package convert

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"time"

	engine "github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/attribution/writeback"
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/readers/perfetto"
	"github.com/weft-trace/weft/internal/timeline"
)

// errAttributionArgs says that what attribution reads was to be left out.
var errAttributionArgs = errors.New("attribution needs all arguments of events")

// resolve nests a timeline, resolves its flows and, if asked for, attributes its work.
func (l *loader) resolve(ctx context.Context, tl *timeline.Timeline) error {
	began := time.Now()
	if l.opts.Attribute == nil {
		err := flowbind.NestAndResolve(ctx, tl)
		l.report.Durations.Resolve += time.Since(began)
		return err
	}
	err := flowbind.NestAndTrace(ctx, tl)
	l.report.Durations.Resolve += time.Since(began)
	if err != nil {
		return err
	}
	began = time.Now()
	opts := *l.opts.Attribute
	opts.Workers = cmp.Or(opts.Workers, l.opts.workers())
	rules, err := engine.RulesOf(&opts)
	if err != nil {
		return err
	}
	l.attributed, err = engine.Run(ctx, tl, rules)
	if err == nil {
		of := tables.Of(l.attributed)
		l.report.Contexts = append([]string{}, slices.DeleteFunc(of.Types(), of.IsDerived)...)
	}
	l.report.Durations.Attribute = time.Since(began)
	return err
}

// attach writes the attribution into the timeline, if there is one. If the input is kept, it reports whether that changed
// anything.
func (l *loader) attach(ctx context.Context) (changed bool, err error) {
	if l.attributed == nil {
		return true, nil
	}
	began := time.Now()
	added := writeback.Of(l.attributed, l.opts.WriteBack)
	if changed = true; l.kept != nil {
		changed, err = added.AttachChanged(ctx)
	} else {
		err = added.Attach()
	}
	err = errors.Join(err, l.attributed.Close())
	l.attributed = nil
	l.report.Durations.Attribute += time.Since(began)
	return changed, err
}

// withIntervals returns options under which an attribution keeps what is needed for the tracks that are written.
func (o Options) withIntervals() Options {
	if o.Attribute != nil && !o.WriteBack.NoTracks {
		attribute := *o.Attribute
		attribute.Intervals = true
		o.Attribute = &attribute
	}
	return o
}

// keptTrace is a Perfetto trace that is kept to be copied, and the packets of its events.
type keptTrace struct {
	file   *extsort.File
	events *writeback.Packets
}

// Close removes the copy.
func (s *keptTrace) Close() error { return errors.Join(s.file.Close(), s.events.Close()) }

// keepTrace keeps what is read from r.
func (l *loader) keepTrace(r *countingReader) error {
	file, err := extsort.NewFile(l.opts.TempDir)
	if err != nil {
		return err
	}
	memory := l.opts.Memory
	if memory <= 0 {
		memory = timeline.DefaultMemory
	}
	l.kept = &keptTrace{file, writeback.NewPackets(memory/16, l.opts.TempDir)}
	r.r = io.TeeReader(r.r, file)
	return nil
}

// close frees what a conversion has kept beside the timeline.
func (l *loader) close() {
	l.closeProfiles()
	if l.kept != nil {
		l.kept.Close()
	}
	if l.attributed != nil {
		l.attributed.Close()
	}
}

// perfettoOptions are the options of the reader of Perfetto traces, which tells a kept trace where its events and tracks are.
func (l *loader) perfettoOptions() perfetto.Options {
	opts := perfetto.Options{Problems: l.problems, KeepArg: l.opts.keepArg(), NoScreenshots: l.opts.NoScreenshots, TempDir: l.opts.TempDir}
	if l.kept != nil {
		opts.Located, opts.Described = l.kept.events.Add, l.kept.events.AddThread
	}
	return opts
}

// keep writes a copy of the kept trace.
func (l *loader) keep(dst io.Writer, tl *timeline.Timeline, began time.Time, write func(dst io.Writer, src io.Reader) error) (*Report, error) {
	writing := time.Now()
	counted := &countingWriter{w: dst}
	err := l.kept.file.Flush()
	if err == nil {
		err = write(counted, l.kept.file.Section(0, l.kept.file.Size()))
	}
	if err != nil {
		return nil, err
	}
	l.report.BytesOut, l.report.Copied = counted.n, true
	l.report.count(tl)
	l.report.Durations.Write = time.Since(writing)
	l.report.Durations.Total = time.Since(began)
	return l.report, nil
}
