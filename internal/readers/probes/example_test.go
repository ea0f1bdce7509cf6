package probes_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/readers/probes"
	"github.com/weft-trace/weft/internal/timeline"
)

func ExampleRead() {
	const lines = "#probelines 1\n" +
		"#probe trace_mozilla:layout-start presctx:ptr phase:enum(paint,reflow,frameCon) key=presctx,phase\n" +
		"P1\t1000\t1815\t1815\t0\ttrace_mozilla:layout-start\t0x8e8cfc8\t1\n" +
		"P1\t4000\t1815\t1815\t0\ttrace_mozilla:layout-end\t0x8e8cfc8\t1\n"

	ctx, problems := context.Background(), new(problem.Log)
	b := timeline.NewBuilder(timeline.Options{Problems: problems})
	if err := probes.Read(ctx, strings.NewReader(lines), b, readers.Options{Problems: problems}); err != nil {
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
			fmt.Printf("%s on %s, %d ns\n", it.Name, tl.Track(it.Track).Name, it.Dur)
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// layout reflow on thread 1815, 3000 ns
}
