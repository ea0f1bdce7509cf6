package otlp

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/readertest"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// document is the valid part of a case.
type document struct {
	ResourceSpans []struct {
		Resource   json.RawMessage
		ScopeSpans []struct {
			Scope     json.RawMessage
			Spans     []json.RawMessage
			SchemaURL string `json:"schemaUrl"`
		}
		SchemaURL string `json:"schemaUrl"`
	}
}

// encode encodes TracesData in protobuf. The transcoder encodes resources, scopes and spans; the tests in
// internal/outside/otel, which encode with the official types, show that this is correct.
func (d *document) encode(t *testing.T) (out []byte) {
	for _, rs := range d.ResourceSpans {
		var resource []byte
		resource = appendMessage(t, resource, resourceSpansResource, resourceMessage, rs.Resource)
		for _, ss := range rs.ScopeSpans {
			scope := appendMessage(t, nil, scopeSpansScope, scopeMessage, ss.Scope)
			for _, span := range ss.Spans {
				scope = appendMessage(t, scope, scopeSpansSpans, spanMessage, span)
			}
			resource = wire.AppendBytes(resource, resourceSpansScopeSpans, wire.AppendString(scope, scopeSpansSchemaURL, ss.SchemaURL))
		}
		out = wire.AppendBytes(out, tracesResourceSpans, wire.AppendString(resource, resourceSpansSchemaURL, rs.SchemaURL))
	}
	return out
}

func appendMessage(t *testing.T, to []byte, number int, m *message, text json.RawMessage) []byte {
	if len(text) == 0 {
		return to
	}
	var s jsonscan.Scanner
	s.Reset(text)
	var tr transcoder
	tr.start(&s)
	if kind, _ := s.Value(); kind != jsonscan.Object {
		t.Fatalf("%s", text)
	}
	tr.members(m, s.Key, 0)
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	return wire.AppendBytes(to, number, tr.buf)
}

// framed returns a message in the given form, twice.
func framed(form form, encoded []byte) []byte {
	var head []byte
	switch form {
	case formVarint:
		head = binary.AppendUvarint(nil, uint64(len(encoded)))
	case formFrames:
		head = binary.BigEndian.AppendUint32(nil, uint32(len(encoded)))
	}
	return bytes.Repeat(append(head, encoded...), 2)
}

// withoutPlaces removes the positions in the input from a dump.
func withoutPlaces(dump string) string {
	var out strings.Builder
	for line := range strings.Lines(dump) {
		name, _, isProblem := strings.Cut(line, ": ")
		if _, known := problem.KindOf(strings.Split(name, " ")[0]); known && isProblem {
			line = name + "\n"
		}
		out.WriteString(line)
	}
	return out.String()
}

// notOfProtobuf lists the cases that only JSON can represent: values of wrong types, ids in other forms, JSON text.
var notOfProtobuf = map[string]bool{"deep-values": true, "wrong-values": true, "ids-in-other-forms": true, "times": true, "numbers": true}

// messageCases returns the cases that are one JSON document, as protobuf.
func messageCases(t *testing.T) map[*readertest.Case][]byte {
	t.Helper()
	all := map[*readertest.Case][]byte{}
	for _, c := range readertest.Cases(t) {
		var d document
		if json.Unmarshal([]byte(c.Input), &d) == nil && len(d.ResourceSpans) > 0 && !notOfProtobuf[c.Name] {
			all[c] = d.encode(t)
		}
	}
	if len(all) < 10 {
		t.Fatalf("only %d cases are messages", len(all))
	}
	return all
}

// The same spans give the same result in JSON and in all protobuf forms. Each file contains them twice, which is
// counted.
func TestForms(t *testing.T) {
	for c, encoded := range messageCases(t) {
		want := withoutPlaces(suite.Dump(t, strings.NewReader(c.Input+"\n"+c.Input), suite.Options(t, c)))
		for _, form := range []form{formPlain, formVarint, formFrames} {
			input := framed(form, encoded)
			if got := formOf(input); got != form {
				t.Errorf("%s: form %d is taken for %d", c.Name, form, got)
				continue
			}
			if diff := cmp.Diff(want, withoutPlaces(suite.Dump(t, bytes.NewReader(input), suite.Options(t, c)))); diff != "" {
				t.Errorf("%s, form %d: -JSON +protobuf:\n%s", c.Name, form, diff)
			}
		}
	}
}

// Wherever a file is truncated, the spans before that point are read, and the damage is counted once.
func TestCutAnywhere(t *testing.T) {
	for c, encoded := range messageCases(t) {
		if c.Name != "nesting-by-parent" {
			continue
		}
		for _, form := range []form{formPlain, formFrames} {
			input, spans := framed(form, encoded), 0
			for cut := 200; cut < len(input); cut++ {
				tl, log, err := suite.Load(t, bytes.NewReader(input[:cut]), readers.Options{})
				if err != nil {
					t.Fatalf("form %d, cut at %d: %v", form, cut, err)
				}
				atBorder := cut == len(input)/2
				if n := log.Count(problem.OTLPMessageMalformed); n != 1 && !atBorder || atBorder && n != 0 {
					t.Errorf("form %d, cut at %d: counted %d times", form, cut, n)
				}
				if n := int(tl.Totals().Slices); n < spans {
					t.Errorf("form %d, cut at %d: %d spans, and %d before", form, cut, n, spans)
				} else {
					spans = n
				}
			}
			if spans != 12 {
				t.Errorf("form %d: %d spans of a file without its last byte, which is of a schema, want 12", form, spans)
			}
		}
	}
}

