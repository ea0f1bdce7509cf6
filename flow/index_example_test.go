package flow_test

import (
	"context"
	"fmt"
	"log"

	"github.com/weft-trace/weft/flow"
	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/tracetext"
	"github.com/weft-trace/weft/problem"
	"github.com/weft-trace/weft/timeline"
)

// A request leads to a response, which belongs to a second flow as well: that of what it loads. The id of the first one
// is used again later.
func ExampleIndex() {
	ctx := context.Background()
	b := timeline.NewBuilder(timeline.Options{Problems: new(problem.Log)})
	err := tracetext.Add(b, `
		X 1/1 request  100 10
		X 1/2 response 200 10 out=9
		X 1/3 load     300 10 in=9
		X 1/1 other    400 10
		s 1/1 18 105
		f 1/2 18 205 bp=e
		s 1/1 18 405`)
	if err != nil {
		log.Fatal(err)
	}
	t, err := b.Finish(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer t.Close()
	if err := flowbind.NestAndResolve(ctx, t); err != nil {
		log.Fatal(err)
	}

	index, err := flow.NewIndex(ctx, t)
	if err != nil {
		log.Fatal(err)
	}
	defer index.Close()
	flows, err := index.Find(ctx, "0x12", 250)
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range flows {
		fmt.Printf("%s from %d to %d: %d members on %d threads\n", f.ID, f.Start, f.End, f.Members, f.Threads)
	}
	err = index.Connected(ctx, flows, false, func(c flow.Connection) error {
		labels, err := index.Labels(ctx, []uint64{c.Through.Ordinal})
		fmt.Printf("leads to %s over %s\n", c.Flow.ID, labels[c.Through.Ordinal].Name)
		return err
	})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// 0x12 from 105 to 210: 2 members on 2 threads
	// leads to 0x9 over response
}
