package attribution_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/timeline"
)

// A task of a page calls a function and is interrupted by a garbage collection.
func ExampleResult_Table() {
	const trace = `{"traceEvents":[
		{"ph":"X","name":"RunTask",     "ts":0, "dur":100,"pid":1,"tid":1},
		{"ph":"X","name":"FunctionCall","ts":10,"dur":50, "pid":1,"tid":1,"args":{"data":{"frame":"A","isolate":"77"}}},
		{"ph":"X","name":"MinorGC",     "ts":50,"dur":10, "pid":1,"tid":1}]}`

	ctx := context.Background()
	tl, result, _, err := convert.Attribute(ctx, strings.NewReader(trace), convert.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer tl.Close()
	defer result.Close()

	table, err := result.Table(attribution.TableOptions{Type: "Frame"})
	if err != nil {
		log.Fatal(err)
	}
	for _, row := range table.Rows {
		fmt.Printf("%-14s %6d ns\n", row.ID, row.Self)
	}
	err = tl.Walk(ctx, func(it *timeline.Item) error {
		if it.Kind != timeline.ItemBegin {
			return nil
		}
		set, err := result.Of(it.Ordinal)
		for _, c := range result.Set(set) {
			fmt.Printf("%s: %s %s (%s)\n", it.Name, c.Type, c.ID, c.Via)
		}
		return err
	})
	if err != nil {
		log.Fatal(err)
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
