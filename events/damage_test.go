package events_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"github.com/weft-trace/weft/convert"
	weftv1 "github.com/weft-trace/weft/gen/weft/v1"
	"github.com/weft-trace/weft/trace"
)

// streamOf returns records as a stream, written with the generated structs.
func streamOf(t testing.TB, records ...*weftv1.Record) []byte {
	t.Helper()
	var out bytes.Buffer
	for _, r := range records {
		if _, err := protodelim.MarshalTo(&out, r); err != nil {
			t.Fatal(err)
		}
	}
	return out.Bytes()
}

func header(revision uint32) *weftv1.Record {
	return &weftv1.Record{Record: &weftv1.Record_Header{Header: &weftv1.Header{Magic: "weft.v1", Revision: revision}}}
}

func event(ev *weftv1.Event) *weftv1.Record {
	return &weftv1.Record{Record: &weftv1.Record_Event{Event: ev}}
}

func footer(counts ...uint64) *weftv1.Record {
	f := &weftv1.Footer{Complete: true}
	for i, n := range counts {
		f.Events = append(f.Events, &weftv1.EventCount{Kind: weftv1.Kind(i + 1), Count: n})
	}
	return &weftv1.Record{Record: &weftv1.Record_Footer{Footer: f}}
}

var (
	slice   = event(&weftv1.Event{TsNs: 5, DurNs: proto.Int64(3), Kind: weftv1.Kind_KIND_SLICE, Id: 1})
	instant = event(&weftv1.Event{TsNs: 6, Kind: weftv1.Kind_KIND_INSTANT, Id: 2})
	cost    = &weftv1.Record{Record: &weftv1.Record_Cost{Cost: &weftv1.Cost{Type: "Frame"}}}
)

// Records that do not form a stream give an error that says where.
func TestMalformedStreams(t *testing.T) {
	whole := streamOf(t, header(1), slice, footer(1))
	second := len(streamOf(t, header(1)))
	deep := &weftv1.Arg{Key: "k", Value: &weftv1.Arg_Int{Int: 1}}
	for range 200 {
		deep = &weftv1.Arg{Value: &weftv1.Arg_Array{Array: &weftv1.ArgList{Args: []*weftv1.Arg{deep}}}}
	}
	for name, test := range map[string]struct {
		stream []byte
		want   string
	}{
		"two streams":    {slices.Concat(whole, whole), "after the footer there are more records; several streams are read one by one"},
		"two headers":    {streamOf(t, header(1), header(1)), "the header is the first record, and no other"},
		"cost and event": {streamOf(t, header(1), cost, slice), "an event comes after the costs"},
		"order of time":  {streamOf(t, header(1), instant, slice), "an event at 5 ns comes after one at 6 ns"},
		"long length":    {append(whole[:second:second], 0xff, 0xff, 0xff, 0xff, 0x0f), "there are none of more than 67108864"},
		"endless length": {append(whole[:second:second], bytes.Repeat([]byte{0xff}, 11)...), "the length of a record"},
		"bad field":      {append(whole[:second:second], 2, 0x12, 0x05), "message ends inside a field"},
		"wire type":      {append(whole[:second:second], 4, 0x12, 2, 0x22, 0x00), ""}, // an empty name
		"number as text": {append(whole[:second:second], 5, 0x12, 3, 0x0a, 1, 'x'), "field 1 of an event has the wire type 2"},
		"negative":       {streamOf(t, header(1), event(&weftv1.Event{TsNs: 5, DurNs: proto.Int64(-3), Kind: weftv1.Kind_KIND_SLICE})), "an event takes -3 ns"},
		"cut header":     {whole[:second-1], "the stream ends inside its header"},
		"other magic":    {bytes.Replace(whole, []byte("weft.v1"), []byte("weft.v2"), 1), `a stream of "weft.v2", which this version of weft does not read`},
		"deep":           {streamOf(t, header(1), event(&weftv1.Event{Kind: weftv1.Kind_KIND_SLICE, Args: []*weftv1.Arg{deep}})), "arguments are nested deeper"},
	} {
		tr, err := convert.Open(t.Context(), bytes.NewReader(test.stream), convert.Options{TempDir: t.TempDir()})
		switch {
		case test.want == "" && err == nil:
			tr.Close()
		case test.want == "" || err == nil || !strings.Contains(err.Error(), test.want) || !strings.HasPrefix(err.Error(), "weft.v1: "):
			t.Errorf("%s: error %v, want %s", name, err, test.want)
		}
	}
}

