package chromejson_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/readers/chromejson"
	"github.com/weft-trace/weft/internal/timeline"
)

func ExampleRead() {
	const trace = `[{"ph":"X","name":"compile","pid":1,"tid":1,"ts":10,"dur":25.5},
		{"ph":"X","name":"parse","pid":1,"tid":1,"ts":12,"dur":3},`

	problems := new(problem.Log)
	b := timeline.NewBuilder(timeline.Options{Problems: problems})
	ctx := context.Background()
	if err := chromejson.Read(ctx, strings.NewReader(trace), b, chromejson.Options{Options: readers.Options{Problems: problems}}); err != nil {
		log.Fatal(err)
	}
	tl, err := b.Finish(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer tl.Close()
	if err := tl.Nest(ctx); err != nil {
		log.Fatal(err)
	}
	err = tl.Walk(ctx, func(it *timeline.Item) error {
		if it.Kind == timeline.ItemBegin {
			fmt.Printf("%s at %d ns for %d ns\n", it.Name, it.TS, it.Dur)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range problems.Totals() {
		fmt.Println(t.Kind, t.Count)
	}
	// Output:
	// compile at 10000 ns for 25500 ns
	// parse at 12000 ns for 3000 ns
	// json_unterminated 1
}
