package jsprofile

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers/chromejson"
	"github.com/weft-trace/weft/internal/timeline"
)

// tracedForms are the forms in which a timeline may hold a self-made profile, which the sampler began 7 µs before the time
// of its head.
const (
	asDicts   = "dictionaries" // as in Chrome JSON traces whose profiles are not used
	asText    = "JSON text"    // as in Perfetto traces of Chrome
	onThread  = "thread"       // as weft writes one that is not chosen
	onSampled = "sampled"      // as weft writes one that is chosen
	noSamples = "no samples"   // as weft leaves one that is not chosen
)

// tracedTimeline returns a nested timeline of thread 6 in process 5, which has a self-made profile with these samples.
func tracedTimeline(t *testing.T, form string, times []timeline.Nanos, clock timeline.Nanos) *timeline.Timeline {
	t.Helper()
	b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log)})
	process := b.Process(timeline.ProcessKey{Num: 5})
	sampled := b.Thread(process, timeline.ThreadKey{Num: 6})
	add := func(ev timeline.Event) {
		ev.Event = b.NextEvent()
		ev.TS += clock
		if err := b.Add(&ev); err != nil {
			t.Fatal(err)
		}
	}
	piece := func(name string, ts timeline.Nanos, text string, dict func(args *timeline.ArgsEncoder)) {
		args := b.Args()
		args.Reset()
		args.Key([]byte("data"))
		if form == asText {
			args.String([]byte(text))
		} else {
			args.BeginDict()
			dict(args)
			args.EndDict()
		}
		args.OwnKey([]byte(timeline.OwnArgs))
		args.BeginDict()
		args.Key([]byte("id"))
		args.String([]byte("0x3"))
		args.EndDict()
		add(timeline.Event{Kind: timeline.Instant, Track: b.RoleTrack(sampled, timeline.RoleOther), TS: ts, Name: []byte(name), Args: args.Args()})
	}
	start := times[0] - 234_000
	piece("Profile", start+7000, fmt.Sprintf(`{"source":"SelfProfiling","startTime":%d}`, start/1000), func(args *timeline.ArgsEncoder) {
		args.Key([]byte("source"))
		args.String([]byte("SelfProfiling"))
		args.Key([]byte("startTime"))
		args.Int(int64(start / 1000))
	})
	switch form {
	case asDicts, asText:
		before := start
		text := elements(len(times), func(i int) string {
			d := times[i] - before
			before = times[i]
			return fmt.Sprint(int64(d / 1000))
		})
		piece("ProfileChunk", times[len(times)-1], `{"timeDeltas":[`+text+`]}`, func(args *timeline.ArgsEncoder) {
			args.Key([]byte("timeDeltas"))
			args.BeginArray()
			for _, d := range strings.Split(text, ",") {
				var n int64
				fmt.Sscan(d, &n)
				args.Int(n)
			}
			args.EndArray()
		})
	case onThread, onSampled:
		track := sampled
		if form == onThread {
			track = b.Thread(process, timeline.ThreadKey{Text: V8ProfileThread + "0x3"})
		}
		for _, ts := range times {
			add(timeline.Event{Kind: timeline.Sample, Track: track, TS: ts + 7000})
		}
	}
	tl, err := b.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tl.Close() })
	if err := tl.Nest(context.Background()); err != nil {
		t.Fatal(err)
	}
	return tl
}

// A profile finds its place in a Perfetto trace too, whether the trace is one of Chrome or one of weft. What weft writes
// does not tell whether times count from the head of the profile, so the place may be wrong by the difference.
func TestCluesOfTimeline(t *testing.T) {
	const origin timeline.Nanos = 4_392_129_925_000
	var times []timeline.Nanos
	for i := range timeline.Nanos(40) {
		times = append(times, origin+603_000_000+i*10_050_000+i*i%7*1_000_000)
	}
	for _, c := range []struct {
		form    string
		clock   timeline.Nanos // of the trace, less that of startTime
		atMost  timeline.Nanos // from the origin; -1: there is no common clock
		missing string
	}{
		{asDicts, 0, 6_000, ""},
		{asText, 0, 6_000, ""},
		{onThread, 0, 13_000, ""},
		{onSampled, 0, 13_000, ""},
		{noSamples, 0, -1, "it names one, but has none of its samples"},
		{asText, 3_600_000_000_000, -1, "it has one, whose start is on another clock than the trace"},
	} {
		clues, err := CluesOf(context.Background(), tracedTimeline(t, c.form, times, c.clock))
		if err != nil {
			t.Fatal(err)
		}
		m, err := match(clues, page(times, origin, fineStep))
		if c.atMost < 0 {
			if err == nil || !strings.Contains(err.Error(), c.missing) {
				t.Errorf("%s: %+v, %v, want %s", c.form, m, err, c.missing)
			}
			continue
		}
		if off := m.Origin - origin; err != nil || max(off, -off) > m.Uncertainty || m.Uncertainty > c.atMost ||
			m.PID != 5 || m.TID != 6 || m.By != BySamples {
			t.Errorf("%s: %+v, which is off by %d ns, %v", c.form, m, off, err)
		}
	}
}

