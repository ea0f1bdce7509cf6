package convert_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/trace"
)

// The longest task in a Chrome recording, and the event in it.
func ExampleOpen() {
	file, err := os.Open("../testdata/traces/chrome/chrome-devtools-tiny.json.gz")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	tr, err := convert.Open(context.Background(), file, convert.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer tr.Close()

	var longest *trace.Event
	for ev, err := range tr.Events() {
		if err != nil {
			log.Fatal(err)
		}
		if ev.Kind == trace.Slice && ev.Name == "RunTask" && (longest == nil || ev.Duration > longest.Duration) {
			longest = ev.Clone()
		}
	}
	fmt.Printf("%s: %d µs\n", strings.Join(tr.Track(longest.Track).Path, " / "), longest.Duration/trace.Microsecond)
	if used := longest.CPUDuration; used != nil {
		fmt.Printf("CPU: %d µs\n", *used/trace.Microsecond)
	}
	for ev, err := range tr.Events() {
		if err != nil {
			log.Fatal(err)
		}
		if ev.Parent != longest.ID {
			continue
		}
		fmt.Printf("+%d µs %v %s", (ev.Time-longest.Time)/trace.Microsecond, ev.Kind, ev.Name)
		if frame, ok := ev.Args.Get("data", "frame"); ok {
			fmt.Printf(", frame %v", frame)
		}
		fmt.Println()
	}
	// Output:
	// Renderer / CrRendererMain: 5106 µs
	// CPU: 4753 µs
	// +7 µs slice TimerFire, frame E0A89C1E38370F45DABD9FB16EE3FA69
}
