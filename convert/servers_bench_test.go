package convert

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"testing"

	"github.com/weft-trace/weft/internal/tracegen"
)

// BenchmarkRequests converts generated OpenTelemetry spans and HTTP archives on one core and, in the same run, a generated Chrome
// trace for comparison. MB/s refers to the input; encoding/json decodes the same JSON into any.
func BenchmarkRequests(b *testing.B) {
	const size = 32 << 20
	inputs := map[string][]byte{}
	for _, in := range serverInputs {
		var input bytes.Buffer
		if err := in.write(&input, size/in.size); err != nil {
			b.Fatal(err)
		}
		inputs[in.name] = input.Bytes()
	}
	var chrome bytes.Buffer
	if err := tracegen.WritePyTorch(&chrome, tracegen.PyTorch{Seed: 1, Bytes: size}); err != nil {
		b.Fatal(err)
	}
	inputs["chrome-json"] = chrome.Bytes()
	for _, name := range []string{"chrome-json", "otlp/json", "otlp/protobuf", "har"} {
		b.Run(name, func(b *testing.B) { benchmarkRequests(b, inputs[name]) })
		if name != "otlp/protobuf" {
			b.Run(name+" by encoding-json", func(b *testing.B) { benchmarkValues(b, inputs[name]) })
		}
	}
}

func benchmarkRequests(b *testing.B, input []byte) {
	b.SetBytes(int64(len(input)))
	b.ReportAllocs()
	cpu, slices := cpuTime(), 0.0
	for b.Loop() {
		report, err := Convert(context.Background(), io.Discard, bytes.NewReader(input), Options{Workers: 1})
		if err != nil {
			b.Fatal(err)
		}
		slices += float64(report.Events.Slices)
	}
	b.ReportMetric(slices/b.Elapsed().Seconds(), "slices/s")
	if cpu = cpuTime() - cpu; cpu > 0 {
		b.ReportMetric(float64(len(input))*float64(b.N)/1e6/cpu.Seconds(), "MB/cpu-s")
	}
}

// benchmarkValues decodes the values in an input, one after the other.
func benchmarkValues(b *testing.B, input []byte) {
	b.SetBytes(int64(len(input)))
	b.ReportAllocs()
	cpu := cpuTime()
	for b.Loop() {
		for d := json.NewDecoder(bytes.NewReader(input)); d.More(); {
			var v any
			if err := d.Decode(&v); err != nil {
				b.Fatal(err)
			}
		}
	}
	if cpu = cpuTime() - cpu; cpu > 0 {
		b.ReportMetric(float64(len(input))*float64(b.N)/1e6/cpu.Seconds(), "MB/cpu-s")
	}
}
