package firefox

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
)

// Errors from the input are returned, wherever in the profile they occur.
func TestReaderError(t *testing.T) {
	broken := errors.New("broken")
	profile := `{"meta":{"version":34,"startTime":0},"threads":[{"name":"T","stringTable":["a"],"markers":{"schema":{"name":0},"data":[[0],[0]]}}]}`
	for n := range len(profile) {
		_, _, err := suite.Load(t, io.MultiReader(strings.NewReader(profile[:n]), iotest.ErrReader(broken)), Options{Options: readers.Options{Window: 16}})
		if !errors.Is(err, broken) {
			t.Fatalf("after byte %d: %v", n, err)
		}
	}
}

// A done context ends reading and converting.
func TestCancel(t *testing.T) {
	input := string(recording.Bytes(t, "traces/firefox/processed/ff-processed-tiny.json"))
	for _, cancelAt := range []int{0, len(input) / 2, len(input)} {
		ctx, cancel := context.WithCancel(t.Context())
		r := io.MultiReader(strings.NewReader(input[:cancelAt]), cancelingReader{cancel}, strings.NewReader(input[cancelAt:]))
		log := new(problem.Log)
		b := timeline.NewBuilder(timeline.Options{Problems: log, TempDir: t.TempDir()})
		if err := Read(ctx, r, b, Options{Options: readers.Options{Problems: log}}); !errors.Is(err, context.Canceled) {
			t.Errorf("canceled at byte %d: %v", cancelAt, err)
		}
		b.Close()
	}
}

// cancelingReader is an empty input that cancels a context when it is read.
type cancelingReader struct{ cancel context.CancelFunc }

func (r cancelingReader) Read([]byte) (int, error) {
	r.cancel()
	return 0, io.EOF
}

// Repeated references to a long text from markers cannot make the output huge.
func TestLongTexts(t *testing.T) {
	long := strings.Repeat("é", shortText)
	profile := `{"meta":{"version":34,"startTime":0,"markerSchema":[{"name":"T","fields":[{"key":"u","format":"unique-string"}]}]},` +
		`"threads":[{"name":"T","pid":1,"tid":1,"stringTable":["` + long + `"],` +
		`"markers":{"schema":{"name":0,"startTime":1,"phase":2,"data":3},"data":[[0,1,0,{"type":"T","u":0}]]}}]}`
	for _, used := range []int{0, maxResolved} {
		log := new(problem.Log)
		p, err := decode(t.Context(), strings.NewReader(profile), Options{Options: readers.Options{Problems: log}})
		if err != nil {
			t.Fatal(err)
		}
		b := timeline.NewBuilder(timeline.Options{Problems: log, TempDir: t.TempDir()})
		c := newConverter(t.Context(), b, Options{Options: readers.Options{Problems: log}})
		c.resolved = used
		if err := c.convert(p); err != nil {
			t.Fatal(err)
		}
		cut := log.Count(problem.FirefoxValueInvalid)
		if name := c.bounded([]byte(long)); used == 0 && (cut != 0 || len(name) != len(long)) || used > 0 && (cut != 2 || len(name) > shortText) {
			t.Errorf("%d bytes used: %d texts cut, %d bytes", used, cut, len(name))
		}
		b.Close()
	}
}

// The work for very deep stacks is limited.
func TestDeepStacks(t *testing.T) {
	const depth, samples = 20_000, 2_000
	var s strings.Builder
	s.WriteString(`{"meta":{"version":34,"startTime":0,"categories":[{"name":"Deep"}]},"threads":[{"name":"T","pid":1,"tid":1,"stringTable":["f (a.js:1:1)"],`)
	s.WriteString(`"frameTable":{"schema":{"location":0,"category":1},"data":[[0],[0,0]]},"stackTable":{"schema":{"prefix":0,"frame":1},"data":[[null,1]`)
	for i := range depth - 1 {
		s.WriteString(`,[` + strconv.Itoa(i) + `,0]`)
	}
	s.WriteString(`]},"samples":{"schema":{"stack":0,"time":1},"data":[[0,0]`)
	for i := range samples {
		s.WriteString(`,[` + strconv.Itoa(depth-1-i%2) + `,` + strconv.Itoa(i+1) + `]`)
	}
	s.WriteString(`]}}]}`)
	tl, log, err := suite.Load(t, strings.NewReader(s.String()), Options{JSCalls: true})
	if err != nil {
		t.Fatal(err)
	}
	// The category of the root is out of reach; the call in the first sample continues, and maxCallDepth of the others
	// are shown.
	if got := tl.Totals().Samples; got != samples+1 {
		t.Errorf("%d samples", got)
	}
	if log.Count(problem.StackLimit) == 0 {
		t.Error("stacks of 20,000 frames are not counted")
	}
}

