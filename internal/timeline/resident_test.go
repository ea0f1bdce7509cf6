package timeline

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/problem"
)

// All memory that cannot be spilled is limited: unbounded growth of any kind leads to an error.
func TestResidentMemoryLimit(t *testing.T) {
	long := []byte(strings.Repeat("n", 1000))
	for name, add := range map[string]func(b *Builder, i int){
		"processes":    func(b *Builder, i int) { b.Process(ProcessKey{Num: int64(i)}) },
		"threads":      func(b *Builder, i int) { b.Thread(b.Process(ProcessKey{Num: 1}), ThreadKey{Num: int64(i)}) },
		"tracks":       func(b *Builder, i int) { b.Child(0, fmt.Sprint(i)) },
		"places later": func(b *Builder, i int) { b.Undeclared() },
		"counters":     func(b *Builder, i int) { b.Counter(0, &CounterKey{Name: fmt.Append(nil, i)}) },
		"ids":          func(b *Builder, i int) { b.Async(&AsyncKey{ID: fmt.Append(nil, i)}) },
		"ids as texts": func(b *Builder, i int) { b.Async(&AsyncKey{ID: fmt.Append(nil, i, string(long)), IsText: true}) },
		"names":        func(b *Builder, i int) { b.SetProcessName(b.Process(ProcessKey{Num: int64(i)}), 0, long) },
		"labels": func(b *Builder, i int) {
			b.AddLabel(b.Process(ProcessKey{Num: int64(i / 900)}), fmt.Sprint(i, string(long)))
		},
		"attributes":   func(b *Builder, i int) { b.SetAttribute(fmt.Sprint(i), string(long)) },
		"what readers": func(b *Builder, i int) { b.Hold(100) },
		"names, longer": func(b *Builder, i int) {
			b.SetThreadName(b.Thread(b.Process(ProcessKey{}), ThreadKey{}), 0, make([]byte, i<<10))
		},
	} {
		b := NewBuilder(Options{Problems: new(problem.Log)})
		b.table.room.Limit = 1 << 20
		reported := 0
		b.WhenFull(func(error) { reported++ })
		const most = 1 << 21
		n := 0
		for ; n < most && b.Full() == nil; n++ {
			add(b, n)
		}
		var full *collections.MemoryLimitError
		if err := b.Full(); !errors.As(err, &full) || reported != 1 {
			t.Errorf("%s: %v after %d, reported %d times", name, err, n, reported)
		}
		if err := b.Add(&Event{Kind: Instant}); !errors.As(err, &full) {
			t.Errorf("%s: Add: %v", name, err)
		}
		if _, err := b.Finish(t.Context()); !errors.As(err, &full) {
			t.Errorf("%s: Finish: %v", name, err)
		}
	}
}

// When a name replaces another one, the memory of the replaced name is released.
func TestNamesThatAreReplaced(t *testing.T) {
	b := NewBuilder(Options{Problems: new(problem.Log)})
	b.table.room.Limit = 1 << 20
	for i := range 100_000 {
		b.SetProcessName(b.Process(ProcessKey{}), Nanos(i), fmt.Appendf(nil, "%d %0100d", i%10, i))
	}
	if err := b.Full(); err != nil {
		t.Error(err)
	}
}

// An array beyond the argument limit keeps its first values and its last value, even inside other arrays. Later arguments are
// kept.
func TestArraysThatDoNotEnd(t *testing.T) {
	log := new(problem.Log)
	b := NewBuilder(Options{Problems: log})
	e := b.Args()
	e.Reset()
	e.Key([]byte("v"))
	e.BeginArray()
	const lists, each = 40, 1 << 19
	for i := range lists {
		e.BeginArray()
		for j := range each {
			e.Int(int64(i + j%2))
		}
		e.EndArray()
	}
	e.EndArray()
	e.Key([]byte("after"))
	e.Int(7)
	if len(e.Args()) > maxArrayArgs+100 || e.Omitted() == 0 {
		t.Errorf("%d bytes, %d left out", len(e.Args()), e.Omitted())
	}
	track := b.Child(0, "t")
	for i := range 2 {
		if err := b.Add(&Event{Kind: Instant, Track: track, Event: uint32(i), Args: e.Args()}); err != nil {
			t.Fatal(err)
		}
		e.Reset()
	}
	if n := log.Count(problem.EventSizeLimit); n != 1 {
		t.Errorf("counted %d times", n)
	}
	tl, err := b.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	err = tl.Walk(t.Context(), func(it *Item) error {
		if it.Event != 0 {
			return nil
		}
		var values []string
		for arg := range tl.ArgList(it.Args) {
			n := 0
			for range tl.Members(arg) {
				n++
			}
			values = append(values, fmt.Sprint(string(arg.Key), n))
		}
		if got := strings.Join(values, " "); !strings.HasPrefix(got, "v3") || !strings.HasSuffix(got, " after0") {
			t.Errorf("it has %s", got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
