package jsprofile

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/problem"
	"github.com/weft-trace/weft/timeline"
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
		ev.ThreadTS, ev.ThreadDur = timeline.NoTime, timeline.NoTime
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
		args.Key([]byte("weft"))
		args.BeginDict()
		args.Key([]byte("id"))
		args.String([]byte("0x3"))
		args.EndDict()
		add(timeline.Event{Kind: timeline.Instant, Track: b.Child(sampled, timeline.OtherEventsName), TS: ts, Name: []byte(name), Args: args.Args()})
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
		m, err := clues.match(page(times, origin, fineStep))
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