// Lists of large elements, and nesting, are limited.
func TestLimits(t *testing.T) {
	many := strings.Repeat("{},", maxListed+1)
	for name, profile := range map[string]string{
		"threads":    `{"meta":{},"threads":[` + many + `]}`,
		"processes":  `{"meta":{},"threads":[],"processes":[` + many + `]}`,
		"libs":       `{"meta":{},"threads":[],"libs":[` + many + `]}`,
		"counters":   `{"meta":{},"threads":[],"counters":[` + many + `]}`,
		"overheads":  `{"meta":{},"threads":[],"profilerOverhead":[` + many + `]}`,
		"schemas":    `{"meta":{"markerSchema":[` + many + `]},"threads":[]}`,
		"categories": `{"meta":{"categories":[` + many + `]},"threads":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			_, log, err := suite.Load(t, strings.NewReader(profile), Options{})
			if err != nil {
				t.Fatal(err)
			}
			if got := log.Count(problem.FirefoxValueInvalid); got != 1 {
				t.Errorf("%d elements are too many, want 1", got)
			}
		})
	}
	const deep = 1_000_000
	for name, profile := range map[string]string{
		"profiles":  `{"threads":[],"x":` + strings.Repeat(`{"profile":`, deep) + `1` + strings.Repeat(`}`, deep) + `}`,
		"wrapped":   strings.Repeat(`{"profile":`, deep) + `1` + strings.Repeat(`}`, deep),
		"processes": `{"meta":{},"threads":[],"processes":` + strings.Repeat(`[{"processes":`, deep) + `1` + strings.Repeat(`}]`, deep) + `}`,
		"payloads": `{"meta":{},"threads":[{"stringTable":["a"],"markers":{"name":[0],"startTime":[0],"phase":[0],"data":[{"x":` +
			strings.Repeat("[", deep) + strings.Repeat("]", deep) + `}]}}]}`,
		"causes": `{"meta":{},"threads":[{"stringTable":["a"],"markers":{"name":[0],"startTime":[0],"phase":[0],"data":[` +
			strings.Repeat(`{"stack":`, deep) + `1` + strings.Repeat("}", deep) + `]}}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := suite.Load(t, strings.NewReader(profile), Options{}); err != nil {
				t.Log(err)
			}
		})
	}
}

// The stated length of a table has no effect if the table has no rows.
func TestHugeLength(t *testing.T) {
	table := `{"length":2147483647,"x":[]}`
	var tables strings.Builder
	for _, name := range []string{"stackTable", "frameTable", "funcTable", "resourceTable", "nativeSymbols", "sources", "markers",
		"samples", "jsAllocations", "nativeAllocations", "jsTracer", "sourceLocationTable"} {
		tables.WriteString(`"` + name + `":` + table + `,`)
	}
	profile := `{"meta":{"preprocessedProfileVersion":70},"shared":{` + tables.String() + `"stringArray":[]},"threads":[{` + tables.String() +
		`"name":"T"},{"name":"U","samples":{"length":1,"stack":[0],"time":[0]}}],"counters":[{"samples":` + table + `}],"profilerOverhead":[{"samples":` + table + `}]}`
	tl, _, err := suite.Load(t, strings.NewReader(profile), Options{JSCalls: true})
	if err != nil {
		t.Fatal(err)
	}
	if tl.Len() != 1 {
		t.Errorf("%d records of one sample", tl.Len())
	}
}
