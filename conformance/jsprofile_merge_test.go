package conformance

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/load"
	"github.com/weft-trace/weft/internal/merge"
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/pftrace"
)

// mergeProfile merges a trace and a self-profile whose position in the trace must be found.
func mergeProfile(t *testing.T, trace, profile []byte) (*projection, *merge.Placed) {
	t.Helper()
	out, job, err := merged(t, trace, profile)
	if err != nil {
		t.Fatal(err)
	}
	p, err := project(out)
	if err != nil {
		t.Fatal(err)
	}
	return p, &job.Plan.Inputs[1]
}

func merged(t *testing.T, inputs ...[]byte) ([]byte, *merge.Job, error) {
	job := &merge.Job{Options: merge.Options{Reference: -1}}
	for i, data := range inputs {
		name := string(rune('a' + i))
		job.Sources = append(job.Sources, merge.Source{Name: name, Open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }})
	}
	var out bytes.Buffer
	loaded, err := load.Many(t.Context(), job, load.Options{})
	if err != nil {
		return nil, job, err
	}
	defer loaded.Close()
	err = loaded.Write(t.Context(), &out, new(pfwire.Buffers))
	return out.Bytes(), job, err
}

// The activity that a page recorded matches the trace that Chrome recorded at the same time: every period of layout,
// style and so on starts in a slice of that kind. If shifted by 3 ms, hardly any period does.
func TestSelfProfileLiesOverItsTrace(t *testing.T) {
	trace := recording.Path(t, "traces/chrome/chrome-with-selfprof-and-inspector.json")
	profile := recording.Path(t, "traces/jsprofile/selfprof-matching-trace.json")
	p, in := mergeProfile(t, recording.Read(t, trace), recording.Read(t, profile))
	if page := in.Pages[0].Match; page.PID != 31591 || page.By != "samples" {
		t.Fatalf("found %+v", page)
	}
	names := map[string][]string{
		"layout": {"Layout"},
		"style":  {"UpdateLayoutTree"},
		"paint":  {"PrePaint", "Paint"},
		"gc":     {"MinorGC", "MajorGC"},
		"script": {"RunMicrotasks", "FunctionCall", "EvaluateScript"},
	}
	inside := map[string][]*slice{}
	for _, s := range p.slices {
		for state, list := range names {
			for _, name := range list {
				if s.track.kind == kindThread && s.track.tid == "31591" && s.name == name {
					inside[state] = append(inside[state], s)
				}
			}
		}
	}
	const moved = 3_000_000
	total, hits, chance := map[string]int{}, 0, 0
	for _, s := range p.slices {
		if s.track.name != "Browser activity" || names[s.name] == nil {
			continue
		}
		total[s.name]++
		if covered(inside[s.name], s.ts) {
			hits++
		}
		if s.name != "script" && covered(inside[s.name], s.ts+moved) {
			chance++
		}
	}
	all := 0
	for _, n := range total {
		all += n
	}
	if total["layout"] != 80 || total["style"] != 80 || hits != all {
		t.Errorf("%d of %d states start in a matching slice of the trace; by state %v", hits, all, total)
	}
	if chance > 5 {
		t.Errorf("shifted by 3 ms, %d still match: the test shows nothing", chance)
	}
}

// The same recording as a Perfetto trace gives the page the same time origin: with the samples of all V8 profiles, with
// the page's own samples, and with the pieces of the profiles. With another profile's samples only, the message names
// what is missing.
func TestSelfProfileInPerfettoTrace(t *testing.T) {
	trace := recording.Path(t, "traces/chrome/chrome-with-selfprof-and-inspector.json")
	profile := recording.Path(t, "traces/jsprofile/selfprof-matching-trace.json")
	const origin = 4_392_129_925_000 // as in the JSON trace
	for _, c := range []struct {
		name string
		opts convert.Options
		ok   bool
	}{
		{"all", convert.Options{Profile: convert.ProfileAll}, true},
		{"its own", convert.Options{Profile: "0x3"}, true},
		{"pieces", convert.Options{JSCalls: convert.JSCallsOff, Samples: pftrace.NoSamples}, true},
		{"another one", convert.Options{}, false},
	} {
		var perfetto bytes.Buffer
		if _, err := convert.Convert(t.Context(), &perfetto, bytes.NewReader(recording.Read(t, trace)), c.opts); err != nil {
			t.Fatal(err)
		}
		out, job, err := merged(t, perfetto.Bytes(), recording.Read(t, profile))
		if !c.ok {
			if !errors.Is(err, merge.ErrNoCommonClock) || !errors.Is(err, merge.ErrNoSamples) {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		verify(t, bytes.NewReader(out))
		page := job.Plan.Inputs[1].Pages[0].Match
		if page.PID != 31591 || page.By != "samples" || page.Uncertainty > 7_000 || max(page.Origin-origin, origin-page.Origin) > page.Uncertainty {
			t.Errorf("%s: %+v", c.name, page)
		}
	}
}

// covered reports whether a time is in one of the slices.
func covered(list []*slice, ts int64) bool {
	for _, s := range list {
		if s.ts <= ts && ts <= s.ts+s.dur {
			return true
		}
	}
	return false
}
