package probes

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// layoutLines returns n records of layout probes on four threads, as printed by a script or as bpftrace's tuples. Two
// threads run on a processor whose buffer is delayed.
func layoutLines(n int, tuples bool) []byte {
	var b bytes.Buffer
	header := "#probelines 1\n#clock boottime\n" +
		"#probe trace_mozilla:layout-start presctx:ptr phase:enum(paint,reflow,frameCon) func:str key=presctx,phase\n"
	record := "P1\t%d\t4343\t%d\t%d\ttrace_mozilla:layout-%s\t0x%x\t%d\ttrace_layout_%s\n"
	if tuples {
		text, _ := json.Marshal(header)
		header = `{"type": "printf", "data": ` + string(text) + "}\n"
		record = `{"type": "value", "data": ["P1",%d,4343,%d,%d,"trace_mozilla:layout__%s",%d,%d,"trace_layout_%s"]}` + "\n"
	}
	b.WriteString(header)
	for i := range n {
		depth := []int{0, 1, 2, 3, 3, 2, 1, 0}[i/4%8] // depth of starts, then of ends
		side, of := "start", "enter"
		if i/4%8 >= 4 {
			side, of = "end", "exit"
		}
		thread := i % 4
		ts := 5_658_028_168_682 + int64(i)*1371 - int64(thread/2)*40_000
		fmt.Fprintf(&b, record, ts, 4343+thread, thread/2, side, 0x7f3a5c0412c8+uint64(depth)*64, depth%3, of)
	}
	return b.Bytes()
}

// BenchmarkRead measures the reader up to the timeline on one core, and in the same run the standard library splitting
// lines and decoding JSON.
func BenchmarkRead(b *testing.B) {
	for _, form := range []string{"lines", "tuples"} {
		input := layoutLines(200_000, form == "tuples")
		b.Run(form, func(b *testing.B) {
			b.SetBytes(int64(len(input)))
			b.ReportAllocs()
			for b.Loop() {
				log := new(problem.Log)
				builder := timeline.NewBuilder(timeline.Options{Problems: log, TempDir: b.TempDir()})
				if err := Read(context.Background(), bytes.NewReader(input), builder, readers.Options{Problems: log}); err != nil {
					b.Fatal(err)
				}
				if log.Count(problem.UnbalancedStart)+log.Count(problem.EndWithoutStart) > 0 {
					b.Fatal(log.Totals())
				}
				if err := builder.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(form+" by bufio.Scanner and bytes.Split", func(b *testing.B) {
			b.SetBytes(int64(len(input)))
			b.ReportAllocs()
			fields := 0
			for b.Loop() {
				s := bufio.NewScanner(bytes.NewReader(input))
				for s.Scan() {
					fields += len(bytes.Split(s.Bytes(), tab))
				}
			}
		})
	}
	input := layoutLines(200_000, true)
	b.Run("tuples by encoding/json", func(b *testing.B) {
		b.SetBytes(int64(len(input)))
		b.ReportAllocs()
		for b.Loop() {
			d := json.NewDecoder(bytes.NewReader(input))
			for d.More() {
				var line struct {
					Type string          `json:"type"`
					Data json.RawMessage `json:"data"`
				}
				if err := d.Decode(&line); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}
