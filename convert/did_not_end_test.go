package convert_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/timeline"
)

// unended has slices without an end inside a task that ends: one without arguments, one with some, and one with an argument
// called weft.
const unended = `[
	{"ph":"B","name":"around","pid":1,"tid":1,"ts":0},
	{"ph":"B","name":"plain","pid":1,"tid":1,"ts":1},
	{"ph":"B","name":"own","pid":1,"tid":1,"ts":2,"args":{"n":1,"weft":{"x":2}}},
	{"ph":"B","name":"text","pid":1,"tid":1,"ts":3,"args":{"weft":{"did_not_end":"says the input"}}},
	{"ph":"E","name":"around","pid":1,"tid":1,"ts":10}]`

// endings returns the arguments of each slice in a trace, and whether the slice ended.
func endings(t *testing.T, input []byte) (all []string) {
	t.Helper()
	tl, _, err := convert.Load(t.Context(), bytes.NewReader(input), convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	err = tl.Walk(t.Context(), func(it *timeline.Item) error {
		if it.Kind == timeline.ItemBegin {
			args := ""
			for a := range tl.ArgList(it.Args) {
				args += fmt.Sprintf(" %s=", a.Key)
				if a.Kind != timeline.ArgDict {
					args += fmt.Sprint(a.Int())
					continue
				}
				for m := range tl.Members(a) {
					args += fmt.Sprintf("{%s %q}", m.Key, m.Text())
				}
			}
			all = append(all, fmt.Sprintf("%s: did not end %v, length %d,%s", it.Name, it.DidNotEnd, it.Dur, args))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// busyTime returns the total busy time of a trace's threads.
func busyTime(t *testing.T, input []byte) (total int64) {
	t.Helper()
	tr, err := convert.Open(t.Context(), bytes.NewReader(input), convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	res, err := attribution.Run(t.Context(), tr, attribution.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Close()
	table, err := res.Table(attribution.TableOptions{Type: "Thread"})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range table.Rows {
		total += int64(row.Self)
	}
	return total
}

// perfettoOf converts a trace to a Perfetto trace.
func perfettoOf(t *testing.T, input []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, err := convert.Convert(t.Context(), &out, bytes.NewReader(input), convert.Options{}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// markers counts the packets in a trace that mark a slice as unfinished, for weft and for viewers.
func markers(t *testing.T, trace []byte) (typed, args int) {
	t.Helper()
	names := map[uint64]string{}
	editTrace(t, trace, func(p *protos.TracePacket) {
		for _, name := range p.GetInternedData().GetDebugAnnotationNames() {
			names[name.GetIid()] = name.GetName()
		}
		if p.GetWeftDidNotEnd() {
			typed++
		}
		for _, a := range p.GetTrackEvent().GetDebugAnnotations() {
			for _, member := range a.GetDictEntries() {
				if member.GetName()+names[member.GetNameIid()] == "did_not_end" && member.GetBoolValue() {
					args++
				}
			}
		}
	})
	return typed, args
}

// An unfinished slice remains unfinished, with the arguments from the input, however often the trace is converted.
func TestDidNotEndAgain(t *testing.T) {
	input := []byte(unended)
	want := []string{
		"around: did not end false, length 10000,",
		"plain: did not end true, length 9000,",
		`own: did not end true, length 8000, n=1 _weft={x ""}`,
		`text: did not end true, length 7000, _weft={did_not_end "says the input"}`,
	}
	for n := range 3 {
		if got := endings(t, input); !slices.Equal(got, want) {
			t.Errorf("converted %d times, the trace has\n%q, want\n%q", n, got, want)
		}
		if got := busyTime(t, input); got != 10000 {
			t.Errorf("converted %d times, threads are busy for %d ns", n, got)
		}
		input = perfettoOf(t, input)
		if typed, args := markers(t, input); typed != 3 || args != 3 {
			t.Errorf("converted %d times, %d packets and %d arguments mark it", n+1, typed, args)
		}
	}
}

// An argument named weft.did_not_end from another producer has no effect: the slice has ended, and its time counts as busy time.
func TestForeignDidNotEnd(t *testing.T) {
	trace := perfettoOf(t, []byte(`[
		{"ph":"X","name":"a","pid":1,"tid":1,"ts":0,"dur":10,"args":{"weft":{"did_not_end":true}}},
		{"ph":"X","name":"b","pid":1,"tid":1,"ts":20,"dur":10}]`))
	for range 2 {
		want := []string{"a: did not end false, length 10000, _weft={did_not_end \"\"}", "b: did not end false, length 10000,"}
		if got := endings(t, trace); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if got := busyTime(t, trace); got != 20000 {
			t.Errorf("threads are busy for %d ns, want 20000", got)
		}
		trace = perfettoOf(t, trace)
	}
}

// If the end that weft wrote is lost, the slice is still unfinished and is marked only once, even in a trace by an earlier
// version of weft that had no field for the mark.
func TestDidNotEndTwice(t *testing.T) {
	trace := perfettoOf(t, []byte(`[
		{"ph":"B","name":"RunTask","pid":1,"tid":1,"ts":0,"args":{"n":1}},
		{"ph":"X","name":"RunTask","pid":1,"tid":1,"ts":10,"dur":5}]`))
	for _, earlier := range []bool{false, true} {
		ends := 0
		cut := editTrace(t, trace, func(p *protos.TracePacket) {
			if earlier {
				p.WeftDidNotEnd = nil
			}
			if p.GetTrackEvent().GetType() == protos.TrackEvent_TYPE_SLICE_END {
				if ends++; ends == 1 {
					p.Data = nil
				}
			}
		})
		if ends != 2 {
			t.Fatalf("%d ends", ends)
		}
		want := []string{"RunTask: did not end true, length 10000, n=1", "RunTask: did not end false, length 5000,"}
		if earlier {
			want[0] += ` weft={did_not_end ""}`
		}
		if got := endings(t, cut); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		again := perfettoOf(t, cut)
		if typed, args := markers(t, again); typed != 1 || args != 1 {
			t.Errorf("%d packets and %d arguments mark an unfinished slice", typed, args)
		}
		want[0] = "RunTask: did not end true, length 10000, n=1"
		if got := endings(t, again); !slices.Equal(got, want) {
			t.Errorf("again: %q, want %q", got, want)
		}
	}
}
