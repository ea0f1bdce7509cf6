package firefox

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
)

// benchmarked are profiles of both forms; the larger ones are in the folder shared.
var benchmarked = []string{
	"traces/firefox/gecko/ff-gecko-tiny.json", "traces/firefox/processed/ff-processed-tiny.json",
	"traces/firefox/gecko/ff-gecko-flows-medium.json", "traces/firefox/processed/ff-processed-flows-medium.json",
}

func eachProfile(b *testing.B, fn func(b *testing.B, input []byte)) {
	for _, name := range benchmarked {
		path, ok := recording.Locate(name)
		if !ok {
			continue
		}
		input := recording.Read(b, path)
		b.Run(recording.Name(path), func(b *testing.B) {
			b.SetBytes(int64(len(input)))
			b.ReportAllocs()
			fn(b, input)
		})
	}
}

// BenchmarkRead reads profiles into the records of a timeline.
func BenchmarkRead(b *testing.B) {
	eachProfile(b, func(b *testing.B, input []byte) {
		for b.Loop() {
			log := new(problem.Log)
			builder := timeline.NewBuilder(timeline.Options{Problems: log, TempDir: b.TempDir()})
			if err := Read(context.Background(), bytes.NewReader(input), builder, Options{Options: readers.Options{Problems: log}}); err != nil {
				b.Fatal(err)
			}
			builder.Close()
		}
	})
}

// BenchmarkDecode reads profiles into columns, which is what BenchmarkEncodingJSON does with encoding/json.
func BenchmarkDecode(b *testing.B) {
	eachProfile(b, func(b *testing.B, input []byte) {
		for b.Loop() {
			if _, err := decode(b.Context(), bytes.NewReader(input), Options{Options: readers.Options{Problems: new(problem.Log)}}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// The following types are what a program would declare to read profiles with encoding/json. Payloads of markers stay text,
// so that no maps are made for them.
type jsonProfile struct {
	Meta     json.RawMessage
	Libs     json.RawMessage
	Pages    json.RawMessage
	Counters json.RawMessage
	Shared   jsonTables
	Threads  []struct {
		Name    string
		PID     json.RawMessage
		TID     json.RawMessage
		Markers jsonMarkers
		Samples jsonSamples
		jsonTables
	}
	Processes []jsonProfile
}

type jsonTables struct {
	StringTable []string
	StringArray []string
	StackTable  struct {
		Schema       map[string]int
		Data         [][]*int32
		Frame        []int32
		PrefixOffset []int32
	}
	FrameTable struct {
		Schema             map[string]int
		Data               []jsonFrame
		Func, Line, Column []*int32
		Category           []*int32
		InnerWindowID      []*float64
		Address            []int64
	}
	FuncTable struct {
		Name, Resource, Source   []*int32
		LineNumber, ColumnNumber []*int32
		IsJS                     []bool
	}
}

type jsonSamples struct {
	Schema                     map[string]int
	Data                       [][]*float64
	Stack                      []*int32
	TimeDeltas                 []float64
	ThreadCPUDelta, EventDelay []*float64
}

type jsonMarkers struct {
	Schema                map[string]int
	Data                  []jsonMarker
	Name, Phase, Category []*int32
	StartTime, EndTime    []*float64
}

// jsonMarker is a row of the raw form, or a payload of the processed form.
type jsonMarker struct {
	name, phase, category int32
	start, end            *float64
	data                  json.RawMessage
}

func (m *jsonMarker) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '[' {
		return json.Unmarshal(text, &[]any{&m.name, &m.start, &m.end, &m.phase, &m.category, &m.data})
	}
	m.data = append(m.data, text...)
	return nil
}

// jsonFrame is a row of the raw form.
type jsonFrame struct {
	location                                       int32
	relevant                                       bool
	window                                         *float64
	implementation, line, column, category, subcat *int32
}

func (f *jsonFrame) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&f.location, &f.relevant, &f.window, &f.implementation, &f.line, &f.column, &f.category, &f.subcat})
}

// BenchmarkEncodingJSON decodes the same profiles into typed structs with encoding/json.
func BenchmarkEncodingJSON(b *testing.B) {
	eachProfile(b, func(b *testing.B, input []byte) {
		for b.Loop() {
			var p jsonProfile
			if err := json.Unmarshal(input, &p); err != nil {
				b.Fatal(err)
			}
		}
	})
}
