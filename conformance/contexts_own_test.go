package conformance

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/timeline"
)

// Names in the input stay unchanged, even if attribution also uses them.

// ownNames is a trace that was never attributed but uses attribution's names: for arguments of slices with a frame,
// with various values, for threads and for asynchronous slices.
const ownNames = `{"traceEvents": [
{"ph":"M","pid":1,"tid":1,"name":"thread_name","args":{"name":"Contexts"}},
{"ph":"M","pid":1,"tid":2,"name":"thread_name","args":{"name":"Context: Frame"}},
{"ph":"X","pid":1,"tid":1,"ts":10,"dur":5,"cat":"c","name":"none","args":{"data":{"frame":"F"}}},
{"ph":"X","pid":1,"tid":1,"ts":20,"dur":5,"cat":"c","name":"text","args":{"data":{"frame":"F"},"contexts":"mine"}},
{"ph":"X","pid":1,"tid":1,"ts":30,"dur":5,"cat":"c","name":"alike","args":{"data":{"frame":"F"},"contexts":{"Frame":{"id":"frame/X","name":"X","via":"args"}}}},
{"ph":"X","pid":1,"tid":1,"ts":40,"dur":5,"cat":"c","name":"both","args":{"data":{"frame":"F"},"contexts":[1,2],"weft_contexts":{"Frame":1}}},
{"ph":"X","pid":1,"tid":1,"ts":50,"dur":5,"cat":"c","name":"other","args":{"data":{"frame":"F"},"weft_contexts":7}},
{"ph":"B","pid":1,"tid":2,"ts":60,"cat":"c","name":"at the end","args":{"data":{"frame":"F"}}},
{"ph":"E","pid":1,"tid":2,"ts":70,"args":{"contexts":{"a":{"via":"mine"}}}},
{"ph":"b","pid":1,"tid":2,"ts":80,"cat":"c","id":"0x1","name":"Contexts","args":{"data":{"frame":"F"}}},
{"ph":"e","pid":1,"tid":2,"ts":90,"cat":"c","id":"0x1","name":"Contexts"}
]}`

// wantNotes holds, for each slice in ownNames, the expected arguments with attribution's usual name and with its substitute: the
// input's own value, or the frame.
var wantNotes = map[string][2]string{
	"none":       {"{Frame={frame F}}", ""},
	"text":       {`"mine"`, "{Frame={frame F}}"},
	"alike":      {`{Frame={X}}`, "{Frame={frame F}}"},
	"both":       {"{=2:1 =2:2}", "{Frame=2:1}"},
	"other":      {"{Frame={frame F}}", "2:7"},
	"at the end": {"{a={}}", "{Frame={frame F}}"}, // events at the end of a slice also belong to it
	"Contexts":   {"{Frame={frame F}}", ""},
}

// Arguments and tracks of a trace that happen to have attribution's names stay unchanged in both forms of output, and
// attributing again gives the same result.
func TestAttributionKeepsOwnNames(t *testing.T) {
	plain := converted(t, []byte(ownNames), convert.Options{})
	for name, output := range map[string][]byte{
		"conversion":        attributed(t, []byte(ownNames), convert.Options{}),
		"beside packets":    attributed(t, plain, convert.Options{KeepPackets: true}),
		"of a Perfetto one": attributed(t, plain, convert.Options{}),
	} {
		t.Run(name, func(t *testing.T) {
			verify(t, bytes.NewReader(output))
			checkOwnNames(t, output)
			kept := attributed(t, output, convert.Options{KeepPackets: true})
			if !bytes.Equal(kept, output) {
				t.Error("attributing again gives other bytes")
			}
			checkOwnNames(t, attributed(t, output, convert.Options{}))
			checkOwnNames(t, converted(t, output, convert.Options{}))
			nothing := attributed(t, output, convert.Options{WriteBack: writeBacks["nothing"]})
			sameSeen(t, "without the attribution", seen(t, nothing), seen(t, plain))
		})
	}
}