// Damage inside a message makes only the rest of that message unreadable.
func TestDamagedMessage(t *testing.T) {
	var d document
	for _, c := range readertest.Cases(t) {
		if c.Name == "links" {
			if err := json.Unmarshal([]byte(c.Input), &d); err != nil {
				t.Fatal(err)
			}
		}
	}
	span := appendMessage(t, nil, scopeSpansSpans, spanMessage, d.ResourceSpans[0].ScopeSpans[0].Spans[0])
	bad := []byte{0x0f} // a tag without a valid wire type
	for name, scope := range map[string][]byte{
		"behind a span": append(span, bad...),
		"in a span":     append(span, wire.AppendBytes(nil, scopeSpansSpans, append(span[2:len(span):len(span)], bad...))...),
	} {
		resource := wire.AppendBytes(nil, resourceSpansScopeSpans, scope)
		resource = wire.AppendBytes(resource, resourceSpansScopeSpans, span)
		tl, log, err := suite.Load(t, bytes.NewReader(wire.AppendBytes(nil, tracesResourceSpans, resource)), readers.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want := uint64(2)
		if name == "in a span" {
			want = 3 // the span's fields before the damage count
		}
		if n := tl.Totals().Slices; uint64(n) != want || log.Count(problem.OTLPMessageMalformed) != 1 {
			t.Errorf("%s: %d spans, want %d; %d problems", name, n, want, log.Count(problem.OTLPMessageMalformed))
		}
	}
}

// FuzzRead checks that no input makes the reader panic, and that the result is a valid trace and the same when spans
// are sorted on disk.
func FuzzRead(f *testing.F) {
	for _, c := range readertest.Cases(f) {
		f.Add([]byte(c.Input), int64(0))
	}
	for _, seed := range []string{"plain", "frames", "varint"} {
		f.Add(fuzzSeed(seed), int64(-1000))
	}
	f.Add(append(frame(compress(f, fuzzSeed("plain"))), frame(compress(f, one("json")))...), int64(0))
	f.Fuzz(func(t *testing.T, data []byte, offset int64) {
		var dumps [2]string
		for i, spool := range []int64{0, 1} {
			dumps[i] = suite.Dump(t, bytes.NewReader(data), readers.Options{Offset: timeline.Nanos(offset), Spool: spool, Window: 64 * i})
		}
		if dumps[0] != dumps[1] {
			t.Errorf("sorting on disk gives something else: %s", cmp.Diff(dumps[0], dumps[1]))
		}
	})
}

// fuzzSeed returns two messages, each with one span that contains all possible data.
func fuzzSeed(name string) []byte {
	scope := wire.AppendBytes(wire.AppendBytes(nil, scopeSpansScope, wire.AppendString(nil, scopeName, "s")), scopeSpansSpans, fuzzSpan())
	resource := wire.AppendBytes(nil, resourceSpansResource, wire.AppendBytes(nil, resourceAttributes, fuzzAttribute()))
	encoded := wire.AppendBytes(nil, tracesResourceSpans, wire.AppendBytes(resource, resourceSpansScopeSpans, scope))
	return framed(map[string]form{"plain": formPlain, "varint": formVarint, "frames": formFrames}[name], encoded)
}

func fuzzAttribute() []byte {
	value := wire.AppendBytes(nil, keyValueValue, wire.AppendInt(nil, valueInt, 7))
	return append(wire.AppendString(nil, keyValueKey, "k"), value...)
}

// fuzzSpan returns a span with all possible data.
func fuzzSpan() []byte {
	attribute := fuzzAttribute()
	event := wire.AppendBytes(wire.AppendString(wire.AppendFixed64(nil, eventTime, 150), eventName, "e"), eventAttributes, attribute)
	link := wire.AppendBytes(wire.AppendString(nil, linkTraceID, "0123456789abcdef"), linkSpanID, []byte("01234567"))
	span := wire.AppendString(wire.AppendString(nil, spanTraceID, "0123456789abcdef"), spanSpanID, "01234567")
	span = wire.AppendFixed64(wire.AppendFixed64(wire.AppendString(span, spanName, "n"), spanStart, 100), spanEnd, 200)
	span = wire.AppendBytes(wire.AppendBytes(wire.AppendBytes(span, spanAttributes, attribute), spanEvents, event), spanLinks, link)
	return wire.AppendBytes(wire.AppendFixed32(span, spanFlags, 1), spanStatus, wire.AppendInt(nil, statusCode, 2))
}
