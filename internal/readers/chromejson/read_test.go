package chromejson

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
)

// list returns a list of n events from fn, one per line.
func list(n int, fn func(i int) string) string {
	var b strings.Builder
	b.WriteByte('[')
	for i := range n {
		if i > 0 {
			b.WriteString(",\n")
		}
		b.WriteString(fn(i))
	}
	b.WriteByte(']')
	return b.String()
}

func TestLargeMetadata(t *testing.T) {
	large := strings.Repeat("x", readers.MaxAttribute+1)
	input := `{"metadata":{"text":"` + large + `","list":["` + large + `"],"fits":"` + large[2:] + `","after":1},"top":"` + large + `",
		"traceEvents":[{"ph":"M","name":"m","pid":1,"args":{"x":"` + large + `"}}]}`
	for _, window := range []int{16, 1 << 20} {
		tl, log, err := suite.Load(t, strings.NewReader(input), Options{Options: readers.Options{Window: window}})
		if err != nil {
			t.Fatal(err)
		}
		var keys []string
		for _, a := range tl.Attributes() {
			keys = append(keys, a.Key)
		}
		if want := []string{"metadata.fits", "metadata.after"}; !cmp.Equal(keys, want) {
			t.Errorf("window %d: attributes %q, want %q", window, keys, want)
		}
		if n := log.Count(problem.MetadataValueOmitted); n != 4 {
			t.Errorf("window %d: metadata_value_omitted: %d", window, n)
		}
	}
}

func TestDeepArgs(t *testing.T) {
	for _, c := range []struct {
		depth int
		want  uint64
	}{{maxDepth + 1, 0}, {maxDepth + 2, 1}, {100_000, 1}} {
		input := `[{"ph":"X","name":"x","pid":1,"ts":0,"dur":1,"args":` + strings.Repeat(`{"a":`, c.depth) + `1` +
			strings.Repeat(`}`, c.depth) + `}]`
		_, log, err := suite.Load(t, strings.NewReader(input), Options{})
		if err != nil || log.Count(problem.ArgDepthLimit) != c.want {
			t.Errorf("depth %d: arg_depth_limit %d, want %d, %v", c.depth, log.Count(problem.ArgDepthLimit), c.want, err)
		}
	}
}

// Values nested too deeply are kept as JSON if valid, otherwise as a string.
func TestDeepArgsAreJSONOrText(t *testing.T) {
	for deep, want := range map[string]timeline.ArgKind{
		`{"k":["\u00e4"]}`: timeline.ArgJSON,
		`["\xe4"]`:         timeline.ArgString,
		`[NaN]`:            timeline.ArgString,
		`[1,]`:             timeline.ArgString,
		"{\"k\":\"\xff\"}": timeline.ArgJSON,
	} {
		input := `[{"ph":"i","name":"x","pid":1,"ts":0,"args":` + strings.Repeat(`{"a":`, maxDepth+1) + deep +
			strings.Repeat(`}`, maxDepth+1) + `}]`
		tl, log, err := suite.Load(t, strings.NewReader(input), Options{})
		if err != nil {
			t.Fatal(err)
		}
		var found timeline.Arg
		err = tl.Walk(context.Background(), func(it *timeline.Item) error {
			for args := tl.ArgList(it.Args); args != nil; {
				next := iter.Seq[timeline.Arg](nil)
				for found = range args {
					if found.Kind == timeline.ArgDict {
						next = tl.Members(found)
					}
				}
				args = next
			}
			return nil
		})
		text := strings.ToValidUTF8(deep, "\uFFFD")
		if err != nil || found.Kind != want || string(found.Text()) != text {
			t.Errorf("%q: kind %v, %q, %v", deep, found.Kind, found.Text(), err)
		}
		if n := log.Count(problem.JSONInvalidUTF8); (n > 0) != (text != deep) {
			t.Errorf("%q: json_invalid_utf8 %d", deep, n)
		}
	}
}