// checkOwnNames compares an attributed ownNames with wantNotes.
func checkOwnNames(t *testing.T, trace []byte) {
	t.Helper()
	tl, err := loadTimeline(context.Background(), bytes.NewReader(trace), convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	got := map[string][2]string{}
	var open string
	err = tl.Walk(context.Background(), func(it *timeline.Item) error {
		tr := tl.Track(it.Track)
		if tr.Spec != nil && strings.HasSuffix(tr.Spec.Description, "found by weft") {
			return nil
		}
		if it.Kind == timeline.ItemBegin {
			open = string(it.Name)
		}
		for a := range tl.ArgList(it.Args) {
			values := got[open]
			switch string(a.Key) {
			case attribution.NoteKey:
				values[0] += shortArg(tl, a)
			case attribution.OtherNoteKey:
				values[1] += shortArg(tl, a)
			}
			got[open] = values
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range wantNotes {
		if got[name] != values {
			t.Errorf("%s has %q, want %q", name, got[name], values)
		}
	}
}

// shortArg formats a value; for a context, only its name.
func shortArg(tl *timeline.Timeline, a timeline.Arg) string {
	switch a.Kind {
	case timeline.ArgDict, timeline.ArgArray:
		var parts []string
		for m := range tl.Members(a) {
			switch string(m.Key) {
			case "name":
				return "{" + string(m.Text()) + "}"
			case "id", "via", "hops":
			default:
				parts = append(parts, string(m.Key)+"="+shortArg(tl, m))
			}
		}
		return "{" + strings.Join(parts, " ") + "}"
	case timeline.ArgString:
		return fmt.Sprintf("%q", a.Text())
	}
	return fmt.Sprintf("%d:%d", a.Kind, a.Uint())
}

// smallTrace returns a Perfetto trace with one slice that has a frame, on one packet sequence or none. In the old form,
// with a sequence, its thread has no track.
func smallTrace(t *testing.T, sequence uint32) []byte {
	t.Helper()
	begin, end := protos.TrackEvent_TYPE_SLICE_BEGIN, protos.TrackEvent_TYPE_SLICE_END
	thread := &protos.ThreadDescriptor{Pid: proto.Int32(3), Tid: proto.Int64(4)}
	frame := &protos.DebugAnnotation{
		NameField: &protos.DebugAnnotation_Name{Name: "frame"},
		Value:     &protos.DebugAnnotation_StringValue{StringValue: "F"},
	}
	events := []*protos.TrackEvent{
		{Type: &begin, NameField: &protos.TrackEvent_Name{Name: "s"}, DebugAnnotations: []*protos.DebugAnnotation{frame}},
		{Type: &end},
	}
	list := []*protos.TracePacket{{Data: &protos.TracePacket_ThreadDescriptor{ThreadDescriptor: thread}}}
	if sequence == 0 {
		list[0].Data = &protos.TracePacket_TrackDescriptor{TrackDescriptor: &protos.TrackDescriptor{Uuid: proto.Uint64(1), Thread: thread}}
	}
	for i, e := range events {
		if sequence == 0 {
			e.TrackUuid = proto.Uint64(1)
		}
		list = append(list, &protos.TracePacket{Timestamp: proto.Uint64(uint64(100 * (i + 1))), Data: &protos.TracePacket_TrackEvent{TrackEvent: e}})
	}
	for i, p := range list {
		if sequence != 0 {
			p.OptionalTrustedPacketSequenceId = &protos.TracePacket_TrustedPacketSequenceId{TrustedPacketSequenceId: sequence}
			p.SequenceFlags = proto.Uint32(min(uint32(i)+1, 2))
		}
	}
	trace, err := proto.Marshal(&protos.Trace{Packet: list})
	if err != nil {
		t.Fatal(err)
	}
	return trace
}

// A thread without a track gets one for its contexts, once, even if the only packet sequence has the highest number.
func TestAttributionOfThreadWithoutTrack(t *testing.T) {
	for _, sequence := range []uint32{1, 0xffffffff} {
		input := smallTrace(t, sequence)
		once := attributed(t, input, convert.Options{KeepPackets: true})
		if all := packets(t, once); len(all) < 8 || !slices.EqualFunc(all[2:3], packets(t, input)[2:], bytes.Equal) {
			t.Fatalf("%d packets", len(all))
		}
		if again := attributed(t, once, convert.Options{KeepPackets: true}); !bytes.Equal(again, once) {
			t.Errorf("attributing again gives\n%q, want\n%q", again, once)
		}
		const want = `1 100 3/4/Context: Frame 0/0 frame F context frame/F  id="frame/F" self="0.1 µs" self_ns=2:100 type="Frame"`
		if lines := seen(t, once); !slices.Contains(lines, want) {
			t.Errorf("there is no %q in %q", want, lines)
		}
	}
}

// A trace that was attributed next to its packets and then converted has no appended packets: none of the conversion's
// packets, whose sequence may have the number of the appended ones, is treated as appended.
func TestAttributionOfConvertedCopy(t *testing.T) {
	native := findRecording(t, "traces/perfetto/chrome-devtools-tiny.pftrace")
	for _, c := range []struct {
		trace []byte
		opts  convert.Options
		calls bool // the conversion makes calls, which the attribution of the packets did not include
	}{{smallTrace(t, 0), convert.Options{}, false}, {native, eventsOnly, false}, {native, convert.Options{}, true}} {
		copied := converted(t, attributed(t, c.trace, convert.Options{KeepPackets: true}), c.opts)
		verify(t, bytes.NewReader(copied))
		want := seen(t, attributed(t, c.trace, c.opts))
		if !c.calls {
			sameSeen(t, "the converted copy", seen(t, copied), want)
		}
		sameSeen(t, "attributed again", seen(t, attributed(t, copied, convert.Options{KeepPackets: true})), want)
	}
}
