package perfetto

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/pftrace"
)

// Samples written by weft are read back unchanged from both packet forms: with thread, time and the position of every
// frame, including the column.
func TestSamplesComeBack(t *testing.T) {
	given := resolve(t, func(_ context.Context, b *timeline.Builder, _ *problem.Log) error {
		process := b.Process(timeline.ProcessKey{Num: 10})
		main, worker := b.Thread(process, timeline.ThreadKey{Num: 11}), b.Thread(process, timeline.ThreadKey{Num: 12})
		outer := b.PushFrame(0, b.Frame(timeline.Frame{Function: "outer", File: "https://example.org/a.js", Line: 12, Column: 7}))
		minified := b.PushFrame(outer, b.Frame(timeline.Frame{Function: "f", File: "min.js", Line: 1, Column: 4711}))
		other := b.PushFrame(outer, b.Frame(timeline.Frame{Function: "f", File: "min.js", Line: 1, Column: 4712}))
		lineOnly := b.PushFrame(minified, b.Frame(timeline.Frame{File: "b.js", Line: 2}))
		nowhere := b.PushFrame(0, b.Frame(timeline.Frame{Function: "(program)"}))
		unknownLine := b.PushFrame(0, b.Frame(timeline.Frame{Function: "g", File: "c.js", Column: 3}))
		// Text that only looks like weft's position is kept.
		port := b.PushFrame(0, b.Frame(timeline.Frame{Function: "h", File: "http://localhost:80", Line: 80}))
		zero := b.PushFrame(0, b.Frame(timeline.Frame{Function: "h", File: "d.js:5:07", Line: 5}))
		for i, s := range []timeline.Event{
			{Track: main, TS: 5000, Callstack: lineOnly},
			{Track: worker, TS: 5000, Callstack: nowhere},
			{Track: main, TS: 6000, Callstack: other},
			{Track: worker, TS: 7000, Callstack: unknownLine},
			{Track: worker, TS: 8000, Callstack: port},
			{Track: main, TS: 9000, Callstack: zero},
		} {
			s.Kind, s.Event, s.Value = timeline.Sample, uint32(i), timeline.Int(1)
			if err := b.Add(&s); err != nil {
				return err
			}
		}
		return nil
	})
	want := `5000 sample 1 [#10/#11] stack=outer@https://example.org/a.js:12:7;f@min.js:1:4711;@b.js:2
5000 sample 1 [#10/#12] stack=(program)@:0
6000 sample 1 [#10/#11] stack=outer@https://example.org/a.js:12:7;f@min.js:1:4712
7000 sample 1 [#10/#12] stack=g@c.js:0:3
8000 sample 1 [#10/#12] stack=h@http://localhost:80:80
9000 sample 1 [#10/#11] stack=h@d.js:5:07:5
`
	if diff := cmp.Diff(want, given.text()); diff != "" {
		t.Fatalf("given (-want +got):\n%s", diff)
	}
	for _, opts := range []pftrace.Options{
		{},
		{Packets: pftrace.Compact, Compression: pftrace.Zlib},
	} {
		var out bytes.Buffer
		if err := pftrace.Write(context.Background(), &out, traceOf(context.Background(), given.timeline), opts); err != nil {
			t.Fatal(err)
		}
		form := opts.Packets
		got := readTrace(t, out.Bytes())
		if diff := cmp.Diff(want, strings.Join(got.lines, "\n")+"\n"); diff != "" {
			t.Errorf("%v (-want +got):\n%s", form, diff)
		}
		if problems := got.problems(); problems != "" {
			t.Errorf("%v: %s", form, problems)
		}
		if d := got.timeline.SampleDescription(); d.Source != "trace_event" {
			t.Errorf("%v: the samples are of %q", form, d.Source)
		}
	}
}
