package otlp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// frame prepends the length of a message, like the Collector's file exporter.
func frame(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(message))), message...)
}

// compress compresses a message with zstd, like the file exporter.
func compress(tb testing.TB, message []byte) []byte {
	tb.Helper()
	enc, err := zstd.NewWriter(nil)
	if err != nil {
		tb.Fatal(err)
	}
	defer enc.Close()
	return enc.EncodeAll(message, nil)
}

// All forms of the file exporter give the same result: JSON or protobuf, compressed or not.
func TestFileExporter(t *testing.T) {
	for c, encoded := range messageCases(t) {
		want := withoutPlaces(suite.Dump(t, strings.NewReader(c.Input+"\n"+c.Input), suite.Options(t, c)))
		for name, message := range map[string][]byte{
			"json": []byte(c.Input), "json, zstd": compress(t, []byte(c.Input)), "proto, zstd": compress(t, encoded),
		} {
			input := bytes.Repeat(frame(message), 2)
			if !Detect(input) {
				t.Errorf("%s, %s: not recognized", c.Name, name)
			}
			for way, r := range map[string]*bytes.Reader{"whole": bytes.NewReader(input), "one byte": bytes.NewReader(input)} {
				got := ""
				if way == "whole" {
					got = suite.Dump(t, r, suite.Options(t, c))
				} else {
					got = suite.Dump(t, iotest.OneByteReader(r), suite.Options(t, c))
				}
				if diff := cmp.Diff(want, withoutPlaces(got)); diff != "" {
					t.Errorf("%s, %s, %s: -lines +frames:\n%s", c.Name, name, way, diff)
				}
			}
		}
	}
}

// one returns a message with one span, in JSON.
func one(name string) []byte {
	return fmt.Appendf(nil, `{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"00000000000000a1",`+
		`"name":%q,"startTimeUnixNano":"100","endTimeUnixNano":"200"}]}]}]}`, name)
}

// A damaged message is counted at its position, and the messages after it are read. The end of a file inside a message
// is counted in the same way.
func TestDamagedFrames(t *testing.T) {
	good, bad := frame(compress(t, one("good"))), frame(compress(t, one("bad")))
	flipped := bytes.Clone(bad)
	flipped[len(flipped)-6] ^= 0x55 // the checksum follows
	for name, c := range map[string]struct {
		damaged []byte
		tail    []byte
		spans   int
	}{
		"a frame of zstd":     {damaged: flipped, spans: 2},
		"half a frame":        {damaged: frame(bad[4 : len(bad)-20]), spans: 2},
		"JSON":                {damaged: frame(compress(t, one("bad")[:100])), spans: 2},
		"protobuf":            {damaged: frame(compress(t, []byte{tracesResourceSpans<<3 | wire.Len, 2, 0x0f, 0})), spans: 2},
		"not a message":       {damaged: frame(compress(t, []byte("text"))), spans: 2},
		"the end of a file":   {tail: bad[:len(bad)-20], spans: 2},
		"the end in a length": {tail: []byte{0, 0}, spans: 2},
	} {
		input := bytes.Join([][]byte{good, c.damaged, good, c.tail}, nil)
		tl, log, err := suite.Load(t, bytes.NewReader(input), readers.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if n := int(tl.Totals().Slices); n != c.spans || log.Count(problem.OTLPMessageMalformed) != 1 {
			t.Errorf("%s: %d spans, want %d; counted %d times, want once", name, n, c.spans, log.Count(problem.OTLPMessageMalformed))
		}
		for _, total := range log.Totals() {
			if total.Kind == problem.OTLPMessageMalformed && c.tail == nil && total.Cases[0].Position.Offset != int64(len(good)) {
				t.Errorf("%s: counted at %d, want %d", name, total.Cases[0].Position.Offset, len(good))
			}
		}
	}
}

// An error from the file is not counted as damage to a message.
func TestFailingFile(t *testing.T) {
	failed := errors.New("the disk is gone")
	message := compress(t, one("good"))
	r := iotest.TimeoutReader(iotest.HalfReader(bytes.NewReader(frame(message))))
	if _, _, err := suite.Load(t, r, readers.Options{}); !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("error %v, want that of the file", err)
	}
	r = iotest.DataErrReader(&failing{data: frame(message)[:40], err: failed})
	if _, _, err := suite.Load(t, r, readers.Options{}); !errors.Is(err, failed) {
		t.Errorf("error %v, want that of the file", err)
	}
}

