package timeline_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// A timeline with one thread: a begin and its end around a complete slice and an instant. Events may be added in any
// order, as they come in traces; Walk gives them in time order, ends included.
func Example() {
	ctx := context.Background()
	b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log)})
	process := b.Process(timeline.ProcessKey{Num: 4711})
	thread := b.Thread(process, timeline.ThreadKey{Num: 4712})
	b.SetThreadName(thread, 0, []byte("main"))

	args := b.Args()
	args.Key([]byte("url"))
	args.String([]byte("https://example.org"))
	events := []timeline.Event{
		{Kind: timeline.Slice, Track: thread, TS: 2000, Dur: 3000, Name: []byte("parse"), Args: args.Args()},
		{Kind: timeline.Begin, Track: thread, TS: 1000, Name: []byte("load")},
		{Kind: timeline.End, Track: thread, TS: 9000, Name: []byte("load")},
		{Kind: timeline.Instant, Track: thread, TS: 7000, Name: []byte("first paint")},
	}
	for i := range events {
		events[i].Event = uint32(i)
		if err := b.Add(&events[i]); err != nil {
			log.Fatal(err)
		}
	}

	t, err := b.Finish(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer t.Close()
	if err := t.Nest(ctx); err != nil {
		log.Fatal(err)
	}
	depth := 0
	err = t.Walk(ctx, func(it *timeline.Item) error {
		switch it.Kind {
		case timeline.ItemBegin:
			fmt.Printf("%d %s%s, %d ns", it.TS, strings.Repeat("  ", depth), it.Name, it.Dur)
			depth++
		case timeline.ItemEnd:
			depth--
			return nil
		case timeline.ItemInstant:
			fmt.Printf("%d %s%s", it.TS, strings.Repeat("  ", depth), it.Name)
		}
		for a := range t.ArgList(it.Args) {
			fmt.Printf(", %s = %s", a.Key, a.Text())
		}
		fmt.Printf(" (%s)\n", t.Track(it.Track).Name)
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 1000 load, 8000 ns (main)
	// 2000   parse, 3000 ns, url = https://example.org (main)
	// 7000   first paint (main)
}
