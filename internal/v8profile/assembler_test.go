package v8profile

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

func nanos(v int64) timeline.Nanos { return timeline.Nanos(v) }

// piece is an event in a test of the Assembler.
type piece struct {
	kind     string // head, chunk or whole
	pid, tid int64
	id       string
	ts       int64 // microseconds
	data     string
}

const rootAndF = `"nodes":[{"id":1,"callFrame":{"functionName":"(root)"}},{"id":2,"parent":1,"callFrame":{"functionName":"f"}}]`

// preferredID is the id of profiles that take precedence over other profiles of their threads.
const preferredID = "0x77"

// collect passes pieces to an Assembler and describes the result: a line for each profile, and one for the problems.
// The main thread of a process is 1. Samples in memory and on disk must give the same result.
func collect(tb testing.TB, pieces []piece) string {
	tb.Helper()
	held, spilled := collectWithin(tb, pieces, 0), collectWithin(tb, pieces, 1)
	if held != spilled {
		tb.Errorf("in memory:\n%son disk:\n%s", held, spilled)
	}
	return held
}

// collectWithin is collect with a memory limit for samples in bytes; 0: no limit.
func collectWithin(tb testing.TB, pieces []piece, memory int64) string {
	tb.Helper()
	var log problem.Log
	c := NewAssembler(&log, AssemblerOptions{
		Preferred: func(_ int64, id string) bool { return id == preferredID }, SampleMemory: memory, TempDir: tb.TempDir(),
	})
	defer c.Close()
	for _, pc := range pieces {
		ev := &Event{
			Process: pc.pid, Thread: pc.tid, ID: pc.id, TS: nanos(pc.ts * 1000),
			Args: []byte(`{"data":{` + pc.data + `}}`), At: problem.NoPosition,
		}
		switch pc.kind {
		case "head":
			c.Head(ev)
		case "chunk":
			c.Chunk(ev)
		case "whole":
			c.Whole(ev)
		}
	}
	var out strings.Builder
	for _, r := range finish(tb, c, 1, true) {
		fmt.Fprintf(&out, "%d/%d %s", r.Process, r.Thread, r.ID)
		if r.Source != "" {
			fmt.Fprintf(&out, " %s", r.Source)
		}
		if r.Orphan {
			out.WriteString(" orphan")
		}
		if r.Chosen {
			out.WriteString(" chosen")
		}
		out.WriteString(":")
		samples := r.Profile.Samples()
		for i := range r.Profile.Len() {
			fmt.Fprintf(&out, " %d@%d", r.Profile.Node(samples.At(i)).ID, samples.Time(i)/1000)
		}
		out.WriteByte('\n')
	}
	return out.String() + problems(&log)
}

