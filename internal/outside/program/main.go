// Command program prints the longest slices of a trace.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"
	"slices"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/trace"
)

func main() {
	in, err := os.Open(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	defer in.Close()
	tr, err := convert.Open(context.Background(), in, convert.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer tr.Close()

	var longest []*trace.Event
	for ev, err := range tr.Events() {
		if err != nil {
			log.Fatal(err)
		}
		if ev.Kind == trace.Slice && ev.Duration >= 50*trace.Millisecond {
			longest = append(longest, ev.Clone())
		}
	}
	slices.SortStableFunc(longest, func(a, b *trace.Event) int { return cmp.Compare(b.Duration, a.Duration) })
	for _, ev := range longest {
		fmt.Println(ev.Duration, ev.Name, "on", tr.Track(ev.Track).Name, ev.Args)
	}
}
