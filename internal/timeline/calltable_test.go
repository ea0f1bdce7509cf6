package timeline

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
)

// extended returns what a walk gives of a thread to which calls are added, by BeginCall or, at their ends, by Add. Ten calls are
// open at a time, each a little shorter than the one around it; every fifth has arguments of its own.
func extended(t *testing.T, memory int64, begin bool) string {
	t.Helper()
	ctx := context.Background()
	dir := t.TempDir()
	b := NewBuilder(Options{Memory: memory, TempDir: dir, Problems: new(problem.Log)})
	thread := b.Thread(b.Process(ProcessKey{Num: 1}), ThreadKey{Num: 1})
	const groups, depth = 600, 10
	for i := range groups {
		if err := b.Add(&Event{Kind: Slice, Track: thread, Event: uint32(i), TS: Nanos(i) * 1000, Dur: 1000, Name: []byte("task")}); err != nil {
			t.Fatal(err)
		}
	}
	tl, err := b.Finish(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	err = tl.Extend(ctx, func(starts []Head, b *Builder) error {
		if starts != nil {
			return nil
		}
		return addCalls(b, thread, groups, depth, begin)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := tl.Nest(ctx); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := tl.Walk(ctx, func(it *Item) error {
		fmt.Fprintf(&out, "%d %d %d %d %s %x\n", it.Kind, it.TS, it.Dur, it.Lane, it.Name, it.Args)
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func addCalls(b *Builder, thread TrackID, groups, depth int, begin bool) error {
	args := b.Args()
	var keys [2]KeyID
	for i, key := range []string{"first", "second"} {
		args.Reset()
		args.Key([]byte(key))
		keys[i] = args.KeyID()
	}
	args.Reset()
	args.OwnKey([]byte(OwnArgs))
	args.BeginDict()
	template := b.Template([]byte("call"), []byte("cat"), keys)
	// One call is open from the first to the last.
	around, err := b.BeginCall(template, thread, 0, 1000, -1)
	if err != nil {
		return err
	}
	for i := range groups {
		ids := make([]CallID, depth)
		for k := range depth {
			if !begin {
				continue
			}
			if ids[k], err = b.BeginCall(template, thread, Nanos(i*1000+k), uint32(2000+i*depth+k), int64(i)); err != nil {
				return err
			}
		}
		for k := depth - 1; k >= 0; k-- {
			dur, number := Nanos(900-2*k), int64(k)
			var own Args
			if k%5 == 0 {
				b.BeginArgs(template)
				args.Key([]byte("own"))
				args.Int(int64(k))
				args.EndDict()
				own = args.Args()
			}
			if begin {
				b.EndCall(ids[k], dur, number, own)
				continue
			}
			ev := Event{Kind: Slice, Track: thread, Event: uint32(2000 + i*depth + k), Offset: noOffset, TS: Nanos(i*1000 + k), Dur: dur}
			if own != nil {
				ev.Name, ev.Category, ev.Args = []byte("call"), []byte("cat"), own
			} else {
				ev.Template, ev.Numbers = template, [2]int64{int64(i), number}
			}
			if err := b.Add(&ev); err != nil {
				return err
			}
		}
	}
	b.EndCall(around, Nanos(groups*1000), 7, nil)
	return nil
}

// TestCalls holds that calls are the same whether they are added as they begin or as they end, in memory and in runs on disk, which
// are written while some of them are open.
func TestCalls(t *testing.T) {
	want := extended(t, 0, false)
	if n := strings.Count(want, " call "); n != 6001 {
		t.Fatalf("%d calls", n)
	}
	for _, memory := range []int64{0, 1, 1 << 20} {
		for _, begin := range []bool{true, false} {
			if got := extended(t, memory, begin); got != want {
				t.Errorf("memory %d, added as they begin: %v: other calls", memory, begin)
			}
		}
	}
}
