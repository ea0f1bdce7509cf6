package otel

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/weft-trace/weft/convert"
)

func text(v string) *common.AnyValue {
	return &common.AnyValue{Value: &common.AnyValue_StringValue{StringValue: v}}
}

func attributeOf(key string, v *common.AnyValue) *common.KeyValue {
	return &common.KeyValue{Key: key, Value: v}
}

// traces returns spans with a value in every field of the schema.
func traces() *tracepb.TracesData {
	traceID := []byte("0123456789abcdef")
	integer := &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: math.MinInt64}}
	list := &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: &common.ArrayValue{Values: []*common.AnyValue{text("x"), integer}}}}
	return &tracepb.TracesData{ResourceSpans: []*tracepb.ResourceSpans{{
		Resource: &resourcepb.Resource{
			Attributes:             []*common.KeyValue{attributeOf("service.name", text("shop"))},
			DroppedAttributesCount: 1,
			EntityRefs:             []*common.EntityRef{{SchemaUrl: "https://e/1", Type: "service", IdKeys: []string{"service.name"}}},
		},
		SchemaUrl: "https://s/1",
		ScopeSpans: []*tracepb.ScopeSpans{{
			Scope:     &common.InstrumentationScope{Name: "lib", Version: "1", Attributes: []*common.KeyValue{attributeOf("a", text("b"))}},
			SchemaUrl: "https://s/2",
			Spans: []*tracepb.Span{
				{
					TraceId: traceID, SpanId: []byte("childspn"), ParentSpanId: []byte("rootspan"), Name: "child", Kind: tracepb.Span_SPAN_KIND_CLIENT,
					StartTimeUnixNano: 1_700_000_000_000_000_010, EndTimeUnixNano: 1_700_000_000_000_000_020, TraceState: "x=1", Flags: 0x101,
					Attributes: []*common.KeyValue{
						attributeOf("list", list), attributeOf("yes", &common.AnyValue{Value: &common.AnyValue_BoolValue{BoolValue: true}}),
						attributeOf("half", &common.AnyValue{Value: &common.AnyValue_DoubleValue{DoubleValue: 0.5}}),
						attributeOf("bytes", &common.AnyValue{Value: &common.AnyValue_BytesValue{BytesValue: []byte{0, 255}}}),
						attributeOf("map", &common.AnyValue{Value: &common.AnyValue_KvlistValue{KvlistValue: &common.KeyValueList{
							Values: []*common.KeyValue{attributeOf("k", integer)},
						}}}),
					},
					DroppedAttributesCount: 2, DroppedEventsCount: 3, DroppedLinksCount: 4,
					Events: []*tracepb.Span_Event{{
						TimeUnixNano: 1_700_000_000_000_000_015, Name: "happened", Attributes: []*common.KeyValue{attributeOf("e", text("f"))}, DroppedAttributesCount: 5,
					}},
					Links: []*tracepb.Span_Link{{
						TraceId: []byte("fedcba9876543210"), SpanId: []byte("otherspn"), TraceState: "y=2", DroppedAttributesCount: 6, Flags: 1,
					}},
					Status: &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: "no"},
				},
				{
					TraceId: traceID, SpanId: []byte("rootspan"), Name: "root", Kind: tracepb.Span_SPAN_KIND_SERVER,
					StartTimeUnixNano: 1_700_000_000_000_000_000, EndTimeUnixNano: 1_700_000_000_000_000_100,
				},
			},
		}},
	}}}
}

// events returns the events that weft reads, one per line.
func events(t *testing.T, input []byte) string {
	t.Helper()
	tr, err := convert.Open(t.Context(), bytes.NewReader(input), convert.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	var out strings.Builder
	for ev, err := range tr.Events() {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&out, "%d+%d %s (%s) %v\n", ev.Time, ev.Duration, ev.Name, ev.Category, ev.Args)
	}
	return out.String()
}

// weft reads every field that the official types encode, from protobuf and from their JSON, in which ids are base64 and
// enums are names.
func TestOfficialTypes(t *testing.T) {
	data := traces()
	encoded, err := proto.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	text, err := protojson.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	got := events(t, encoded)
	if fromJSON := events(t, text); fromJSON != got {
		t.Errorf("from JSON:\n%s\nfrom protobuf:\n%s", fromJSON, got)
	}
	for _, want := range []string{
		"1700000000000000000+100 root (lib)", "1700000000000000010+10 ✗ child (lib)", "happened (lib)",
		"shop", "https://e/1", "https://s/1", "https://s/2", "-9223372036854775808", "0.5", "AP8=", "x=1", "257", "client", "server", "error", "no",
		"30313233343536373839616263646566", "6368696c6473706e", "726f6f747370616e", "66656463626139383736353433323130", "6f7468657273706e", "y=2",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in:\n%s", want, got)
		}
	}
}