// nestedTrace returns the timeline of a Chrome JSON trace, or nil if it is none.
func nestedTrace(t *testing.T, trace string) *timeline.Timeline {
	t.Helper()
	ctx, log := context.Background(), new(problem.Log)
	b := timeline.NewBuilder(timeline.Options{Problems: log})
	if err := chromejson.Read(ctx, strings.NewReader(trace), b, chromejson.Options{Problems: log}); err != nil {
		b.Close()
		return nil
	}
	tl, err := b.Finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tl.Close() })
	if err := tl.Nest(ctx); err != nil {
		t.Fatal(err)
	}
	return tl
}

// sampledTrace returns a trace whose thread 6 of process 5 has samples, those of a self-profile by each of the heads.
func sampledTrace(times []timeline.Nanos, heads ...string) string {
	var events []string
	for i, head := range heads {
		events = append(events, fmt.Sprintf(`{"ph":"P","name":"Profile","id":"%s","pid":5,"tid":6,"ts":%d,
			"args":{"data":{"source":"SelfProfiling","startTime":%d}}}`, head, times[0]/1000-200+timeline.Nanos(i), times[0]/1000-203))
	}
	samples := elements(len(times), func(i int) string {
		return fmt.Sprintf(`{"cpu":1,"tid":6,"ts":%d,"name":"s","sf":1,"weight":1}`, times[i]/1000)
	})
	return fmt.Sprintf(`{"traceEvents":[{"ph":"M","name":"thread_name","pid":5,"tid":6,"args":{"name":"main"}},%s],
		"stackFrames":{"1":{"name":"f"}},"samples":[%s]}`, strings.Join(events, ","), samples)
}

// Several profiles of one thread without pieces have its samples once: they are not two places that fit equally well.
func TestCluesOfSeveralHeads(t *testing.T) {
	const origin timeline.Nanos = 4_392_129_925_000
	var times []timeline.Nanos
	for i := range timeline.Nanos(40) {
		times = append(times, origin+603_000_000+i*10_050_000+i*i%7*1_000_000)
	}
	clues, err := CluesOf(context.Background(), nestedTrace(t, sampledTrace(times, "0x3", "0x4", "0x3")))
	if err != nil {
		t.Fatal(err)
	}
	m, err := match(clues, page(times, origin, fineStep))
	if off := m.Origin - origin; err != nil || max(off, -off) > m.Uncertainty || m.Uncertainty > 12_000 || m.TID != 6 {
		t.Errorf("%+v, which is off by %d ns, %v", m, off, err)
	}
}

// FuzzCluesOf holds that no timeline makes the search for clues panic or hang, whether the pieces of profiles are
// dictionaries, JSON text or samples of threads.
func FuzzCluesOf(f *testing.F) {
	var times []timeline.Nanos
	for i := range 40 {
		times = append(times, 10_000_000+timeline.Nanos(i*i)*1_000_000)
	}
	f.Add([]byte(chromeTrace("SelfProfiling", times)))
	f.Add([]byte(sampledTrace(times, "0x3", "0x4")))
	f.Add([]byte(`[{"name":"navigationStart","ph":"I","ts":1,"args":{"data":{"documentLoaderURL":"a"}}}]`))
	f.Add([]byte(`[{"name":"Profile","ph":"P","ts":1,"args":{"data":"{\"source\":\"SelfProfiling\",\"startTime\":1}"}},
		{"name":"ProfileChunk","ph":"P","ts":2,"args":{"data":"{\"timeDeltas\":[1,2,3]}"}}]`))
	f.Add([]byte(`[{"name":"thread_name","ph":"M","tid":1,"args":{"name":"V8 profile 0x1"}},{"name":"Profile","ph":"P","id":"0x1","ts":1,
		"args":{"data":{"source":"SelfProfiling","startTime":18446744073709551615}}},{"name":"s","ph":"P","tid":1,"ts":2,"stack":["a"]}]`))
	p := page(times, 0, fineStep)
	p.resources.Append("a")
	f.Fuzz(func(t *testing.T, trace []byte) {
		tl := nestedTrace(t, string(trace))
		if tl == nil {
			return
		}
		clues, err := CluesOf(context.Background(), tl)
		if err != nil {
			t.Fatal(err)
		}
		if clues.any && clues.start > clues.end {
			t.Errorf("the trace lasts from %d to %d", clues.start, clues.end)
		}
		if m, err := match(clues, p); err == nil && m.Uncertainty > coarseStep+traceStep+sameClock {
			t.Errorf("match %+v", m)
		}
	})
}
