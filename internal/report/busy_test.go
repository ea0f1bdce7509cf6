package report_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/attribution"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/timeline"
)

// kernelsOnStreams returns kernels of two devices with one stream each. About half of them overlap other kernels on their stream.
func kernelsOnStreams() string {
	r := rand.New(rand.NewPCG(1, 2))
	var events []string
	for range 200 {
		events = append(events, fmt.Sprintf(`{"ph":"X","cat":"kernel","name":"k%d","pid":%d,"tid":7,"ts":%d,"dur":%d,"args":{"device":%[2]d,"stream":7}}`,
			r.IntN(9), r.IntN(2), r.IntN(100_000), 1+r.IntN(1000)))
	}
	return `{"traceEvents":[` + strings.Join(events, ",") + `]}`
}

// The plot, the overview and the device table state the same busy time for a device, even where its kernels overlap.
func TestDevicesAreBusyAlike(t *testing.T) {
	for name, text := range map[string]string{
		"pytorch-small": string(recording.Read(t, filepath.Join(recording.Testdata(t), "traces", "pytorch", "pytorch-small.json.gz"))),
		"overlaps":      kernelsOnStreams(),
	} {
		t.Run(name, func(t *testing.T) {
			all := allOf(t, text, selection.Query{})
			if len(all.Slices.Devices) != 2 {
				t.Fatalf("%d devices", len(all.Slices.Devices))
			}
			used := map[string]timeline.Nanos{}
			for i := range all.Utilisation.Threads {
				row := &all.Utilisation.Threads[i]
				used[row.PID.String()+" "+row.Thread] += row.Busy
				var steps, kinds timeline.Nanos
				for k := range row.Steps {
					kinds += row.ByKind[k]
					for _, time := range row.Steps[k] {
						steps += time
					}
				}
				if steps != row.Busy || kinds != row.Busy {
					t.Errorf("%s is busy for %d, in steps for %d, by kind for %d", row.Thread, row.Busy, steps, kinds)
				}
			}
			overview := overviewOf(t, text, selection.Query{})
			for i := range all.Slices.Streams {
				s := &all.Slices.Streams[i]
				device := busyOfDevice(all.Slices.Devices, s)
				if got := used[s.PID.String()+" "+s.Thread]; got != s.Busy || got != device {
					t.Errorf("%s of %s: plot %d, streams %d, devices %d", s.Thread, s.PID, got, s.Busy, device)
				}
				if got := busyInOverview(overview, s); got != s.Busy {
					t.Errorf("%s of %s: overview %d, streams %d", s.Thread, s.PID, got, s.Busy)
				}
			}
		})
	}
}

// busyOfDevice returns the busy time of the device of a stream, which must be the only stream of the device.
func busyOfDevice(devices []report.Device, s *report.Stream) timeline.Nanos {
	for i := range devices {
		if d := &devices[i]; d.Device == s.Device && d.PID == s.PID {
			return d.Busy
		}
	}
	return -1
}

func busyInOverview(o *report.Overview, s *report.Stream) timeline.Nanos {
	for i := range o.Threads {
		if o.Threads[i].ThreadID == s.ThreadID {
			return o.Threads[i].Busy
		}
	}
	return -1
}

// In the plot and in the overview, the busy time of a thread is the time in which any of its slices is open, whether the slices
// are nested or on lanes.
func TestBusyIsTheUnion(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 3))
		open := make([]bool, 4000)
		var events []string
		for range 1 + r.IntN(60) {
			ts, dur := r.IntN(3000), 1+r.IntN(300)
			events = append(events, fmt.Sprintf(`{"ph":"X","cat":"c","name":"n%d","pid":1,"tid":2,"ts":%d,"dur":%d}`, r.IntN(3), ts, dur))
			for i := range dur {
				open[ts+i] = true
			}
		}
		want := timeline.Nanos(0)
		for _, is := range open {
			if is {
				want += micros(1)
			}
		}
		text := `{"traceEvents":[` + strings.Join(events, ",") + `]}`
		if got := allOf(t, text, selection.Query{}).Utilisation.Threads[0].Busy; got != want {
			t.Errorf("seed %d: the plot says %d, want %d", seed, got, want)
		}
		attributed(t, text, func(tl *timeline.Timeline, result *attribution.Result) {
			o, err := report.CollectOverview(t.Context(), tl, result, nil)
			if err != nil {
				t.Fatal(err)
			}
			if o.Threads[0].Busy != want {
				t.Errorf("seed %d: the overview says %d, want %d", seed, o.Threads[0].Busy, want)
			}
		})
	}
}
