package convert_test

import (
	"bytes"
	"context"
	"io"
	"slices"
	"testing"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/readers/chromejson"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/tracegen"
	"github.com/weft-trace/weft/pftrace"
)

// Machine-independent performance guards: the number of memory allocations per additional event. Allocations that happen only
// once, or once per block or segment, do not count: the same work is done on a shorter and a longer input, and the difference in
// allocations is divided by the difference in events.

// allocInput is a trace in two versions of different length.
type allocInput struct {
	name        string
	short, long []byte
	events      int64 // number of events that only long has
}

// allocInputs returns a Chrome recording and its first third, and generated traces.
func allocInputs(t *testing.T) []allocInput {
	t.Helper()
	whole := recording.Bytes(t, "traces/chrome/chrome-devtools-small.json")
	inputs := []allocInput{
		{name: "recording", short: firstEvents(t, whole, len(whole)/3), long: whole},
		{name: "pytorch", short: pyTorch(t, 1<<20), long: pyTorch(t, 4<<20)},
	}
	for i := range inputs {
		in := &inputs[i]
		in.events = int64(bytes.Count(in.long, []byte(`"ph"`)) - bytes.Count(in.short, []byte(`"ph"`)))
		if in.events < 10_000 {
			t.Fatalf("%s: only %d events", in.name, in.events)
		}
	}
	return inputs
}

func pyTorch(t *testing.T, size int64) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := tracegen.WritePyTorch(&b, tracegen.PyTorch{Seed: 1, Bytes: size}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// firstEvents returns a trace that contains the first events of a recording, about size bytes long.
func firstEvents(t *testing.T, trace []byte, size int) []byte {
	t.Helper()
	const border = "},\n{" // Chrome writes one event per line
	end := bytes.LastIndex(trace[:size], []byte(border))
	if end < 0 {
		t.Fatal("the recording does not have one event per line")
	}
	return slices.Concat(trace[:end], []byte("}]}"))
}

// allocations returns the number of allocations by fn in all goroutines, after a first call that fills caches.
func allocations(t *testing.T, fn func() error) (objects int64) {
	t.Helper()
	for range 2 {
		_, objects = recording.Allocated(func() {
			if err := fn(); err != nil {
				t.Fatal(err)
			}
		})
	}
	return objects
}

// scanAll reads every event of a trace with the scanner: keys and unconverted values.
func scanAll(trace []byte) error {
	_, list, _ := bytes.Cut(trace, []byte(`"traceEvents":`))
	s := jsonscan.New(bytes.NewReader(list))
	for c, err := s.Peek(); c != ']'; c, err = s.Peek() {
		if err != nil {
			return err
		}
		if c == '[' || c == ',' {
			s.Advance(1)
			continue
		}
		for scanEvent(s); s.Err() != nil; scanEvent(s) {
			if s.Err() != jsonscan.ErrShort {
				return s.Err()
			}
			if err := s.Fill(); err != nil {
				return err
			}
		}
	}
	return nil
}

func scanEvent(s *jsonscan.Scanner) {
	s.Value()
	for _, ok := s.Key(); ok; _, ok = s.Key() {
		s.Scalar()
	}
}

// readAll reads a trace into a timeline and discards it.
func readAll(trace []byte, workers int) error {
	log := new(problem.Log)
	b := timeline.NewBuilder(timeline.Options{Problems: log})
	err := chromejson.Read(context.Background(), bytes.NewReader(trace), b, chromejson.Options{Options: readers.Options{Problems: log}, Workers: workers})
	if err != nil {
		return err
	}
	return b.Close()
}

func convertAll(trace []byte, opts convert.Options) error {
	_, err := convert.Convert(context.Background(), io.Discard, bytes.NewReader(trace), opts)
	return err
}

// events restricts a conversion to events: the functions and stacks of a V8 profile are not events, and packages v8profile and
// profilecalls guard the cost of samples.
func events(opts convert.Options) convert.Options {
	opts.JSCalls, opts.Samples = convert.JSCallsOff, pftrace.NoSamples
	return opts
}

// The limits are at most twice the values measured when they were set. The scanner allocates its window and scratch space for
// escapes, and nothing per event. The other allocations are for texts in the trace (textual thread ids, new names) and for groups
// of simultaneous events. On disk, the codecs of runs process records one by one. Raising a limit requires a reason.
func TestAllocationsPerEvent(t *testing.T) {
	recording.NeedAll(t, "counts allocations")
	tests := []struct {
		name string
		max  float64
		run  func(trace []byte) error
	}{
		{"scan", 0.001, scanAll},
		{"read", 0.2, func(trace []byte) error { return readAll(trace, 1) }},
		{"read in blocks", 0.2, func(trace []byte) error { return readAll(trace, 2) }},
		{"convert", 0.25, func(trace []byte) error { return convertAll(trace, events(convert.Options{Workers: 1})) }},
		{"convert in segments", 0.25, func(trace []byte) error { return convertAll(trace, events(convert.Options{Workers: 2})) }},
		{"convert, zlib", 0.25, func(trace []byte) error {
			return convertAll(trace, events(convert.Options{Workers: 1, Compression: pftrace.Zlib}))
		}},
		{"convert, on disk", 0.3, func(trace []byte) error {
			return convertAll(trace, events(convert.Options{Workers: 1, Memory: 1 << 20, TempDir: t.TempDir()}))
		}},
	}
	for _, in := range allocInputs(t) {
		for _, tt := range tests {
			t.Run(in.name+"/"+tt.name, func(t *testing.T) {
				short := allocations(t, func() error { return tt.run(in.short) })
				long := allocations(t, func() error { return tt.run(in.long) })
				perEvent := float64(long-short) / float64(in.events)
				t.Logf("%.4f allocations for an event more (%d in the short trace, %d in the long one)", perEvent, short, long)
				if perEvent > tt.max {
					t.Errorf("%.4f allocations for an event more, want at most %g", perEvent, tt.max)
				}
			})
		}
	}
}

// All passes over the records of a trace cost about the same, so this test detects an additional one. The passes are: matching
// begin and end events, if there are any; nesting, including flow binding; the writing walk; deriving calls from samples; and
// attribution's reads. Calls are records in all passes but the first ones, so the number is then not an integer.
func TestPassesPerRecord(t *testing.T) {
	inputs := allocInputs(t)
	eventsOnly := convert.Options{JSCalls: convert.JSCallsOff, Samples: pftrace.NoSamples}
	for _, tt := range []struct {
		name  string
		input []byte
		opts  convert.Options
		most  float64
	}{
		{"recording, events only", inputs[0].long, eventsOnly, 3},
		{"recording", inputs[0].long, convert.Options{}, 3.8},
		{"recording, with attribution", inputs[0].long, convert.Options{Attribute: &attribution.Options{}}, 6.8},
		{"slices that come whole", inputs[1].long, eventsOnly, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tl, _, err := convert.Load(t.Context(), bytes.NewReader(tt.input), tt.opts)
			if err != nil {
				t.Fatal(err)
			}
			defer tl.Close()
			passes := tl.Passes()
			t.Logf("%.2f passes", passes)
			if passes > tt.most {
				t.Errorf("%.2f passes over each record, want %g", passes, tt.most)
			}
		})
	}
}
