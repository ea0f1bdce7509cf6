package load

import (
	"context"
	"io"
	"time"

	"github.com/weft-trace/weft/internal/attribution/writeback"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/pftrace"
)

// Attach prepares the timeline for callers that read the events: it adds the attribution, as Options.WriteBack specifies, drops
// long-task marks if Options.NoLongTasks is set, and adds the input's attributes to the report.
func (t *Trace) Attach() error {
	if err := t.attach(); err != nil {
		return err
	}
	if t.opts.NoLongTasks {
		if err := t.Timeline.HideLongTasks(); err != nil {
			return err
		}
	}
	t.Report.addFacts(t.Timeline)
	return nil
}

// Walk visits all events, which finds the remaining problems, such as values that cannot be written unchanged, and completes the
// report.
func (t *Trace) Walk(ctx context.Context) error {
	if err := t.Timeline.Walk(ctx, func(*timeline.Item) error { return nil }); err != nil {
		return err
	}
	t.Count()
	return nil
}

// Count completes the report after a walk over all events.
func (t *Trace) Count() {
	t.Report.count(t.Timeline)
	t.Report.Durations.Total = time.Since(t.began)
}

// Write writes the trace as a Perfetto trace, with the additions that Options requests, and completes the report.
func (t *Trace) Write(ctx context.Context, dst io.Writer, buffers *pfwire.Buffers) error {
	writeback.MarkConverted(t.Timeline)
	if err := t.markLongTasks(); err != nil {
		return err
	}
	if err := t.attach(); err != nil {
		return err
	}
	return t.write(ctx, dst, buffers)
}

// write writes the timeline without further additions, and completes the report.
func (t *Trace) write(ctx context.Context, dst io.Writer, buffers *pfwire.Buffers) error {
	began := time.Now()
	wire, err := t.opts.wire()
	if err != nil {
		return err
	}
	describe(t.Timeline, t.Report)
	wire.Workers, wire.Buffers, wire.Unfolded = t.opts.workers(), buffers, t.opts.JSCalls == JSCallsDevTools
	counted := &countingWriter{w: dst}
	if err := pfwire.Write(ctx, counted, t.Timeline, wire); err != nil {
		return err
	}
	t.Report.BytesOut, t.Report.Durations.Write = counted.n, time.Since(began)
	t.Count()
	if t.opts.Samples == pftrace.NoSamples {
		t.Report.Events.Samples = 0
	}
	return nil
}

// additions returns what the attribution adds to the trace, or nil if there is no attribution or the attribution is already
// attached.
func (t *Trace) additions() *writeback.Additions {
	if t.attributed == nil {
		return nil
	}
	return writeback.Of(t.attributed, t.opts.WriteBack)
}

// attach adds the attribution, if any, to the timeline.
func (t *Trace) attach() error {
	began := time.Now()
	if added := t.additions(); added != nil {
		if err := added.Attach(); err != nil {
			return err
		}
		t.Report.Durations.Attribute += time.Since(began)
	}
	return t.closeAttribution()
}

// markLongTasks adds long-task marks with arguments from an attribution, if there is one. With NoLongTasks, it instead removes
// marks that weft wrote earlier.
func (t *Trace) markLongTasks() error {
	if t.opts.NoLongTasks {
		return t.Timeline.HideLongTasks()
	}
	var describe func(timeline.LongTask, *timeline.ArgsEncoder)
	if added := t.additions(); added != nil {
		describe = added.DescribeTask()
	}
	t.Timeline.MarkLongTasks(producers.IsRecorderWork, describe)
	return nil
}

// describe records the input format and the problems in the trace, for users who receive only the output.
func describe(tl *timeline.Timeline, r *Report) {
	tl.SetAttribute(timeline.Attribute{Key: "weft.input_format", Text: string(r.Format)})
	for _, total := range tl.Problems().Totals() {
		tl.SetAttribute(timeline.Attribute{Key: "weft.problem." + total.Kind.Name(), Int: int64(total.Count), IsInt: true})
	}
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
