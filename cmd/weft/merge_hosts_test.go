package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
)

// With --machines, each host is a separate machine: it keeps its pids, arrows between machines are lost and counted, and weft can
// read its own output.
func TestMergeMachines(t *testing.T) {
	dir := filepath.Join(recording.Testdata(t), "traces", "merge")
	inputs := []string{"browser=" + filepath.Join(dir, "shop-browser.json"), "server=" + filepath.Join(dir, "shop-server.json")}
	for _, form := range []string{"plain", "compact"} {
		t.Run(form, func(t *testing.T) {
			report, out := merged(t, append(inputs, "--machines", "--host", "browser=laptop", "--packets", form)...)
			if report.Inputs[0].Machine != 0 || report.Inputs[1].Machine != 1 || report.Events.Flows != 0 {
				t.Errorf("inputs %+v, %d flows", report.Inputs, report.Events.Flows)
			}
			lost := uint64(0)
			for _, p := range report.Problems {
				if p.Name == "flow_across_machines" {
					lost += p.Count
				}
			}
			if lost != 6 {
				t.Errorf("%d arrows are lost, want 6", lost)
			}
			want := []string{"0 browser 4100", "1 server 4100 shop-1"}
			if diff := cmp.Diff(want, machinesOf(t, out)); diff != "" {
				t.Error(diff)
			}
			again := filepath.Join(t.TempDir(), "again.pftrace")
			c := newConsole(strings.NewReader(""), false)
			if code := run(t.Context(), []string{"weft", "convert", "--packets", form, "-o", again, out}, &c.environment); code != exitOK {
				t.Fatal(c.err.String())
			}
			verifyFile(t, again)
			if diff := cmp.Diff(want, machinesOf(t, again)); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(dumpOf(t, out), dumpOf(t, again)); diff != "" {
				t.Error(diff)
			}
			kept := filepath.Join(t.TempDir(), "kept.pftrace")
			if code := run(t.Context(), []string{"weft", "attribute", "-o", kept, again}, &c.environment); code != exitOK {
				t.Fatal(c.err.String())
			}
			verifyFile(t, kept)
		})
	}
	report, _ := merged(t, append(inputs, "--machines")...)
	if len(report.Notes) != 2 || !strings.Contains(report.Notes[1], "no input is known to be of another host") || report.Events.Flows != 6 {
		t.Errorf("%q, %d flows", report.Notes, report.Events.Flows)
	}
}

// machinesOf lists the processes in a trace with their machines and the machines' names.
func machinesOf(t *testing.T, path string) (lines []string) {
	t.Helper()
	tl := timelineOf(t, path)
	names := map[uint32]string{}
	for _, m := range tl.Machines() {
		names[m.ID] = " " + m.Name
	}
	for id := range timeline.TrackID(tl.TrackCount()) {
		if tr := tl.Track(id); tr.Kind == timeline.ProcessTrack {
			name := ""
			for _, label := range tr.Labels {
				if input, ok := strings.CutPrefix(label, "input "); ok {
					name = input
				}
			}
			lines = append(lines, fmt.Sprintf("%d %s %d%s", tl.Machine(id), name, tr.PID, names[tl.Machine(id)]))
		}
	}
	slices.Sort(lines)
	return lines
}

// The user states the hosts of inputs, and which inputs share one: then equal pids mean one process, and names contain the hosts.
func TestMergeHosts(t *testing.T) {
	paths := ranks(t, 2, 300_000)
	report, _ := merged(t, append(paths, "--host", "rank0=node", "--host", "rank1=node")...)
	if report.Tracks.Processes != 3 || report.Inputs[0].Host != "node" || report.Inputs[1].Host != "node" {
		t.Errorf("%d processes, %+v", report.Tracks.Processes, report.Inputs)
	}
	report, out := merged(t, append(paths, "--host", "rank0=one", "--host", "rank1=two")...)
	if report.Tracks.Processes != 6 || !report.Inputs[1].AtLeast {
		t.Errorf("%d processes, %+v", report.Tracks.Processes, report.Inputs)
	}
	if dump := dumpOf(t, out); !strings.Contains(dump, "@one") || !strings.Contains(dump, "@two") {
		t.Error("hosts are not in the names of processes")
	}
	report, out = merged(t, append(paths, "--machines", "--host", "rank0=one", "--host", "rank1=two")...)
	if report.Tracks.Processes != 6 || strings.Contains(dumpOf(t, out), "@two") {
		t.Errorf("%d processes with machines", report.Tracks.Processes)
	}
	for _, p := range report.Problems {
		if p.Input == "rank1" && p.Name == "pid_remapped" && strings.Contains(fmt.Sprint(p.Cases), "48213") {
			t.Errorf("%+v", p)
		}
	}
	text := refused(t, exitUsage, append(paths, "--host", "nobody=x")...)
	if !strings.Contains(text, `unknown input "nobody"`) {
		t.Error(text)
	}
}

// No rank leaves a collective before the last rank has entered it. If the collectives can be identified, this reveals how far
// apart the clocks of two hosts are, which their wall clocks do not.
func TestMergeCollectives(t *testing.T) {
	const skew = 3_000_000 // ns by which the clock of the second rank is ahead
	dir := t.TempDir()
	var paths []string
	for rank, late := range []int64{40, 700} { // µs; the other rank is late every second time
		var events []string
		for seq := range int64(20) {
			enter := seq*10_000 + late*((seq+int64(rank))%2) + 100
			leave := seq*10_000 + 1_000 + seq%3*5 + int64(rank)*7
			ts := enter + int64(rank)*skew/1000
			// The call that launches the collective ends before the other rank arrives, and proves nothing about the clocks.
			events = append(events, fmt.Sprintf(`{"ph":"X","cat":"cpu_op","name":"c10d::allreduce_","pid":%d,"tid":2,"ts":%d,"dur":10,"args":{"collective":"pg0:%d"}}`, 10+rank, ts-50, seq))
			events = append(events, fmt.Sprintf(`{"ph":"X","cat":"kernel","name":"ncclDevKernel_AllReduce_Sum_f32","pid":%d,"tid":1,"ts":%d,"dur":%d,"args":{"collective":"pg0:%d"}}`, 10+rank, ts, leave-enter, seq))
		}
		path := filepath.Join(dir, fmt.Sprintf("rank%d.json", rank))
		text := fmt.Sprintf(`{"baseTimeNanoseconds":1700000000000000000,"distributedInfo":{"rank":%d},"traceEvents":[%s]}`, rank, strings.Join(events, ","))
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	report, _ := merged(t, append(paths, "--host", "rank0=a", "--host", "rank1=b", "--link", "collective")...)
	if in := report.Inputs[1]; in.By != "causality" || in.Low > -skew || in.High < -skew || in.High-in.Low > 2_000_000 || !strings.HasSuffix(in.Evidence, "20 collectives") {
		t.Errorf("placed at %+v", in)
	}
	if report.Events.Flows != 60 { // launch, launch, kernel, kernel
		t.Errorf("%d flows", report.Events.Flows)
	}
}
