package load

import (
	"context"
	"io"
	"time"

	"github.com/weft-trace/weft/internal/attribution/writeback"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// Attach puts what is asked for beside the events into the timeline: the attribution, as Options.WriteBack says, and no marks of long tasks if
// Options.NoLongTasks is set. It is for those who look at the events, and adds what the input states to the report.
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

// Walk goes over all events, which finds the last problems: what cannot be written as it is. It completes the report.
func (t *Trace) Walk(ctx context.Context) error {
	if err := t.Timeline.Walk(ctx, func(*timeline.Item) error { return nil }); err != nil {
		return err
	}
	t.Count()
	return nil
}

// Count completes the report: Walk does so, and the caller who walks over all events for another reason.
func (t *Trace) Count() {
	t.Report.count(t.Timeline)
	t.Report.Durations.Total = time.Since(t.began)
}

// Write writes the trace as a Perfetto trace, with what was asked for beside the events, and completes the report.
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

// write writes the trace as it is.
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
	t.Report.Events.Samples = t.opts.samplesWritten(t.Timeline)
	return nil
}

// additions returns what the attribution adds to the trace; nil: there is none, or it is attached.
func (t *Trace) additions() *writeback.Additions {
	if t.attributed == nil {
		return nil
	}
	return writeback.Of(t.attributed, t.opts.WriteBack)
}

// attach writes the attribution into the timeline, if there is one.
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

// markLongTasks adds the marks of long tasks, with an attribution's arguments, or removes the marks of an input that weft wrote.
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

// describe notes in the trace where it comes from and what is wrong with it, for those who get only the result.
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
