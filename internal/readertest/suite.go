package readertest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/testkit"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/pftrace"
	"github.com/weft-trace/weft/trace"
)

// Memory is the default budget of timelines in tests. With a budget of 1, a timeline spills to disk from the first event on.
const Memory = 16 << 20

// Suite defines how to call a reader with options of type O.
type Suite[O any] struct {
	// Read is the reader.
	Read func(ctx context.Context, r io.Reader, b *timeline.Builder, opts O) error
	// Common returns the options common to all readers.
	Common func(opts *O) *readers.Options
	// Option sets a reader-specific option from the comment of a case; nil: there are none. All readers support args and
	// offset-ns.
	Option func(opts *O, name, value string) error
	// Lines is set if inputs end with a newline, unless their case has the option "cut".
	Lines bool
	// Variants change how an input is read but not the result: the size of windows, for example.
	Variants []func(opts *O)
	// Raises are the problems that the cases must raise at least once.
	Raises []problem.Kind
}

// Spooled returns the Suite of a reader that has only the common options and reads JSON, or lines that are sorted on disk.
func Spooled(read func(ctx context.Context, r io.Reader, b *timeline.Builder, opts readers.Options) error, raises ...problem.Kind) Suite[readers.Options] {
	return Suite[readers.Options]{
		Read: read, Raises: raises, Common: func(o *readers.Options) *readers.Options { return o },
		Variants: []func(*readers.Options){
			func(o *readers.Options) { o.Window = 16 }, func(o *readers.Options) { o.Window = 100 }, func(o *readers.Options) { o.Spool = 1 },
		},
	}
}

// Options returns the options of a case.
func (s *Suite[O]) Options(tb testing.TB, c *Case) (opts O) {
	tb.Helper()
	for name, value := range c.Options() {
		if name == "cut" && s.Lines {
			continue
		}
		var err error
		switch {
		case name == "args":
			s.Common(&opts).Args = timeline.OnlyArgs(strings.Fields(value)...)
		case name == "offset-ns":
			_, err = fmt.Sscan(value, &s.Common(&opts).Offset)
		case s.Option != nil:
			err = s.Option(&opts, name, value)
		}
		if err != nil {
			tb.Fatalf("%s: %s: %v", c.Name, name, err)
		}
	}
	return opts
}

func (s *Suite[O]) input(c *Case) string {
	if !s.Lines {
		return c.Input
	}
	for name := range c.Options() {
		if name == "cut" {
			return c.Input
		}
	}
	return c.Input + "\n"
}

// Load reads an input into a resolved timeline. The log contains the problems of all steps; errors are the reader's.
func (s *Suite[O]) Load(tb testing.TB, r io.Reader, opts O) (*timeline.Timeline, *problem.Log, error) {
	tb.Helper()
	return s.LoadWithin(tb, Memory, r, opts)
}

// LoadWithin is Load with a memory budget for the timeline.
func (s *Suite[O]) LoadWithin(tb testing.TB, memory int64, r io.Reader, opts O) (*timeline.Timeline, *problem.Log, error) {
	tb.Helper()
	log, dir := new(problem.Log), tb.TempDir()
	common := s.Common(&opts)
	common.Problems, common.TempDir = log, dir
	tl, err := Resolve(tb, timeline.Options{Problems: log, TempDir: dir, Memory: memory}, func(b *timeline.Builder) error {
		return s.Read(context.Background(), r, b, opts)
	})
	return tl, log, err
}

// Resolve calls fill with a Builder and returns the resolved timeline. It returns the error from fill.
func Resolve(tb testing.TB, opts timeline.Options, fill func(b *timeline.Builder) error) (*timeline.Timeline, error) {
	tb.Helper()
	b := timeline.NewBuilder(opts)
	if err := fill(b); err != nil {
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

// Dump reads an input and returns its text form: the items of the timeline, the properties of tracks and the trace, and problems.
func (s *Suite[O]) Dump(tb testing.TB, r io.Reader, opts O) string {
	tb.Helper()
	tl, log, err := s.Load(tb, r, opts)
	if err != nil {
		return "error: " + err.Error() + "\n" + testkit.Problems(log)
	}
	items, err := testkit.Dump(context.Background(), tl)
	if err != nil {
		tb.Fatal(err)
	}
	return items + testkit.About(tl) + testkit.Problems(log)
}

// Run compares the result of each case with the expected one, for all Variants and several kinds of io.Reader, and verifies the
// converted Perfetto trace. With -update it writes the results into the cases.
func (s *Suite[O]) Run(t *testing.T) {
	raised, ran := map[problem.Kind]bool{}, 0
	cases := Cases(t)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			ran++
			tl, log, err := s.Load(t, strings.NewReader(s.input(c)), s.Options(t, c))
			for _, total := range log.Totals() {
				raised[total.Kind] = true
			}
			if err == nil {
				Verify(t, tl)
			}
			got := s.Dump(t, strings.NewReader(s.input(c)), s.Options(t, c))
			if *update {
				c.archive.Files[1].Data = []byte(got)
				if err := os.WriteFile(c.path, txtar.Format(c.archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(c.Want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			s.sameAnyWay(t, c, got)
		})
	}
	if ran < len(cases) {
		return // -run selected only some cases
	}
	for _, k := range s.Raises {
		if !raised[k] {
			t.Errorf("no case raises %s", k)
		}
	}
}

// sameAnyWay checks that a case has the same result for all Variants and several kinds of io.Reader.
func (s *Suite[O]) sameAnyWay(t *testing.T, c *Case, want string) {
	t.Helper()
	for name, wrap := range map[string]func(io.Reader) io.Reader{
		"whole":    func(r io.Reader) io.Reader { return r },
		"one byte": iotest.OneByteReader,
		"data+EOF": iotest.DataErrReader,
	} {
		for i, way := range s.Variants {
			opts := s.Options(t, c)
			way(&opts)
			if diff := cmp.Diff(want, s.Dump(t, wrap(strings.NewReader(s.input(c))), opts)); diff != "" {
				t.Errorf("%s reads, way %d: -want +got:\n%s", name, i, diff)
			}
		}
	}
}

// Verify writes a timeline as a Perfetto trace and checks it against all rules of the format.
func Verify(tb testing.TB, tl *timeline.Timeline) {
	tb.Helper()
	var out bytes.Buffer
	if err := pftrace.Write(context.Background(), &out, traceOf(context.Background(), tl), pftrace.Options{Workers: 1}); err != nil {
		tb.Fatal(err)
	}
	report, err := pftrace.Verify(context.Background(), &out, pftrace.VerifyOptions{Strict: true})
	if err != nil {
		tb.Fatal(err)
	}
	if !report.OK() {
		tb.Fatalf("the written trace breaks rules: %+v", report.Findings)
	}
}

// traceOf returns a trace that owns a timeline.
func traceOf(ctx context.Context, tl *timeline.Timeline) *trace.Trace {
	tr := new(trace.Trace)
	timeline.Hold(ctx, tr, tl)
	return tr
}