// Wherever the input is truncated, all complete events are read, and the truncation is counted, with at most one damaged event.
func TestCutAnywhere(t *testing.T) {
	input := list(6, func(i int) string {
		return fmt.Sprintf(`{"ph":"X","name":"größe %d","ts":%d,"dur":5,"pid":1,"args":{"a":[1,"\ud83e\udd14"],"b":{}}}`, i, i*10)
	})
	for i := 1; i < len(input); i++ {
		tl, log, err := suite.Load(t, strings.NewReader(input[:i]), Options{Options: readers.Options{Window: 64}})
		if err != nil {
			t.Fatalf("cut at %d: %v", i, err)
		}
		if want := strings.Count(input[:i], "}}\n") + strings.Count(input[:i], "}},"); tl.Len() < want {
			t.Fatalf("cut at %d: %d events, want %d", i, tl.Len(), want)
		}
		if log.Count(problem.JSONUnterminated) != 1 {
			t.Fatalf("cut at %d: not noticed", i)
		}
		if n := log.Count(problem.JSONPartialEvent) + log.Count(problem.JSONMalformedEvent); n > 1 {
			t.Fatalf("cut at %d: %d events damaged", i, n)
		}
	}
}

// Searching for the next event takes time proportional to the input, whatever its nesting.
func TestResyncIsLinear(t *testing.T) {
	for name, broken := range map[string]string{
		"open objects":  strings.Repeat(`{"a":`, 300_000) + `]`,
		"open events":   strings.Repeat(`{"ph":"X","a":[`, 100_000) + `}`,
		"nested events": strings.Repeat(`{"a":[{"ph":"X"},`, 100_000) + `:`,
		"brackets":      strings.Repeat(`{`, 1_000_000),
	} {
		input := `[{"ph" "i"},` + broken + "\n" + `{"ph":"i","name":"found","pid":1,"ts":1}]`
		log := new(problem.Log)
		b := timeline.NewBuilder(timeline.Options{Problems: log})
		rd := newReader(context.Background(), strings.NewReader(input), b, Options{Options: readers.Options{Problems: log}})
		if err := rd.document(); err != nil && err != readers.ErrEnded {
			t.Errorf("%s: %v", name, err)
		}
		if log.Count(problem.JSONMalformedEvent) == 0 || rd.index == 0 {
			t.Errorf("%s: %d events, %d malformed", name, rd.index, log.Count(problem.JSONMalformedEvent))
		}
		if limit := int64(resyncCredit + (resyncFactor+2)*len(input)); rd.reparsed > limit {
			t.Errorf("%s: %d bytes parsed in vain, more than %d", name, rd.reparsed, limit)
		}
	}
}

// An event without its closing bracket does not pull all following events into the window.
func TestMissingBracketInLargeInput(t *testing.T) {
	event := `{"ph":"i","name":"` + strings.Repeat("n", 1000) + `","pid":1,"ts":1}`
	const n = 20 * suspicious / 16 / 1000
	input := `[{"ph":"i","name":"broken","pid":1,"ts":1,"args":{"l":[` + "\n" + list(n, func(int) string { return event })[1:]
	tl, log, err := suite.Load(t, strings.NewReader(input), Options{Options: readers.Options{Args: timeline.NoArgs()}})
	if err != nil {
		t.Fatal(err)
	}
	if tl.Len() != n || log.Count(problem.JSONMalformedEvent) != 1 {
		t.Errorf("%d events of %d, %d malformed", tl.Len(), n, log.Count(problem.JSONMalformedEvent))
	}
}

// However many events are truncated inside brackets, the lines after them are read, in linear time.
func TestOpenBracketsOnLines(t *testing.T) {
	const n = 30_000
	cut := `{"ph":"i","name":"cut","pid":1,"ts":1,"args":` + strings.Repeat(`{"a":`, 12) + `[1,2`
	input := list(n, func(i int) string {
		if i%10 == 0 {
			return cut
		}
		return `{"ph":"i","name":"n","pid":1,"ts":1}`
	})
	log := new(problem.Log)
	b := timeline.NewBuilder(timeline.Options{Problems: log})
	defer b.Close()
	rd := newReader(context.Background(), strings.NewReader(input), b, Options{Options: readers.Options{Problems: log}})
	if err := rd.document(); err != nil && err != readers.ErrEnded {
		t.Fatal(err)
	}
	if got := log.Count(problem.JSONMalformedEvent); rd.index != n || got != n/10 {
		t.Errorf("%d events of %d, %d malformed of %d", rd.index, n, got, n/10)
	}
	if limit := int64(resyncCredit + (resyncFactor+2)*len(input)); rd.reparsed > limit {
		t.Errorf("%d bytes parsed in vain, more than %d", rd.reparsed, limit)
	}
}

