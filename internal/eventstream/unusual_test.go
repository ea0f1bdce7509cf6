package eventstream_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	weftv1 "github.com/weft-trace/weft/gen/weft/v1"
	"github.com/weft-trace/weft/internal/eventstream"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/timeline"
)

// build builds a timeline.
func build(t *testing.T, fill func(b *timeline.Builder) error) *timeline.Timeline {
	t.Helper()
	b := timeline.NewBuilder(timeline.Options{TempDir: t.TempDir()})
	if err := fill(b); err != nil {
		t.Fatal(err)
	}
	tl, err := b.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tl.Close() })
	if err := tl.Nest(context.Background()); err != nil {
		t.Fatal(err)
	}
	return tl
}

// events returns the events of a timeline as messages.
func events(t *testing.T, tl *timeline.Timeline) (all []*weftv1.Event, cut uint64) {
	enc := eventstream.NewEncoder(tl)
	eachRow(t, tl, func(row *resolved.Row) {
		all = append(all, readRecord(t, enc.Event(row)).GetEvent())
	})
	return all, enc.Truncated
}

// The test encodes unusual events: a sample with a processor and a weight that is not an integer, and texts that are not UTF-8.
func TestUnusualEvents(t *testing.T) {
	tl := build(t, func(b *timeline.Builder) error {
		process := b.Process(timeline.ProcessKey{Text: "named \xff"})
		thread := b.Thread(process, timeline.ThreadKey{Num: 5})
		e := b.Args()
		e.Reset()
		e.Key([]byte("k\xff"))
		e.String([]byte("v\xfe"))
		e.Key([]byte("pointer"))
		e.Pointer(math.MaxUint64)
		e.Key([]byte("json"))
		e.JSON([]byte(`{"a":1`))
		if err := b.Add(&timeline.Event{Kind: timeline.Slice, Track: thread, Dur: 9, Name: []byte("n\xff"), Category: []byte(" a,,b\xff "), Args: e.Args()}); err != nil {
			return err
		}
		return b.Add(&timeline.Event{
			Kind: timeline.Sample, Track: thread, TS: 3, Name: []byte("cycles"), CPU: timeline.NewCPU(0), Value: timeline.Float(math.Inf(1)),
			Callstack: b.Callstack([]timeline.FrameID{b.Frame(timeline.Frame{Function: "outer"}), b.Frame(timeline.Frame{Function: "\xff", Line: 7})}),
		})
	})
	all, _ := events(t, tl)
	slice, sample := all[0], all[1]
	if slice.GetName() != "n\uFFFD" || strings.Join(slice.GetCategories(), "|") != "a|b\uFFFD" || slice.GetProcessName() != "named \uFFFD" ||
		slice.GetMadeUp() != 1 || slice.Pid == nil || slice.GetTid() != 5 || slice.InputByte == nil {
		t.Errorf("slice %v", slice)
	}
	args := slice.GetArgs()
	if len(args) != 3 || args[0].GetKey() != "k\uFFFD" || args[0].GetString_() != "v\uFFFD" || args[1].GetPointer() != math.MaxUint64 || args[2].GetJson() != `{"a":1` {
		t.Errorf("arguments %v", args)
	}
	if sample.Cpu == nil || sample.GetCpu() != 0 || !math.IsInf(sample.GetDoubleValue(), 1) || sample.GetParentId() != slice.GetId() ||
		sample.GetStack()[0].GetFunction() != "\uFFFD" || sample.GetStack()[1].GetFunction() != "outer" || sample.GetName() != "cycles" {
		t.Errorf("sample %v", sample)
	}
}

// nested encodes nested dictionaries and arrays.
func nested(e *timeline.ArgsEncoder, depth int) timeline.Args {
	e.Reset()
	e.Key([]byte("d"))
	for i := range depth {
		if i%2 == 0 {
			e.BeginDict()
			e.Key([]byte("k"))
		} else {
			e.BeginArray()
		}
	}
	e.Int(7)
	for i := depth - 1; i >= 0; i-- {
		if i%2 == 0 {
			e.EndDict()
		} else {
			e.EndArray()
		}
	}
	return e.Args()
}

// Messages are nested less deeply than the limit of other languages' libraries; anything deeper is JSON text.
func TestDeepArguments(t *testing.T) {
	tl := build(t, func(b *timeline.Builder) error {
		return b.Add(&timeline.Event{Kind: timeline.Instant, Track: b.GlobalInstants(), Args: nested(b.Args(), 60)})
	})
	all, _ := events(t, tl)
	arg, levels := all[0].GetArgs()[0], 3 // Record, Event, Arg
	for arg.GetDict() != nil || arg.GetArray() != nil {
		list := arg.GetDict().GetArgs()
		if list == nil {
			list = arg.GetArray().GetArgs()
		}
		arg, levels = list[0], levels+2
	}
	if levels > 100 || levels < 90 {
		t.Errorf("%d levels", levels)
	}
	if text := arg.GetJson(); strings.Count(text, "[")+strings.Count(text, "{") != 60-(levels-3)/2 || !strings.Contains(text, "7") {
		t.Errorf("below is %s", text)
	}
}

// An event that is too large is truncated: long arguments become texts, short ones stay.
func TestCut(t *testing.T) {
	recording.NeedAll(t, "needs a gigabyte")
	long := strings.Repeat("ä", 35<<20)
	tl := build(t, func(b *timeline.Builder) error {
		e := b.Args()
		e.Reset()
		e.Key([]byte("small"))
		e.Int(1)
		e.Key([]byte("text"))
		e.String([]byte(long))
		e.Key([]byte("dict"))
		e.BeginDict()
		e.Key([]byte("inside"))
		e.String([]byte(long))
		e.EndDict()
		e.Key([]byte("last"))
		e.Bool(true)
		if err := b.Add(&timeline.Event{Kind: timeline.Slice, Track: b.GlobalInstants(), Dur: 5, Name: []byte("large"), Args: e.Args()}); err != nil {
			return err
		}
		e.Reset()
		return b.Add(&timeline.Event{Kind: timeline.Slice, Event: 1, TS: 9, Dur: 5, Track: b.GlobalInstants(), Name: []byte(long), Category: []byte(long[:1<<20] + "," + long)})
	})
	all, truncated := events(t, tl)
	if truncated != 2 {
		t.Fatalf("%d events were truncated", truncated)
	}
	args := all[0].GetArgs()
	if len(args) != 4 || args[0].GetInt() != 1 || !args[3].GetBool() || all[0].GetName() != "large" || all[0].GetDurNs() != 5 {
		t.Fatalf("%d arguments", len(args))
	}
	for i, prefix := range map[int]string{1: "ää", 2: `{"inside":"ää`} {
		if text := args[i].GetString_(); !strings.HasPrefix(text, prefix) || !strings.HasSuffix(text, "ä…") || len(text) < 1<<20 || !utf8.ValidString(text) {
			t.Errorf("argument %d has %d bytes and begins with %.20q", i, len(text), text)
		}
	}
	if name := all[1].GetName(); len(name) > 1<<20 || !strings.HasSuffix(name, "ä…") || all[1].GetDurNs() != 5 {
		t.Errorf("the name has %d bytes", len(name))
	}
}
