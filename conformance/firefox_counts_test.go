package conformance

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	pb "github.com/weft-trace/weft/gen/perfetto/protos"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
)

// firefoxCounts holds the counts of a thread or a process.
type firefoxCounts struct {
	Markers, Samples, Values, Constants int
}

// TestFirefoxCounts converts all available profiles and compares the counts of input and output by thread: nothing is
// missing, and nothing is new. Flows are compared with all their members.
func TestFirefoxCounts(t *testing.T) {
	for _, f := range recording.Every(t, "firefox") {
		t.Run(f.Name, func(t *testing.T) {
			input := recording.Read(t, f.Path)
			naive := readNaively(t, input)
			output, report := convertTrace(t, input, convert.Options{})
			p, err := project(output)
			if err != nil {
				t.Fatal(err)
			}
			checkNothingLost(t, report)
			want, wantProcesses := naive.count()
			got, gotProcesses := countFirefox(t, output, p)
			if diff := gocmp.Diff(want, got); diff != "" {
				t.Errorf("threads: -in +out:\n%s", diff)
			}
			if diff := gocmp.Diff(wantProcesses, gotProcesses); diff != "" {
				t.Errorf("values of counters of processes: -in +out:\n%s", diff)
			}
			compareFirefoxFlows(t, naive, p)
		})
	}
}

// checkNothingLost checks that no problem reports lost data.
func checkNothingLost(t *testing.T, report *convert.Report) {
	t.Helper()
	for _, p := range report.Problems {
		if p.Severity == "lost" {
			t.Errorf("%s ×%d: %v", p.Name, p.Count, p.Cases)
		}
	}
}

// count counts the events of each thread and the counter values of each process. Threads without events are not in the
// output.
func (p *naiveProfile) count() (threads map[string]firefoxCounts, processes map[string]int) {
	threads = map[string]firefoxCounts{}
	for _, th := range p.threads {
		key := th.pid + "/" + th.tid
		c := threads[key]
		c.Markers += len(th.markers)
		c.Samples += th.samples
		c.Values += th.values
		c.Constants += th.constants
		if c != (firefoxCounts{}) {
			threads[key] = c
		}
	}
	processes = maps.Clone(p.counters)
	maps.DeleteFunc(processes, func(_ string, n int) bool { return n == 0 })
	return threads, processes
}

// ownTracks lists the tracks for samples and the recording, which have no markers.
var ownTracks = []string{
	timeline.RoleCategories.String(), timeline.RoleSamplePages.String(), timeline.RoleCalls.String(), timeline.RolePaused.String(),
	timeline.RoleLongTasks.String(),
}

// countFirefox counts the same in the output. Requests are on tracks of their process and count for its main thread.
func countFirefox(t *testing.T, output []byte, p *projection) (threads map[string]firefoxCounts, processes map[string]int) {
	t.Helper()
	threads, processes = map[string]firefoxCounts{}, map[string]int{}
	packets, err := unpack(output)
	if err != nil {
		t.Fatal(err)
	}
	named := nameThreads(t, packets, p)
	add := func(key string, c firefoxCounts) {
		sum := threads[key]
		sum.Markers += c.Markers
		sum.Samples += c.Samples
		sum.Values += c.Values
		sum.Constants += c.Constants
		threads[key] = sum
	}
	for _, s := range p.slices {
		switch {
		case slices.Contains(ownTracks, s.track.name):
		case s.track.name == timeline.RoleNetwork.String() && s.track.tid == "":
			if s.parent == nil { // count the request, not its phases
				add(s.track.pid+"/"+s.track.pid, firefoxCounts{Markers: 1})
			}
		default:
			add(s.track.pid+"/"+s.track.tid, firefoxCounts{Markers: 1})
		}
	}
	for _, v := range p.counters {
		if v.track.tid == "" {
			processes[v.track.pid]++
			continue
		}
		add(v.track.pid+"/"+v.track.tid, firefoxCounts{Values: 1})
	}
	for _, packet := range packets {
		d := packet.GetTrackDescriptor()
		for _, fact := range d.GetWeftMark().GetFacts() {
			if kind := timeline.FactKind(fact.GetKind()); kind == timeline.FactCPU || kind == timeline.FactEventDelay {
				track := p.tracks[d.GetUuid()]
				add(track.pid+"/"+track.tid, firefoxCounts{Values: int(fact.GetSamples()), Constants: 1})
			}
		}
	}
	for i, task := range sampleTasks(packets) {
		if named[task] == "" {
			t.Fatalf("sample %d is of thread %v, which is not described", i, task)
		}
		add(named[task], firefoxCounts{Samples: 1})
	}
	return threads, processes
}