var assemblerCases = []struct {
	name   string
	pieces []piece
	want   string
}{
	{
		"a preferred one of a worse source", []piece{
			{"head", 5, 6, "0x2", 100, `"source":"Internal"`},
			{"chunk", 5, 6, "0x2", 100, `"cpuProfile":{` + rootAndF + `}`},
			{"head", 5, 6, preferredID, 100, `"source":"SelfProfiling"`},
			{"chunk", 5, 6, preferredID, 100, `"cpuProfile":{` + rootAndF + `}`},
		},
		"5/6 0x2 Internal:\n5/6 0x77 SelfProfiling chosen:\nprofile_not_chosen×1",
	},
	{
		"a preferred one without head", []piece{
			{"chunk", 5, 7, "0x1", 110, `"cpuProfile":{` + rootAndF + `}`},
			{"head", 5, 1, "0x2", 110, ``},
			{"chunk", 5, 1, "0x2", 110, `"cpuProfile":{` + rootAndF + `}`},
			{"chunk", 5, 7, preferredID, 110, `"cpuProfile":{` + rootAndF + `}`},
		}, "5/1 0x1 orphan:\n5/1 0x2:\n5/1 0x77 orphan chosen:\nprofile_without_head×2 profile_not_chosen×2",
	},
	{
		"pieces of another thread", []piece{
			{"head", 5, 6, "0x1", 100, `"startTime":90`},
			{"chunk", 5, 7, "0x1", 110, `"cpuProfile":{` + rootAndF + `,"samples":[2]},"timeDeltas":[1]`},
			{"chunk", 5, 6, "0x1", 120, `"cpuProfile":{"samples":[1]},"timeDeltas":[2]`},
			{"chunk", 5, 6, "0x1", 130, `"endTime":7`},
		}, "5/6 0x1 chosen: 2@101 1@103\n",
	},
	{
		"pieces before their head", []piece{
			{"chunk", 5, 7, "0x1", 110, `"cpuProfile":{"samples":[2]},"timeDeltas":[1]`},
			{"chunk", 5, 7, "0x1", 115, `"cpuProfile":{` + rootAndF + `}`},
			{"head", 5, 6, "0x1", 100, `"startTime":90`},
		}, "5/6 0x1 chosen: 2@101\n",
	},
	{
		"a second head", []piece{
			{"head", 5, 6, "0x1", 100, ``},
			{"chunk", 5, 7, "0x1", 110, `"cpuProfile":{` + rootAndF + `,"samples":[2]},"timeDeltas":[1]`},
			{"head", 5, 8, "0x1", 200, ``},
		}, "5/8 0x1 chosen: 2@201\n",
	},
	{
		"equal ids in different processes", []piece{
			{"head", 5, 6, "0x1", 100, ``},
			{"head", 6, 6, "0x1", 200, ``},
			{"chunk", 5, 7, "0x1", 110, `"cpuProfile":{` + rootAndF + `,"samples":[2]},"timeDeltas":[1]`},
			{"chunk", 6, 7, "0x1", 110, `"cpuProfile":{` + rootAndF + `,"samples":[1]},"timeDeltas":[2]`},
		}, "5/6 0x1 chosen: 2@101\n6/6 0x1 chosen: 1@202\n",
	},
	{
		"samples and times in different pieces", []piece{
			{"head", 5, 6, "0x1", 100, ``},
			{"chunk", 5, 7, "0x1", 110, `"cpuProfile":{` + rootAndF + `,"samples":[2,1]},"timeDeltas":[1]`},
			{"chunk", 5, 7, "0x1", 110, `"timeDeltas":[1]`},
		}, "5/6 0x1 chosen: 2@101 1@102\nprofile_length_mismatch×1",
	},
	{
		"the best source", []piece{
			{"head", 5, 6, "0x1", 100, `"source":"SelfProfiling"`},
			{"chunk", 5, 6, "0x1", 100, `"cpuProfile":{` + rootAndF + `}`},
			{"head", 5, 6, "0x2", 100, ``},
			{"chunk", 5, 6, "0x2", 100, `"source":"Inspector","cpuProfile":{` + rootAndF + `}`},
			{"head", 5, 6, "0x3", 100, `"source":"Internal"`},
			{"chunk", 5, 6, "0x3", 100, `"cpuProfile":{` + rootAndF + `}`},
			{"head", 5, 6, "0x4", 100, `"source":"Internal"`},
			{"chunk", 5, 6, "0x4", 100, `"cpuProfile":{` + rootAndF + `}`},
		},
		"5/6 0x1 SelfProfiling:\n5/6 0x2 Inspector:\n5/6 0x3 Internal chosen:\n5/6 0x4 Internal:\nprofile_not_chosen×3",
	},
	{
		"the chosen one has no nodes", []piece{
			{"head", 5, 6, "0x1", 100, `"source":"Internal"`},
			{"chunk", 5, 6, "0x1", 100, `"cpuProfile":{"samples":[2]},"timeDeltas":[1]`},
			{"head", 5, 6, "0x2", 100, `"source":"Inspector"`},
			{"chunk", 5, 6, "0x2", 100, `"cpuProfile":{` + rootAndF + `}`},
		}, "5/6 0x2 Inspector:\nprofile_without_nodes×1 profile_not_chosen×1",
	},
	{
		"no head", []piece{
			{"chunk", 5, 7, "0x1", 110, `"cpuProfile":{` + rootAndF + `,"samples":[2,2]},"timeDeltas":[4,6]`},
			{"chunk", 5, 7, "0x1", 990, `"cpuProfile":{"samples":[2]},"timeDeltas":[3]`},
		}, "5/1 0x1 orphan chosen: 2@104 2@110 2@113\nprofile_without_head×1",
	},
	{
		"no head, and the first piece has no samples", []piece{
			{"chunk", 5, 7, "0x1", 110, `"cpuProfile":{` + rootAndF + `}`},
			{"chunk", 5, 7, "0x1", 190, `"cpuProfile":{"samples":[2]},"timeDeltas":[30]`},
		}, "5/1 0x1 orphan chosen: 2@140\nprofile_without_head×1",
	},
	{
		"two without head", []piece{
			{"chunk", 5, 7, "0x1", 110, `"cpuProfile":{` + rootAndF + `}`},
			{"chunk", 5, 7, "0x2", 110, `"cpuProfile":{` + rootAndF + `}`},
		}, "5/1 0x1 orphan:\n5/1 0x2 orphan:\nprofile_without_head×2 profile_not_chosen×2",
	},
	{
		"no head, and another with a head on the main thread", []piece{
			{"chunk", 5, 7, "0x1", 110, `"cpuProfile":{` + rootAndF + `}`},
			{"head", 5, 1, "0x2", 110, ``},
			{"chunk", 5, 1, "0x2", 110, `"cpuProfile":{` + rootAndF + `}`},
		}, "5/1 0x1 orphan:\n5/1 0x2 chosen:\nprofile_without_head×1 profile_not_chosen×1",
	},
	{
		"whole profiles of old versions", []piece{
			{"whole", 5, 6, "", 900, `"cpuProfile":{` + rootAndF + `,"startTime":100,"samples":[2],"timeDeltas":[1]}`},
			{"whole", 5, 7, "0x9", 900, `"cpuProfile":{"head":{"id":1,"children":[{"id":2}]},
				"startTime":0.0001,"endTime":0.000102,"samples":[2,2]}`},
		}, "5/6 0x1 chosen: 2@101\n5/7 0x9 chosen: 2@100 2@101\nprofile_times_missing×1",
	},
	{
		"arguments that are no JSON", []piece{
			{"head", 5, 6, "0x1", 100, ``},
			{"chunk", 5, 7, "0x1", 110, `"cpuProfile":{` + rootAndF + `,"samples":[2]},"timeDeltas":[1,2],,:`},
		}, "5/6 0x1 chosen: 2@101\nprofile_length_mismatch×1 profile_malformed×1 json_trailing_comma×1",
	},
}

