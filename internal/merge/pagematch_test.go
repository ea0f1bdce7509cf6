package merge

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/readers/chromejson"
	"github.com/weft-trace/weft/internal/readers/jsprofile"
	"github.com/weft-trace/weft/internal/timeline"
)

// chromeTrace returns a trace in which V8 took samples at the given times (ns), in two pieces, with the given source.
func chromeTrace(source string, times []Nanos) string {
	delta := func(times []Nanos, before Nanos) string {
		var list []string
		for _, ts := range times {
			list = append(list, fmt.Sprint(int64((ts-before)/1000)))
			before = ts
		}
		return strings.Join(list, ",")
	}
	half := len(times) / 2
	start := times[0] - 234_000
	return fmt.Sprintf(`{"metadata":{"traceEvents":[]},"traceEvents":[{"ph":"X","name":"RunTask","pid":1,"tid":1,"ts":1,"dur":1e12},
		{"args":{"data":{"source":"%s","startTime":%d}},"ph":"P","name":"Profile","id":"0x3","pid":5,"tid":6,"ts":%d},
		{"args":{"data":{"cpuProfile":{"nodes":[{"id":1}]},"timeDeltas":[%s]}},"ph":"P","name":"ProfileChunk","id":"0x3","pid":5,"tid":9,"ts":1},
		{"args":{"data":{"timeDeltas":[%s]}},"ph":"P","name":"ProfileChunk","id":"0x3","pid":5,"tid":9,"ts":2}]}`,
		source, start/1000, start/1000+7, delta(times[:half], start), delta(times[half:], times[half-1]))
}

// page returns the times on the clock of a page that started at the origin, rounded down to steps.
func page(times []Nanos, origin, step Nanos) *jsprofile.Times {
	p := &jsprofile.Times{Step: step}
	for _, ts := range times {
		p.Times = append(p.Times, (ts-origin)/step*step)
	}
	return p
}

