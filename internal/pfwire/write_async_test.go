package pfwire

import (
	"context"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// The id of an asynchronous track is in the only weft dictionary of its events, whatever else the dictionary contains.
func TestAsyncIDAmongArguments(t *testing.T) {
	for name, test := range map[string]struct {
		encode func(e *timeline.ArgsEncoder)
		want   string // names of arguments, with their members
	}{
		"nothing":    {func(*timeline.ArgsEncoder) {}, "weft{id scope }"},
		"other":      {func(e *timeline.ArgsEncoder) { e.Key([]byte("x")); e.Int(1) }, "x weft{id scope }"},
		"text":       {func(e *timeline.ArgsEncoder) { e.OwnKey([]byte(timeline.OwnArgs)); e.String([]byte("x")) }, "weft{weft id scope }"},
		"dictionary": {dictionaryAmongOthers, "x weft{tts id scope }y "},
	} {
		b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log)})
		e := b.Args()
		e.Reset()
		test.encode(e)
		track := b.Async(&timeline.AsyncKey{ID: []byte("1"), Scope: []byte("s"), Process: b.Process(timeline.ProcessKey{Num: 1})})
		ev := timeline.Event{
			Kind: timeline.Instant, Track: track, Args: e.Args(),
		}
		if err := b.Add(&ev); err != nil {
			t.Fatal(err)
		}
		tl, err := b.Finish(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer tl.Close()
		if err := tl.Nest(context.Background()); err != nil {
			t.Fatal(err)
		}
		if got := argumentNames(t, write(t, tl, Options{})); got != test.want {
			t.Errorf("%s: arguments %q, want %q", name, got, test.want)
		}
	}
}

func dictionaryAmongOthers(e *timeline.ArgsEncoder) {
	e.Key([]byte("x"))
	e.Int(1)
	e.OwnKey([]byte(timeline.OwnArgs))
	e.BeginDict()
	e.Key([]byte("tts"))
	e.Int(5)
	e.EndDict()
	e.Key([]byte("y"))
	e.Int(2)
}

// argumentNames returns the argument names of a trace's events, with members in braces.
func argumentNames(t *testing.T, encoded []byte) (names string) {
	t.Helper()
	var trace protos.Trace
	if err := proto.Unmarshal(encoded, &trace); err != nil {
		t.Fatal(err)
	}
	interned := map[uint64]string{}
	for _, p := range trace.Packet {
		for _, e := range p.GetInternedData().GetDebugAnnotationNames() {
			interned[e.GetIid()] = e.GetName()
		}
		for _, a := range p.GetTrackEvent().GetDebugAnnotations() {
			names += interned[a.GetNameIid()]
			if len(a.DictEntries) == 0 {
				names += " "
				continue
			}
			names += "{"
			for _, m := range a.DictEntries {
				names += interned[m.GetNameIid()] + " "
			}
			names += "}"
		}
	}
	return names
}
