package load

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/weft-trace/weft/internal/inputs"
	"github.com/weft-trace/weft/internal/wire"
)

// Recordings from other tools are identified, with programs that read them, and are never recognized as Perfetto traces.
func TestForeignFormats(t *testing.T) {
	etl := make([]byte, 4096)
	binary.LittleEndian.PutUint32(etl, 64<<10)
	copy(etl[72:], "\x02\x00\x02\xC0")
	for name, c := range map[string]struct{ input, what, readBy string }{
		"pprof":            {pprofOf(t), "a pprof profile", "go tool pprof"},
		"pprof, its start": {pprofOf(t)[:30], "a pprof profile", "go tool pprof"},
		"pprof, of a period": {string(wire.AppendBytes(wire.AppendInt(nil, 12, 100), 11, []byte{0x08, 1, 0x10, 2})),
			"a pprof profile", "go tool pprof"},
		"perf.data":  {"PERFILE2\x68\x00", "a perf.data file", "perf script"},
		"big endian": {"2ELIFREP\x00\x00", "a perf.data file", "perf script"},
		"ftrace":     {"# tracer: nop\n#\n", "an ftrace text log", "ui.perfetto.dev"},
		"trace.dat":  {"\x17\x08\x44tracing6\x00", "a trace.dat file", "trace-cmd"},
		"hprof":      {"JAVA PROFILE 1.0.2\x00", "a Java heap dump", "Memory Analyzer"},
		"jfr":        {"FLR\x00\x00\x02", "a Java flight recording", "Mission Control"},
		"etl":        {string(etl), "Event Tracing for Windows", "Performance Analyzer"},
	} {
		in := newReplay(strings.NewReader(c.input), replayMemory, t.TempDir())
		_, err := detect(in)
		if !errors.Is(err, ErrUnknownFormat) || !strings.Contains(err.Error(), c.what) || !strings.Contains(err.Error(), c.readBy) {
			t.Errorf("%s: error %q; want ErrUnknownFormat with %q and %q", name, err, c.what, c.readBy)
		}
		in.Close()
	}
}

// pprofOf returns an unpacked Go profile.
func pprofOf(t *testing.T) string {
	t.Helper()
	function := &profile.Function{ID: 1, Name: "main"}
	location := &profile.Location{ID: 1, Line: []profile.Line{{Function: function}}}
	p := profile.Profile{
		SampleType: []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		Sample:     []*profile.Sample{{Location: []*profile.Location{location}, Value: []int64{1, 10}}},
		Location:   []*profile.Location{location}, Function: []*profile.Function{function},
		PeriodType: &profile.ValueType{Type: "cpu", Unit: "nanoseconds"}, Period: 10,
	}
	var packed bytes.Buffer
	if err := p.Write(&packed); err != nil {
		t.Fatal(err)
	}
	in, err := inputs.UnpackStrict(t.Context(), &packed, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// A file in which no message can be a packet is rejected even if its format is specified.
func TestNamedPerfettoWithoutPackets(t *testing.T) {
	_, err := One(t.Context(), strings.NewReader(pprofOf(t)), Options{From: FormatPerfetto})
	if err == nil || !strings.Contains(err.Error(), "not a Perfetto trace") {
		t.Errorf("error %v", err)
	}
}
