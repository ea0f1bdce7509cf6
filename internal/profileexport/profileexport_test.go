package profileexport_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/profileexport"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/trace"
)

const recordings = "../../testdata/traces"

// open reads a trace.
func open(t *testing.T, src io.Reader) *trace.Trace {
	t.Helper()
	tr, err := convert.Open(t.Context(), src, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tr.Close() })
	return tr
}

func openFile(t *testing.T, name string) *trace.Trace {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(recordings, name))
	if err != nil {
		t.Fatal(err)
	}
	return open(t, bytes.NewReader(b))
}

func collect(t *testing.T, tl *timeline.Timeline, opts profileexport.Options) *profileexport.Profile {
	t.Helper()
	p, err := profileexport.Collect(t.Context(), tl, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

// All export formats of a recording have the same total time, and the same number of samples as the report on samples.
func TestFormsAgree(t *testing.T) {
	for _, name := range []string{
		"chrome/chrome-devtools-small.json.gz", "chrome/chrome-paired-tiny.json.gz", "firefox/processed/ff-processed-tiny.json.gz",
		"jsprofile/selfprof-markers-medium.json", "cpuprofile/cdp-page-small.cpuprofile.gz", "node/node-v24-all-node_trace.json.gz",
		"pytorch/pytorch-small.json.gz", "perfetto/chrome-devtools-tiny.pftrace.gz", "probes/python39-functions.probelines.gz",
	} {
		tl := timeline.Of(openFile(t, name))
		for _, of := range []profileexport.Basis{profileexport.Samples, profileexport.Slices} {
			for _, by := range []string{"", profileexport.AllContexts} {
				t.Run(fmt.Sprint(name, of, by), func(t *testing.T) {
					opts := profileexport.Options{Of: of, By: by, Ordered: true}
					p := collect(t, tl, opts)
					if of == profileexport.Samples && p.Count()+p.Idle != tl.Totals().Samples {
						t.Errorf("%d samples and %d idle ones of %d", p.Count(), p.Idle, tl.Totals().Samples)
					}
					all := opts
					all.Idle = true
					if all := collect(t, tl, all); all.Count() != p.Count()+p.Idle || all.Time() != p.Time()+p.IdleTime || all.Idle != 0 {
						t.Errorf("with idle samples %d, %d; want %d and %d, %d and %d", all.Count(), all.Time(), p.Count(), p.Idle, p.Time(), p.IdleTime)
					}
					count, time := readPprof(t, p)
					if count != p.Count() || time != p.Time() {
						t.Errorf("pprof has %d, %d; want %d, %d", count, time, p.Count(), p.Time())
					}
					if time := readFolded(t, p); time != p.Time() {
						t.Errorf("folded stacks have %d, want %d", time, p.Time())
					}
					if len(p.Stacked()) > 0 {
						checkSpeedscope(t, p)
					}
				})
			}
		}
	}
}

// readPprof returns the sums of a pprof profile, whose encoding must be deterministic.
func readPprof(t *testing.T, p *profileexport.Profile) (count int64, time timeline.Nanos) {
	t.Helper()
	var first, second bytes.Buffer
	if err := cmp.Or(p.WritePprof(&first, "trace"), p.WritePprof(&second, "trace")); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("not the same bytes again")
	}
	out, err := pprof.Parse(&first)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range out.Sample {
		count += s.Value[0]
		time += timeline.Nanos(s.Value[1])
		if len(s.Label["thread"]) != 1 {
			t.Fatal("a sample without its thread")
		}
	}
	return count, time
}

func readFolded(t *testing.T, p *profileexport.Profile) (time timeline.Nanos) {
	t.Helper()
	var out bytes.Buffer
	if err := p.WriteFolded(&out); err != nil {
		t.Fatal(err)
	}
	last := ""
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSuffix(line, "\n")
		i := strings.LastIndexByte(line, ' ')
		n, err := strconv.ParseInt(line[i+1:], 10, 64)
		if err != nil || line[:i] <= last {
			t.Fatalf("%q after %q: %v", line, last, err)
		}
		last = line[:i]
		time += timeline.Nanos(n)
	}
	return time
}

