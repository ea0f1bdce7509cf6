package probes

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readertest"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/tracetext"
)

// suite are the cases, which are read through windows of all sizes, and sorted on disk.
var suite = readertest.Suite[caseOpts]{
	Options: caseOptions,
	Dump:    dump,
	Ways: []func(*caseOpts){
		func(o *caseOpts) { o.window = 16 }, func(o *caseOpts) { o.window = 100 }, func(o *caseOpts) { o.spool = 1 },
	},
}

// caseOpts are the options of a case.
type caseOpts struct {
	Options
	cut bool // the input does not end in a new line
}

// caseOptions reads the options in the comment of a case.
func caseOptions(tb testing.TB, c *readertest.Case) (opts caseOpts) {
	tb.Helper()
	for option, value := range c.Options() {
		switch option {
		case "args":
			opts.KeepArg = func(name []byte) bool { return value == string(name) }
		case "offset":
			if _, err := fmt.Sscan(value, &opts.Offset); err != nil {
				tb.Fatal(err)
			}
		case "cut":
			opts.cut = true
		}
	}
	return opts
}

// TestCases compares what is read from the inputs in testdata with what is expected.
func TestCases(t *testing.T) { suite.Run(t) }

// read reads probe lines into a nested timeline.
func read(tb testing.TB, r io.Reader, opts Options) (*timeline.Timeline, *problem.Log, error) {
	tb.Helper()
	log := new(problem.Log)
	opts.Problems, opts.TempDir = log, tb.TempDir()
	b := timeline.NewBuilder(timeline.Options{Problems: log, TempDir: opts.TempDir})
	if err := Read(context.Background(), r, b, opts); err != nil {
		return nil, log, err
	}
	tl, err := b.Finish(context.Background())
	if err == nil {
		err = tl.Nest(context.Background())
	}
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { tl.Close() })
	return tl, log, nil
}

// dump writes what is read from an input: threads with their names, slices and instants, facts and problems. Cases end without new line,
// which real files have.
func dump(tb testing.TB, r io.Reader, opts caseOpts) string {
	tb.Helper()
	if !opts.cut {
		r = io.MultiReader(r, strings.NewReader("\n"))
	}
	tl, log, err := read(tb, r, opts.Options)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	readertest.Verify(tb, tl)
	var out strings.Builder
	for id := range timeline.TrackID(tl.TrackCount()) {
		switch tr := tl.Track(id); tr.Kind {
		case timeline.ProcessTrack:
			fmt.Fprintf(&out, "process %d %q\n", tr.PID, tr.Name)
		case timeline.ThreadTrack:
			fmt.Fprintf(&out, "thread %s %q\n", tracetext.Path(tl, id), tr.Name)
		}
	}
	err = tl.Walk(context.Background(), func(it *timeline.Item) error {
		lane := ""
		if it.Lane > 0 {
			lane = fmt.Sprintf("~%d", it.Lane)
		}
		switch it.Kind {
		case timeline.ItemBegin:
			fmt.Fprintf(&out, "%d+%d %s%s %q (%s) %s\n", it.TS, it.Dur, tracetext.Path(tl, it.Track), lane, it.Name, it.Category,
				tracetext.ArgsText(tl, it.Args))
		case timeline.ItemInstant:
			fmt.Fprintf(&out, "%d %s %q (%s) %s\n", it.TS, tracetext.Path(tl, it.Track), it.Name, it.Category,
				tracetext.ArgsText(tl, it.Args))
		}
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
	for _, a := range tl.Attributes() {
		if a.IsInt {
			fmt.Fprintf(&out, "attribute %s: %d\n", a.Key, a.Int)
		} else {
			fmt.Fprintf(&out, "attribute %s: %q\n", a.Key, a.Text)
		}
	}
	if clocks := tl.Clocks(); clocks.Trace != 0 {
		fmt.Fprintf(&out, "clocks %v\n", clocks)
	}
	return out.String() + tracetext.Problems(log)
}