// sampleTask identifies the thread of a sample.
type sampleTask struct{ pid, tid uint32 }

// sampleTasks returns the tasks of all samples of a trace.
func sampleTasks(packets []*pb.TracePacket) []sampleTask {
	interned := map[uint64]sampleTask{}
	var tasks []sampleTask
	for _, packet := range packets {
		for _, c := range packet.GetInternedData().GetStackSampleTaskContexts() {
			interned[c.GetIid()] = sampleTask{c.GetPid(), c.GetTid()}
		}
		sample := cmp.Or(packet.GetStackSample(), packet.GetWeftIdleSample())
		if sample == nil {
			continue
		}
		if iid := sample.GetTaskContextIid(); iid != 0 {
			tasks = append(tasks, interned[iid])
			continue
		}
		tasks = append(tasks, sampleTask{sample.GetTaskContext().GetPid(), sample.GetTaskContext().GetTid()})
	}
	return tasks
}

// nameThreads sets the tids of a projection's threads to the input's: for a tid that is not a number, a label of the
// process gives its replacement. It returns the threads of samples by the ids in the output.
func nameThreads(t *testing.T, packets []*pb.TracePacket, p *projection) map[sampleTask]string {
	t.Helper()
	texts := map[sampleTask]string{}
	for _, packet := range packets {
		process := packet.GetTrackDescriptor().GetProcess()
		for _, label := range process.GetProcessLabels() {
			var tid string
			var number uint32
			if n, _ := fmt.Sscanf(label, "tid %s is %d", &tid, &number); n == 2 {
				texts[sampleTask{uint32(process.GetPid()), number}] = tid
			}
		}
	}
	threads := map[sampleTask]string{}
	byUUID := map[uint64]string{}
	for _, packet := range packets {
		d := packet.GetTrackDescriptor()
		if th := d.GetThread(); th != nil {
			task := sampleTask{uint32(th.GetPid()), uint32(th.GetTid())}
			track := p.tracks[d.GetUuid()]
			if texts[task] != "" {
				track.tid = texts[task]
			}
			threads[task] = track.pid + "/" + track.tid
			byUUID[d.GetUuid()] = track.tid
		}
	}
	for _, packet := range packets { // tracks below threads
		if d := packet.GetTrackDescriptor(); byUUID[d.GetParentUuid()] != "" {
			p.tracks[d.GetUuid()].tid = byUUID[d.GetParentUuid()]
		}
	}
	return threads
}

// compareFirefoxFlows compares the flows of the output, as sets of markers, with the second implementation.
func compareFirefoxFlows(t *testing.T, naive *naiveProfile, p *projection) {
	t.Helper()
	members := map[uint64][]string{}
	for _, s := range p.slices {
		for _, end := range s.flows {
			name := cmp.Or(s.args.marker, s.name)
			if !strings.Contains(name, "IPCOut") && !strings.Contains(name, "IPCIn") && s.track.name != timeline.RoleNetwork.String() {
				members[end.id] = append(members[end.id], fmt.Sprintf("%s/%s %s %d", s.track.pid, s.track.tid, name, s.ts))
			}
		}
	}
	counts := map[string]int{}
	for _, f := range naive.flows() {
		counts[strings.Join(f.members, "\n")]++
	}
	if len(counts) == 0 && len(members) == 0 {
		return
	}
	for _, list := range members {
		slices.Sort(list)
		counts[strings.Join(list, "\n")]--
	}
	shown := 0
	for flow, n := range counts {
		if n != 0 && shown < maxShown {
			shown++
			t.Errorf("%d flows too few with the members\n%s", n, flow)
		}
	}
}