// checkSpeedscope checks a file for speedscope. The stacks in the file must have the total time of the profile. Samples without a
// stack are like gaps.
func checkSpeedscope(t *testing.T, p *profileexport.Profile) {
	t.Helper()
	var out bytes.Buffer
	if err := p.WriteSpeedscope(t.Context(), &out, "name"); err != nil {
		t.Fatal(err)
	}
	var file struct {
		ActiveProfileIndex int
		Shared             struct{ Frames []struct{ Name string } }
		Profiles           []struct {
			Type, Unit           string
			StartValue, EndValue timeline.Nanos
			Samples              [][]int
			Weights              []timeline.Nanos
		}
	}
	if err := json.Unmarshal(out.Bytes(), &file); err != nil {
		t.Fatal(err)
	}
	for i, profile := range file.Profiles {
		if len(profile.Samples) != len(profile.Weights) || profile.Type != "sampled" || profile.Unit != "nanoseconds" {
			t.Fatalf("%d: %d samples, %d weights", i, len(profile.Samples), len(profile.Weights))
		}
		length := profile.EndValue - profile.StartValue
		for j, weight := range profile.Weights {
			length -= weight
			for _, frame := range profile.Samples[j] {
				if frame < 0 || frame >= len(file.Shared.Frames) {
					t.Fatalf("no frame %d", frame)
				}
			}
		}
		if length != 0 {
			t.Errorf("%d: the weights miss the end by %d", i, length)
		}
	}
	covered := timeline.Nanos(0)
	for _, profile := range file.Profiles {
		for j, weight := range profile.Weights {
			if len(profile.Samples[j]) > 0 {
				covered += weight
			}
		}
	}
	if covered == 0 || covered > p.Time() || p.Of == profileexport.Slices && covered != p.Time() {
		t.Errorf("stacks have %d of %d", covered, p.Time())
	}
}

// The times of V8's threads, and the idle times, equal the times in the report on samples.
func TestSameAsReport(t *testing.T) {
	tl := timeline.Of(openFile(t, "chrome/chrome-devtools-small.json.gz"))
	p := collect(t, tl, profileexport.Options{Of: profileexport.Samples})
	all := collect(t, tl, profileexport.Options{Of: profileexport.Samples, Idle: true})
	profiles, err := report.Collect(t.Context(), tl, nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := profiles.Samples(report.Options{})
	if err != nil || len(want.Threads) != len(p.Threads) {
		t.Fatal(err, len(p.Threads))
	}
	var idle report.ClassTime
	for i := range want.Threads {
		w := &want.Threads[i]
		idle.Samples += w.Classes.Idle.Samples
		idle.Time += w.Classes.Idle.Time
		for _, test := range []struct {
			of          *profileexport.Profile
			count, time int64
		}{
			{all, w.Samples, int64(w.Covered)},
			{p, w.Samples - w.Classes.Idle.Samples, int64(w.Covered - w.Classes.Idle.Time)},
		} {
			k := slices.IndexFunc(test.of.Threads, func(t profileexport.Thread) bool { return t.TID == w.TID })
			if k < 0 || test.of.Threads[k].Count != test.count || int64(test.of.Threads[k].Time) != test.time {
				t.Errorf("%+v; want of %v %d samples, %d ns", test.of.Threads, w.TID, test.count, test.time)
			}
		}
	}
	if p.Idle != idle.Samples || p.IdleTime != idle.Time || p.Idle == 0 {
		t.Errorf("%d idle samples, %d ns; want %+v", p.Idle, p.IdleTime, idle)
	}
}

// An exported CPU profile that is read again has the same calls.
func TestCPUProfileAgain(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(recordings, "cpuprofile", "*.gz"))
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			tl := timeline.Of(openFile(t, filepath.Join("cpuprofile", filepath.Base(file))))
			p := collect(t, tl, profileexport.Options{Of: profileexport.Samples, Idle: true, Ordered: true})
			var out bytes.Buffer
			err := p.WriteCPUProfiles(t.Context(), func(_ int, fill func(io.Writer) error) error { return fill(&out) })
			if err != nil {
				t.Fatal(err)
			}
			want, got := calls(t, tl), calls(t, timeline.Of(open(t, &out)))
			if len(want) == 0 || len(want) != len(got) {
				t.Fatalf("%d calls, want %d", len(got), len(want))
			}
			for i := range want {
				if want[i] != got[i] {
					t.Fatalf("call %d: %s; want %s", i, got[i], want[i])
				}
			}
		})
	}
}

