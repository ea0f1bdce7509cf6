package events_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/events"
)

// A trace becomes a stream of messages, and its events come back.
func ExampleWrite() {
	const input = `[{"ph":"B","name":"load","ts":1,"pid":1,"tid":1},{"ph":"E","ts":9,"pid":1,"tid":1,"args":{"bytes":120}}]`

	ctx := context.Background()
	tr, err := convert.Open(ctx, strings.NewReader(input), convert.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer tr.Close()
	var stream bytes.Buffer
	if err := events.Write(ctx, &stream, tr, events.Options{Input: "load.json"}); err != nil {
		log.Fatal(err)
	}

	again, err := convert.Open(ctx, &stream, convert.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer again.Close()
	for ev, err := range again.Events() {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(ev.Kind, ev.Name, ev.Duration, ev.Args)
	}
	// Output: slice load 8000 {"bytes":120}
}
