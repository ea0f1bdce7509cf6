package trace_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/weft-trace/weft/trace"
)

// A trace with two threads, a flow between them and a counter, read back event by event.
func Example() {
	b := trace.NewBuilder(trace.Options{})
	server := b.Process(4711, "server")
	main, worker := b.Thread(server, 4711, "main"), b.Thread(server, 4712, "worker")
	queue := b.Counter(server, "queue", "count")
	const ms = trace.Millisecond
	for _, ev := range []trace.Event{
		{Kind: trace.Slice, Track: main, Time: 1 * ms, Duration: 8 * ms, Name: "request", Category: "http",
			Args: trace.NewArgs(trace.String("url", "/index.html"), trace.Int("status", 200))},
		{Kind: trace.Slice, Track: main, Time: 2 * ms, Duration: 1 * ms, Name: "parse", FlowsOut: []trace.FlowID{1}},
		{Kind: trace.Counter, Track: queue, Time: 3 * ms, Value: trace.IntValue(1)},
		{Kind: trace.Slice, Track: worker, Time: 4 * ms, Duration: 3 * ms, Name: "query", FlowsIn: []trace.FlowIn{{ID: 1}}},
	} {
		if err := b.Add(ev); err != nil {
			log.Fatal(err)
		}
	}
	tr, err := b.Finish(context.Background())
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
		fmt.Printf("%d ms %s", ev.Time/ms, strings.Join(tr.Path(ev.Track), "/"))
		switch ev.Kind {
		case trace.Slice:
			fmt.Printf(": %s, %d ms, depth %d %v", ev.Name, ev.Duration/ms, ev.Depth, ev.Args)
		case trace.Counter:
			fmt.Printf(" = %v", ev.Value)
		}
		for _, in := range ev.FlowsIn {
			fmt.Printf(", after %s", names[in.From])
		}
		fmt.Println()
	}
	// Output:
	// 1 ms server/main: request, 8 ms, depth 0 {"url":"/index.html","status":200}
	// 2 ms server/main: parse, 1 ms, depth 1 {}
	// 3 ms server/queue = 1
	// 4 ms server/worker: query, 3 ms, depth 0 {}, after parse
}
