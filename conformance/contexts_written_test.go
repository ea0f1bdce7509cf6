package conformance

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/gen/perfetto/protos"
	engine "github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/attribution/tables"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/pftrace"
)

// packets returns the packets of a trace.
func packets(t *testing.T, trace []byte) (all [][]byte) {
	t.Helper()
	for r := pfwire.NewPacketReader(bytes.NewReader(trace)); ; {
		p, err := r.Next()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, bytes.Clone(p.Bytes))
	}
}

// withoutContexts returns a packet without the "contexts" argument of its track event.
func withoutContexts(t *testing.T, packet []byte) []byte {
	t.Helper()
	p := &protos.TracePacket{}
	if err := proto.Unmarshal(packet, p); err != nil {
		t.Fatal(err)
	}
	if p.GetTrackEvent() == nil {
		return packet
	}
	list := p.GetTrackEvent().GetDebugAnnotations()
	n := len(list)
	if n == 0 || list[n-1].GetName() != engine.NoteKey {
		return packet
	}
	// The addition is the last field of the event, and only the lengths of the enclosing messages change: removing the
	// bytes and shortening the lengths must restore the original, whatever order and encoding the producer used.
	added := (&protos.TrackEvent{DebugAnnotations: list[n-1:]})
	note, err := proto.MarshalOptions{Deterministic: true}.Marshal(added)
	if err != nil {
		t.Fatal(err)
	}
	return cutNote(t, packet, len(note))
}

// cutNote removes the last bytes of the track event of a packet.
func cutNote(t *testing.T, packet []byte, size int) []byte {
	t.Helper()
	const trackEvent = 11<<3 | 2
	for at := 0; at < len(packet); {
		tag, n := uvarint(packet[at:])
		start := at
		at += n
		switch tag & 7 {
		case 0:
			_, n := uvarint(packet[at:])
			at += n
		case 1:
			at += 8
		case 5:
			at += 4
		case 2:
			length, n := uvarint(packet[at:])
			at += n
			if tag == trackEvent {
				event := packet[at : at+int(length)-size]
				out := append(bytes.Clone(packet[:start]), trackEvent)
				out = appendUvarint(out, uint64(len(event)), n)
				return append(append(out, event...), packet[at+int(length):]...)
			}
			at += int(length)
		default:
			t.Fatalf("wire type %d", tag&7)
		}
	}
	t.Fatal("no track event")
	return nil
}

func uvarint(b []byte) (v uint64, n int) {
	for shift := 0; ; shift += 7 {
		v |= uint64(b[n]&0x7f) << shift
		n++
		if b[n-1] < 0x80 {
			return v, n
		}
	}
}

// appendUvarint appends a number in a given number of bytes, possibly padded: Chrome reserves four for lengths. A
// length of one byte may have grown to two.
func appendUvarint(b []byte, v uint64, width int) []byte {
	if width == 2 && v < 0x80 {
		width = 1
	}
	for n := 1; v >= 0x80 || n < width; n++ {
		b = append(b, byte(v)|0x80)
		v >>= 7
	}
	return append(b, byte(v))
}

