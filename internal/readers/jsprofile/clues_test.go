package jsprofile

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/weft-trace/weft/internal/timeline"
)

// chromeTrace returns a trace in which V8 took samples at the given times (ns), in two pieces, of the source that is named.
func chromeTrace(source string, times []timeline.Nanos) string {
	delta := func(times []timeline.Nanos, before timeline.Nanos) string {
		return elements(len(times), func(i int) string {
			d := times[i] - before
			before = times[i]
			return fmt.Sprint(int64(d / 1000))
		})
	}
	half := len(times) / 2
	start := times[0] - 234_000
	return fmt.Sprintf(`{"metadata":{"traceEvents":[]},"traceEvents":[{"ph":"X","name":"RunTask","pid":1,"tid":1,"ts":1,"dur":1e12},
		{"args":{"data":{"source":"%s","startTime":%d}},"ph":"P","name":"Profile","id":"0x3","pid":5,"tid":6,"ts":%d},
		{"args":{"data":{"cpuProfile":{"nodes":[{"id":1}]},"timeDeltas":[%s]}},"ph":"P","name":"ProfileChunk","id":"0x3","pid":5,"tid":9,"ts":1},
		{"args":{"data":{"timeDeltas":[%s]}},"ph":"P","name":"ProfileChunk","id":"0x3","pid":5,"tid":9,"ts":2}]}`,
		source, start/1000, start/1000+7, delta(times[:half], start), delta(times[half:], times[half-1]))
}

// page returns the times as a page sees them that began at the origin, in steps.
func page(times []timeline.Nanos, origin, step timeline.Nanos) *profile {
	p := &profile{}
	for _, ts := range times {
		p.samples.Append(sample{ts: (ts - origin) / step * step})
	}
	return p
}

