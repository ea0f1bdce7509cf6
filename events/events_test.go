package events_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/events"
	"github.com/weft-trace/weft/flow"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/pftrace"
	"github.com/weft-trace/weft/trace"
)

// open reads a trace, whose temporary files are gone when the test is over.
func open(t testing.TB, in io.Reader) *trace.Trace {
	t.Helper()
	dir := t.TempDir()
	tr, err := convert.Open(context.Background(), in, convert.Options{TempDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("%d temporary files are left, error %v", len(left), err)
		}
	})
	return tr
}

// write returns a trace as a stream.
func write(t testing.TB, tr *trace.Trace) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := events.Write(context.Background(), &out, tr, events.Options{Input: "test"}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// comparable is what is compared of an event: everything, but for what a stream does not have.
type comparable struct {
	Event trace.Event
	Args  string
	Kinds string // of the arguments
	CPU   [2]trace.Nanos
	Track string
}

func comparableOf(tr *trace.Trace, ev *trace.Event) comparable {
	args := ownLast(ev.Args)
	c := comparable{Event: *ev.Clone(), Args: args.String(), Kinds: kindsOf(args)}
	c.Event.Args, c.Event.Track, c.Event.CPUTime, c.Event.CPUDuration, c.Event.Category = trace.Value{}, 0, nil, nil, ""
	if ev.CPUTime != nil {
		c.CPU[0] = *ev.CPUTime + 1
	}
	if ev.CPUDuration != nil {
		c.CPU[1] = *ev.CPUDuration + 1
	}
	for category := range strings.SplitSeq(ev.Category, ",") {
		if category = strings.TrimSpace(category); category != "" {
			c.Event.Category += category + ","
		}
	}
	for i := range c.Event.Stack {
		c.Event.Stack[i].Binary, c.Event.Stack[i].Address = "", 0 // not in a stream
	}
	track := tr.Track(ev.Track)
	c.Track = strings.Join(append(track.Path, track.ProcessName, track.ThreadName, string(track.Kind), trace.NewValue(int64(track.PID)).String(), trace.NewValue(int64(track.TID)).String()), "/")
	return c
}

// ownLast returns arguments with what weft says of the event after the others: a stream has the id of an asynchronous slice in a
// field, and does not tell what came with its end.
func ownLast(args trace.Value) trace.Value {
	members := slices.Collect(args.Members())
	slices.SortStableFunc(members, func(a, b trace.Arg) int {
		switch own, other := a.Key == "weft", b.Key == "weft"; {
		case own == other:
			return 0
		case own:
			return 1
		}
		return -1
	})
	return trace.NewDict(members...)
}

func kindsOf(v trace.Value) (text string) {
	text = string(v.Kind()) + " "
	for m := range v.Members() {
		text += kindsOf(m.Value)
	}
	return text
}

func equal(a, b *comparable) bool {
	return a.Args == b.Args && a.Kinds == b.Kinds && a.CPU == b.CPU && a.Track == b.Track && sameEvent(&a.Event, &b.Event)
}

func sameEvent(a, b *trace.Event) bool {
	return a.Kind == b.Kind && a.Time == b.Time && a.Duration == b.Duration && a.Unfinished == b.Unfinished && a.Name == b.Name &&
		a.Category == b.Category && a.Value.Kind() == b.Value.Kind() && a.Value.String() == b.Value.String() &&
		slices.Equal(a.Stack, b.Stack) && slices.Equal(a.FlowsIn, b.FlowsIn) && slices.Equal(a.FlowsOut, b.FlowsOut) &&
		a.ID == b.ID && a.Parent == b.Parent && a.Depth == b.Depth && a.InputEvent == b.InputEvent && a.InputByte == b.InputByte
}

// Every recording comes back from its stream with the same events, problems, attributes and counts.
func TestRoundTrip(t *testing.T) {
	for _, f := range recording.Some(recording.In(t, ".")) {
		t.Run(f.Name, func(t *testing.T) {
			tr, err := convert.Open(t.Context(), bytes.NewReader(recording.Read(t, f.Path)), convert.Options{TempDir: t.TempDir()})
			if err != nil {
				t.Skip(err)
			}
			defer tr.Close()
			compareTraces(t, tr, open(t, bytes.NewReader(write(t, tr))))
		})
	}
}

func compareTraces(t *testing.T, tr, again *trace.Trace) {
	if got, want := again.Summary(), tr.Summary(); got != want {
		t.Errorf("summary %+v, want %+v", got, want)
	}
	got, want := slices.Collect(again.Attributes()), slices.Collect(tr.Attributes())
	if !slices.EqualFunc(got, want, func(a, b trace.Arg) bool {
		return a.Key == b.Key && a.Value.Kind() == b.Value.Kind() && a.Value.String() == b.Value.String()
	}) {
		t.Errorf("attributes %v, want %v", got, want)
	}
	if !slices.EqualFunc(again.Problems(), tr.Problems(), func(a, b trace.Problem) bool {
		return a.Name == b.Name && a.Severity == b.Severity && a.Count == b.Count && a.Sentence == b.Sentence
	}) {
		t.Errorf("problems %v, want %v", again.Problems(), tr.Problems())
	}
	var all []comparable
	for ev, err := range tr.Events() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, comparableOf(tr, ev))
	}
	for range 2 { // a loop can be started again
		n := 0
		for ev, err := range again.Events() {
			if err != nil {
				t.Fatal(err)
			}
			got := comparableOf(again, ev)
			if n >= len(all) || !equal(&got, &all[n]) {
				t.Fatalf("event %d is\n%+v\nwant\n%+v", n, got, all[min(n, len(all)-1)])
			}
			n++
		}
		if n != len(all) {
			t.Fatalf("%d events, want %d", n, len(all))
		}
	}
	paths := map[string]bool{}
	for track := range again.Tracks() {
		if up := again.Track(track.Parent); len(up.Path) != len(track.Path)-1 || !slices.Equal(up.Path, track.Path[:len(up.Path)]) {
			t.Errorf("track %v is below %v", track.Path, up.Path)
		}
		paths[strings.Join(track.Path, "/")] = true
	}
	for track := range tr.Tracks() {
		if !paths[strings.Join(track.Path, "/")] && track.Kind != trace.NamedTrack {
			t.Logf("track %q has no events", track.Path) // nothing of a stream names it
		}
	}
}

