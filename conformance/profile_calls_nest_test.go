package conformance

import (
	"fmt"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/pftrace"
)

// onLanes holds the numbers of calls in lanes next to their thread: calls that DevTools drops from its tree (leftOutOf)
// because they end after the event in which they started. 84 events of this thread do not nest either.
var onLanes = map[string]int{"node-v24-all-node_trace devtools": 4}

// TestSampledRecordings converts every recording with calls made from samples, except Chrome JSON, verifies the result,
// and checks that the calls nest on their own thread, without lanes except for known ones.
func TestSampledRecordings(t *testing.T) {
	for _, folder := range []string{"cpuprofile", "jsprofile", "node", "perfetto"} {
		for _, f := range recording.In(t, folder) {
			name := recording.Name(f.Name)
			t.Run(f.Name, func(t *testing.T) {
				for _, mode := range []convert.JSCalls{convert.JSCallsDevTools, convert.JSCallsRefined, convert.JSCallsOff} {
					p, _ := mustProject(t, recording.Read(t, f.Path), convert.Options{JSCalls: mode})
					lanes, open := 0, 0
					for _, s := range p.slices {
						isCall := s.category == "v8.cpu_profiler" || folder == "cpuprofile" || folder == "jsprofile"
						if isCall && s.track.name == "Overlapping slices" {
							lanes++
						}
						if isCall && s.dur == unfinished {
							open++
						}
					}
					if lanes != onLanes[name+" "+string(mode)] || open > 0 {
						t.Errorf("--js-calls %v: %d calls are on lanes, and %d calls never end", mode, lanes, open)
					}
				}
			})
		}
	}
}

// TestSamplesDoNotChangeCalls checks that calls and states do not depend on the form of the samples.
func TestSamplesDoNotChangeCalls(t *testing.T) {
	recording.NeedAll(t, "converts recordings in six ways")
	for _, name := range []string{"chrome/chrome-devtools-small.json", "cpuprofile/cdp-page-small.cpuprofile", "jsprofile/selfprof-small.json"} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			path := recording.Path(t, "traces/"+name)
			for _, mode := range []convert.JSCalls{convert.JSCallsDevTools, convert.JSCallsRefined} {
				var first []string
				for i, form := range []pftrace.Samples{pftrace.StackSample, pftrace.NoSamples} {
					p, _ := mustProject(t, recording.Read(t, path), convert.Options{JSCalls: mode, Samples: form})
					var lines []string
					for _, s := range p.slices {
						lines = append(lines, fmt.Sprintf("%s %s [%d, +%d] depth %d %v", s.track.name, s.name, s.ts, s.dur, s.depth(), s.args.all))
					}
					if i == 0 {
						first = lines
					} else if diff := gocmp.Diff(first, lines); diff != "" {
						t.Errorf("--js-calls %v: samples as %v change slices: %s", mode, form, diff)
					}
				}
				if len(first) < 100 {
					t.Errorf("only %d slices", len(first))
				}
			}
		})
	}
}
