package timeline_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// Slices with InOrder follow each other even if some have no length; other slices that begin at the same time nest, longest
// outermost.
func TestInOrder(t *testing.T) {
	for _, c := range []struct {
		name    string
		inOrder bool
		want    []string
	}{
		{"in order", true, []string{"+a", "-", "+b", "-", "+c", "-", "+d", "-"}},
		{"by length", false, []string{"+c", "+a", "-", "+b", "-", "-", "+d", "-"}},
	} {
		for _, memory := range []int64{largeMemory, smallMemory} {
			t.Run(c.name, func(t *testing.T) {
				b := timeline.NewBuilder(timeline.Options{Memory: memory, TempDir: t.TempDir(), Problems: new(problem.Log)})
				track := b.Child(b.Thread(b.Process(timeline.ProcessKey{Num: 1}), timeline.ThreadKey{Num: 1}), "states")
				for i, s := range []struct {
					name    string
					ts, dur timeline.Nanos
				}{{"a", 5, 0}, {"b", 5, 0}, {"c", 5, 10}, {"d", 15, 0}} {
					err := b.Add(&timeline.Event{
						Kind: timeline.Slice, Track: track, Event: uint32(i), TS: s.ts, Dur: s.dur, Name: []byte(s.name), InOrder: c.inOrder,
					})
					if err != nil {
						t.Fatal(err)
					}
				}
				tl, err := b.Finish(context.Background())
				if err != nil {
					t.Fatal(err)
				}
				defer tl.Close()
				if err := tl.Nest(context.Background()); err != nil {
					t.Fatal(err)
				}
				var got []string
				err = tl.Walk(context.Background(), func(it *timeline.Item) error {
					if it.Kind == timeline.ItemEnd {
						got = append(got, "-")
					} else {
						got = append(got, "+"+string(it.Name))
					}
					return nil
				})
				if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
					t.Errorf("%v; -want +got:\n%s", err, diff)
				}
			})
		}
	}
}

// The text that groups slices is not among the arguments, whether slices are in memory, on disk or added by a pass.
func TestCorrelate(t *testing.T) {
	for _, memory := range []int64{largeMemory, smallMemory} {
		b := timeline.NewBuilder(timeline.Options{Memory: memory, TempDir: t.TempDir(), Problems: new(problem.Log)})
		track := b.Thread(b.Process(timeline.ProcessKey{Num: 1}), timeline.ThreadKey{Num: 1})
		ev := timeline.Event{Kind: timeline.Slice, Track: track, Dur: 1}
		args := func(e *timeline.ArgsEncoder, same, url string) {
			e.Reset()
			e.Correlate(same)
			if url != "" {
				e.Key([]byte("url"))
				e.InternedString(url)
			}
			ev.Args = e.Args()
			ev.TS += 2
			ev.Event++
		}
		add := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		args(b.Args(), "a.js", "a.js")
		add(b.Add(&ev))
		args(b.Args(), "", "b.js")
		add(b.Add(&ev))
		args(b.Args(), "b.js", "")
		add(b.Add(&ev))
		tl, err := b.Finish(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer tl.Close()
		err = tl.Extend(context.Background(), func(starts []timeline.Head, x *timeline.Builder) error {
			if starts != nil {
				return nil
			}
			args(x.Args(), "a.js", "c.js")
			return x.Add(&ev)
		})
		if err == nil {
			err = tl.Nest(context.Background())
		}
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		err = tl.Walk(context.Background(), func(it *timeline.Item) error {
			if it.Kind == timeline.ItemBegin {
				line := string(tl.CorrelationOf(it.Args))
				for a := range tl.ArgList(it.Args) {
					line += " " + string(a.Key) + "=" + string(a.Text())
				}
				got = append(got, line)
			}
			return nil
		})
		if diff := cmp.Diff([]string{"a.js url=a.js", " url=b.js", "b.js", "a.js url=c.js"}, got); diff != "" || err != nil {
			t.Errorf("%v; -want +got:\n%s", err, diff)
		}
		if tl.CorrelationCount() != 2 {
			t.Errorf("%d texts, want 2", tl.CorrelationCount())
		}
	}
}
