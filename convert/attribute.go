package convert

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/flow"
	"github.com/weft-trace/weft/timeline"
)

// Attribute reads a trace from src and finds out for whom its work was done, as opts.Attribute says; nil stands for the
// zero options. The timeline is what Load returns, without anything of the attribution in it. Both must be closed, the
// result first.
func Attribute(ctx context.Context, src io.Reader, opts Options) (*timeline.Timeline, *attribution.Result, *Report, error) {
	began := time.Now()
	if opts.Attribute == nil {
		opts.Attribute = new(attribution.Options)
	}
	l := newLoader(opts)
	tl, err := l.load(ctx, src)
	if err != nil {
		return nil, nil, nil, err
	}
	l.report.count(tl)
	l.report.Durations.Total = Seconds(time.Since(began))
	return tl, l.attributed, l.report, nil
}

// resolve nests a timeline, resolves its flows and, if asked for, attributes its work.
func (l *loader) resolve(ctx context.Context, tl *timeline.Timeline) error {
	began := time.Now()
	if l.opts.Attribute == nil {
		err := flow.NestAndResolve(ctx, tl)
		l.report.Durations.Resolve += Seconds(time.Since(began))
		return err
	}
	steps, err := flow.NestAndTrace(ctx, tl)
	l.report.Durations.Resolve += Seconds(time.Since(began))
	if err != nil {
		return err
	}
	began = time.Now()
	l.attributed, err = attribution.Run(ctx, tl, steps, *l.opts.Attribute)
	l.report.Durations.Attribute = Seconds(time.Since(began))
	return errors.Join(err, steps.Close())
}

// attach writes the attribution into the timeline, if there is one.
func (l *loader) attach() error {
	if l.attributed == nil {
		return nil
	}
	began := time.Now()
	err := errors.Join(l.attributed.Attach(l.opts.WriteBack), l.attributed.Close())
	l.attributed = nil
	l.report.Durations.Attribute += Seconds(time.Since(began))
	return err
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
