package jsprofile

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/weft-trace/weft/internal/tracetext"
	"github.com/weft-trace/weft/pftrace"
	"github.com/weft-trace/weft/problem"
	"github.com/weft-trace/weft/timeline"
)

var update = flag.Bool("update", false, "write the expected results of the cases in testdata")

// loadCase reads a case: options in its comment, the input, and what is expected.
func loadCase(tb testing.TB, path string) (ar *txtar.Archive, input string, opts Options) {
	tb.Helper()
	ar, err := txtar.ParseFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	if len(ar.Files) != 2 || ar.Files[0].Name != "input.json" || ar.Files[1].Name != "want" {
		tb.Fatalf("%s: a case has the files input.json and want", path)
	}
	for line := range strings.Lines(string(ar.Comment)) {
		option, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		ns := func() *timeline.Nanos {
			ms, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				tb.Fatalf("%s: %v", path, err)
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
	// txtar ends every file with a new line, which no cut input has.
	return ar, strings.TrimSuffix(string(ar.Files[0].Data), "\n"), opts
}

// TestCases compares what is read from the inputs in testdata with what is expected, through windows and readers of all
// sizes.
func TestCases(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no cases", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			ar, input, opts := loadCase(t, path)
			got := dump(t, strings.NewReader(input), opts)
			if *update {
				ar.Files[1].Data = []byte(got)
				if err := os.WriteFile(path, txtar.Format(ar), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(ar.Files[1].Data), got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			for name, wrap := range map[string]func(io.Reader) io.Reader{
				"whole":    func(r io.Reader) io.Reader { return r },
				"one byte": iotest.OneByteReader,
				"data+EOF": iotest.DataErrReader,
			} {
				for _, opts.window = range []int{16, 100} {
					if diff := cmp.Diff(got, dump(t, wrap(strings.NewReader(input)), opts)); diff != "" {
						t.Errorf("%s reads, window %d: -want +got:\n%s", name, opts.window, diff)
					}
				}
			}
		})
	}
}

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
	verify(tb, tl)
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

// verify writes a timeline as a Perfetto trace and holds that against all rules of the format.
func verify(tb testing.TB, tl *timeline.Timeline) {
	tb.Helper()
	var trace bytes.Buffer
	if err := pftrace.Write(context.Background(), &trace, tl, pftrace.Options{Workers: 1}); err != nil {
		tb.Fatal(err)
	}
	report, err := pftrace.Verify(context.Background(), &trace, pftrace.VerifyOptions{Strict: true})
	if err != nil {
		tb.Fatal(err)
	}
	if !report.OK() {
		tb.Fatalf("the trace that is written breaks rules: %+v", report.Findings)
	}
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
