package otlp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/recording"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// largeMessage is a message with spans in three scopes of two resources, and the places where each span begins and ends in it.
func largeMessage(perScope int) (text string, spans [][2]int) {
	var b strings.Builder
	b.WriteString(`{"resourceSpans":[`)
	for resource, scopes := range [][]string{{"a", "b"}, {"c"}} {
		if resource > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"service %d"}}]},"scopeSpans":[`, resource)
		for i, scope := range scopes {
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(&b, `{"scope":{"name":%q},"spans":[`, scope)
			for i := range perScope {
				if i > 0 {
					b.WriteByte(',')
				}
				n := len(spans) + 1
				from := b.Len()
				fmt.Fprintf(&b, `{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"%016x","name":"span %d","startTimeUnixNano":"%d","endTimeUnixNano":"%d",`+
					`"attributes":[{"key":"k","value":{"arrayValue":{"values":[{"intValue":"1"}]}}}],"events":[{"timeUnixNano":"%d","name":"e"}],`+
					`"links":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"00000000000000ee"}]}`, n, n, n*100, n*100+50, n*100+10)
				spans = append(spans, [2]int{from, b.Len()})
			}
			b.WriteString(`]}`)
		}
		b.WriteString(`],"schemaUrl":"https://schema"}`)
	}
	b.WriteString(`]}`)
	return b.String(), spans
}

// spansOf returns the names of the spans of an input with their process and scope.
func spansOf(t *testing.T, input string, opts Options) (map[string]bool, *problem.Log) {
	t.Helper()
	tl, log, err := suite.Load(t, strings.NewReader(input), opts)
	if err != nil {
		t.Fatalf("%v: %s", err, input)
	}
	names := map[string]bool{}
	err = tl.Walk(context.Background(), func(it *timeline.Item) error {
		if it.Kind == timeline.ItemBegin {
			names[fmt.Sprintf("%s (%s)", it.Name, it.Category)] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names, log
}

// Damage anywhere in a span costs that span, and where it takes away the border to the next one that as well; it is counted with its place.
func TestDamageInOneMessage(t *testing.T) {
	input, spans := largeMessage(3)
	whole, _ := spansOf(t, input, Options{})
	if len(whole) != len(spans) {
		t.Fatalf("%d spans, want %d", len(whole), len(spans))
	}
	damaged := 0
	step := 1
	if !recording.All() {
		step = 7
	}
	for _, i := range []int{0, len(spans) - 2} {
		span := spans[i]
		for at := span[0]; at < span[1]; at += step {
			for _, with := range []string{"", "}", "{", "]", `"`, ":", "\x00"} {
				text := input[:at] + with + input[at+1:]
				got, log := spansOf(t, text, Options{window: 64})
				missing := 0
				for n := range whole {
					if !got[n] {
						missing++
					}
				}
				if missing > 2 {
					t.Errorf("%q at %d of span %d costs %d spans: %.80q", with, at, i, missing, text[max(0, at-30):])
				}
				if missing > 0 && log.Lost() == 0 && log.Count(problem.OTLPValueInvalid)+log.Count(problem.EventUnknownMember) == 0 && len(got) < len(whole) {
					t.Errorf("%q at %d of span %d costs %d spans, which nothing counts", with, at, i, missing)
				}
				if missing > 0 {
					damaged++
				}
			}
		}
	}
	if damaged == 0 {
		t.Error("nothing was damaged")
	}
}

// After damage, a resource and a scope that begin with the URL of their schema are new ones: their spans are not of those before.
func TestDamageBeforeSchema(t *testing.T) {
	const span = `{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"000000000000000%d","name":"span %[1]d","startTimeUnixNano":"100","endTimeUnixNano":"200"%s}`
	schema := `"schemaUrl" : "https://opentelemetry.io/schemas/1.27.0",`
	list := func(service, scope, span string) string {
		return `{` + schema + `"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"` + service + `"}}]},"scopeSpans":[{` +
			schema + `"scope":{"name":"` + scope + `"},"spans":[` + span + `]}]}`
	}
	for name, between := range map[string]string{
		"resource": `]}]},` + list("B", "second", fmt.Sprintf(span, 2, "")),
		"scope":    `]},{` + schema + `"scope":{"name":"second"},"spans":[` + fmt.Sprintf(span, 2, "") + `]}]}`,
	} {
		input := `{"resourceSpans":[` + strings.TrimSuffix(list("A", "first", fmt.Sprintf(span, 1, "")), `]}]}`) + "," + fmt.Sprintf(span, 3, " x") + between + `]}`
		tl, _, err := suite.Load(t, strings.NewReader(input), Options{})
		if err != nil {
			t.Fatal(err)
		}
		services := map[string]bool{}
		for id := range timeline.TrackID(tl.TrackCount()) {
			if tr := tl.Track(id); tr.Kind == timeline.ProcessTrack {
				services[string(tr.Name)] = true
			}
		}
		if got, _ := spansOf(t, input, Options{}); !got["span 1 (first)"] || !got["span 2 (second)"] {
			t.Errorf("%s: %v", name, got)
		}
		if services["B"] != (name == "resource") {
			t.Errorf("%s: services %v", name, services)
		}
	}
}

// After damage a message may begin at any byte, so only its first fields are looked at.
func TestResyncIsBounded(t *testing.T) {
	repeat := bytes.Repeat([]byte{scopeSpansScope<<3 | wire.Len, 0}, resyncWithin/2)
	span := wire.AppendBytes(nil, scopeSpansSpans, fuzzSpan())
	if !isScopeSpans(append(repeat[:2*(detectFields-1):2*(detectFields-1)], span...)) || isScopeSpans(append(repeat, span...)) {
		t.Error("a span after many fields is looked for, or one after few is not")
	}
	resource := bytes.Repeat([]byte{resourceSpansResource<<3 | wire.Len, 0}, resyncWithin/4)
	if isTraces(wire.AppendBytes(nil, tracesResourceSpans, append(resource, wire.AppendBytes(nil, resourceSpansScopeSpans, span)...))) {
		t.Error("a scope after many fields is looked for")
	}
}

// A damaged byte anywhere in a message of protobuf costs the span, or the border between two, and what a wrong length swallows; the spans of
// the other scopes and resources stay.
func TestDamageInOneProtobufMessage(t *testing.T) {
	text, spans := largeMessage(3)
	var d document
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	input := d.encode(t)
	whole, _ := spansOf(t, string(input), Options{})
	if len(whole) != len(spans) {
		t.Fatalf("%d spans, want %d", len(whole), len(spans))
	}
	begin := bytes.Index(input, []byte("span 1"))
	step := 1
	if !recording.All() {
		step = 7
	}
	worst := map[int]int{}
	for at := begin; at < len(input); at += step {
		for _, with := range []byte{0, 1, 0x7f, 0xff, input[at] + 1, input[at] ^ 0x80} {
			text := bytes.Clone(input)
			text[at] = with
			got, log := spansOf(t, string(text), Options{})
			missing := 0
			for n := range whole {
				if !got[n] {
					missing++
				}
			}
			worst[missing]++
			if missing > 3 {
				t.Errorf("%#x in place of %#x at %d costs %d spans", with, input[at], at, missing)
			}
			if len(got) < len(whole) && len(log.Totals()) == 0 {
				t.Errorf("%#x in place of %#x at %d costs %d spans, which nothing counts", with, input[at], at, missing)
			}
		}
	}
	t.Logf("damage by the number of spans that it costs: %v", worst)
}
