package jsprofile

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readertest"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/tracetext"
)

// suite are the cases, which are read through windows of all sizes.
var suite = readertest.Suite[Options]{
	Options: caseOptions,
	Dump:    dump,
	Ways:    []func(*Options){window(16), window(100)},
}

func window(size int) func(*Options) { return func(opts *Options) { opts.window = size } }

// caseOptions reads the options in the comment of a case. Times are in milliseconds.
func caseOptions(tb testing.TB, c *readertest.Case) (opts Options) {
	tb.Helper()
	for option, value := range c.Options() {
		ns := func() *timeline.Nanos {
			ms, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				tb.Fatalf("%s: %v", c.Name, err)
			}
			n := timeline.Nanos(ms) * 1_000_000
			return &n
		}
		switch option {
		case "interval":
			opts.Interval = *ns()
		case "origin":
			opts.TimeOrigin = ns()
		case "end":
			opts.End = ns()
		case "offset":
			opts.Offset = *ns()
		case "thread":
			opts.ThreadName = value
		case "args":
			opts.KeepArg = func(name []byte) bool { return value == string(name) }
		}
	}
	return opts
}

// TestCases compares what is read from the inputs in testdata with what is expected.
func TestCases(t *testing.T) { suite.Run(t) }

// read reads profiles into a nested timeline.
func read(tb testing.TB, r io.Reader, opts Options) (*timeline.Timeline, *problem.Log, error) {
	tb.Helper()
	log := new(problem.Log)
	opts.Problems = log
	b := timeline.NewBuilder(timeline.Options{Problems: log, TempDir: tb.TempDir()})
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

// dump writes what is read from an input: for each track its slices and instants, for threads their samples, each as
//
//	   NAME CATEGORY START+LENGTH ARGS
//	sample TIME LENGTH STACK
//
// in milliseconds, slices two columns further right for each slice around them; then problems and attributes.
func dump(tb testing.TB, r io.Reader, opts Options) string {
	tb.Helper()
	tl, log, err := read(tb, r, opts)
	if err != nil {
		return "error: " + err.Error() + "\n"
	}
	readertest.Verify(tb, tl)
	d := dumper{tl: tl, tracks: map[timeline.TrackID]*strings.Builder{}, open: map[timeline.TrackID]int{}}
	if err := tl.Walk(context.Background(), d.item); err != nil {
		tb.Fatal(err)
	}
	var out strings.Builder
	for id := range timeline.TrackID(tl.TrackCount()) {
		if text := d.tracks[id]; text != nil {
			fmt.Fprintf(&out, "%s\n%s", trackPath(tl, id), text)
		}
	}
	for _, a := range tl.Attributes() {
		if a.IsInt {
			fmt.Fprintf(&out, "attribute %s: %d\n", a.Key, a.Int)
		} else {
			fmt.Fprintf(&out, "attribute %s: %q\n", a.Key, a.Text)
		}
	}
	return out.String() + tracetext.Problems(log)
}

func trackPath(tl *timeline.Timeline, id timeline.TrackID) string {
	tr := tl.Track(id)
	if tr.Parent == 0 {
		return tr.Name
	}
	return trackPath(tl, tr.Parent) + " / " + tr.Name
}

// dumper formats the items of a timeline track by track.
type dumper struct {
	tl     *timeline.Timeline
	tracks map[timeline.TrackID]*strings.Builder
	open   map[timeline.TrackID]int
}

func (d *dumper) item(it *timeline.Item) error {
	out := d.tracks[it.Track]
	if out == nil {
		out = &strings.Builder{}
		d.tracks[it.Track] = out
	}
	args := ""
	if len(it.Args) > 0 {
		args = " " + tracetext.ArgsText(d.tl, it.Args)
	}
	indent := strings.Repeat("  ", d.open[it.Track]+1)
	switch it.Kind {
	case timeline.ItemBegin:
		category := ""
		if len(it.Category) > 0 {
			category = " (" + string(it.Category) + ")"
		}
		fmt.Fprintf(out, "%s%s%s %s+%s%s\n", indent, it.Name, category, millis(it.TS), millis(it.Dur), args)
		d.open[it.Track]++
	case timeline.ItemEnd:
		d.open[it.Track]--
		if args != "" {
			fmt.Fprintf(out, "%send%s\n", indent, args)
		}
	case timeline.ItemInstant:
		fmt.Fprintf(out, "%s%s %s%s\n", indent, it.Name, millis(it.TS), args)
	case timeline.ItemSample:
		var frames []string
		for _, id := range d.tl.Callstack(it.Callstack) {
			frames = append(frames, d.tl.Frame(id).Function)
		}
		fmt.Fprintf(out, "  sample %s %s %s\n", millis(it.TS), millis(timeline.Nanos(it.Value.Int())), strings.Join(frames, ">"))
	}
	return nil
}

// millis returns a time in milliseconds, exactly.
func millis(ts timeline.Nanos) string {
	if ts == timeline.NoTime {
		return "open"
	}
	text := fmt.Sprintf("%d.%06d", ts/1e6, ts%1e6)
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}