// Arguments of several megabytes are read, and unused members of that size are skipped, even with a small initial window.
func TestLargeValues(t *testing.T) {
	large := strings.Repeat("0123456789abcdef", 200_000)
	input := `{"unwanted":["` + large + `"],"traceEvents":[{"ph":"X","name":"x","pid":1,"ts":0,"dur":1,"args":{"picture":"` + large + `"}}]}`
	tl, _, err := suite.Load(t, strings.NewReader(input), Options{Options: readers.Options{Window: 4096}})
	if err != nil {
		t.Fatal(err)
	}
	got := 0
	err = tl.Walk(context.Background(), func(it *timeline.Item) error {
		for a := range tl.ArgList(it.Args) {
			got += len(a.Text())
		}
		return nil
	})
	if err != nil || got != len(large) {
		t.Errorf("%d bytes of %d, %v", got, len(large), err)
	}
}

func TestErrorsHavePositions(t *testing.T) {
	broken := errors.New("broken pipe")
	events := `[{"ph":"i","name":"a","pid":1,"ts":1},{"ph":"i","na`
	_, _, err := suite.Load(t, io.MultiReader(strings.NewReader(events), iotest.ErrReader(broken)), Options{})
	if want := "traceEvents[1] (byte 38): broken pipe"; !errors.Is(err, broken) || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestCancel(t *testing.T) {
	input := list(100_000, func(i int) string {
		return fmt.Sprintf(`{"ph":"i","name":"a","pid":1,"ts":%d}`, i)
	})
	for _, c := range []struct {
		name          string
		reads, window int
	}{
		{"inside one window", 1, len(input) + 1},
		{"while reading", 10, 4096},
	} {
		ctx, cancel := context.WithCancel(context.Background())
		log := new(problem.Log)
		b := timeline.NewBuilder(timeline.Options{Problems: log})
		r := &cancelAfter{strings.NewReader(input), c.reads, cancel}
		if err := Read(ctx, r, b, Options{Options: readers.Options{Problems: log, Window: c.window}}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", c.name, err)
		}
		b.Close()
	}
}

// cancelAfter cancels a context after a number of reads.
type cancelAfter struct {
	r      io.Reader
	reads  int
	cancel func()
}

func (c *cancelAfter) Read(p []byte) (int, error) {
	if c.reads--; c.reads == 0 {
		c.cancel()
	}
	return c.r.Read(p)
}

// otherFormats matches damaged recordings in formats other than Chrome's.
var otherFormats = regexp.MustCompile(`cut60pct-(ff|selfprof|cdp)-`)

// recordings returns the Chrome and Node recordings in the given folders.
func recordings(tb testing.TB, folders ...string) []recording.File {
	tb.Helper()
	return slices.DeleteFunc(recording.In(tb, folders...), func(f recording.File) bool { return otherFormats.MatchString(f.Name) })
}

// Recordings can be read, and those up to 1 MiB give the same result through a window of 16 bytes.
func TestRecordings(t *testing.T) {
	for _, f := range recordings(t, "chrome", "node", "damaged", "pytorch") {
		t.Run(f.Name, func(t *testing.T) {
			data := recording.Read(t, f.Path)
			want := suite.Dump(t, bytes.NewReader(data), Options{})
			if strings.HasPrefix(want, "error") {
				t.Fatal(want)
			}
			if len(data) > 1<<20 {
				return
			}
			got := suite.Dump(t, iotest.OneByteReader(bytes.NewReader(data)), Options{Options: readers.Options{Window: 16}})
			if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
				t.Errorf("through a small window: -want +got:\n%s", diff)
			}
		})
	}
}

// Dropping all arguments changes neither the number of records nor the number of problems that lose data.
func TestNoArgsKeepsEvents(t *testing.T) {
	for _, f := range recordings(t, "node", "damaged") {
		data := recording.Read(t, f.Path)
		all, logAll, _ := suite.Load(t, bytes.NewReader(data), Options{})
		none, logNone, _ := suite.Load(t, bytes.NewReader(data), Options{Options: readers.Options{Args: timeline.NoArgs()}})
		if all.Len() != none.Len() {
			t.Errorf("%s: %d records with arguments, %d without", f.Name, all.Len(), none.Len())
		}
		if diff := cmp.Diff(logAll.Lost(), logNone.Lost()); diff != "" {
			t.Errorf("%s: problems that lose something differ: %s", f.Name, diff)
		}
	}
}