// failing is a file that fails after some data.
type failing struct {
	data []byte
	err  error
}

func (f *failing) Read(p []byte) (int, error) {
	if len(f.data) == 0 {
		return 0, f.err
	}
	n := copy(p, f.data)
	f.data = f.data[n:]
	return n, nil
}

// Metrics and logs come in messages of the same shape as spans. A file with only these is not a trace; among spans,
// they are counted.
func TestOtherSignals(t *testing.T) {
	metric := wire.AppendBytes(wire.AppendString(wire.AppendString(nil, 1, "http.requests.ok"), 2, "all requests"), 7, wire.AppendUint(nil, 2, 1))
	record := wire.AppendString(wire.AppendUint(wire.AppendFixed64(nil, 1, 100), 2, 9), 3, "info")
	message := func(element []byte) []byte {
		resource := wire.AppendBytes(nil, resourceAttributes, wire.AppendString(nil, keyValueKey, "k"))
		list := wire.AppendBytes(wire.AppendBytes(nil, resourceSpansResource, resource), resourceSpansScopeSpans, wire.AppendBytes(nil, scopeSpansSpans, element))
		return wire.AppendBytes(nil, tracesResourceSpans, list)
	}
	for name, element := range map[string][]byte{"metrics": metric, "logs": record} {
		for _, input := range [][]byte{message(element), frame(message(element)), frame(compress(t, message(element)))} {
			if _, _, err := suite.Load(t, bytes.NewReader(input), readers.Options{}); !errors.Is(err, ErrNoSpans) {
				t.Errorf("%s: error %v, want %v", name, err, ErrNoSpans)
			}
		}
		input := append(frame(compress(t, message(element))), frame(one("good"))...)
		tl, log, err := suite.Load(t, bytes.NewReader(input), readers.Options{})
		if err != nil || tl.Totals().Slices != 1 || log.Count(problem.OTLPSignalSkipped) != 1 {
			t.Errorf("%s beside a span: %d spans, counted %d times, error %v", name, tl.Totals().Slices, log.Count(problem.OTLPSignalSkipped), err)
		}
	}
}

// The objects that APIs wrap around traces are read at one level only: nested objects with the same names are unknown
// members, whatever their depth.
func TestWrappedTraces(t *testing.T) {
	for _, name := range []string{"trace", "result"} {
		wrap := func(n int, in string) string {
			return strings.Repeat(fmt.Sprintf(`{%q:`, name), n) + in + strings.Repeat("}", n)
		}
		traces := threeSpans("a")
		if names := spanNames(t, strings.NewReader(wrap(1, traces))); len(names) != 3 {
			t.Errorf("%s: %q, want 3 spans", name, names)
		}
		for _, n := range []int{2, 3, 200_000} {
			_, log, err := suite.Load(t, strings.NewReader(wrap(n, traces)), readers.Options{})
			if !errors.Is(err, ErrNoSpans) || log.Count(problem.EventUnknownMember) != 1 {
				t.Errorf("%d times %s: error %v, counted %d times", n, name, err, log.Count(problem.EventUnknownMember))
			}
		}
	}
}

