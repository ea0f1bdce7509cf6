package otlp

import (
	"bytes"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/inputs"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/wire"
)

// inner describes the messages in the fields of an OTLP message, except messages whose fields become arguments in their
// order.
type inner map[int]inner

func messagesOfTraces() inner {
	value, attribute := inner{}, inner{}
	attribute[keyValueValue] = value
	value[valueArray], value[valueKVList] = inner{listValues: value}, inner{listValues: attribute}
	span := inner{
		spanAttributes: attribute, spanEvents: {eventAttributes: attribute}, spanStatus: {},
	}
	scopeSpans := inner{scopeSpansScope: {scopeAttributes: attribute}, scopeSpansSpans: span}
	resource := inner{resourceAttributes: attribute}
	return inner{tracesResourceSpans: {resourceSpansResource: resource, resourceSpansScopeSpans: scopeSpans}}
}

// reorder sorts the fields of a message, and of nested ones, by the rank of their numbers. Elements of a list stay in
// order.
func reorder(t *testing.T, encoded []byte, in inner, rank func(number int) int) []byte {
	t.Helper()
	type field struct {
		rank int
		raw  []byte
	}
	var fields []field
	r := wire.NewReader(encoded)
	for r.Next() {
		raw := r.Raw()
		if sub, ok := in[r.Field()]; ok && r.Type() == wire.Len {
			raw = wire.AppendBytes(nil, r.Field(), reorder(t, r.Bytes(), sub, rank))
		}
		fields = append(fields, field{rank(r.Field()), raw})
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	slices.SortStableFunc(fields, func(a, b field) int { return a.rank - b.rank })
	var out []byte
	for _, f := range fields {
		out = append(out, f.raw...)
	}
	return out
}

// orders returns several field orders: the Collector writes the last number first, and protobuf allows any order.
func orders() map[string]func(number int) int {
	all := map[string]func(int) int{"descending": func(number int) int { return -number }}
	for seed := range uint64(5) {
		shuffled := rand.New(rand.NewPCG(seed, 0)).Perm(1 << 11)
		all["shuffled "+string('0'+rune(seed))] = func(number int) int { return shuffled[number%len(shuffled)] }
	}
	return all
}

// The fields of messages can come in any order: the result is the same in all forms.
func TestFieldOrder(t *testing.T) {
	for c, encoded := range messageCases(t) {
		want := withoutPlaces(suite.Dump(t, bytes.NewReader(framed(formPlain, encoded)), suite.Options(t, c)))
		for name, rank := range orders() {
			message := reorder(t, encoded, messagesOfTraces(), rank)
			for _, form := range []form{formPlain, formVarint, formFrames} {
				input := framed(form, message)
				if got := formOf(input); got != form {
					t.Errorf("%s, %s: form %d is taken for %d", c.Name, name, form, got)
				} else if diff := cmp.Diff(want, withoutPlaces(suite.Dump(t, bytes.NewReader(input), suite.Options(t, c)))); diff != "" {
					t.Errorf("%s, %s, form %d: -in order +reordered:\n%s", c.Name, name, form, diff)
				}
			}
		}
	}
}

// A message is detected even if long lists precede everything that identifies it.
func TestFieldOrderOfLongSpans(t *testing.T) {
	for name, field := range map[string]int{"attributes": spanAttributes, "events": spanEvents} {
		element := fuzzAttribute()
		if field == spanEvents {
			element = wire.AppendBytes(nil, eventAttributes, element)
		}
		span := []byte(nil)
		for len(span) < 2*detectWithin {
			span = wire.AppendBytes(span, field, element)
		}
		span = append(span, fuzzSpan()...)
		scope := wire.AppendBytes(wire.AppendString(nil, scopeSpansSchemaURL, "https://example.com"), scopeSpansSpans, span)
		message := wire.AppendBytes(nil, tracesResourceSpans, wire.AppendBytes(nil, resourceSpansScopeSpans, scope))
		tl, _, err := suite.Load(t, bytes.NewReader(frame(message)), readers.Options{})
		if err != nil || tl.Totals().Slices != 1 {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// Collector recordings are read completely, and data that the Collector repeats in each message appears once.
func TestCollectorRecording(t *testing.T) {
	packed, err := os.Open("../../../testdata/traces/otlp/collector.proto.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	in, err := inputs.UnpackStrict(t.Context(), packed, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	tl, log, err := suite.Load(t, in, readers.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const spans, events = 960, 376
	if got := tl.Totals(); got.Slices != spans || got.Instants != events || len(log.Totals()) != 0 {
		t.Errorf("%d slices, %d instants; problems: %v", got.Slices, got.Instants, log.Totals())
	}
}
