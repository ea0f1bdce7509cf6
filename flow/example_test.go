package flow_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-trace/weft/flow"
	"github.com/weft-trace/weft/trace"
)

// A request leads to a response. The response also belongs to a second flow, which leads to a load.
func ExampleIndex() {
	ctx := context.Background()
	b := new(trace.Builder)
	page := b.Process(1, "page")
	main, network, loader := b.Thread(page, 1, "main"), b.Thread(page, 2, "network"), b.Thread(page, 3, "loader")
	for _, ev := range []trace.Event{
		{Track: main, Time: 100, Name: "request", FlowsOut: []trace.FlowID{18}},
		{Track: network, Time: 200, Name: "response", FlowsIn: []trace.FlowIn{{ID: 18}}, FlowsOut: []trace.FlowID{9}},
		{Track: loader, Time: 300, Name: "load", FlowsIn: []trace.FlowIn{{ID: 9}}},
	} {
		ev.Kind, ev.Duration = trace.Slice, 10
		if err := b.Add(ev); err != nil {
			log.Fatal(err)
		}
	}
	tr, err := b.Finish(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer tr.Close()
	names := map[trace.EventID]string{}
	for ev, err := range tr.Events() {
		if err != nil {
			log.Fatal(err)
		}
		names[ev.ID] = ev.Name
	}

	index, err := flow.NewIndex(ctx, tr)
	if err != nil {
		log.Fatal(err)
	}
	defer index.Close()
	flows, err := index.Find("18", 250)
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range flows {
		fmt.Printf("%s from %d to %d: %d members on %d threads\n", f.ID, f.Start, f.End, f.Members, f.Threads)
	}
	for c, err := range index.Connected(flows, false) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("leads to %s over %s\n", c.Through.Flow.ID, names[c.Through.Event])
	}
	// Output:
	// 0x12 from 100 to 210: 2 members on 2 threads
	// leads to 0x9 over response
}
