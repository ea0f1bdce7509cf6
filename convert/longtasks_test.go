package convert_test

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/pftrace"
)

// task returns an event-loop task, with times in µs.
func task(tid int, name string, ts, dur int) string {
	return fmt.Sprintf(`{"ph":"X","cat":"toplevel","name":%q,"pid":1,"tid":%d,"ts":%d,"dur":%d}`, name, tid, ts, dur)
}

// Long tasks are the outermost event-loop tasks that take at least 50 ms and have an end in the input.
func TestLongTasks(t *testing.T) {
	for name, c := range map[string]struct {
		events []string
		want   []string
	}{
		"50 ms is long":    {[]string{task(1, "RunTask", 0, 50_000)}, []string{"1 Long task 50 ms 0+50000000 blocking 0"}},
		"less is not":      {[]string{task(1, "RunTask", 0, 49_999)}, nil},
		"parts of a µs":    {[]string{`{"ph":"X","name":"RunTask","pid":1,"tid":1,"ts":7,"dur":83190.5}`}, []string{"1 Long task 83 ms 7000+83190500 blocking 33190500"}},
		"begin and end":    {[]string{`{"ph":"B","name":"ThreadControllerImpl::RunTask","pid":1,"tid":1,"ts":1}`, `{"ph":"E","pid":1,"tid":1,"ts":60001}`}, []string{"1 Long task 60 ms 1000+60000000 blocking 10000000"}},
		"no end":           {[]string{`{"ph":"B","name":"RunTask","pid":1,"tid":1,"ts":1}`, task(1, "other", 60_001, 100_000)}, nil},
		"ends at the next": {[]string{`{"ph":"B","name":"RunTask","pid":1,"tid":1,"ts":1}`, `{"ph":"B","name":"RunTask","pid":1,"tid":1,"ts":90001}`}, nil},
		"a loop in a task": {[]string{task(1, "RunTask", 0, 200_000), task(1, "RunTask", 10_000, 60_000)}, []string{"1 Long task 200 ms 0+200000000 blocking 150000000"}},
		"in a time with tasks": {
			[]string{task(1, "ThreadController active", 0, 300_000), task(1, "RunTask", 1000, 60_000), task(1, "RunTask", 61_000, 70_000)},
			[]string{"1 Long task 60 ms 1000000+60000000 blocking 10000000", "1 Long task 70 ms 61000000+70000000 blocking 20000000"},
		},
		"each thread":   {[]string{task(2, "RunTask", 5, 51_000), task(1, "RunTask", 5, 52_000)}, []string{"2 Long task 51 ms 5000+51000000 blocking 1000000", "1 Long task 52 ms 5000+52000000 blocking 2000000"}},
		"overlapping":   {[]string{task(1, "RunTask", 0, 60_000), task(1, "RunTask", 30_000, 60_000)}, []string{"1 Long task 60 ms 0+60000000 blocking 10000000"}},
		"pool of tasks": {[]string{task(1, "ThreadPool_RunTask", 0, 60_000), task(1, "other", 60_000, 60_000)}, nil},
		"no thread":     {[]string{`{"ph":"b","cat":"c","id":1,"name":"RunTask","pid":1,"tid":1,"ts":0}`, `{"ph":"e","cat":"c","id":1,"name":"RunTask","pid":1,"tid":1,"ts":90000}`}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			input := []byte("[" + strings.Join(c.events, ",") + "]")
			marked := convertedWith(t, input, convert.Options{})
			got, _ := marksOf(t, marked)
			slices.Sort(got)
			slices.Sort(c.want)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			again, _ := marksOf(t, convertedWith(t, marked, convert.Options{}))
			slices.Sort(again)
			if diff := cmp.Diff(c.want, again); diff != "" {
				t.Errorf("converted again: -want +got\n%s", diff)
			}
			if got, _ := marksOf(t, convertedWith(t, input, convert.Options{NoLongTasks: true})); got != nil {
				t.Errorf("marks %q without being asked for", got)
			}
		})
	}
}