// calls lists the slices of a timeline with the positions of their functions.
func calls(t *testing.T, tl *timeline.Timeline) (list []string) {
	t.Helper()
	err := tl.Walk(context.Background(), func(it *timeline.Item) error {
		if it.Kind != timeline.ItemBegin {
			return nil
		}
		call := fmt.Sprintf("%d+%d %s", it.TS, it.Dur, it.Name)
		for arg := range tl.ArgList(it.Args) {
			switch string(arg.Key) {
			case "url":
				call += " " + string(arg.Text())
			case "line", "column":
				call += ":" + strconv.FormatInt(arg.Int(), 10)
			}
		}
		list = append(list, call)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// Self times, computed by hand: a has 10 µs, including 4 µs of b, which include 1 µs of c; a slice that never ends has no time.
func TestSelfTimes(t *testing.T) {
	p := collect(t, timeline.Of(open(t, strings.NewReader(`[
		{"ph":"X","pid":1,"tid":2,"ts":100,"dur":10,"name":"a","tts":50,"tdur":8},
		{"ph":"X","pid":1,"tid":2,"ts":102,"dur":4,"name":"b;\n","tts":51,"tdur":3},
		{"ph":"X","pid":1,"tid":2,"ts":103,"dur":1,"name":"c"},
		{"ph":"X","pid":1,"tid":3,"ts":100,"dur":7,"name":"a"}]`))), profileexport.Options{Of: profileexport.Slices, Ordered: true})
	var out bytes.Buffer
	if err := p.WriteFolded(&out); err != nil {
		t.Fatal(err)
	}
	const want = `[pid 1];[tid 2];a 6000
[pid 1];[tid 2];a;b:\n 3000
[pid 1];[tid 2];a;b:\n;c 1000
[pid 1];[tid 3];a 7000
`
	if out.String() != want {
		t.Errorf("%s; want\n%s", &out, want)
	}
	var cpu timeline.Nanos
	for i := range p.Sums {
		cpu += p.Sums[i].CPU
	}
	if !p.HasCPU || cpu != 8000 {
		t.Errorf("CPU time %d, want 8000", cpu)
	}
}

// A recording and its converted trace result in the same profiles.
func TestConvertedTheSame(t *testing.T) {
	for _, name := range []string{
		"chrome/chrome-devtools-small.json.gz", "firefox/processed/ff-processed-tiny.json.gz", "node/node-v24-all-node_trace.json.gz",
		"jsprofile/selfprof-markers-medium.json", "pytorch/pytorch-small.json.gz", "cpuprofile/cdp-page-small.cpuprofile.gz",
	} {
		b, err := os.ReadFile(filepath.Join(recordings, name))
		if err != nil {
			t.Fatal(err)
		}
		var converted bytes.Buffer
		if _, err := convert.Convert(t.Context(), &converted, bytes.NewReader(b), convert.Options{}); err != nil {
			t.Fatal(err)
		}
		recorded, again := timeline.Of(open(t, bytes.NewReader(b))), timeline.Of(open(t, &converted))
		for _, of := range []profileexport.Basis{profileexport.Samples, profileexport.Slices} {
			var want, got bytes.Buffer
			opts := profileexport.Options{Of: of}
			if err := cmp.Or(collect(t, recorded, opts).WriteFolded(&want), collect(t, again, opts).WriteFolded(&got)); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(want.Bytes(), got.Bytes()) {
				t.Errorf("%s: %v of the converted trace are different", name, of)
			}
		}
	}
}

// The self times of slices equal the times in the slices report.
func TestSameSelfTimes(t *testing.T) {
	for _, name := range []string{"chrome/chrome-devtools-small.json.gz", "pytorch/pytorch-small.json.gz", "node/node-v24-all-node_trace.json.gz"} {
		tl := timeline.Of(openFile(t, name))
		p := collect(t, tl, profileexport.Options{Of: profileexport.Slices})
		r, err := report.CollectSlices(t.Context(), tl, report.SliceOptions{})
		if err != nil {
			t.Fatal(err)
		}
		var time timeline.Nanos
		var count int64
		for _, g := range r.Groups {
			if g.Kind < report.AsyncSlices {
				time += g.Self
				count += g.Count
			}
		}
		if p.Time() != time || p.Count() != count {
			t.Errorf("%s: %d slices, %d ns; the report has %d, %d", name, p.Count(), p.Time(), count, time)
		}
	}
}

// Sums saturate at the largest number, and slices that never end have no time.
func TestTimesThatHurt(t *testing.T) {
	for name, test := range map[string]struct {
		input string
		time  timeline.Nanos
	}{
		"long":   {`[{"ph":"X","pid":1,"tid":2,"ts":0,"dur":9e15,"name":"a"},{"ph":"X","pid":1,"tid":3,"ts":0,"dur":9e15,"name":"a"}]`, math.MaxInt64},
		"no end": {`[{"ph":"B","pid":1,"tid":2,"ts":1,"name":"never"},{"ph":"X","pid":1,"tid":2,"ts":2,"dur":3,"name":"in it"}]`, 3000},
	} {
		p := collect(t, timeline.Of(open(t, strings.NewReader(test.input))), profileexport.Options{Of: profileexport.Slices, Ordered: true})
		if p.Time() != test.time {
			t.Errorf("%s: %d ns, want %d", name, p.Time(), test.time)
		}
		var out bytes.Buffer
		err := cmp.Or(p.WritePprof(&out, name), p.WriteFolded(&out), p.WriteCPUProfiles(t.Context(), func(_ int, fill func(io.Writer) error) error { return fill(&out) }))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