// The samples of a profile are found in the trace wherever the two overlap, whatever the step of the page's clock, and tell
// the time origin to within a step.
func TestMatchSamples(t *testing.T) {
	const origin timeline.Nanos = 4_392_129_925_000
	rng := rand.New(rand.NewPCG(1, 1))
	var times []timeline.Nanos
	at := origin + 603_000_000
	for range 200 {
		at += 10_050_000 + timeline.Nanos(rng.Int64N(100))*1000 // a browser is that regular
		if rng.IntN(8) == 0 {
			at += timeline.Nanos(rng.Int64N(9000)) * 1000
		}
		times = append(times, at)
	}
	regular := make([]timeline.Nanos, 100)
	for i := range regular {
		regular[i] = origin + timeline.Nanos(i)*10_000_000
	}
	moved := append([]timeline.Nanos{}, times...)
	moved[150] += 50_000
	tests := []struct {
		name          string
		traced, taken []timeline.Nanos
		source        string
		step          timeline.Nanos
		found         bool
	}{
		{"all", times, times, "SelfProfiling", fineStep, true},
		{"coarse", times, times, "SelfProfiling", coarseStep, true},
		{"trace_begins_later", times[50:], times, "SelfProfiling", fineStep, true},
		{"trace_ends_earlier", times[:60], times, "SelfProfiling", fineStep, true},
		{"profile_begins_later", times, times[100:], "SelfProfiling", fineStep, true},
		{"profile_buffer_full", times, times[:20], "SelfProfiling", fineStep, true},
		{"both_cut", times[10:], times[:190], "SelfProfiling", fineStep, true},
		{"too_few", times, times[:15], "SelfProfiling", fineStep, false},
		{"little_in_common", times[:100], times[40:140], "SelfProfiling", fineStep, false},
		{"one_sample_differs", times, moved, "SelfProfiling", fineStep, false},
		{"other_source", times, times, "Internal", fineStep, false},
		{"regular_of_one_length", regular, regular, "SelfProfiling", fineStep, true},
		{"regular_of_another_length", regular, regular[:50], "SelfProfiling", fineStep, false}, // fits anywhere
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			clues := readClues(t, chromeTrace(test.source, test.traced))
			p := page(test.taken, origin, test.step)
			byTime{&p.samples}.Swap(0, 9) // browsers do not keep the order
			m, err := match(clues, p)
			if !test.found {
				if !errors.Is(err, ErrNoCommonClock) {
					t.Fatalf("match %+v, %v", m, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if off := m.Origin - origin; max(off, -off) > m.Uncertainty || m.Uncertainty > test.step || m.PID != 5 || m.TID != 6 || m.By != BySamples {
				t.Errorf("match %+v, which is off by %d ns", m, off)
			}
		})
	}
}

// match finds the only place where the time origin of a profile may be.
func match(c *Clues, p *profile) (Match, error) {
	times := p.times(nil)
	places, err := c.Places(&times)
	switch {
	case err != nil:
		return Match{}, err
	case len(places) > 1:
		return Match{}, &ClockError{Places: places}
	}
	return places[0], nil
}

func readClues(t *testing.T, trace string) *Clues {
	t.Helper()
	clues, err := ReadClues(context.Background(), iotest.OneByteReader(strings.NewReader(trace)))
	if err != nil {
		t.Fatal(err)
	}
	return clues
}

// Navigations may give the time origin if their page is among the scripts of the profile, or of the same thread and origin as one that is, and the
// two recordings overlap. Own are those to the pages of tabs with scripts of the profile in them.
func TestMatchNavigation(t *testing.T) {
	navigate := func(url string, ts int, more string) string {
		return fmt.Sprintf(`{"name":"navigationStart","ph":"R","pid":5,"tid":6,"ts":%d,"args":{"frame":"F","data":{"documentLoaderURL":"%s"%s}}}`, ts, url, more)
	}
	const (
		events  = `{"name":"a","ph":"X","pid":1,"tid":1,"ts":1000000,"dur":5000000}`
		site    = "https://example.org"
		inFrame = `,"isOutermostMainFrame":false`
		none    = "no common clock"
	)
	origin := timeline.Nanos(2_000_000_000)
	tests := []struct {
		name, trace string
		origin      *timeline.Nanos
		want        string
	}{
		{"page", navigate(site+"/p", 2_000_000, "") + "," + events, nil, "2000000000 own"},
		{"page_of_a_tab", navigate(site+"/p", 2_000_000, `,"isOutermostMainFrame":true`) + "," + events, nil, "2000000000 own"},
		{"fragment", navigate(site+"/p#x", 2_000_000, "") + "," + events, nil, "2000000000 own"},
		{"before_the_trace", navigate(site+"/p", 950_000, "") + "," + events, nil, "950000000 own"},
		{"other_page", navigate(site+"/q", 2_000_000, "") + "," + events, nil, none},
		{"no_overlap", events + "," + navigate(site+"/p", 7_000_000, ""), nil, none},
		{"two", navigate(site+"/p", 2_000_000, "") + "," + navigate(site+"/p", 2_500_000, "") + "," + events, nil, "2000000000 own, 2500000000 own"},
		{"frame_with_scripts", navigate(site+"/tab?q", 2_000_000, "") + "," + navigate(site+"/p", 2_100_000, inFrame) + "," + events, nil, "2000000000, 2100000000"},
		{"frame_without", navigate(site+"/p", 2_000_000, "") + "," + navigate(site+"/q", 2_100_000, inFrame) + "," + events, nil, "2000000000 own, 2100000000"},
		{"tab_of_another_origin", navigate("https://example.com/", 2_000_000, "") + "," + navigate(site+"/p", 2_100_000, inFrame) + "," + events, nil, "2100000000"},
		{"since_1970", navigate(site+"/p", 3_000_000, "") + "," + events, &origin, "1000000000 own"},
		{"no_url", `{"name":"navigationStart","ts":2000000,"args":{"data":{"documentLoaderURL":7}}},` + events, nil, none},
		{"no_args", `{"name":"navigationStart","ts":2000000},{"name":"Profile","args":[1]},7,` + events, nil, none},
		{"cut", navigate(site+"/p", 2_000_000, "") + "," + events + `,{"name":"navigationStart","ts":2100000,"args":{"data":{"docu`, nil, "2000000000 own"},
	}
	for _, test := range tests {
		for _, form := range []string{"[%s]", `{"displayTimeUnit":"ms","traceEvents":[%s],"metadata":{}}`} {
			p := page([]timeline.Nanos{60_000_000, 70_000_000}, 0, fineStep)
			p.resources.Append(site + "/a.js")
			p.resources.Append(site + "/p")
			text := fmt.Sprintf(form, test.trace)
			if test.name == "cut" {
				text = strings.TrimRight(text[:strings.LastIndex(text, `"docu`)], `]`)
			}
			times := p.times(test.origin)
			places, err := readClues(t, text).Places(&times)
			var got []string
			for _, m := range places {
				own := ""
				if m.Own {
					own = " own"
				}
				got = append(got, fmt.Sprint(m.Origin, own))
			}
			if err != nil {
				got = []string{err.Error()}
			}
			if text := strings.Join(got, ", "); text != test.want && !(err != nil && strings.HasPrefix(text, test.want)) {
				t.Errorf("%s in %.8s: %s, want %s", test.name, form, text, test.want)
			}
		}
	}
}

// FuzzReadClues holds that no trace makes the search for clues panic or hang.
func FuzzReadClues(f *testing.F) {
	var times []timeline.Nanos
	for i := range 40 {
		times = append(times, timeline.Nanos(i*i)*1_000_000)
	}
	f.Add([]byte(chromeTrace("SelfProfiling", times)))
	f.Add([]byte(`[{"name":"navigationStart","ts":1,"args":{"data":{"documentLoaderURL":"a"}}}]`))
	p := page(times, 0, fineStep)
	p.resources.Append("a")
	f.Fuzz(func(t *testing.T, trace []byte) {
		clues, err := ReadClues(context.Background(), strings.NewReader(string(trace)))
		if err != nil {
			t.Fatal(err)
		}
		if m, err := match(clues, p); err == nil && m.Uncertainty > coarseStep+traceStep {
			t.Errorf("match %+v", m)
		}
	})
}