// The samples of a profile are found in the trace wherever the two overlap, whatever the step of the page's clock, and
// determine the time origin to within a step.
func TestMatchSamples(t *testing.T) {
	const origin Nanos = 4_392_129_925_000
	rng := rand.New(rand.NewPCG(1, 1))
	var times []Nanos
	at := origin + 603_000_000
	for range 200 {
		at += 10_050_000 + Nanos(rng.Int64N(100))*1000 // browsers are this regular
		if rng.IntN(8) == 0 {
			at += Nanos(rng.Int64N(9000)) * 1000
		}
		times = append(times, at)
	}
	regular := make([]Nanos, 100)
	for i := range regular {
		regular[i] = origin + Nanos(i)*10_000_000
	}
	moved := append([]Nanos{}, times...)
	moved[150] += 50_000
	tests := []struct {
		name          string
		traced, taken []Nanos
		source        string
		step          Nanos
		found         bool
	}{
		{"all", times, times, "SelfProfiling", 5_000, true},
		{"coarse", times, times, "SelfProfiling", 100_000, true},
		{"trace_begins_later", times[50:], times, "SelfProfiling", 5_000, true},
		{"trace_ends_earlier", times[:60], times, "SelfProfiling", 5_000, true},
		{"profile_begins_later", times, times[100:], "SelfProfiling", 5_000, true},
		{"profile_buffer_full", times, times[:20], "SelfProfiling", 5_000, true},
		{"both_cut", times[10:], times[:190], "SelfProfiling", 5_000, true},
		{"too_few", times, times[:15], "SelfProfiling", 5_000, false},
		{"little_in_common", times[:100], times[40:140], "SelfProfiling", 5_000, false},
		{"one_sample_differs", times, moved, "SelfProfiling", 5_000, false},
		{"other_source", times, times, "Internal", 5_000, false},
		{"regular_of_one_length", regular, regular, "SelfProfiling", 5_000, true},
		{"regular_of_another_length", regular, regular[:50], "SelfProfiling", 5_000, false}, // fits anywhere
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			clues := tracedIn(t, chromeTrace(test.source, test.traced))
			p := page(test.taken, origin, test.step)
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
func match(c *Traced, p *jsprofile.Times) (Match, error) {
	places, err := c.Places(p)
	switch {
	case err != nil:
		return Match{}, err
	case len(places) > 1:
		return Match{}, &ClockError{Places: places}
	}
	return places[0], nil
}

// tracedIn reads what a Chrome JSON trace reveals about its pages.
func tracedIn(tb testing.TB, trace string) *Traced {
	tb.Helper()
	log := new(problem.Log)
	c, b := NewCollector(CollectOptions{Profiles: true}, timeline.Options{Problems: log})
	defer b.Close()
	if err := chromejson.Read(context.Background(), strings.NewReader(trace), b, chromejson.Options{Options: readers.Options{Problems: log}}); err != nil {
		tb.Fatal(err)
	}
	return c.Finish(b.Clocks()).Traced
}

// Navigations may give the time origin if the two recordings overlap, and if their page is among the profile's scripts or has
// the same thread and origin as one that is. Own marks navigations of tabs to pages that contain scripts of the profile.
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
	origin := Nanos(2_000_000_000)
	tests := []struct {
		name, trace string
		origin      *Nanos
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
		{"no_url", `{"name":"navigationStart","ph":"R","ts":2000000,"args":{"data":{"documentLoaderURL":7}}},` + events, nil, none},
		{"no_args", `{"name":"navigationStart","ph":"R","ts":2000000},{"name":"Profile","ph":"P","ts":1,"args":[1]},7,` + events, nil, none},
		{"cut", navigate(site+"/p", 2_000_000, "") + "," + events + `,{"name":"navigationStart","ts":2100000,"args":{"data":{"docu`, nil, "2000000000 own"},
	}
	for _, test := range tests {
		for _, form := range []string{"[%s]", `{"displayTimeUnit":"ms","traceEvents":[%s],"metadata":{}}`} {
			p := page([]Nanos{60_000_000, 70_000_000}, 0, 5_000)
			p.Resources, p.Origin = []string{site + "/a.js", site + "/p"}, test.origin
			text := fmt.Sprintf(form, test.trace)
			if test.name == "cut" {
				text = strings.TrimRight(text[:strings.LastIndex(text, `"docu`)], `]`)
			}
			places, err := tracedIn(t, text).Places(p)
			var got []string
			for _, m := range places {
				own := ""
				if m.Own {
					own = " own"
				}
				got = append(got, fmt.Sprintf("%d%s", m.Origin, own))
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

// The forms in which a trace may contain a self-made profile, which the sampler started 7 µs before the time of its head.
const (
	asText    = "JSON text"  // as in Chrome's Perfetto traces
	onThread  = "thread"     // as weft writes a profile that is not chosen
	onSampled = "sampled"    // as weft writes the chosen profile
	noSamples = "no samples" // as weft leaves a profile that is not chosen
)

// formOf returns a trace in which thread 6 of process 5 has a self-made profile with these samples for each of the heads.
func formOf(form string, times []Nanos, clock Nanos, heads ...string) string {
	start := times[0] - 234_000
	events := []string{`{"ph":"M","name":"thread_name","pid":5,"tid":7,"args":{"name":"V8 profile 0x3"}}`}
	for _, id := range heads {
		events = append(events, fmt.Sprintf(`{"ph":"P","name":"Profile","id":"%s","pid":5,"tid":6,"ts":%d,
			"args":{"data":"{\"source\":\"SelfProfiling\",\"startTime\":%d}"}}`, id, (start+7000+clock)/1000, start/1000))
	}
	samples := ""
	switch form {
	case asText:
		before := start
		for i, ts := range times {
			samples += fmt.Sprintf("%.*s%d", min(i, 1), ",", (ts-before)/1000)
			before = ts
		}
		events = append(events, fmt.Sprintf(`{"ph":"P","name":"ProfileChunk","id":"0x3","pid":5,"tid":9,"ts":%d,"args":{"data":"{\"timeDeltas\":[%s]}"}}`,
			(times[len(times)-1]+clock)/1000, samples))
		samples = ""
	case onThread, onSampled:
		tid := map[string]int{onSampled: 6, onThread: 7}[form]
		for i, ts := range times {
			samples += fmt.Sprintf(`%.*s{"cpu":1,"tid":%d,"ts":%d,"name":"s","sf":1,"weight":1}`, min(i, 1), ",", tid, (ts+7000)/1000)
		}
	}
	return fmt.Sprintf(`{"traceEvents":[%s],"stackFrames":{"1":{"name":"f"}},"samples":[%s]}`, strings.Join(events, ","), samples)
}

// A profile is placed whether the trace is from Chrome or from weft. weft's traces do not state whether times are relative to
// the head of the profile, so the place may be wrong by the difference. Several profiles of a thread without pieces share its
// samples: they do not count as several equally good places.
func TestTracedForms(t *testing.T) {
	const origin Nanos = 4_392_129_925_000
	var times []Nanos
	for i := range Nanos(40) {
		times = append(times, origin+603_000_000+i*10_050_000+i*i%7*1_000_000)
	}
	for _, c := range []struct {
		form    string
		heads   []string
		clock   Nanos // clock of the trace, minus the clock of startTime
		atMost  Nanos // maximum distance from the origin; -1: no common clock
		missing string
	}{
		{asText, []string{"0x3"}, 0, 6_000, ""},
		{onThread, []string{"0x3"}, 0, 13_000, ""},
		{onSampled, []string{"0x3"}, 0, 13_000, ""},
		{onSampled, []string{"0x3", "0x4", "0x3"}, 0, 13_000, ""},
		{noSamples, []string{"0x3"}, 0, -1, "it names one, but has none of its samples"},
		{asText, []string{"0x3"}, 3_600_000_000_000, -1, "it has one, whose start is on another clock than the trace"},
	} {
		m, err := match(tracedIn(t, formOf(c.form, times, c.clock, c.heads...)), page(times, origin, 5_000))
		if c.atMost < 0 {
			if err == nil || !strings.Contains(err.Error(), c.missing) {
				t.Errorf("%s: %+v, %v, want %s", c.form, m, err, c.missing)
			}
			continue
		}
		if off := m.Origin - origin; err != nil || max(off, -off) > m.Uncertainty || m.Uncertainty > c.atMost || m.PID != 5 || m.TID != 6 || m.By != BySamples {
			t.Errorf("%s: %+v, which is off by %d ns, %v", c.form, m, off, err)
		}
	}
}

// FuzzTraced checks that no trace makes the search for pages panic or hang.
func FuzzTraced(f *testing.F) {
	var times []Nanos
	for i := range 40 {
		times = append(times, 10_000_000+Nanos(i*i)*1_000_000)
	}
	f.Add(chromeTrace("SelfProfiling", times))
	for _, form := range []string{asText, onThread, onSampled} {
		f.Add(formOf(form, times, 0, "0x3", "0x4"))
	}
	f.Add(`[{"name":"navigationStart","ph":"I","ts":1,"args":{"data":{"documentLoaderURL":"a"}}}]`)
	f.Add(`[{"name":"Profile","ph":"P","id":"0x1","ts":1,"args":{"data":{"source":"SelfProfiling","startTime":18446744073709551615}}},
		{"name":"ProfileChunk","ph":"P","id":"0x1","ts":2,"args":{"data":{"timeDeltas":[-9e300,1e300,0.5]}}}]`)
	p := page(times, 0, 5_000)
	p.Resources = []string{"a"}
	f.Fuzz(func(t *testing.T, trace string) {
		log := new(problem.Log)
		c, b := NewCollector(CollectOptions{Profiles: true}, timeline.Options{Problems: log})
		defer b.Close()
		if chromejson.Read(t.Context(), strings.NewReader(trace), b, chromejson.Options{Options: readers.Options{Problems: log}}) != nil {
			return
		}
		if m, err := match(c.Finish(b.Clocks()).Traced, p); err == nil && m.Uncertainty > 100_000+traceStep+sameClock {
			t.Errorf("match %+v", m)
		}
	})
}
