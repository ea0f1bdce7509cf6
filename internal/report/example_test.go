package report_test

import (
	"context"
	"fmt"
	"log"
	"strings"
	"time"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/report"
	"github.com/weft-trace/weft/internal/timeline"
)

// This example prints how a page spent its time, according to its own profile.
func Example() {
	const profile = `{
		"resources": ["https://example.org/app.js"],
		"frames":    [{"name": "render", "resourceId": 0, "line": 7, "column": 24}],
		"stacks":    [{"frameId": 0}],
		"samples":   [{"timestamp": 10, "stackId": 0, "marker": "script"},
		              {"timestamp": 20, "stackId": 0, "marker": "layout"},
		              {"timestamp": 30, "stackId": 0, "marker": "layout"},
		              {"timestamp": 40}]}`
	trace, err := convert.Open(context.Background(), strings.NewReader(profile), convert.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer trace.Close()
	profiles, err := report.Collect(context.Background(), timeline.Of(trace), nil)
	if err != nil {
		log.Fatal(err)
	}
	samples, err := profiles.Samples(report.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for _, thread := range samples.Threads {
		fmt.Println(thread.Thread, "of", thread.Process)
		for _, s := range thread.States {
			fmt.Printf("  %-7s %v from %d samples\n", s.State, time.Duration(s.Time), s.Samples)
		}
	}
	// Output:
	// JS main of https://example.org
	//   layout  20ms from 2 samples
	//   idle    10ms from 1 samples
	//   script  10ms from 1 samples
}
