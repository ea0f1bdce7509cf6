package outside_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/events"
	"github.com/weft-trace/weft/flow"
	weftv1 "github.com/weft-trace/weft/gen/weft/v1"
	"github.com/weft-trace/weft/pftrace"
	"github.com/weft-trace/weft/trace"
)

var (
	ctx = context.Background()
	dst = io.Discard
)

func input() io.Reader {
	return strings.NewReader(`[
{"ph":"X","pid":1,"tid":2,"ts":10,"dur":50,"name":"FunctionCall","args":{"data":{"frame":"F"}},"bind_id":"0x7","flow_out":true},
{"ph":"X","pid":1,"tid":3,"ts":70,"dur":5,"name":"reply","bind_id":"0x7","flow_in":true},
{"ph":"E","pid":1,"tid":3,"ts":90}]`)
}

func Example_convert() {
	src := input()

	report, err := convert.Convert(ctx, dst, src, convert.Options{Compression: pftrace.Zstd, Packets: pftrace.Compact})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Format, report.Events.Slices, "slices,", report.Lost(), "lost")
	for _, p := range report.Problems {
		fmt.Println(p.Severity, p.Name, p.Count)
	}

	// Output:
	// chrome-json 2 slices, 1 lost
	// lost end_without_begin 1
}

func Example_open() {
	src := input()

	tr, err := convert.Open(ctx, src, convert.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer tr.Close()
	for ev, err := range tr.Events() {
		if err != nil {
			log.Fatal(err)
		}
		track := tr.Track(ev.Track)
		fmt.Println(ev.Kind, ev.Name, ev.Duration, "on thread", track.TID, ev.Args)
	}

	// Output:
	// slice FunctionCall 50µs on thread 2 {"data":{"frame":"F"}}
	// slice reply 5µs on thread 3 {}
}

func Example_builder() {
	var out bytes.Buffer

	var b trace.Builder
	defer b.Close()
	main := b.Thread(b.Process(100, "build"), 100, "main")
	b.Add(trace.Event{
		Kind: trace.Slice, Track: main, Time: 1 * trace.Second, Duration: 5 * trace.Second, Name: "compile",
		Args: trace.NewDict(trace.NewArg("files", []string{"a.go", "b.go"}), trace.NewArg("lines", 120)), FlowsOut: []trace.FlowID{7},
	})
	b.Add(trace.Event{
		Kind: trace.Slice, Track: main, Time: 7 * trace.Second, Duration: 1 * trace.Second, Name: "link",
		FlowsIn: []trace.FlowIn{{ID: 7}},
	})
	tr, err := b.Finish(ctx) // returns the first error of Add
	if err != nil {
		log.Fatal(err)
	}
	defer tr.Close()
	if err := pftrace.Write(ctx, &out, tr, pftrace.Options{}); err != nil {
		log.Fatal(err)
	}
	checked, err := pftrace.Verify(ctx, &out, pftrace.VerifyOptions{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("valid:", checked.OK())

	// Output: valid: true
}

func Example_events() {
	tr, err := convert.Open(ctx, input(), convert.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer tr.Close()
	var stream bytes.Buffer

	if err := events.Write(ctx, &stream, tr, events.Options{Input: "load.json"}); err != nil {
		log.Fatal(err)
	}

	slices := 0
	for in := bufio.NewReader(&stream); ; {
		var record weftv1.Record
		if err := protodelim.UnmarshalFrom(in, &record); err != nil {
			break
		}
		if record.GetEvent().GetKind() == weftv1.Kind_KIND_SLICE {
			slices++
		}
	}
	fmt.Println(slices, tr.Summary().Slices)

	// Output: 2 2
}

func Example_attribution() {
	tr, err := convert.Open(ctx, input(), convert.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer tr.Close()

	res, err := attribution.Run(ctx, tr, attribution.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer res.Close()
	for ev, err := range tr.Events() {
		if err != nil {
			log.Fatal(err)
		}
		contexts, err := res.ContextsOf(ev.ID)
		if err != nil {
			log.Fatal(err)
		}
		for _, c := range contexts {
			fmt.Println(ev.Name, "worked for", c.Type, c.ID, "known by", c.Via)
		}
	}
	table, err := res.Table(attribution.TableOptions{Type: "Frame"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(table.Rows[0].ID, table.Rows[0].Self)

	// Output:
	// FunctionCall worked for Frame frame/F known by args
	// reply worked for Frame frame/F known by flow
	// frame/F 55µs
}

func Example_flows() {
	tr, err := convert.Open(ctx, input(), convert.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer tr.Close()

	index, err := flow.NewIndex(ctx, tr)
	if err != nil {
		log.Fatal(err)
	}
	defer index.Close()
	for f, err := range index.Flows("") {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(f.Kind, f.ID)
		var members []flow.Member
		var ids []trace.EventID
		for m, err := range index.Members(f) {
			if err != nil {
				log.Fatal(err)
			}
			members, ids = append(members, m), append(ids, m.Event)
		}
		events, err := tr.Lookup(ids...)
		if err != nil {
			log.Fatal(err)
		}
		for _, m := range members {
			fmt.Println(m.N, events[m.Event].Name, "at", m.Time, "on thread", tr.Track(m.Track).TID)
		}
	}

	// Output:
	// bind_id 0x7
	// 1 FunctionCall at 10µs on thread 2
	// 2 reply at 70µs on thread 3
}

// The first program in docs/go.md is complete and runs.
func TestProgram(t *testing.T) {
	page, err := os.ReadFile("../../docs/go.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("program/main.go")
	if err != nil {
		t.Fatal(err)
	}
	_, source, _ = bytes.Cut(source, []byte("\n")) // without the package comment
	if !bytes.Contains(page, source) {
		t.Error("docs/go.md does not show program/main.go")
	}
	out, err := exec.Command("go", "run", "./program", "../../testdata/traces/chrome/chrome-devtools-small.json.gz").CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("1.028732s PipelineReporter on PipelineReporter")) {
		t.Errorf("error %v, output %s", err, out)
	}
}

// docs/go.md shows the programs in this file.
func TestPageShowsPrograms(t *testing.T) {
	page, err := os.ReadFile("../../docs/go.md")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(page), "```go\n")[1:]
	if len(blocks) < 5 {
		t.Errorf("%d programs", len(blocks))
	}
	for _, block := range blocks {
		program, _, _ := strings.Cut(block, "```")
		if strings.HasPrefix(program, "package main") {
			continue // see TestProgram
		}
		if indented := "\t" + strings.ReplaceAll(strings.TrimSpace(program), "\n", "\n\t"); !strings.Contains(string(source), indented) {
			t.Errorf("not in example_test.go:\n%s", program)
		}
	}
}
