package jsprofile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/readertest"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
)

// elements returns a list of n elements from fn.
func elements(n int, fn func(i int) string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(fn(i))
	}
	return b.String()
}

// chain returns a profile whose stack i has i+1 frames of two alternating functions.
func chain(stacks int, samples string) string {
	return `{"resources":[],"frames":[{"name":"a"},{"name":"b"}],"stacks":[{"frameId":0}` + elements(stacks-1, func(i int) string {
		comma := ""
		if i == 0 {
			comma = ","
		}
		return fmt.Sprintf(`%s{"frameId":%d,"parentId":%d}`, comma, (i+1)%2, i)
	}) + `],"samples":[` + samples + `]}`
}

// Perfetto nests 512 slices. For a deeper stack, the outermost frames are shown, with the marker on top.
func TestDeepStack(t *testing.T) {
	for _, c := range []struct {
		depth, shown int
		limited      uint64
	}{{511, 512, 0}, {512, 512, 1}, {5000, 512, 1}} {
		input := chain(c.depth, fmt.Sprintf(`{"timestamp":0,"stackId":%d,"marker":"gc"},{"timestamp":10}`, c.depth-1))
		tl, log, err := suite.Load(t, strings.NewReader(input), Options{Interval: 10})
		if err != nil {
			t.Fatal(err)
		}
		slices, deepest := 0, ""
		err = tl.Walk(context.Background(), func(it *timeline.Item) error {
			if it.Kind == timeline.ItemBegin && tl.TrackKind(it.Track) == timeline.ThreadTrack {
				slices++
				deepest = string(it.Name)
			}
			if it.Lane != 0 {
				t.Errorf("depth %d: a slice in a lane", c.depth)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		// The stack itself is also truncated, but by the timeline's limit of 4096 frames.
		limited := log.Count(problem.StackLimit)
		if c.depth+1 > timeline.MaxStackDepth {
			limited--
		}
		if slices != c.shown || deepest != "(gc)" || limited != c.limited {
			t.Errorf("depth %d: %d slices, the innermost %s, stack_limit %d", c.depth, slices, deepest, limited)
		}
	}
}

// Long chains of stacks are followed once, however many samples there are: this takes a moment, but would take hours
// if every sample followed its own.
func TestLongChains(t *testing.T) {
	const stacks, samples = 200_000, 20_000
	for name, input := range map[string]string{
		"good": chain(stacks, elements(samples, func(i int) string { return fmt.Sprintf(`{"timestamp":%d,"stackId":3}`, i*10) })),
		"deep": chain(stacks, elements(samples, func(i int) string {
			return fmt.Sprintf(`{"timestamp":%d,"stackId":%d}`, i*10, stacks-1-i%1000)
		})),
		"bad": strings.Replace(chain(stacks, elements(samples, func(i int) string {
			return fmt.Sprintf(`{"timestamp":%d,"stackId":%d}`, i*10, stacks-1-i%1000)
		})), `[{"frameId":0}`, `[{"frameId":7}`, 1),
	} {
		_, log, err := suite.Load(t, strings.NewReader(input), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if bad := log.Count(problem.BadStack); name == "bad" && bad != samples || name != "bad" && bad != 0 {
			t.Errorf("%s: bad_stack %d", name, bad)
		}
	}
}

// Lists longer than any browser writes are not read to their end.
func TestLongLists(t *testing.T) {
	input := `{"resources":[],"frames":[` + elements(maxFrames+2, func(int) string { return "{}" }) + `],
		"stacks":[{"frameId":1048575},{"frameId":1048576}],"samples":[{"timestamp":0,"stackId":0},{"timestamp":10,"stackId":1}]}`
	_, log, err := suite.Load(t, strings.NewReader(input), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if log.Count(problem.StackLimit) != 1 || log.Count(problem.BadStack) != 1 {
		t.Errorf("%v", log.Totals())
	}
}

func TestErrorsOfTheInput(t *testing.T) {
	broken := errors.New("broken pipe")
	_, _, err := suite.Load(t, io.MultiReader(strings.NewReader(`{"frames":[],"samples":[{"timest`), iotest.ErrReader(broken)), Options{})
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "byte ") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log)})
	if err := Read(ctx, strings.NewReader(`{}`), b, Options{Options: readers.Options{Problems: new(problem.Log)}}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// FuzzRead checks that no input makes the reader panic or hang, that the result does not depend on how the input
// arrives, and that the output breaks no rule of the format.
func FuzzRead(f *testing.F) {
	for _, c := range readertest.Cases(f) {
		f.Add([]byte(c.Input), int64(0))
	}
	f.Add([]byte(`{"frames":[{}],"stacks":[{"frameId":0}],"samples":[{"timestamp":9e12,"stackId":0}],"resources":[]}`), int64(1)<<62)
	f.Fuzz(func(t *testing.T, input []byte, origin int64) {
		opts := Options{TimeOrigin: (*timeline.Nanos)(&origin)}
		if origin%2 == 0 {
			opts.TimeOrigin = nil
		}
		at := strings.NewReader
		want := suite.Dump(t, at(string(input)), opts)
		opts.Window = 16
		if got := suite.Dump(t, iotest.OneByteReader(at(string(input))), opts); got != want {
			t.Fatalf("in one piece:\n%s\nbyte by byte:\n%s", want, got)
		}
	})
}

// BenchmarkRead reads profiles of three sizes with stacks of 20 frames, most of which neighbouring samples share: the
// time per sample must not grow with the number of samples.
func BenchmarkRead(b *testing.B) {
	for _, samples := range []int{10_000, 100_000, 1_000_000} {
		input := chain(400, elements(samples, func(i int) string {
			return fmt.Sprintf(`{"stackId":%d,"timestamp":%d.%03d}`, 15+i%7, i*10, i%1000)
		}))
		b.Run(fmt.Sprint(samples), func(b *testing.B) {
			b.SetBytes(int64(len(input)))
			b.ReportAllocs()
			for b.Loop() {
				builder := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log), Memory: 1 << 40})
				if err := Read(b.Context(), strings.NewReader(input), builder, Options{Options: readers.Options{Problems: new(problem.Log)}}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(samples)*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
		})
	}
}

// Recorded profiles are read without problems except samples out of order, which browsers write, gaps, and names from a
// page that does not declare its charset.
func TestRecordings(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(recording.Testdata(t), "traces", "jsprofile", "selfprof-*.json"))
	if err != nil || len(paths) != 8 {
		t.Fatalf("%d recordings, %v", len(paths), err)
	}
	for _, path := range paths {
		tl, log, err := suite.Load(t, strings.NewReader(string(recording.Read(t, path))), Options{})
		if err != nil {
			t.Fatal(err)
		}
		readertest.Verify(t, tl)
		for _, total := range log.Totals() {
			switch total.Kind {
			case problem.SamplesOutOfOrder, problem.SamplingGap, problem.TextRedecoded:
			default:
				t.Errorf("%s: %s ×%d", recording.Name(path), total.Kind, total.Count)
			}
		}
	}
}

// An input that exceeds the memory limit causes an error, whatever makes it large.
func TestMemory(t *testing.T) {
	const memory = 1 << 20
	lists := func(resources, frames, stacks, samples, more string) string {
		return fmt.Sprintf(`{"resources":[%s],"frames":[%s],"stacks":[%s],"samples":[%s]%s}`, resources, frames, stacks, samples, more)
	}
	long := strings.Repeat("x", 1000)
	for name, input := range map[string]string{
		"resources": lists(elements(2000, func(i int) string { return `"` + long + `"` }), "", "", "", ""),
		"frames":    lists("", elements(50_000, func(int) string { return "{}" }), "", "", ""),
		"names":     lists("", elements(2000, func(int) string { return `{"name":"` + long + `"}` }), "", "", ""),
		"stacks":    lists("", "", elements(100_000, func(int) string { return `{"frameId":0}` }), "", ""),
		"samples":   lists("", "", "", elements(100_000, func(i int) string { return fmt.Sprintf(`{"timestamp":%d}`, i) }), ""),
		"markers":   lists("", "", "", elements(20_000, func(i int) string { return fmt.Sprintf(`{"timestamp":%d,"marker":"m%d"}`, i, i) }), ""),
		"spans":     lists("", "", "", "", `,"longTasks":[`+elements(20_000, func(i int) string { return `{"startTime":1}` })+`]`),
		"members":   lists("", "", "", "", elements(20_000, func(i int) string { return fmt.Sprintf(`"m%d":1`, i) })),
		"few":       lists(`"a"`, "{}", `{"frameId":0}`, `{"timestamp":1}`, ""),
	} {
		if name == "members" {
			input = strings.Replace(input, `]"m0"`, `],"m0"`, 1)
		}
		var noRoom *collections.MemoryLimitError
		if _, _, err := suite.Load(t, strings.NewReader(input), Options{ProfileMemory: memory}); errors.As(err, &noRoom) != (name != "few") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, size := range map[string][2]uintptr{
		"sample":    {sizeOfSample, reflect.TypeFor[sample]().Size()},
		"frame":     {sizeOfFrame, reflect.TypeFor[frame]().Size()},
		"span":      {sizeOfSpan, reflect.TypeFor[span]().Size()},
		"attribute": {sizeOfAttribute, reflect.TypeFor[attribute]().Size()},
	} {
		if size[0] < size[1] {
			t.Errorf("a %s takes %d bytes, and counts as %d", name, size[1], size[0])
		}
	}
}
