package firefox_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/readers/firefox"
	"github.com/weft-trace/weft/internal/timeline"
)

// A task is dispatched with a flow id and runs later, which ends the flow.
func ExampleRead() {
	const profile = `{
		"meta": {"version": 34, "startTime": 0, "markerSchema": [
			{"name": "Dispatch", "fields": [{"key": "task", "format": "flow-id"}]},
			{"name": "Run", "isStackBased": true, "fields": [{"key": "task", "format": "terminating-flow-id"}]}]},
		"threads": [{"name": "GeckoMain", "pid": 1, "tid": 1, "stringTable": ["dispatch", "run", "80004bd4b5eee88c0"],
			"markers": {"schema": {"name": 0, "startTime": 1, "endTime": 2, "phase": 3, "data": 4}, "data": [
				[0, 1.5, 0, 0, {"type": "Dispatch", "task": 2}],
				[1, 4, 6.25, 1, {"type": "Run", "task": 2}]]}}]}`

	problems := new(problem.Log)
	b := timeline.NewBuilder(timeline.Options{Problems: problems})
	ctx := context.Background()
	if err := firefox.Read(ctx, strings.NewReader(profile), b, firefox.Options{Options: readers.Options{Problems: problems}}); err != nil {
		log.Fatal(err)
	}
	tl, err := b.Finish(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer tl.Close()
	if err := flowbind.NestAndResolve(ctx, tl); err != nil {
		log.Fatal(err)
	}
	err = tl.Walk(ctx, func(it *timeline.Item) error {
		if it.Kind == timeline.ItemBegin || it.Kind == timeline.ItemInstant {
			fmt.Printf("%s at %d ns in flow %d\n", it.Name, it.TS, it.Flows[0].ID)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// dispatch at 1500000 ns in flow 1
	// run at 4000000 ns in flow 1
}
