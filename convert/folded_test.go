package convert_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	pb "github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/pftrace"
)

// recursion returns a profile of main with nested calls of fib, and leaf in the innermost one: two samples in leaf, then one in
// main.
func recursion(levels int) string {
	var nodes strings.Builder
	node := func(id int, name string, next string) {
		fmt.Fprintf(&nodes, `{"id":%d,"callFrame":{"functionName":%q,"scriptId":"7","url":"http://a.test/a.js","lineNumber":1,"columnNumber":2}%s},`, id, name, next)
	}
	node(1, "(root)", `,"children":[2]`)
	node(2, "main", `,"children":[3]`)
	for i := range levels {
		node(3+i, "fib", fmt.Sprintf(`,"children":[%d]`, 4+i))
	}
	node(3+levels, "leaf", "")
	return fmt.Sprintf(`{"nodes":[%s],"startTime":1000,"endTime":1030,"samples":[%d,%[2]d,2],"timeDeltas":[0,10,10]}`,
		strings.TrimSuffix(nodes.String(), ","), 3+levels)
}

// drawn returns the complete events that viewers draw: names, colors that differ, and the levels that they represent.
func (v *viewed) drawn() (all []string) {
	for _, p := range v.packets {
		e := p.GetTrackEvent()
		if e.GetLegacyEvent().GetPhase() != 'X' {
			continue
		}
		text := v.names[e.GetNameIid()] + e.GetName()
		for _, a := range e.GetDebugAnnotations() {
			for _, m := range a.GetDictEntries() {
				if m.GetName() == "levels" {
					text += fmt.Sprintf(" %d %s", m.GetIntValue(), e.GetCorrelationIdStr())
				}
			}
		}
		all = append(all, text)
	}
	return all
}

// A recursion of more than 40 identical levels is one slice for viewers, but the original calls for weft.
func TestRecursionIsFolded(t *testing.T) {
	deep := strings.Repeat(" fib", 93)
	for _, tt := range []struct {
		levels int
		opts   convert.Options
		want   string
	}{
		{40, convert.Options{Packets: pftrace.Compact}, "main" + strings.Repeat(" fib", 40) + " leaf"},
		{41, convert.Options{Packets: pftrace.Compact}, "main fib ×41 41 fib leaf"},
		{93, convert.Options{Packets: pftrace.Compact}, "main fib ×93 93 fib leaf"},
		{93, convert.Options{Packets: pftrace.Compact, JSCalls: convert.JSCallsDevTools}, "main" + deep + " leaf"},
		{93, convert.Options{Packets: pftrace.Plain}, ""}, // uses begin and end events
	} {
		v := view(t, recursion(tt.levels), tt.opts)
		if got := strings.Join(v.drawn(), " "); got != tt.want {
			t.Errorf("%d levels, %+v: %s", tt.levels, tt.opts, got)
		}
		for range 2 { // read back twice
			if n := v.read(t)["fib"]; n != tt.levels {
				t.Errorf("%d levels, %+v: %d calls read back", tt.levels, tt.opts, n)
			}
			v = view(t, string(v.bytes), tt.opts)
		}
	}
}

// Attribution also adds the contexts of the first call to the slice for viewers, where they replace earlier contexts. The calls
// stay unchanged.
func TestContextsOfFoldedCalls(t *testing.T) {
	again := convert.Options{KeepPackets: true, Attribute: &attribution.Options{}}
	v := view(t, recursion(93), convert.Options{Packets: pftrace.Compact})
	for range 2 {
		v = view(t, string(v.bytes), again)
		i := slices.IndexFunc(v.packets, func(p *pb.TracePacket) bool { return p.GetWeftLevels() == 93 })
		shown, call := contextsIn(v.packets[i].GetTrackEvent()), contextsIn(v.packets[i+1].GetWeftFolded())
		if len(call) != 1 || !slices.Equal(shown, call) {
			t.Errorf("the slice has the contexts %q, its first call %q", shown, call)
		}
		if n := v.read(t)["fib"]; n != 93 {
			t.Errorf("%d calls read back", n)
		}
	}
}

// contextsIn returns attribution's notes on an event.
func contextsIn(e *pb.TrackEvent) (all []string) {
	for _, a := range e.GetDebugAnnotations() {
		if a.GetName() == "contexts" {
			all = append(all, a.String())
		}
	}
	return all
}

// read returns the number of slices that weft reads, by name.
func (v *viewed) read(t *testing.T) map[string]int {
	t.Helper()
	tr, err := convert.Open(context.Background(), bytes.NewReader(v.bytes), convert.Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	names := map[string]int{}
	for ev, err := range tr.Events() {
		if err != nil {
			t.Fatal(err)
		}
		names[ev.Name]++
	}
	return names
}

// Because of folding, deep recursions in a recording do not make the slices of its main thread a hundred levels deep.
func TestRecordingIsFolded(t *testing.T) {
	input, err := os.ReadFile(recording.Path(t, "traces/cpuprofile/cdp-matching-trace.cpuprofile"))
	if err != nil {
		t.Fatal(err)
	}
	for calls, want := range map[convert.JSCalls]int{convert.JSCallsDevTools: 104, convert.JSCallsRefined: 22} {
		v := view(t, string(input), convert.Options{Packets: pftrace.Compact, JSCalls: calls})
		if got := depth(v.packets); got != want {
			t.Errorf("%s: %d levels", calls, got)
		}
	}
}

// depth returns the nesting depth of complete events. Times are relative to the previous packet.
func depth(packets []*pb.TracePacket) (deepest int) {
	now, ends := int64(0), []int64{}
	for _, p := range packets {
		if p.GetTrustedPacketSequenceId() != 0 && p.TimestampClockId == nil && p.GetClockSnapshot() == nil {
			now += int64(p.GetTimestamp())
		}
		l := p.GetTrackEvent().GetLegacyEvent()
		if l.GetPhase() != 'X' {
			continue
		}
		for len(ends) > 0 && ends[len(ends)-1] <= now {
			ends = ends[:len(ends)-1]
		}
		ends = append(ends, now+l.GetDurationUs())
		deepest = max(deepest, len(ends))
	}
	return deepest
}
