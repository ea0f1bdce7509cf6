//go:build ignore

// Command events counts the events in a stream and adds up their durations:
//
//	weft export --as proto -o - trace.json | go run events.go
//
// In a separate module, first run: go get github.com/weft-trace/weft google.golang.org/protobuf
package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"google.golang.org/protobuf/encoding/protodelim"

	weftv1 "github.com/weft-trace/weft/gen/weft/v1"
)

func main() {
	log.SetFlags(0)
	stream := bufio.NewReaderSize(os.Stdin, 1<<20)
	decoder := protodelim.UnmarshalOptions{MaxSize: 64 << 20}
	var record weftv1.Record
	var events, durNS int64
	complete := false
	for {
		err := decoder.UnmarshalFrom(stream, &record)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			log.Fatal("the stream is cut: ", err)
		}
		if event := record.GetEvent(); event != nil {
			events++
			durNS += event.GetDurNs()
		}
		complete = complete || record.GetFooter() != nil
	}
	if !complete {
		log.Fatal("the stream is incomplete: it has no footer")
	}
	fmt.Println(events, durNS)
}