// Unknown fields, and fields with an unexpected type, are counted wherever they are, each once.
func TestUnknownFields(t *testing.T) {
	later := wire.AppendString(nil, 200, "of a later version")
	span := fuzzSpan()
	span = append(span, later...)
	span = wire.AppendUint(span, spanName, 7)
	span = wire.AppendBytes(span, spanEvents, append(wire.AppendFixed64(nil, eventTime, 150), later...))
	span = wire.AppendBytes(span, spanLinks, later)
	span = wire.AppendBytes(span, spanStatus, later)
	scope := wire.AppendBytes(wire.AppendBytes(nil, scopeSpansScope, later), scopeSpansSpans, span)
	resource := wire.AppendBytes(wire.AppendBytes(nil, resourceSpansResource, later), resourceSpansScopeSpans, append(scope, later...))
	message := wire.AppendBytes(nil, tracesResourceSpans, append(resource, later...))
	_, log, err := suite.Load(t, bytes.NewReader(append(message, message...)), readers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if n := log.Count(problem.EventUnknownMember); n != 9 {
		t.Errorf("%d unknown fields, want 9: %v", n, log.Totals())
	}
}

// A protobuf message that starts like white space and a brace is not JSON: its first field is 123 bytes long.
func TestProtobufLikeJSON(t *testing.T) {
	attribute := wire.AppendBytes(wire.AppendString(nil, keyValueKey, "k"), keyValueValue, wire.AppendString(nil, 1, "v"))
	span := wire.AppendString(wire.AppendString(nil, spanTraceID, "0123456789abcdef"), spanSpanID, "01234567")
	span = wire.AppendFixed64(wire.AppendFixed64(wire.AppendString(span, spanName, "n"), spanStart, 100), spanEnd, 200)
	list := wire.AppendBytes(wire.AppendBytes(nil, resourceSpansResource, wire.AppendBytes(nil, resourceAttributes, attribute)),
		resourceSpansScopeSpans, wire.AppendBytes(nil, scopeSpansSpans, span))
	list = wire.AppendString(list, resourceSpansSchemaURL, strings.Repeat("u", '{'-len(list)-2))
	message := wire.AppendBytes(nil, tracesResourceSpans, list)
	if !bytes.HasPrefix(message, []byte("\n{\n")) {
		t.Fatalf("the message begins with %q", message[:3])
	}
	for name, input := range map[string][]byte{"as it is": frame(message), "compressed": frame(compress(t, message))} {
		tl, log, err := suite.Load(t, bytes.NewReader(input), readers.Options{})
		if err != nil || tl.Totals().Slices != 1 {
			t.Errorf("%s: error %v, found %v", name, err, log.Totals())
		}
	}
}

// threeSpans returns a message with three spans whose names start with a prefix.
func threeSpans(prefix string) string {
	var spans []string
	for i := range 3 {
		spans = append(spans, fmt.Sprintf(`{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"%016x","name":"%s%d","startTimeUnixNano":"%d","endTimeUnixNano":"%d"}`,
			i+1, prefix, i, i+1, i+2))
	}
	return `{"resourceSpans":[{"scopeSpans":[{"spans":[` + strings.Join(spans, ",") + `]}]}]}`
}

func spanNames(t *testing.T, in io.Reader) (names []string) {
	t.Helper()
	tl, _, err := suite.Load(t, in, readers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := tl.Walk(t.Context(), func(it *timeline.Item) error {
		if it.Kind == timeline.ItemBegin {
			names = append(names, string(it.Name))
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// Damage anywhere in a message makes the rest of that message unreadable, but does not affect the next message.
func TestDamageEndsItsMessage(t *testing.T) {
	first, second := threeSpans("a"), threeSpans("b")
	whole := strings.Index(first, `"a1"`) // the part before it contains the first span
	for at := strings.Index(first, `"a0"`); at < len(first); at++ {
		input := first[:at] + "\x01" + first[at+1:] + "\n" + second
		names := spanNames(t, strings.NewReader(input))
		if at >= whole && !slices.Contains(names, "a0") || !slices.Contains(names, "b0") || !slices.Contains(names, "b2") {
			t.Errorf("damage at byte %d: %q", at, names)
		}
	}
}
