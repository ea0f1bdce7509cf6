package flowbind_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// A Chrome flow from one thread to another: its events bind by time to the slices that contain them, and the slices receive a
// flow id of their own.
func ExampleNestAndResolve() {
	ctx := context.Background()
	b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log)})
	process := b.Process(timeline.ProcessKey{Num: 1})
	slices := []timeline.Event{
		{Track: b.Thread(process, timeline.ThreadKey{Num: 1}), TS: 1000, Dur: 500, Name: []byte("post task")},
		{Track: b.Thread(process, timeline.ThreadKey{Num: 2}), TS: 2000, Dur: 500, Name: []byte("run task")},
	}
	ends := []timeline.FlowEvent{
		{Role: timeline.FlowStart, TS: 1100},
		{Role: timeline.FlowEnd, TS: 2000},
	}
	for i := range slices {
		s, f := &slices[i], &ends[i]
		s.Kind, s.Event = timeline.Slice, uint32(2*i)
		f.Space, f.Binding, f.Event, f.Track, f.ID = timeline.FlowV1, timeline.BindEnclosing, s.Event+1, s.Track, 0xcafe
		if err := b.Add(s); err != nil {
			log.Fatal(err)
		}
		if err := b.AddFlow(f); err != nil {
			log.Fatal(err)
		}
	}

	t, err := b.Finish(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer t.Close()
	if err := flowbind.NestAndResolve(ctx, t); err != nil {
		log.Fatal(err)
	}
	err = t.Walk(ctx, func(it *timeline.Item) error {
		for _, f := range it.Flows {
			fmt.Printf("%s: flow %d, ends here: %v\n", it.Name, f.ID, f.Terminating)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// post task: flow 1, ends here: false
	// run task: flow 1, ends here: true
}
