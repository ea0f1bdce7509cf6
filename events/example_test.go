package events_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log"
	"strings"

	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/events"
	weftv1 "github.com/weft-trace/weft/gen/weft/v1"
)

// A trace is written as a stream of messages that any program can read.
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

	// Programs in other languages read the stream with code that protobuf generates for them.
	in := bufio.NewReader(&stream)
	for {
		var record weftv1.Record
		if err := protodelim.UnmarshalFrom(in, &record); err != nil {
			break
		}
		if ev := record.GetEvent(); ev != nil {
			fmt.Println(ev.GetKind(), ev.GetName(), ev.GetDurNs(), ev.GetArgs()[0].GetKey())
		}
	}
	// Output: KIND_SLICE load 8000 bytes
}
