package convert_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"testing"
	"time"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/tracegen"
	"github.com/weft-trace/weft/pftrace"
)

// The benchmarks measure whole in-memory conversions of uncompressed JSON. Each reports its speed relative to encoding/json
// decoding the same bytes, measured in the same run (x-json). To measure one core:
//
//	go test -run '^$' -bench Convert -cpu 1 ./convert

// benchInputs names the recordings to measure. Those outside testdata are skipped if the shared folder is missing.
var benchInputs = []string{
	"traces/chrome/chrome-devtools-small.json",
	"traces/chrome/chrome-memory-infra.json",
	"traces/node/node-v24-all-node_trace.json",
	"traces/chrome/chrome-devtools-medium.json",
	"traces/chrome/chrome-devtools-long.json",
}

// BenchmarkConvert converts recordings and a generated trace: with all arguments, without arguments, and with all arguments in
// compressed bundles.
func BenchmarkConvert(b *testing.B) {
	for _, name := range benchInputs {
		path, ok := recording.Locate(name)
		if !ok {
			b.Logf("%s is not in testdata and there is no folder shared: left out", name)
			continue
		}
		b.Run(recording.Name(path), func(b *testing.B) { benchmarkInput(b, recording.Read(b, path)) })
	}
	b.Run("pytorch", func(b *testing.B) {
		var input bytes.Buffer
		if err := tracegen.WritePyTorch(&input, tracegen.PyTorch{Seed: 1, Bytes: 20 << 20}); err != nil {
			b.Fatal(err)
		}
		benchmarkInput(b, input.Bytes())
	})
}

func benchmarkInput(b *testing.B, input []byte) {
	for _, variant := range []struct {
		name string
		opts convert.Options
	}{
		{"args=all", convert.Options{}},
		{"args=none", convert.Options{NoArgs: true}},
		{"args=all,zlib", convert.Options{Compression: pftrace.Zlib}},
	} {
		b.Run(variant.name, func(b *testing.B) {
			benchmarkConvert(b, input, variant.opts)
		})
	}
	b.Run("encoding-json=typed", func(b *testing.B) { benchmarkDecode(b, input, decodeTyped) })
	if len(input) <= 100<<20 { // needs many times as much memory as the input has bytes
		b.Run("encoding-json=any", func(b *testing.B) { benchmarkDecode(b, input, decodeAny) })
	}
}

func benchmarkDecode(b *testing.B, input []byte, decode func([]byte) error) {
	b.SetBytes(int64(len(input)))
	b.ReportAllocs()
	for b.Loop() {
		if err := decode(input); err != nil {
			b.Fatal(err)
		}
	}
}

// benchmarkConvert measures a conversion, and encoding/json before and after it. It compares the fastest runs, because averages
// depend on the load on the machine.
func benchmarkConvert(b *testing.B, input []byte, opts convert.Options) {
	baseline := fastestDecode(b, input)
	best := time.Duration(math.MaxInt64)
	b.SetBytes(int64(len(input)))
	b.ReportAllocs()
	for b.Loop() {
		start := time.Now()
		if _, err := convert.Convert(context.Background(), io.Discard, bytes.NewReader(input), opts); err != nil {
			b.Fatal(err)
		}
		best = min(best, time.Since(start))
	}
	baseline = min(baseline, fastestDecode(b, input))
	b.ReportMetric(float64(baseline)/float64(best), "x-json")
}

// fastestDecode returns the shortest time among several decodings with encoding/json.
func fastestDecode(b *testing.B, input []byte) time.Duration {
	best := time.Duration(math.MaxInt64)
	for range 3 {
		start := time.Now()
		if err := decodeTyped(input); err != nil {
			b.Fatal(err)
		}
		best = min(best, time.Since(start))
	}
	return best
}

// header is an event for careful use of encoding/json: typed fields and raw arguments.
type header struct {
	Ph   string          `json:"ph"`
	Name string          `json:"name"`
	Cat  string          `json:"cat"`
	TS   json.Number     `json:"ts"`
	Dur  json.Number     `json:"dur"`
	TTS  json.Number     `json:"tts"`
	TDur json.Number     `json:"tdur"`
	PID  json.RawMessage `json:"pid"`
	TID  json.RawMessage `json:"tid"`
	ID   json.RawMessage `json:"id"`
	ID2  json.RawMessage `json:"id2"`
	BP   string          `json:"bp"`
	S    string          `json:"s"`
	Args json.RawMessage `json:"args"`
}

// decodeTyped walks through an input token by token to the events and decodes each of them. It discards the events, which makes
// it slightly faster than a program that uses them.
func decodeTyped(input []byte) error {
	d := json.NewDecoder(bytes.NewReader(input))
	if _, err := d.Token(); err != nil { // {
		return err
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return err
		}
		if key != "traceEvents" {
			var skipped json.RawMessage
			if err := d.Decode(&skipped); err != nil {
				return err
			}
			continue
		}
		if _, err := d.Token(); err != nil { // [
			return err
		}
		for d.More() {
			var e header
			if err := d.Decode(&e); err != nil {
				return err
			}
		}
		if _, err := d.Token(); err != nil { // ]
			return err
		}
	}
	return nil
}

// decodeAny is the shortest program that decodes a trace, for reference.
func decodeAny(input []byte) error {
	var v any
	return json.Unmarshal(input, &v)
}
