package readertest

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/tracetext"
)

// ArgsAndOffset returns what the options args and offset-ns of a case say: which argument is kept, nil for all, and what is added to times.
func (c *Case) ArgsAndOffset(tb testing.TB) (keep func(name []byte) bool, offset timeline.Nanos) {
	tb.Helper()
	for option, value := range c.Options() {
		switch option {
		case "args":
			keep = func(name []byte) bool { return value == string(name) }
		case "offset-ns":
			ns, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				tb.Fatal(err)
			}
			offset = timeline.Nanos(ns)
		}
	}
	return keep, offset
}

// Read has read fill a Builder and returns the resolved timeline. The error is that of read.
func Read(tb testing.TB, opts timeline.Options, read func(b *timeline.Builder) error) (*timeline.Timeline, error) {
	tb.Helper()
	if opts.TempDir == "" {
		opts.TempDir = tb.TempDir()
	}
	b := timeline.NewBuilder(opts)
	if err := read(b); err != nil {
		b.Close()
		return nil, err
	}
	tl, err := b.Finish(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { tl.Close() })
	if err := flowbind.NestAndResolve(context.Background(), tl); err != nil {
		tb.Fatal(err)
	}
	return tl, nil
}

// DumpRequests returns as text what is read of spans and requests: slices and instants in nanoseconds with the flows that lead to or from them,
// processes and threads, attributes, the clock and problems. It verifies the trace that they become.
func DumpRequests(tb testing.TB, tl *timeline.Timeline, log *problem.Log) string {
	tb.Helper()
	Verify(tb, tl)
	var out strings.Builder
	paths := tracetext.Paths(tl)
	err := tl.Walk(context.Background(), func(it *timeline.Item) error {
		switch {
		case it.Kind == timeline.ItemInstant:
			fmt.Fprintf(&out, "%d %s", it.TS, paths[it.Track])
		case it.Kind != timeline.ItemBegin:
			return nil
		case it.Dur == timeline.NoTime:
			fmt.Fprintf(&out, "%d+open %s", it.TS, paths[it.Track])
		default:
			fmt.Fprintf(&out, "%d+%d %s", it.TS, it.Dur, paths[it.Track])
		}
		if it.Lane > 0 {
			fmt.Fprintf(&out, "~%d", it.Lane)
		}
		fmt.Fprintf(&out, " %q (%s)", it.Name, it.Category)
		for _, f := range it.Flows {
			arrow := "flow"
			if f.Terminating {
				arrow = "end"
			}
			fmt.Fprintf(&out, " %s=%d", arrow, f.ID)
		}
		fmt.Fprintf(&out, " %s\n", tracetext.ArgsText(tl, it.Args))
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	for id := range timeline.TrackID(tl.TrackCount()) {
		if tr := tl.Track(id); tr.Used && (tr.Kind == timeline.ProcessTrack || tr.Kind == timeline.ThreadTrack) {
			fmt.Fprintf(&out, "track %s: %s", paths[id], tr.Name)
			if len(tr.Labels) > 0 {
				fmt.Fprintf(&out, " %q", tr.Labels)
			}
			out.WriteByte('\n')
		}
	}
	for _, a := range tl.Attributes() {
		fmt.Fprintf(&out, "attribute %s: %q\n", a.Key, a.Text)
	}
	fmt.Fprintf(&out, "clock %d\n", tl.Clocks().Trace)
	return out.String() + tracetext.Problems(log)
}
