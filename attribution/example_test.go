package attribution_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/trace"
)

// A task of a page calls a function and is interrupted by a garbage collection.
func ExampleRun() {
	const input = `{"traceEvents":[
		{"ph":"X","name":"RunTask",     "ts":0, "dur":100,"pid":1,"tid":1},
		{"ph":"X","name":"FunctionCall","ts":10,"dur":50, "pid":1,"tid":1,"args":{"data":{"frame":"A","isolate":"77"}}},
		{"ph":"X","name":"MinorGC",     "ts":50,"dur":10, "pid":1,"tid":1}]}`

	ctx := context.Background()
	tr, err := convert.Open(ctx, strings.NewReader(input), convert.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer tr.Close()
	result, err := attribution.Run(ctx, tr, attribution.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer result.Close()

	table, err := result.Table(attribution.TableOptions{Type: "Frame"})
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range table.Rows {
		fmt.Printf("%-14s %6d ns\n", row.ID, row.Self)
	}
	for ev, err := range tr.Events() {
		if err != nil {
			log.Fatal(err)
		}
		if ev.Kind != trace.Slice {
			continue
		}
		contexts, err := result.ContextsOf(ev.ID)
		if err != nil {
			log.Fatal(err)
		}
		for _, c := range contexts {
			fmt.Printf("%s: %s %s (%s)\n", ev.Name, c.Type, c.ID, c.Via)
		}
	}
	// Output:
	// frame/A         90000 ns
	// isolate/77@1    10000 ns
	// (unattributed)      0 ns
	// RunTask: Frame frame/A (descendants)
	// FunctionCall: Frame frame/A (args)
	// MinorGC: Frame isolate/77@1 (isolate)
	// MinorGC: Trigger frame/A (args)
}