// attributed converts with attribution.
func attributed(t *testing.T, input []byte, opts convert.Options) []byte {
	t.Helper()
	opts.Attribute = &attribution.Options{}
	if opts.TempDir == "" {
		opts.TempDir = t.TempDir()
	}
	var out bytes.Buffer
	if _, err := convert.Convert(context.Background(), &out, bytes.NewReader(input), opts); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// The attributed copy of a Perfetto trace contains all its packets byte for byte and in order, except for the argument
// added to events; additions follow on a separate sequence and break no rule.
func TestAttributedTraceKeepsItsPackets(t *testing.T) {
	kept := convert.Options{KeepPackets: true}
	eachRecordingOf(t, []string{"perfetto"}, func(t *testing.T, _ string, input []byte) {
		output := attributed(t, input, kept)
		sameFindings(t, input, output)
		before, after := packets(t, input), packets(t, output)
		if len(after) <= len(before) {
			t.Fatalf("%d packets became %d", len(before), len(after))
		}
		notes := 0
		for i := range before {
			got := withoutContexts(t, after[i])
			if len(got) != len(after[i]) {
				notes++
			}
			if !bytes.Equal(got, before[i]) {
				t.Fatalf("packet %d is\n%x, was\n%x", i, got, before[i])
			}
		}
		if notes == 0 {
			t.Error("no event has contexts")
		}
		own := sequenceOf(t, after[len(before)])
		for i, p := range after {
			if sequence := sequenceOf(t, p); (sequence == own) != (i >= len(before)) {
				t.Fatalf("packet %d of %d is on sequence %d; what is added is on %d", i, len(before), sequence, own)
			}
		}
		if again := attributed(t, output, kept); !bytes.Equal(again, output) {
			t.Error("attributing the copy gives another trace")
		}
	})
}

func sequenceOf(t *testing.T, packet []byte) uint32 {
	t.Helper()
	p := &protos.TracePacket{}
	if err := proto.Unmarshal(packet, p); err != nil {
		t.Fatal(err)
	}
	return p.GetTrustedPacketSequenceId()
}

// A packet in a bundle stays in a bundle with the same codec.
func TestAttributedTraceKeepsItsBundles(t *testing.T) {
	input := recording.Bytes(t, "traces/chrome/chrome-devtools-tiny.json")
	for _, codec := range []pftrace.Compression{pftrace.Zlib, pftrace.Zstd} {
		var bundled bytes.Buffer
		if _, err := convert.Convert(context.Background(), &bundled, bytes.NewReader(input), convert.Options{Compression: codec}); err != nil {
			t.Fatal(err)
		}
		output := attributed(t, bundled.Bytes(), convert.Options{KeepPackets: true})
		verify(t, bytes.NewReader(output))
		before, after := packets(t, bundled.Bytes()), packets(t, output)
		for i := range before {
			if got := withoutContexts(t, after[i]); !bytes.Equal(got, before[i]) {
				t.Fatalf("%v: packet %d is\n%x, was\n%x", codec, i, got, before[i])
			}
		}
		if len(output) > 3*bundled.Len() {
			t.Errorf("%v: %d bytes became %d", codec, bundled.Len(), len(output))
		}
	}
}

// Attribution adds to the output of a conversion and changes nothing: without its argument, tracks and facts the trace
// equals the one without attribution. It is valid, and its bytes depend neither on workers nor on the memory budget.
func TestAttributionOnlyAdds(t *testing.T) {
	for _, name := range []string{"chrome-devtools-tiny", "chrome-devtools-small", "chrome-everything-small"} {
		path := recording.Path(t, "traces/chrome/"+name+".json")
		t.Run(name, func(t *testing.T) {
			input := recording.Read(t, path)
			sameItems(t, input)
			output := attributed(t, input, convert.Options{Workers: 1})
			verify(t, bytes.NewReader(output))
			for _, opts := range []convert.Options{{Workers: 3}, {Workers: 1, Memory: smallestMemory}} {
				if other := attributed(t, input, opts); !bytes.Equal(other, output) {
					t.Errorf("%d workers and %d bytes of memory give other bytes", opts.Workers, opts.Memory)
				}
			}
		})
	}
}

// sameItems checks that attribution changes no event of an input and only adds notes, and events on separate tracks.
func sameItems(t *testing.T, input []byte) {
	t.Helper()
	load := func(opts convert.Options) (lines []string, notes, own int) {
		tl, err := loadTimeline(context.Background(), bytes.NewReader(input), opts)
		if err != nil {
			t.Fatal(err)
		}
		defer tl.Close()
		err = tl.Walk(context.Background(), func(it *timeline.Item) error {
			tr := tl.Track(it.Track)
			if strings.HasPrefix(tr.Name, "Context: ") || tr.Name == "Contexts" {
				own++
				return nil
			}
			if len(it.Notes) > 0 {
				notes++
			}
			up := tl.Track(tr.Parent)
			lines = append(lines, fmt.Sprintf("%d %d %d %s/%s %d/%d %d %s %s %d %x %d %+v %s %d", it.Kind, it.TS, it.Dur, up.Name, tr.Name,
				tr.PID, tr.TID, it.Lane, it.Name, it.Category, it.ThreadTime, it.Args, it.Callstack, it.Flows, it.AsyncID, it.Event))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return lines, notes, own
	}
	plain, notes, own := load(convert.Options{})
	if notes+own > 0 {
		t.Errorf("%d notes and %d events of contexts without attribution", notes, own)
	}
	with, notes, own := load(convert.Options{Attribute: &attribution.Options{}})
	if notes == 0 || own == 0 {
		t.Errorf("%d notes, %d events of contexts", notes, own)
	}
	if len(with) != len(plain) {
		t.Fatalf("%d events became %d", len(plain), len(with))
	}
	for i := range plain {
		if plain[i] != with[i] {
			t.Fatalf("event %d is\n%s, was\n%s", i, with[i], plain[i])
		}
	}
	_, notes, own = load(convert.Options{Attribute: &attribution.Options{}, WriteBack: attribution.WriteBack{NoNotes: true, NoTracks: true, NoCatalogue: true}})
	if notes+own > 0 {
		t.Errorf("%d notes and %d events of contexts that were switched off", notes, own)
	}
}

// A recording that was made in both formats at once gives the same costs for the period that both cover, within the
// possible difference: JSON has whole microseconds, truncated at the start and in the length of each slice, and the
// recordings take their times separately, a few microseconds apart.
func TestPairedCosts(t *testing.T) {
	jsonPath := recording.Path(t, "traces/chrome/chrome-paired-tiny.json")
	nativePath := recording.Path(t, "traces/perfetto/chrome-paired-tiny.pftrace")
	// The JSON recording started in the middle of the native one, one thread after the other.
	window := attribution.Options{From: 3678_825_000_000, To: 3679_200_000_000}
	costs := func(path string) (self map[string]timeline.Nanos, slices map[string]int64) {
		opts := convert.Options{JSCalls: convert.JSCallsOff, Attribute: &window}
		_, result := attributeRecording(t, recording.Read(t, path), opts)
		self, slices = map[string]timeline.Nanos{}, map[string]int64{}
		table, err := tables.Of(result).Table(tables.TableOptions{Type: "Frame", Split: tables.SplitThread})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range table.Rows {
			// The recording threads are each busy with a different recording.
			if r.Self > 0 && !strings.HasPrefix(r.Part, "PerfettoTrace ") && !strings.HasPrefix(r.Part, "tracing.") {
				self[r.Part+": "+r.ID] += r.Self
				slices[r.Part+": "+r.ID] += r.Slices
			}
		}
		return self, slices
	}
	fromJSON, slices := costs(jsonPath)
	native, _ := costs(nativePath)
	if len(fromJSON) < 15 {
		t.Errorf("only %d rows", len(fromJSON))
	}
	for row, ns := range fromJSON {
		allowed := 50_000 + timeline.Nanos(slices[row])*5_000
		if ns > 20_000_000 {
			allowed = ns / 100
		}
		if d := ns - native[row]; d > allowed || -d > allowed {
			t.Errorf("%s: %d ns in JSON, %d in the native trace; %d slices allow a difference of %d", row, ns, native[row], slices[row], allowed)
		}
	}
	for row, ns := range native {
		if _, ok := fromJSON[row]; !ok {
			t.Errorf("%s: %d ns in the native trace only", row, ns)
		}
	}
}

// The catalogue contains the known properties of input events; the values come from the events of the recording.
func TestInputsInCatalogue(t *testing.T) {
	tl, err := loadTimeline(t.Context(), bytes.NewReader(recording.Bytes(t, "traces/chrome/chrome-everything-small.json")), convert.Options{Attribute: &attribution.Options{}})
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	got := map[string]map[string]any{}
	err = tl.Walk(t.Context(), func(it *timeline.Item) error {
		if tl.Track(it.Track).Name != "Contexts" {
			return nil
		}
		args := map[string]any{}
		for a := range tl.ArgList(it.Args) {
			switch a.Kind {
			case timeline.ArgString:
				args[string(a.Key)] = string(a.Text())
			case timeline.ArgInt:
				args[string(a.Key)] = a.Int()
			case timeline.ArgBool:
				args[string(a.Key)] = a.Bool()
			}
		}
		if id, ok := args["id"].(string); ok && strings.HasPrefix(id, "latency/") {
			got[id] = args
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"id": "latency/1594091997043666985", "class": "KeyUp", "type": "KeyUp", "start_ns": int64(3736770262_000),
		"latency_ns": int64(858_000), "latency": "858.0 µs", "dropped": true, "interaction_id": int64(2645),
	}
	if diff := cmp.Diff(want, got["latency/1594091997043666985"]); diff != "" || len(got) != 7 {
		t.Errorf("%d inputs; (-want +got)\n%s", len(got), diff)
	}
}

// threadCosts returns the tables of all types, divided by thread, as JSON.
func threadCosts(t *testing.T, input []byte, opts attribution.Options) map[string]string {
	t.Helper()
	return costTables(t, input, opts, tables.SplitThread)
}

// A conversion has the costs of its input in all columns, both by thread and in total, including asynchronous slices.
func TestConvertedCosts(t *testing.T) {
	eachContextRecording(t, func(t *testing.T, name string, input []byte) {
		if strings.HasPrefix(name, "damaged/") {
			return // problems are counted in other places
		}
		output := converted(t, input, convert.Options{})
		sameCosts(t, threadCosts(t, output, attribution.Options{}), threadCosts(t, input, attribution.Options{}))
		sameCosts(t, wholeCosts(t, output), wholeCosts(t, input))
	})
}

// In Chrome's format, flows pass through a slice at different times: a flow that leaves before another arrives does
// not carry the other's contexts, and an arrow may lead to a slice that started earlier. A conversion preserves this, and
// so does a second one.
func TestConvertedFlowTimes(t *testing.T) {
	x := func(name string, tid, ts, dur int, args string) string {
		return fmt.Sprintf(`{"ph":"X","cat":"c","name":%q,"pid":1,"tid":%d,"ts":%d,"dur":%d,"args":{%s}}`, name, tid, ts, dur, args)
	}
	flow := func(ph string, id, tid, ts int) string {
		return fmt.Sprintf(`{"ph":%q,"bp":"e","cat":"c","name":"flow","id":%d,"pid":1,"tid":%d,"ts":%d}`, ph, id, tid, ts)
	}
	input := []byte("[" + strings.Join([]string{
		x("names G", 1, 0, 10, `"frame":"G"`), flow("s", 1, 1, 5),
		x("sends, is reached, sends", 2, 0, 100, ""), flow("s", 2, 2, 50), flow("f", 1, 2, 50), flow("s", 3, 2, 50), flow("s", 4, 2, 10), flow("s", 5, 2, 60),
		x("without", 3, 70, 1, ""), flow("f", 2, 3, 70), x("with G", 3, 72, 2, ""), flow("f", 3, 3, 72),
		x("without", 3, 75, 4, ""), flow("f", 4, 3, 75), x("with G", 3, 80, 8, ""), flow("f", 5, 3, 80),
		x("names H", 4, 200, 100, `"frame":"H"`), flow("s", 6, 4, 250), x("with H", 5, 190, 160, ""), flow("f", 6, 5, 260),
	}, ",\n") + "]")
	want := threadCosts(t, input, attribution.Options{})
	_, result := attributeRecording(t, input, convert.Options{})
	table, err := tables.Of(result).Table(tables.TableOptions{Type: "Frame"})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range table.Rows {
		if want := map[string]timeline.Nanos{"frame/G": 120_000, "frame/H": 260_000, "(unattributed)": 5_000}[r.ID]; r.Self != want {
			t.Errorf("%s has %d ns, want %d", r.ID, r.Self, want)
		}
	}
	for n := range 2 {
		input = converted(t, input, convert.Options{})
		verify(t, bytes.NewReader(input))
		if t.Run(fmt.Sprintf("converted %d times", n+1), func(t *testing.T) { sameCosts(t, threadCosts(t, input, attribution.Options{}), want) }); t.Failed() {
			break
		}
	}
}

// Overlapping slices of a thread are on several tracks in a conversion. Among slices with the same start, the longest
// encloses the others, whatever its track: frame F has the part clipped at the end of the first slice, 50 µs, and the
// short slice is in it.
func TestConvertedCostsOfOverlappingSlices(t *testing.T) {
	input := []byte(`[
		{"ph":"X","name":"first","pid":1,"tid":1,"ts":0,"dur":100,"tts":0,"tdur":90,"args":{"frame":"G"}},
		{"ph":"X","name":"long","pid":1,"tid":1,"ts":50,"dur":100,"tts":45,"tdur":80,"args":{"frame":"F"}},
		{"ph":"X","name":"short","pid":1,"tid":1,"ts":50,"dur":10,"tts":45,"tdur":5},
		{"ph":"I","s":"t","name":"instant","pid":1,"tid":1,"ts":50}]`)
	for n := range 3 {
		_, result := attributeRecording(t, input, convert.Options{})
		table, err := tables.Of(result).Table(tables.TableOptions{Type: "Frame"})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range table.Rows {
			if want := map[string]timeline.Nanos{"frame/F": 50_000, "frame/G": 50_000}[r.ID]; r.Self != want {
				t.Errorf("converted %d times, %s has %d ns, want %d", n, r.ID, r.Self, want)
			}
			if want := map[string]int64{"frame/F": 1}[r.ID]; r.Instants != want {
				t.Errorf("converted %d times, %s has %d instants, want %d", n, r.ID, r.Instants, want)
			}
		}
		input = converted(t, input, convert.Options{})
	}
}