func TestAssembler(t *testing.T) {
	for _, c := range assemblerCases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, collect(t, c.pieces)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// TestTraceIDs checks trace ids in several pieces: the last one counts, and trace ids of unknown nodes are dropped.
func TestTraceIDs(t *testing.T) {
	c := NewAssembler(new(problem.Log), AssemblerOptions{})
	for _, data := range []string{
		`{"data":{"cpuProfile":{` + rootAndF + `,"trace_ids":{"5":1,"5000000000000001":2,"6":9}}}}`,
		`{"data":{"cpuProfile":{"trace_ids":{"5":2}}}}`,
	} {
		c.Chunk(&Event{ID: "1", Args: []byte(data)})
	}
	p := finish(t, c, 0, false)[0].Profile
	for id, want := range map[uint64]int64{5: 2, 5_000_000_000_000_001: 2, 6: 0} {
		n, ok := p.TraceID(id)
		if ok != (want != 0) || ok && p.Node(n).ID != want {
			t.Errorf("trace id %d: %v, %v", id, n, ok)
		}
	}
	if len(p.traceIDs) != 2 {
		t.Errorf("%d trace ids, want 2", len(p.traceIDs))
	}
}

// Times relative to an impossible start are invalid: their samples are counted and dropped.
func TestAssemblerFarStart(t *testing.T) {
	const samples = `"cpuProfile":{` + rootAndF + `,"samples":[2,2,2]},"timeDeltas":[-5,7,1]`
	for _, start := range []timeline.Nanos{maxTime + 1, -maxTime - 1, math.MaxInt64, math.MinInt64} {
		for _, head := range []bool{true, false} {
			var log problem.Log
			c := NewAssembler(&log, AssemblerOptions{})
			if head {
				c.Head(&Event{ID: "0x1", TS: start, At: problem.NoPosition})
			}
			c.Chunk(&Event{ID: "0x1", TS: start, Args: []byte(`{"data":{` + samples + `}}`), At: problem.NoPosition})
			for _, r := range finish(t, c, 1, true) {
				if r.Profile.Len() != 0 || r.Profile.NodeCount() != 2 {
					t.Errorf("from %d: %d samples, %d nodes", start, r.Profile.Len(), r.Profile.NodeCount())
				}
			}
			if n := log.Count(problem.EventInvalidTimestamp); n != 3 {
				t.Errorf("from %d: %d samples counted, want 3", start, n)
			}
		}
	}
}

// finish returns the profiles of an Assembler if all processes have the given main thread, or none.
func finish(t testing.TB, a *Assembler, thread int64, ok bool) []*Recording {
	t.Helper()
	all, err := a.Finish(func(int64) (int64, bool) { return thread, ok })
	if err != nil {
		t.Fatal(err)
	}
	return all
}
