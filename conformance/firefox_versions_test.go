package conformance

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	pb "github.com/weft-trace/weft/gen/perfetto/protos"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
)

// The anchors of the recording tiny in nanoseconds: the monotonic clock at the start of Firefox, and wall time for
// versions without it.
const (
	tinyMonotonic = 3684814522526
	tinyWall      = 1795149029960821000
)

// TestFirefoxVersions checks that one recording gives the same result in all versions of the processed format and in
// the raw one.
func TestFirefoxVersions(t *testing.T) {
	reference := recording.Path(t, "traces/firefox/processed/ff-processed-tiny.json")
	want := firefoxEvents(t, reference)
	for _, f := range recording.In(t, "firefox/processed-versions") {
		t.Run(path.Base(f.Name), func(t *testing.T) {
			tolerance := int64(0)
			if strings.Contains(f.Name, "gecko") {
				tolerance = 1
			}
			sameEvents(t, want, firefoxEvents(t, f.Path), tolerance)
		})
	}
}

// TestFirefoxPairs checks that a raw profile and the front end's processed version of it give the same result, except
// for changes by the front end: times of child processes differ by up to a nanosecond (its sums are doubles), and
// changedByFrontEnd lists events.
func TestFirefoxPairs(t *testing.T) {
	for _, name := range []string{"tiny", "sandbox", "markers-only", "small", "flows-small", "js-only", "flows-medium"} {
		t.Run(name, func(t *testing.T) {
			raw := recording.Large(t, "traces/firefox/gecko/ff-gecko-"+name+".json")
			processed := recording.Large(t, "traces/firefox/processed/ff-processed-"+name+".json")
			sameEvents(t, firefoxEvents(t, processed), firefoxEvents(t, raw), 1)
		})
	}
}

// firefoxEvent is an event in a form that can be compared between files.
type firefoxEvent struct {
	what    string // everything except the times
	ts, dur int64
}

// firefoxEvents returns the sorted events of a converted profile, with times relative to the start of Firefox.
func firefoxEvents(t *testing.T, path string) []firefoxEvent {
	t.Helper()
	output, _ := convertTrace(t, recording.Read(t, path), convert.Options{})
	p, err := project(output)
	if err != nil {
		t.Fatal(err)
	}
	anchor := int64(0)
	if len(p.slices) > 0 && p.slices[0].ts > tinyWall {
		anchor = tinyWall - tinyMonotonic
	}
	var list []firefoxEvent
	for _, s := range p.slices {
		if changedByFrontEnd(s) {
			continue
		}
		args := slices.Clone(s.args.all)
		slices.SortFunc(args, func(a, b arg) int { return strings.Compare(a.key, b.key) })
		what := fmt.Sprintf("%s/%s %s %q [%s] %q flows %d", s.track.pid, s.track.tid, s.track.name, s.name, s.category, timeless(args), len(s.flows))
		list = append(list, firefoxEvent{what, s.ts - anchor, s.dur})
	}
	for _, v := range p.counters {
		list = append(list, firefoxEvent{fmt.Sprintf("%s/%s %s", v.track.pid, v.track.tid, v.track.name), v.ts - anchor, int64(v.v * 1000)})
	}
	packets, err := unpack(output)
	if err != nil {
		t.Fatal(err)
	}
	list = append(list, sampledStacks(t, packets, anchor)...)
	slices.SortFunc(list, compareFirefoxEvents)
	return list
}

