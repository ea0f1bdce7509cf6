package perfetto

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// result is the result of reading a trace.
type result struct {
	log      problem.Log
	timeline *timeline.Timeline
	lines    []string
	edges    []string // flows, each as two lines
	counts   map[timeline.ItemKind]int
	flows    int // number of flow ends
}

func readTrace(t testing.TB, encoded []byte) *result {
	t.Helper()
	return readWith(t, bytes.NewReader(encoded), Options{})
}

// readWith reads, nests and resolves a trace and renders its events, one per line.
func readWith(t testing.TB, src io.Reader, opts Options) *result {
	t.Helper()
	return resolve(t, func(ctx context.Context, b *timeline.Builder, log *problem.Log) error {
		opts.Problems = log
		opts.TempDir = t.TempDir()
		return Read(ctx, src, b, opts)
	})
}

// resolve fills a timeline, nests it, resolves its flows, and renders the events.
func resolve(t testing.TB, fill func(ctx context.Context, b *timeline.Builder, log *problem.Log) error) *result {
	t.Helper()
	ctx := context.Background()
	res := &result{counts: map[timeline.ItemKind]int{}}
	b := timeline.NewBuilder(timeline.Options{Problems: &res.log, TempDir: t.TempDir()})
	defer b.Close()
	if err := fill(ctx, b, &res.log); err != nil {
		t.Fatal(err)
	}
	tl, err := b.Finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tl.Close() })
	if err := flowbind.NestAndResolve(ctx, tl); err != nil {
		t.Fatal(err)
	}
	err = tl.Scan(ctx, func(group []timeline.Record) error {
		for _, r := range group {
			if r.Kind() == timeline.FlowStep {
				res.flows++
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	res.timeline = tl
	members := map[uint64]string{}
	err = tl.Walk(ctx, func(it *timeline.Item) error {
		res.counts[it.Kind]++
		line := res.line(it)
		if line == "" {
			return nil
		}
		for _, f := range it.Flows {
			members[f.Ordinal] = line
			if from, ok := members[f.Previous]; ok {
				res.edges = append(res.edges, from+" => "+line)
			}
		}
		res.lines = append(res.lines, line)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// line renders an item. It renders an end only if the end has data that its start lacks.
func (res *result) line(it *timeline.Item) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d", it.TS)
	switch it.Kind {
	case timeline.ItemBegin:
		if it.Dur == timeline.NoTime {
			b.WriteString(" open")
		} else {
			fmt.Fprintf(&b, "+%d", it.Dur)
		}
		b.WriteString(" slice")
	case timeline.ItemEnd:
		if (it.ThreadTime == timeline.CPUTime{}) && len(it.Args) == 0 && it.Callstack == 0 {
			return ""
		}
		b.WriteString(" end")
	case timeline.ItemInstant:
		b.WriteString(" instant")
	case timeline.ItemCounter:
		fmt.Fprintf(&b, " counter %v", number(it.Value))
	case timeline.ItemSample:
		fmt.Fprintf(&b, " sample %v", number(it.Value))
		if n, ok := it.CPU.Number(); ok {
			fmt.Fprintf(&b, " on %d", n)
		}
	}
	fmt.Fprintf(&b, " [%s", res.path(it.Track))
	// Lanes are written as tracks: below their thread, or next to the track with the same name.
	if it.Lane > 0 && res.timeline.TrackKind(it.Track) == timeline.ThreadTrack {
		b.WriteString("/" + timeline.RoleLane.String())
	}
	b.WriteByte(']')
	if len(it.Name) > 0 {
		fmt.Fprintf(&b, " %q", it.Name)
	}
	if len(it.Category) > 0 {
		fmt.Fprintf(&b, " (%s)", it.Category)
	}
	if at, ok := it.ThreadTime.Nanos(); ok {
		fmt.Fprintf(&b, " cpu=%d", at)
	}
	if it.Callstack != 0 {
		fmt.Fprintf(&b, " stack=%s", res.stack(it.Callstack))
	}
	if same := res.timeline.CorrelationOf(it.Args); same != nil {
		fmt.Fprintf(&b, " same=%q", same)
	}
	for a := range res.timeline.ArgList(it.Args) {
		b.WriteByte(' ')
		res.arg(&b, a)
	}
	// Track events have no fields for the id of an asynchronous slice or for the mark of an unfinished slice; weft writes
	// arguments.
	var own []string
	if it.AsyncID != "" {
		own = append(own, fmt.Sprintf("id=%q", it.AsyncID))
	}
	if it.AsyncScope != "" {
		own = append(own, fmt.Sprintf("scope=%q", it.AsyncScope))
	}
	if it.DidNotEnd {
		own = append(own, "did_not_end=true")
	}
	if len(own) > 0 {
		fmt.Fprintf(&b, " weft={%s}", strings.Join(own, " "))
	}
	return b.String()
}

func number(n timeline.Number) any {
	if n.IsInt() {
		return n.Int()
	}
	return n.Float()
}

// path renders the names of a track and its ancestors, from the root.
func (res *result) path(id timeline.TrackID) string {
	if id == 0 {
		return ""
	}
	tr := res.timeline.Track(id)
	name := tr.Name
	switch tr.Kind {
	case timeline.ProcessTrack:
		name = fmt.Sprintf("%s#%d", name, tr.PID)
	case timeline.ThreadTrack:
		name = fmt.Sprintf("%s#%d", name, tr.TID)
	}
	if tr.Parent == 0 {
		return name
	}
	return res.path(tr.Parent) + "/" + name
}

func (res *result) stack(id timeline.CallstackID) string {
	var frames []string
	for _, f := range res.timeline.Callstack(id) {
		frame := res.timeline.Frame(f)
		text := fmt.Sprintf("%s@%s:%d", frame.Function, frame.File, frame.Line)
		if frame.Column > 0 {
			text += fmt.Sprintf(":%d", frame.Column)
		}
		frames = append(frames, text)
	}
	return strings.Join(frames, ";")
}

func (res *result) arg(b *strings.Builder, a timeline.Arg) {
	if len(a.Key) > 0 {
		fmt.Fprintf(b, "%s=", a.Key)
	}
	switch a.Kind {
	case timeline.ArgBool:
		fmt.Fprint(b, a.Bool())
	case timeline.ArgInt:
		fmt.Fprint(b, a.Int())
	case timeline.ArgUint:
		fmt.Fprint(b, a.Uint())
	case timeline.ArgDouble:
		fmt.Fprintf(b, "%gf", a.Double())
	case timeline.ArgPointer:
		fmt.Fprintf(b, "ptr:%#x", a.Uint())
	case timeline.ArgString:
		fmt.Fprintf(b, "%q", a.Text())
	case timeline.ArgJSON:
		fmt.Fprintf(b, "json:%s", a.Text())
	case timeline.ArgDict, timeline.ArgArray:
		open, end := "{", "}"
		if a.Kind == timeline.ArgArray {
			open, end = "[", "]"
		}
		b.WriteString(open)
		first := true
		for m := range res.timeline.Members(a) {
			if !first {
				b.WriteByte(' ')
			}
			first = false
			res.arg(b, m)
		}
		b.WriteString(end)
	}
}

// text renders the whole result: events, flows, attributes.
func (res *result) text() string {
	var b strings.Builder
	for _, l := range res.lines {
		b.WriteString(l + "\n")
	}
	for _, e := range res.edges {
		from, to, _ := strings.Cut(e, " => ")
		fmt.Fprintf(&b, "flow %s\n  -> %s\n", from, to)
	}
	for _, a := range res.timeline.Attributes() {
		fmt.Fprintf(&b, "attribute %s %s\n", a.Key, attributeValue(a))
	}
	return b.String()
}

func (res *result) problems() string {
	var b strings.Builder
	for _, t := range res.log.Totals() {
		fmt.Fprintf(&b, "%s %d", t.Kind, t.Count)
		for _, c := range t.Cases {
			if c.Detail != "" {
				fmt.Fprintf(&b, " [%s]", c.Detail)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func attributeValue(a timeline.Attribute) string {
	if a.IsInt {
		return fmt.Sprint(a.Int)
	}
	return fmt.Sprintf("%q", a.Text)
}