const small = `{"traceEvents":[
	{"ph":"X","name":"a","ts":1,"dur":9,"pid":1,"tid":1,"args":{"k":"v"}},
	{"ph":"X","name":"b","ts":2,"dur":3,"pid":1,"tid":1},
	{"ph":"i","name":"c","ts":20,"pid":1,"tid":2}]}`

// problemNames returns the names of the problems of a trace.
func problemNames(tr *trace.Trace) (names []string) {
	for _, p := range tr.Problems() {
		names = append(names, p.Name)
	}
	return names
}

// A stream that is cut anywhere gives the events in front, and says that it is incomplete; one byte for each read changes
// nothing, and neither does compression.
func TestCut(t *testing.T) {
	stream := write(t, open(t, strings.NewReader(small)))
	last := 0
	for n := range stream {
		tr, err := convert.Open(t.Context(), iotest.OneByteReader(bytes.NewReader(stream[:n])), convert.Options{TempDir: t.TempDir()})
		if err != nil {
			if last > 0 {
				t.Fatalf("%d bytes: %v", n, err)
			}
			continue
		}
		count := 0
		for _, err := range tr.Events() {
			if err != nil {
				t.Fatal(err)
			}
			count++
		}
		if count < last || !slices.Contains(problemNames(tr), "stream_incomplete") {
			t.Errorf("%d bytes: %d events, problems %v", n, count, problemNames(tr))
		}
		last = count
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
	}
	if last != 3 {
		t.Errorf("%d events", last)
	}
	whole := open(t, bytes.NewReader(stream))
	if len(whole.Problems()) > 0 {
		t.Errorf("problems %v", whole.Problems())
	}
	var zipped, packed bytes.Buffer
	zw := gzip.NewWriter(&zipped)
	enc, err := zstd.NewWriter(&packed)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []io.WriteCloser{zw, enc} {
		if _, err := w.Write(stream); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for name, in := range map[string][]byte{"gzip": zipped.Bytes(), "zstd": packed.Bytes()} {
		if got := open(t, bytes.NewReader(in)).Summary(); got != whole.Summary() {
			t.Errorf("%s: %+v, want %+v", name, got, whole.Summary())
		}
	}
	if got := problemNames(open(t, bytes.NewReader(zipped.Bytes()[:zipped.Len()-60]))); !slices.Contains(got, "stream_incomplete") {
		t.Errorf("cut gzip: problems %v", got)
	}
}

// What needs more than events refuses a stream in one sentence.
func TestRefusals(t *testing.T) {
	stream := write(t, open(t, strings.NewReader(small)))
	tr := open(t, bytes.NewReader(stream))
	const want = "this is a stream of resolved events, of which only the events can be read; use the trace that it was made of"
	_, attributed := attribution.Run(t.Context(), tr, attribution.Options{})
	_, index := flow.NewIndex(t.Context(), tr)
	_, converted := convert.Convert(t.Context(), io.Discard, bytes.NewReader(stream), convert.Options{})
	_, inspected := convert.Inspect(t.Context(), bytes.NewReader(stream), convert.Options{})
	_, opened := convert.Open(t.Context(), bytes.NewReader(stream), convert.Options{Attribute: &attribution.Options{}})
	for name, err := range map[string]error{
		"attribution.Run": attributed, "flow.NewIndex": index, "pftrace.Write": pftrace.Write(t.Context(), io.Discard, tr, pftrace.Options{}),
		"events.Write": events.Write(t.Context(), io.Discard, tr, events.Options{}), "convert.Convert": converted, "convert.Inspect": inspected,
		"convert.Open": opened,
	} {
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// The loop may end early, and ends with the context.
func TestLoops(t *testing.T) {
	stream := write(t, open(t, strings.NewReader(small)))
	ctx, cancel := context.WithCancel(t.Context())
	tr, err := convert.Open(ctx, bytes.NewReader(stream), convert.Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	for ev, err := range tr.Events() {
		if err != nil || ev.Name != "a" {
			t.Errorf("%v, error %v", ev, err)
		}
		break
	}
	cancel()
	for ev, err := range tr.Events() {
		if ev != nil || !errors.Is(err, context.Canceled) {
			t.Errorf("after the end of the context: %v, error %v", ev, err)
		}
	}
}