// What is missing or of a later revision is a problem, and the rest is read.
func TestProblemsOfStreams(t *testing.T) {
	unknown := &weftv1.Record{}
	unknown.ProtoReflect().SetUnknown(protowire.AppendString(protowire.AppendTag(nil, 9, protowire.BytesType), "later"))
	late := proto.Clone(instant).(*weftv1.Record)
	late.GetEvent().ProtoReflect().SetUnknown(protowire.AppendVarint(protowire.AppendTag(nil, 99, protowire.VarintType), 1))
	strange := event(&weftv1.Event{TsNs: 6, Kind: 77, Id: 3})
	for name, test := range map[string]struct {
		stream []byte
		events int
		want   []string
	}{
		"whole":          {streamOf(t, header(1), slice, instant, cost, footer(1, 1)), 2, nil},
		"only a header":  {streamOf(t, header(1)), 0, []string{"stream_incomplete"}},
		"no footer":      {streamOf(t, header(1), slice), 1, []string{"stream_incomplete"}},
		"fewer events":   {streamOf(t, header(1), slice, footer(2)), 1, []string{"stream_incomplete"}},
		"later revision": {streamOf(t, header(9), slice, late, footer(1, 1)), 2, []string{"stream_newer"}},
		"later record":   {streamOf(t, header(1), unknown, slice, footer(1)), 1, []string{"stream_newer"}},
		"later kind":     {streamOf(t, header(1), slice, strange, footer(2)), 1, []string{"stream_newer"}},
	} {
		tr := open(t, bytes.NewReader(test.stream))
		n := 0
		for _, err := range tr.Events() {
			if err != nil {
				t.Fatal(err)
			}
			n++
		}
		if got := problemNames(tr); n != test.events || !slices.Equal(got, test.want) {
			t.Errorf("%s: %d events, problems %v; want %d and %v", name, n, got, test.events, test.want)
		}
	}
}

// Contexts come with their events.
func TestContexts(t *testing.T) {
	tr := open(t, bytes.NewReader(streamOf(t, header(1), event(&weftv1.Event{Kind: weftv1.Kind_KIND_SLICE, Contexts: []*weftv1.Context{
		{Type: "Frame", Id: "frame/A", Name: "http://a/", Via: weftv1.Via_VIA_FLOW, Hops: 2, Candidates: []string{"x", "y"}}, {Type: "Script", Via: 99},
	}}), footer(1))))
	for ev, err := range tr.Events() {
		if err != nil {
			t.Fatal(err)
		}
		c := ev.Clone().Contexts
		if len(c) != 2 || c[0].Type != "Frame" || c[0].ID != "frame/A" || c[0].Name != "http://a/" || c[0].Via != "flow" || c[0].Hops != 2 ||
			!slices.Equal(c[0].Candidates, []string{"x", "y"}) || c[1].Via != "via 99" {
			t.Errorf("contexts %+v", c)
		}
	}
}

// Whatever comes in: an error, or a trace whose events can be read and whose tracks are there.
func FuzzOpen(f *testing.F) {
	f.Add(streamOf(f, header(1), slice, instant, cost, footer(1, 1)))
	f.Add(streamOf(f, header(2), event(&weftv1.Event{
		TsNs: -1, Kind: weftv1.Kind_KIND_COUNTER, Track: []string{"p", "t", "x"}, Pid: proto.Int64(1), Tid: proto.Int64(2), AsyncId: "0x1", Lane: 3,
		Args:    []*weftv1.Arg{{Key: "weft", Value: &weftv1.Arg_Dict{Dict: &weftv1.ArgList{Args: []*weftv1.Arg{{Key: "did_not_end", Value: &weftv1.Arg_Bool{Bool: true}}}}}}},
		FlowsIn: []*weftv1.FlowIn{{Id: 1, From: 2}}, FlowsOut: []uint64{5, 6}, Value: &weftv1.Event_DoubleValue{DoubleValue: 1.5},
		Stack: []*weftv1.Frame{{Function: "f", Line: 3}},
	}), footer(0, 0, 1)))
	start, dir := streamOf(f, header(1)), f.TempDir() // one folder: making them takes longer than reading a stream
	f.Fuzz(func(t *testing.T, data []byte) {
		head := slices.Clone(start)
		if bytes.HasPrefix(data, start[:12]) {
			head = nil // it has one of its own
		}
		tr, err := convert.Open(context.Background(), bytes.NewReader(append(head, data...)), convert.Options{TempDir: dir})
		if err != nil {
			return
		}
		defer tr.Close()
		tracks := map[trace.TrackID]bool{0: true}
		for track := range tr.Tracks() {
			tracks[track.ID] = true
		}
		n := int64(0)
		for ev, err := range tr.Events() {
			if err != nil {
				t.Fatal(err)
			}
			if !tracks[ev.Track] {
				t.Fatalf("track %d of an event is not there", ev.Track)
			}
			_ = ev.Clone().Args.String()
			n++
		}
		if s := tr.Summary(); s.Slices+s.Instants+s.CounterValues+s.Samples != n {
			t.Errorf("%d events, summary %+v", n, s)
		}
	})
}