// sampledStacks returns the samples of a trace with their stacks as text, and the stacks of slices and instants. weft
// interns all stacks before the first of these.
func sampledStacks(t *testing.T, packets []*pb.TracePacket, anchor int64) []firefoxEvent {
	t.Helper()
	functions, paths, frames := map[uint64]string{}, map[uint64]string{}, map[uint64]string{}
	builds, binaries := map[uint64]string{}, map[uint64]string{}
	stacks := map[uint64]string{0: "no stack"}
	tasks := sampleTasks(packets)
	var list []firefoxEvent
	for _, packet := range packets {
		interned := packet.GetInternedData()
		for _, e := range interned.GetFunctionNames() {
			functions[e.GetIid()] = string(e.GetStr())
		}
		for _, e := range interned.GetSourcePaths() {
			paths[e.GetIid()] = string(e.GetStr())
		}
		for _, e := range interned.GetBuildIds() {
			builds[e.GetIid()] = fmt.Sprintf("%x", e.GetStr())
		}
		for _, m := range interned.GetMappings() {
			binaries[m.GetIid()] = builds[m.GetBuildId()]
		}
		for _, f := range interned.GetFrames() {
			frames[f.GetIid()] = fmt.Sprintf("%s %s:%d:%d %s+%x", functions[f.GetFunctionNameId()], paths[f.GetSourcePathIid()],
				f.GetLineNumber(), f.GetWeftColumn(), binaries[f.GetMappingId()], f.GetRelPc())
		}
		for _, c := range interned.GetCallstacks() {
			var all []string
			for _, id := range c.GetFrameIds() {
				all = append(all, frames[id])
			}
			stacks[c.GetIid()] = strings.Join(all, "; ")
		}
		if e := packet.GetTrackEvent(); e.GetCallstackIid() != 0 {
			list = append(list, firefoxEvent{"stack of an event: " + stacks[e.GetCallstackIid()], int64(packet.GetTimestamp()) - anchor, 0})
		}
		if s := cmp.Or(packet.GetStackSample(), packet.GetWeftIdleSample()); s != nil {
			stack, ok := stacks[s.GetCallstackIid()]
			if !ok {
				t.Fatalf("call stack %d is not described", s.GetCallstackIid())
			}
			what := fmt.Sprintf("sample %d/%d %d %s", tasks[0].pid, tasks[0].tid, s.GetPrimaryWeight(), stack)
			tasks = tasks[1:]
			list = append(list, firefoxEvent{what, int64(packet.GetTimestamp()) - anchor, 0})
		}
	}
	return list
}

func compareFirefoxEvents(a, b firefoxEvent) int {
	if c := strings.Compare(a.what, b.what); c != 0 {
		return c
	}
	if a.ts != b.ts {
		return int(min(max(a.ts-b.ts, -1), 1))
	}
	return int(min(max(a.dur-b.dur, -1), 1))
}

// changedByFrontEnd reports whether the front end changes an event when it processes a raw profile: it does not convert
// the pauses of child processes to the common clock, adds figures to garbage collections, and moves allocations to a
// table with less information.
func changedByFrontEnd(s *slice) bool {
	return s.track.name == timeline.RolePaused.String() || strings.HasPrefix(s.name, "GCMajor") || strings.HasPrefix(s.name, "GCSlice") ||
		s.track.name == timeline.RoleAllocations.String()
}

// timeless returns arguments except times.
func timeless(args []arg) []arg {
	return slices.DeleteFunc(args, func(a arg) bool {
		return strings.HasSuffix(a.key, "Start") || strings.HasSuffix(a.key, "End") || a.key == "startTime" || a.key == "endTime"
	})
}

// sameEvents compares events whose times may differ by a tolerance in nanoseconds.
func sameEvents(t *testing.T, want, got []firefoxEvent, tolerance int64) {
	t.Helper()
	if len(want) != len(got) {
		t.Errorf("%d events, want %d", len(got), len(want))
	}
	shown := 0
	for i := range min(len(want), len(got)) {
		w, g := want[i], got[i]
		near := func(a, b, tolerance int64) bool { return a-b <= tolerance && b-a <= tolerance }
		if w.what == g.what && near(w.ts, g.ts, tolerance) && near(w.dur, g.dur, 2*tolerance) {
			continue
		}
		if shown++; shown > maxShown {
			t.Fatal("… and more")
		}
		t.Errorf("event %d: %s", i, gocmp.Diff(fmt.Sprint(w), fmt.Sprint(g)))
	}
}
