package convert_test

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/recording"
)

// shownTree returns the rows below processes as viewers show them, indented: ordered by rank if the parent requires it, and
// otherwise by name.
func shownTree(t *testing.T, output []byte) (lines []string) {
	t.Helper()
	var file protos.Trace
	if err := proto.Unmarshal(output, &file); err != nil {
		t.Fatal(err)
	}
	tracks, below, process := map[uint64]*protos.TrackDescriptor{}, map[uint64][]uint64{}, map[int32]uint64{}
	for _, p := range file.Packet {
		d := p.GetTrackDescriptor()
		switch {
		case d.GetUuid() == 0 || d.Counter != nil:
			continue
		case d.GetProcess() != nil:
			process[d.GetProcess().GetPid()] = d.GetUuid()
		}
		parent := d.GetParentUuid()
		if th := d.GetThread(); th != nil {
			parent, d.StaticOrDynamicName = process[th.GetPid()], &protos.TrackDescriptor_Name{Name: "thread " + th.GetThreadName()}
		}
		tracks[d.GetUuid()] = d
		below[parent] = append(below[parent], d.GetUuid())
	}
	var show func(uuid uint64, depth int)
	show = func(uuid uint64, depth int) {
		rows := below[uuid]
		slices.SortStableFunc(rows, func(x, y uint64) int {
			a, b := tracks[x], tracks[y]
			if tracks[uuid].GetChildOrdering() == protos.TrackDescriptor_EXPLICIT {
				return cmp.Compare(a.GetSiblingOrderRank(), b.GetSiblingOrderRank())
			}
			return cmp.Compare(a.GetName(), b.GetName())
		})
		last := "none"
		for _, row := range rows {
			if line := strings.Repeat("  ", depth) + tracks[row].GetName(); line != last { // tracks with the same name form one row
				last = line
				lines = append(lines, line)
			}
			show(row, depth+1)
		}
	}
	show(0, 0)
	return lines
}

// The asynchronous tracks of a process with many such tracks are in groups, which a second conversion preserves.
func TestGroups(t *testing.T) {
	var events []string
	for _, of := range []string{
		"blink.user_timing my measure", "blink.user_timing,x my span", "disabled-by-default-v8.gc Scavenge", "v8 V8.Wait", "cc,benchmark,input EventLatency",
		"devtools.timeline EventTiming", "input,benchmark InputLatency::Key", "cc,benchmark Activation", "cc,benchmark PipelineReporter", "custom mine",
		"navigation Navigation: x", "custom yours", // a single navigation gets no group
	} {
		category, name, _ := strings.Cut(of, " ")
		for _, ph := range "be" {
			events = append(events, fmt.Sprintf(`{"ph":"%c","cat":%q,"name":%q,"id":"0x%x","pid":1,"tid":2,"ts":5}`, ph, category, name, len(events)/2))
		}
	}
	few := strings.ReplaceAll(strings.Join(events[:12], ","), `"pid":1`, `"pid":3`)
	input := []byte("[" + strings.Join(events, ",") + "," + few + "]")
	want := []string{
		"", "  Frames", "    PipelineReporter", "    Activation", "  Input", "    EventLatency", "    EventTiming", "    InputLatency::Key",
		"  Navigation: x", "  Other", "    mine", "    yours", "  User timing", "    my measure", "    my span", "  V8 and GC", "    Scavenge", "    V8.Wait",
		"  EventLatency", "  EventTiming", "  Scavenge", "  V8.Wait", "  my measure", "  my span",
	}
	convertAgain := func(input []byte) []byte {
		var out bytes.Buffer
		if _, err := convert.Convert(t.Context(), &out, bytes.NewReader(input), convert.Options{Compression: "none"}); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	for range 2 {
		input = convertAgain(input)
		if diff := gocmp.Diff(want, shownTree(t, input)); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	}

	firefox := convertAgain(recording.Read(t, recording.Large(t, "traces/firefox/gecko/ff-gecko-flows-small.json.gz")))
	tree := shownTree(t, firefox)
	for _, want := range [][]string{
		{"    IPC", "      IPCIn", "      IPCOut"},
		{"    Timers", "      Anonymous_interface_timer"},
	} {
		if !strings.Contains(strings.Join(tree, "\n"), strings.Join(want, "\n")) {
			t.Errorf("no rows %q", want)
		}
	}
	if diff := gocmp.Diff(tree, shownTree(t, convertAgain(firefox))); diff != "" {
		t.Errorf("converted again: -want +got\n%s", diff)
	}
}

// A group can have the same name as a row next to it: viewers do not merge them.
func TestGroupsAreNotMergedWithRows(t *testing.T) {
	var events []string
	for i, of := range []string{"cc,benchmark A", "cc,benchmark B", "cc,benchmark C", "v8 D", "v8 E", "v8 F", "v8 G", "navigation Frames"} {
		category, name, _ := strings.Cut(of, " ")
		for _, ph := range "be" {
			events = append(events, fmt.Sprintf(`{"ph":"%c","cat":%q,"name":%q,"id":"0x%x","pid":1,"tid":2,"ts":5}`, ph, category, name, i))
		}
	}
	input := "[" + strings.Join(events, ",") + "]"
	for range 2 {
		v := view(t, input, convert.Options{})
		var got []string
		for _, d := range v.tracks {
			if d.GetName() == "Frames" {
				got = append(got, fmt.Sprint(d.GetChildOrdering(), " ", d.GetSiblingMergeBehavior()))
			}
		}
		slices.Sort(got)
		if want := []string{"EXPLICIT SIBLING_MERGE_BEHAVIOR_NONE", "UNKNOWN SIBLING_MERGE_BEHAVIOR_UNSPECIFIED"}; !slices.Equal(got, want) {
			t.Errorf("tracks %q, want %q", got, want)
		}
		input = string(v.bytes)
	}
}

// The members of a counter share a scale, even if the first event has only one member, and even after a second conversion.
func TestSharedScales(t *testing.T) {
	input := []byte(`[{"ph":"C","name":"GPU memory","pid":1,"ts":0,"args":{"allocated":2}}, {"ph":"C","name":"GPU memory","pid":1,"ts":1,"args":{"allocated":1,"reserved":5}}, {"ph":"C","name":"load","pid":1,"ts":1,"args":{"x":1}}]`)
	for range 2 {
		var out bytes.Buffer
		if _, err := convert.Convert(t.Context(), &out, bytes.NewReader(input), convert.Options{Compression: "none"}); err != nil {
			t.Fatal(err)
		}
		input = out.Bytes()
		var file protos.Trace
		if err := proto.Unmarshal(input, &file); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, p := range file.Packet {
			if d := p.GetTrackDescriptor(); d.GetCounter() != nil {
				got = append(got, d.GetName()+": "+d.GetCounter().GetYAxisShareKey())
			}
		}
		slices.Sort(got)
		if want := []string{"GPU memory allocated: GPU memory", "GPU memory reserved: GPU memory", "load x: "}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
