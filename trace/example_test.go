package trace_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/weft-trace/weft/pftrace"
	"github.com/weft-trace/weft/trace"
)

// A trace with two threads, a flow between them and a counter, read back event by event.
func Example() {
	b := new(trace.Builder)
	server := b.Process(4711, "server")
	main, worker := b.Thread(server, 4711, "main"), b.Thread(server, 4712, "worker")
	queue := b.Counter(server, "queue", "count")
	const ms = trace.Millisecond
	for _, ev := range []trace.Event{
		{Kind: trace.Slice, Track: main, Time: 1 * ms, Duration: 8 * ms, Name: "request", Category: "http",
			Args: trace.NewDict(trace.NewArg("url", "/index.html"), trace.NewArg("status", 200))},
		{Kind: trace.Slice, Track: main, Time: 2 * ms, Duration: 1 * ms, Name: "parse", FlowsOut: []trace.FlowID{1}},
		{Kind: trace.Counter, Track: queue, Time: 3 * ms, Value: trace.NewValue(1)},
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
		fmt.Printf("%d ms %s", ev.Time/ms, strings.Join(tr.Track(ev.Track).Path, "/"))
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

// A trace with call stacks and all kinds of arguments, written as a Perfetto trace.
func ExampleBuilder() {
	b := new(trace.Builder)
	main := b.Thread(b.Process(4711, "server"), 4711, "main")
	upload := trace.Event{
		Kind: trace.Slice, Track: main, Time: 10 * trace.Microsecond, Duration: trace.Millisecond, Name: "upload",
		CPUDuration: new(300 * trace.Microsecond),
		Args: trace.NewDict(
			trace.NewArg("file", "a.png"),
			trace.NewArg("compressed", true),
			trace.NewArg("size", trace.NewDict(trace.NewArg("width", 640), trace.NewArg("height", 480))),
			trace.NewArg("chunks", []trace.Value{trace.NewValue(4096), trace.NewValue(1200)}),
		),
	}
	sample := trace.Event{Kind: trace.Sample, Track: main, Time: 20 * trace.Microsecond, Stack: []trace.Frame{
		{Function: "deflate", File: "compress.go", Line: 120},
		{Function: "upload", File: "server.go", Line: 33},
	}}
	b.Add(upload) // Finish returns the first error
	b.Add(sample)
	tr, err := b.Finish(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	defer tr.Close()

	var out bytes.Buffer
	if err := pftrace.Write(context.Background(), &out, tr, pftrace.Options{}); err != nil {
		log.Fatal(err)
	}
	checked, err := pftrace.Verify(context.Background(), &out, pftrace.VerifyOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("valid:", checked.OK())
	// Output: valid: true
}

func ExampleValue_Get() {
	size := trace.NewDict(trace.NewArg("width", 640), trace.NewArg("height", 480))
	args := trace.NewDict(trace.NewArg("file", "a.png"), trace.NewArg("size", size))
	width, ok := args.Get("size", "width")
	fmt.Println(width.Int(), ok)
	depth, ok := args.Get("size", "depth")
	fmt.Println(depth, ok)
	for arg := range args.Members() {
		fmt.Println(arg.Key, arg.Value.Kind(), arg.Value)
	}
	// Output:
	// 640 true
	//  false
	// file string a.png
	// size dict {"width":640,"height":480}
}
