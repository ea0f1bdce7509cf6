package chromejson

import (
	"context"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// The budgets of timelines in tests: with the small one they spill to disk from the first event on.
const (
	memory      = 16 << 20
	smallMemory = 1
)

// read reads an input, resolves the timeline and returns it with the problems of all steps.
func read(tb testing.TB, r io.Reader, opts Options) (*timeline.Timeline, *problem.Log, error) {
	tb.Helper()
	return readWithin(tb, memory, r, opts)
}

// readWithin is read with a memory budget.
func readWithin(tb testing.TB, memory int64, r io.Reader, opts Options) (*timeline.Timeline, *problem.Log, error) {
	tb.Helper()
	log := new(problem.Log)
	opts.Problems = log
	b := timeline.NewBuilder(timeline.Options{Problems: log, Memory: memory})
	if err := Read(context.Background(), r, b, opts); err != nil {
		b.Close()
		return nil, log, err
	}
	tl, err := b.Finish(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { tl.Close() })
	if err := flowbind.NestAndResolve(context.Background(), tl); err != nil {
		tb.Fatal(err)
	}
	return tl, log, nil
}

// dump writes what was read as text: events, what is known of tracks and of the trace, and problems.
func dump(tb testing.TB, input io.Reader, opts Options) string {
	tb.Helper()
	var out strings.Builder
	tl, log, err := read(tb, input, opts)
	if err != nil {
		fmt.Fprintf(&out, "error: %v\n", err)
	} else {
		dumpEvents(tb, &out, tl)
		dumpTracks(&out, tl)
	}
	for _, total := range log.Totals() {
		fmt.Fprintf(&out, "problem %s %d:", total.Kind, total.Count)
		for _, c := range total.Cases {
			fmt.Fprintf(&out, " %v", c.Position)
			if c.Detail != "" {
				fmt.Fprintf(&out, " %q", c.Detail)
			}
		}
		out.WriteByte('\n')
	}
	return out.String()
}

func dumpEvents(tb testing.TB, out *strings.Builder, tl *timeline.Timeline) {
	flows := map[uint64]int{}
	err := tl.Walk(context.Background(), func(it *timeline.Item) error {
		kind := []string{"", "begin", "end", "instant", "counter", "sample"}[it.Kind]
		fmt.Fprintf(out, "%d %s %s", it.TS, kind, trackPath(tl, it.Track))
		switch it.Kind {
		case timeline.ItemBegin, timeline.ItemInstant:
			fmt.Fprintf(out, " %q", it.Name)
			if len(it.Category) > 0 {
				fmt.Fprintf(out, " [%s]", it.Category)
			}
		case timeline.ItemCounter:
			fmt.Fprintf(out, " %v", it.Value.Float())
		case timeline.ItemSample:
			fmt.Fprintf(out, " %q weight %v", it.Name, it.Value.Float())
			if n, ok := it.CPU.Number(); ok {
				fmt.Fprintf(out, " on %d", n)
			}
		}
		if at, ok := it.ThreadTime.Nanos(); ok {
			fmt.Fprintf(out, " tts=%d", at)
		}
		if it.Callstack != 0 {
			out.WriteString(" stack=")
			for i, id := range tl.Callstack(it.Callstack) {
				out.WriteString([]string{";", ""}[min(1, max(0, 1-i))] + tl.Frame(id).Function)
			}
		}
		for _, ref := range it.Flows {
			if flows[ref.ID] == 0 {
				flows[ref.ID] = len(flows) + 1
			}
			fmt.Fprintf(out, " flow%d", flows[ref.ID])
			if ref.Terminating {
				out.WriteString("(end)")
			}
		}
		dumpArgs(out, tl, " ", tl.ArgList(it.Args))
		out.WriteByte('\n')
		return nil
	})
	if err != nil {
		tb.Fatal(err)
	}
}

func dumpArgs(out *strings.Builder, tl *timeline.Timeline, before string, args iter.Seq[timeline.Arg]) {
	for a := range args {
		out.WriteString(before)
		if len(a.Key) > 0 {
			fmt.Fprintf(out, "%s=", a.Key)
		}
		switch a.Kind {
		case timeline.ArgBool:
			fmt.Fprint(out, a.Bool())
		case timeline.ArgInt:
			fmt.Fprint(out, a.Int())
		case timeline.ArgUint, timeline.ArgPointer:
			fmt.Fprint(out, a.Uint())
		case timeline.ArgDouble:
			fmt.Fprintf(out, "double(%v)", a.Double())
		case timeline.ArgString:
			fmt.Fprintf(out, "%q", a.Text())
		case timeline.ArgJSON:
			fmt.Fprintf(out, "json(%s)", a.Text())
		case timeline.ArgDict:
			out.WriteByte('{')
			dumpArgs(out, tl, " ", tl.Members(a))
			out.WriteString(" }")
		case timeline.ArgArray:
			out.WriteByte('[')
			dumpArgs(out, tl, " ", tl.Members(a))
			out.WriteString(" ]")
		}
	}
}

func dumpTracks(out *strings.Builder, tl *timeline.Timeline) {
	for id := range timeline.TrackID(tl.TrackCount()) {
		tr := tl.Track(id)
		if !tr.Used {
			continue
		}
		var about []string
		if tr.Assigned {
			about = append(about, fmt.Sprintf("shown as %q", tr.Title()))
		}
		if len(tr.Labels) > 0 {
			about = append(about, fmt.Sprintf("labels %q", tr.Labels))
		}
		if tr.HasRank {
			about = append(about, fmt.Sprintf("rank %d", tr.Rank))
		}
		if c := tr.Counter; c != nil && (c.Unit != 0 || c.UnitName != "") {
			about = append(about, fmt.Sprintf("unit %d%s", c.Unit, c.UnitName))
		}
		if len(about) > 0 {
			fmt.Fprintf(out, "track %s: %s\n", trackPath(tl, id), strings.Join(about, ", "))
		}
	}
	for _, a := range tl.Attributes() {
		if a.IsInt {
			fmt.Fprintf(out, "attribute %s: %d\n", a.Key, a.Int)
		} else {
			fmt.Fprintf(out, "attribute %s: %q\n", a.Key, a.Text)
		}
	}
}

// trackPath names a track with those above it.
func trackPath(tl *timeline.Timeline, id timeline.TrackID) string {
	tr := tl.Track(id)
	switch tr.Kind {
	case timeline.RootTrack:
		return "trace"
	case timeline.ProcessTrack:
		return strings.TrimSuffix(fmt.Sprintf("%d(%s)", tr.PID, tr.Name), "()")
	case timeline.ThreadTrack:
		return trackPath(tl, tr.Parent) + strings.TrimSuffix(fmt.Sprintf("/%d(%s)", tr.TID, tr.Name), "()")
	case timeline.AsyncTrack:
		return trackPath(tl, tr.Parent) + "/async " + fmt.Sprintf("%q", tr.Name)
	}
	return trackPath(tl, tr.Parent) + fmt.Sprintf("/%q", tr.Name)
}