func convertedWith(t *testing.T, input []byte, opts convert.Options) []byte {
	t.Helper()
	opts.TempDir = t.TempDir()
	var out bytes.Buffer
	if _, err := convert.Convert(t.Context(), &out, bytes.NewReader(input), opts); err != nil {
		t.Fatal(err)
	}
	if report, err := pftrace.Verify(t.Context(), bytes.NewReader(out.Bytes()), pftrace.VerifyOptions{}); err != nil || !report.OK() {
		t.Fatalf("%v, %+v", err, report)
	}
	return out.Bytes()
}

// marksOf returns the marks and all other events in a trace, in time order.
func marksOf(t *testing.T, data []byte) (marks, others []string) {
	t.Helper()
	tl, _, err := convert.Load(t.Context(), bytes.NewReader(data), convert.Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	err = tl.Walk(t.Context(), func(it *timeline.Item) error {
		track := tl.Track(it.Track)
		if tl.Role(it.Track) != timeline.RoleLongTasks {
			length := it.Dur
			if it.Kind == timeline.ItemEnd {
				length = timeline.NoTime // ignored, because it is known only for complete events
			}
			others = append(others, fmt.Sprintf("%d %d+%d %s %s %d", it.Kind, it.TS, length, it.Name, track.FullName(), len(it.Flows)))
			return nil
		}
		if it.Kind == timeline.ItemEnd {
			return nil
		}
		blocking := int64(-1)
		for a := range tl.ArgList(it.Args) {
			if string(a.Key) == "blocking_ns" {
				blocking = a.Int()
			}
		}
		if string(it.Category) != timeline.LongTaskCategory {
			t.Errorf("%s has the category %q", it.Name, it.Category)
		}
		marks = append(marks, fmt.Sprintf("%d %s %d+%d blocking %d", tl.Track(track.Parent).TID, it.Name, it.TS, it.Dur, blocking))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return marks, others
}

var chromeTime = regexp.MustCompile(`"(ts|dur)":(\d+)`)

// slowed slows a Chrome recording down by a factor of forty.
func slowed(data []byte) []byte {
	return chromeTime.ReplaceAllFunc(data, func(m []byte) []byte {
		var n int64
		key, number, _ := bytes.Cut(m, []byte(":"))
		fmt.Sscan(string(number), &n)
		return fmt.Appendf(nil, "%s:%d", key, n*40)
	})
}

// Marks change nothing else: attribution, reports, flows and all other events are the same with and without marks, in whatever
// order the marks are written, read and removed.
func TestLongTasksChangeNothingElse(t *testing.T) {
	for _, name := range recording.Some([]string{
		"traces/chrome/chrome-devtools-small.json.gz", "traces/chrome/chrome-everything-small.json.gz", "traces/firefox/gecko/ff-gecko-small.json.gz",
	}) {
		t.Run(name, func(t *testing.T) {
			input := unpacked(t, recording.Read(t, recording.Large(t, name)))
			if strings.Contains(name, "chrome") {
				input = slowed(input)
			}
			with := convertedWith(t, input, convert.Options{})
			without := convertedWith(t, input, convert.Options{NoLongTasks: true})
			marks, others := marksOf(t, with)
			if len(marks) == 0 {
				t.Fatal("no long tasks")
			}
			if none, want := marksOf(t, without); none != nil || !slices.Equal(want, others) {
				t.Errorf("without marks there are %d marks, and %d other events, want %d", len(none), len(want), len(others))
			}
			if diff := cmp.Diff(withoutOrdinals(answersOf(t, without)), withoutOrdinals(answersOf(t, with))); diff != "" {
				t.Errorf("with marks, other answers: -without +with\n%s", diff)
			}
			if diff := cmp.Diff(slicesReport(t, without), slicesReport(t, with)); diff != "" {
				t.Errorf("another report about slices: -without +with\n%s", diff)
			}
			if twice, rest := marksOf(t, convertedWith(t, with, convert.Options{})); !slices.Equal(twice, marks) || !slices.Equal(rest, others) {
				t.Errorf("converted again: %q, want %q; %d other events, want %d", twice, marks, len(rest), len(others))
			}
			taken := convertedWith(t, with, convert.Options{NoLongTasks: true})
			if none, rest := marksOf(t, taken); none != nil || !slices.Equal(rest, others) {
				t.Errorf("after removal, %d marks remain, and %d other events of %d", len(none), len(rest), len(others))
			}
			if later, _ := marksOf(t, convertedWith(t, without, convert.Options{})); strings.Contains(name, "chrome") && !slices.Equal(later, marks) {
				t.Errorf("marked later: %q, want %q", later, marks)
			}
		})
	}
}

// slicesReport returns the report on all slices by name.
func slicesReport(t *testing.T, data []byte) string {
	t.Helper()
	tl, _, err := convert.Load(t.Context(), bytes.NewReader(data), convert.Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	r, err := report.CollectSlices(t.Context(), tl, report.SliceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return jsonText(t, r)
}

// withoutOrdinals removes the numbers of events and tracks, which depend on the marks.
func withoutOrdinals(a answers) answers {
	for i, c := range a.Contexts {
		_, a.Contexts[i], _ = strings.Cut(c, " ")
	}
	for i, f := range a.Flows {
		a.Flows[i] = ordinals.ReplaceAllString(f, "$1")
	}
	for i, q := range a.Requests {
		a.Requests[i] = ordinals.ReplaceAllString(q, "$1")
	}
	for i := range a.LongTasks {
		a.LongTasks[i].Thread = 0
	}
	return a
}

var ordinals = regexp.MustCompile(`(\b(?:Ordinal|Track|Thread|ID|Event):)\d+`)

// With attribution, marks have contexts. A trace copied packet by packet receives no marks.
func TestLongTasksWithContexts(t *testing.T) {
	input := []byte("[" + task(1, "RunTask", 0, 80_000) + `,{"ph":"X","name":"FunctionCall","pid":1,"tid":1,"ts":10000,"dur":60000,"args":{"data":{"frame":"F"}}},` +
		`{"ph":"X","name":"FunctionCall","pid":1,"tid":1,"ts":72000,"dur":5000,"args":{"data":{"frame":"G"}}}]`)
	opts := convert.Options{Attribute: &attribution.Options{}}
	marks, others := marksOf(t, convertedWith(t, input, opts))
	want := []string{"1 Long task 80 ms 0+80000000 blocking 30000000"}
	if !slices.Equal(marks, want) {
		t.Errorf("marks %q, want %q", marks, want)
	}
	if got, want := ranFor(t, convertedWith(t, input, opts)), "Frame frame F 60000000 60.0 ms"; got != want {
		t.Errorf("the task ran for %q, want %q", got, want)
	}
	if got := ranFor(t, convertedWith(t, input, convert.Options{})); got != "" {
		t.Errorf("without attribution the task ran for %q", got)
	}
	contexts := 0
	for _, e := range others {
		if strings.Contains(e, "Context: Frame") {
			contexts++
		}
	}
	if contexts == 0 {
		t.Errorf("no contexts beside the marks: %q", others)
	}
	plain := convertedWith(t, input, convert.Options{NoLongTasks: true})
	opts.KeepPackets = true
	if marks, _ := marksOf(t, convertedWith(t, plain, opts)); marks != nil {
		t.Errorf("a trace that is kept has marks: %q", marks)
	}
}

// ranFor returns the contexts named by the last mark.
func ranFor(t *testing.T, data []byte) (text string) {
	t.Helper()
	tl, _, err := convert.Load(t.Context(), bytes.NewReader(data), convert.Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	err = tl.Walk(t.Context(), func(it *timeline.Item) error {
		if tl.Role(it.Track) != timeline.RoleLongTasks || it.Kind != timeline.ItemBegin {
			return nil
		}
		for a := range tl.ArgList(it.Args) {
			if string(a.Key) != "ran_for" {
				continue
			}
			for typ := range tl.Members(a) {
				text += string(typ.Key)
				for m := range tl.Members(typ) {
					if m.Kind == timeline.ArgString {
						text += " " + string(m.Text())
					} else {
						text += fmt.Sprintf(" %d", m.Int())
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Tasks beyond the limit are counted, and the same tasks are marked with any number of workers.
func TestLongTaskLimit(t *testing.T) {
	const limit, more = 1 << 16, 3
	var input bytes.Buffer
	input.WriteString("[" + task(1, "RunTask", 0, 50_000))
	for i := 1; i < limit+more; i++ {
		input.WriteString("," + task(1, "RunTask", i*50_000, 50_000))
	}
	input.WriteString("]")
	var outputs [][]byte
	for _, workers := range []int{1, 4} {
		var out bytes.Buffer
		report, err := convert.Convert(context.Background(), &out, bytes.NewReader(input.Bytes()), convert.Options{Workers: workers, TempDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		counted := map[string]int64{}
		for _, p := range report.Problems {
			counted[p.Name] = int64(p.Count)
		}
		if diff := cmp.Diff(map[string]int64{"long_task_limit": more}, counted); diff != "" {
			t.Errorf("problems: -want +got\n%s", diff)
		}
		if marks := report.Events.AddedSlices; marks != limit || report.Events.Slices != limit+more {
			t.Errorf("%d marks, want %d", marks, limit)
		}
		outputs = append(outputs, out.Bytes())
	}
	if !bytes.Equal(outputs[0], outputs[1]) {
		t.Error("other bytes with other workers")
	}
}

// A mark names the longest part of its task: the innermost slice that takes at least half of the task, or otherwise the longest
// slice. It also states whether that part is the profiler's own work.
func TestLongestPart(t *testing.T) {
	for _, c := range []struct {
		name   string
		events []string
		want   string
	}{
		{"nothing in it", []string{task(1, "RunTask", 0, 60_000), task(1, "after", 60_000, 70_000), task(2, "elsewhere", 10, 50)}, `blocking=10.0 ms`},
		{"the innermost of half", []string{
			task(1, "RunTask", 0, 261_300), task(1, "outer", 5, 250_000), task(1, "inner", 10, 200_000), task(1, "small", 20, 100_000), task(1, "last", 250_010, 11_000),
		}, `blocking=211.3 ms longest_part=inner 200.0 ms`},
		{"else the longest", []string{task(1, "RunTask", 0, 100_000), task(1, "a", 5, 20_000), task(1, "b", 30_000, 30_000), task(1, "c", 70_000, 25_000)},
			`blocking=50.0 ms longest_part=b 30.0 ms`},
		{"the recorder", []string{task(1, "RunTask", 0, 100_000), task(1, "CpuProfiler::StartProfiling", 5, 90_000)},
			`blocking=50.0 ms longest_part=CpuProfiler::StartProfiling 90.0 ms recorder=true`},
	} {
		data := convertedWith(t, []byte("["+strings.Join(c.events, ",")+"]"), convert.Options{})
		for _, data := range [][]byte{data, convertedWith(t, data, convert.Options{})} {
			tl, _, err := convert.Load(t.Context(), bytes.NewReader(data), convert.Options{TempDir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			err = tl.Walk(t.Context(), func(it *timeline.Item) error {
				for a := range tl.ArgList(it.Args) {
					if tl.Role(it.Track) == timeline.RoleLongTasks && a.Kind != timeline.ArgInt {
						value := "true"
						if a.Kind == timeline.ArgString {
							value = string(a.Text())
						}
						got = append(got, string(a.Key)+"="+value)
					}
				}
				return nil
			})
			if text := strings.Join(got, " "); err != nil || text != c.want {
				t.Errorf("%s: %s, want %s; %v", c.name, text, c.want, err)
			}
			tl.Close()
		}
	}
}
