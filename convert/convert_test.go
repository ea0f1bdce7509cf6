package convert_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
	"github.com/weft-trace/weft/pftrace"
)

const smallTrace = `{"traceEvents":[
{"ph":"M","pid":1,"tid":0,"name":"process_name","args":{"name":"Browser"}},
{"ph":"X","pid":1,"tid":1,"ts":10,"dur":5,"name":"load","args":{"url":"https://example.org","n":1}},
{"ph":"X","pid":1,"tid":1,"ts":12,"dur":1,"name":"parse"},
{"ph":"E","pid":1,"tid":1,"ts":20,"name":"nothing"}
]}`

func ExampleConvert() {
	in := strings.NewReader(smallTrace)
	report, err := convert.Convert(context.Background(), io.Discard, in, convert.Options{
		NoArgs:      true,
		Compression: pftrace.Zlib,
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Format, report.Events.Slices, "slices on", report.Tracks.Threads, "thread")
	for _, p := range report.Problems {
		fmt.Printf("%s: %s %d×, first at byte %d\n", p.Severity, p.Name, p.Count, *p.Cases[0].Byte)
	}
	// Output:
	// chrome-json 2 slices on 1 thread
	// lost: end_without_begin 1×, first at byte 253
}

func TestConvertIsValid(t *testing.T) {
	for _, compression := range []pftrace.Compression{pftrace.Uncompressed, pftrace.Zlib, pftrace.Zstd} {
		var out bytes.Buffer
		report, err := convert.Convert(t.Context(), &out, strings.NewReader(smallTrace), convert.Options{Compression: compression})
		if err != nil {
			t.Fatal(err)
		}
		if report.BytesIn != int64(len(smallTrace)) || report.BytesUnpacked != report.BytesIn || report.BytesOut != int64(out.Len()) {
			t.Errorf("%v: %d bytes in, %d unpacked, %d out; want %d, %[5]d, %d", compression, report.BytesIn,
				report.BytesUnpacked, report.BytesOut, len(smallTrace), out.Len())
		}
		found, err := pftrace.Verify(t.Context(), &out, pftrace.VerifyOptions{})
		if err != nil || !found.OK() {
			t.Errorf("%v: %+v, %v", compression, found, err)
		}
	}
}

// A chunked input gives the same result as a whole one.
func TestConvertReadsAnyChunks(t *testing.T) {
	var want, got bytes.Buffer
	if _, err := convert.Convert(t.Context(), &want, strings.NewReader(smallTrace), convert.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := convert.Convert(t.Context(), &got, iotest.OneByteReader(strings.NewReader(smallTrace)), convert.Options{}); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want.Bytes(), got.Bytes()) {
		t.Error("one byte at a time gives another trace")
	}
}

func TestReportAsJSON(t *testing.T) {
	_, report, err := loadText(t, smallTrace, convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	report.Durations = convert.Durations{Read: 1234567}
	got, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"format":"chrome-json","bytes_in":307,"bytes_unpacked":307,` +
		`"tracks":{"processes":1,"threads":1,"async":0,"counters":0,"other":0},` +
		`"events":{"slices":2,"unfinished":0,"instants":0,"counter_values":0,"samples":0,"flows":0},` +
		`"span":{"start_ns":10000,"end_ns":15000},` +
		`"problems":[{"name":"end_without_begin","severity":"lost","count":1,` +
		`"sentence":"An end matches no open slice; weft dropped it.","cases":[{"event":3,"byte":253,"detail":"nothing"}]}],` +
		`"durations":{"read_ns":1234567,"resolve_ns":0,"write_ns":0,"total_ns":0}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// loadText is like convert.Load, for a text input; it closes the timeline when the test ends.
func loadText(tb testing.TB, input string, opts convert.Options) (*timeline.Timeline, *convert.Report, error) {
	tb.Helper()
	tl, report, err := convert.Load(tb.Context(), strings.NewReader(input), opts)
	if err == nil {
		tb.Cleanup(func() { tl.Close() })
	}
	return tl, report, err
}

func TestTimeOffset(t *testing.T) {
	_, report, err := loadText(t, smallTrace, convert.Options{TimeOffset: -11_000})
	if err != nil {
		t.Fatal(err)
	}
	// The first slice would start before time 0.
	if report.Events.Slices != 1 || report.Span.Start != 1000 || report.Lost() != 2 {
		t.Errorf("%+v %+v %+v", report.Events, report.Span, report.Problems)
	}
	var out bytes.Buffer
	if _, err := convert.Convert(t.Context(), &out, strings.NewReader(smallTrace), convert.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := loadText(t, out.String(), convert.Options{TimeOffset: 1}); err == nil {
		t.Error("an offset for a Perfetto trace is accepted")
	}
}

func TestErrors(t *testing.T) {
	broken := errors.New("broken")
	_, _, err := convert.Load(t.Context(), io.MultiReader(strings.NewReader(smallTrace[:100]), iotest.ErrReader(broken)), convert.Options{})
	if !errors.Is(err, broken) {
		t.Errorf("broken reader: %v", err)
	}
	_, err = convert.Convert(t.Context(), brokenWriter{broken}, strings.NewReader(smallTrace), convert.Options{})
	if !errors.Is(err, broken) {
		t.Errorf("broken writer: %v", err)
	}
	_, _, err = loadText(t, `{}`, convert.Options{})
	if !errors.Is(err, convert.ErrUnknownFormat) {
		t.Errorf("{}: %v", err)
	}
	_, _, err = loadText(t, smallTrace, convert.Options{From: convert.Format("word")})
	if !strings.HasPrefix(fmt.Sprint(err), `unknown format "word"; use auto, chrome-json, `) {
		t.Errorf("an unknown format: %v", err)
	}
	_, _, err = loadText(t, smallTrace, convert.Options{From: convert.FormatCPUProfile})
	if !errors.Is(err, v8profile.ErrNoNodes) {
		t.Errorf("not a CPU profile: %v", err)
	}
}

type brokenWriter struct{ err error }

func (w brokenWriter) Write([]byte) (int, error) { return 0, w.err }

// Cancelling the context ends a conversion while its input blocks.
func TestCancel(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	defer w.Close()
	go func() {
		io.WriteString(w, smallTrace[:100])
		cancel()
	}()
	_, err := convert.Convert(ctx, io.Discard, r, convert.Options{TempDir: dir, Memory: 1})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Convert: %v", err)
	}
	if files, _ := os.ReadDir(dir); len(files) > 0 {
		t.Errorf("%s is left behind", files[0].Name())
	}
}
