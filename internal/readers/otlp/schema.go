package otlp

import (
	"bytes"
	"strings"

	"github.com/weft-trace/weft/internal/wire"
)

// The field numbers of opentelemetry.proto.{trace,resource,common}.v1 that this reader uses. TracesData and
// ExportTraceServiceRequest have the same encoding.
const (
	tracesResourceSpans = 1

	resourceSpansResource   = 1
	resourceSpansScopeSpans = 2
	resourceSpansSchemaURL  = 3
	resourceSpansLibraries  = 1000 // instrumentation_library_spans, up to version 0.18 of the protocol; with the fields of ScopeSpans

	resourceAttributes = 1
	resourceDropped    = 2
	resourceEntityRefs = 3

	entitySchemaURL       = 1
	entityType            = 2
	entityIDKeys          = 3
	entityDescriptionKeys = 4

	scopeSpansScope     = 1
	scopeSpansSpans     = 2
	scopeSpansSchemaURL = 3

	scopeName       = 1
	scopeVersion    = 2
	scopeAttributes = 3
	scopeDropped    = 4

	spanTraceID           = 1
	spanSpanID            = 2
	spanTraceState        = 3
	spanParentSpanID      = 4
	spanName              = 5
	spanKind              = 6
	spanStart             = 7
	spanEnd               = 8
	spanAttributes        = 9
	spanDroppedAttributes = 10
	spanEvents            = 11
	spanDroppedEvents     = 12
	spanLinks             = 13
	spanDroppedLinks      = 14
	spanStatus            = 15
	spanFlags             = 16

	eventTime       = 1
	eventName       = 2
	eventAttributes = 3
	eventDropped    = 4

	linkTraceID    = 1
	linkSpanID     = 2
	linkTraceState = 3
	linkAttributes = 4
	linkDropped    = 5
	linkFlags      = 6

	statusMessage = 2
	statusCode    = 3

	keyValueKey   = 1
	keyValueValue = 2

	valueString = 1
	valueBool   = 2
	valueInt    = 3
	valueDouble = 4
	valueArray  = 5
	valueKVList = 6
	valueBytes  = 7

	listValues = 1 // values of ArrayValue and KeyValueList
)

// statusError is the status code of a span that failed.
const statusError = 2

// spanKinds and statusCodes are the names of enum values in arguments; 0 means unspecified.
var (
	spanKinds   = []string{"", "internal", "server", "client", "producer", "consumer"}
	statusCodes = []string{"", "ok", "error"}
)

// fieldType is the encoding of a field, in JSON and on the wire.
type fieldType uint8

const (
	typeString fieldType = iota + 1
	typeID               // bytes, in JSON as hex
	typeBytes            // bytes, in JSON as base64
	typeBool
	typeVarint // uint32 and int64
	typeFixed32
	typeFixed64
	typeDouble
	typeEnum
	typeMessage
)

var wireTypes = [...]int{
	typeString: wire.Len, typeID: wire.Len, typeBytes: wire.Len, typeBool: wire.Varint, typeVarint: wire.Varint, typeFixed32: wire.Fixed32,
	typeFixed64: wire.Fixed64, typeDouble: wire.Fixed64, typeEnum: wire.Varint, typeMessage: wire.Len,
}

// field is a field of a message.
type field struct {
	number  int
	typ     fieldType
	list    bool
	message *message
	names   []string // names of an enum's values, in lower case
	prefix  string   // prefix of the names in JSON
}

// message describes a message by the JSON names of its fields, in lowerCamelCase.
type message struct {
	fields map[string]*field
	tags   [4]uint64 // a bit for each wire tag, all of which are below 256
}

// newMessage returns a message with the given fields.
func newMessage(fields map[string]*field) *message {
	m := &message{fields: fields}
	for _, f := range fields {
		tag := wire.Tag(f.number, wireTypes[f.typ])
		m.tags[tag/64] |= 1 << (tag % 64)
	}
	return m
}

// hasTag reports whether a message has a field with the given tag.
func (m *message) hasTag(tag uint32) bool { return tag < 256 && m.tags[tag/64]&(1<<(tag%64)) != 0 }

// find returns the field with the given JSON name, or nil. It also accepts names as in the schema, such as trace_id.
func (m *message) find(key []byte) *field {
	f := m.fields[string(key)]
	if f == nil && bytes.IndexByte(key, '_') >= 0 {
		f = m.fields[lowerCamel(key)]
	}
	return f
}

// lowerCamel turns trace_id into traceId.
func lowerCamel(key []byte) string {
	var b strings.Builder
	up := false
	for _, c := range key {
		switch {
		case c == '_':
			up = true
			continue
		case up && 'a' <= c && c <= 'z':
			c -= 'a' - 'A'
		}
		up = false
		b.WriteByte(c)
	}
	return b.String()
}

// Messages that are read as one unit. json.go and proto.go read the messages around them, which can have any size.
var (
	anyValue = &message{}
	keyValue = &message{fields: map[string]*field{
		"key":   {number: keyValueKey, typ: typeString},
		"value": {number: keyValueValue, typ: typeMessage, message: anyValue},
	}}
	arrayValue   = &message{fields: map[string]*field{"values": {number: listValues, typ: typeMessage, message: anyValue, list: true}}}
	keyValueList = &message{fields: map[string]*field{"values": {number: listValues, typ: typeMessage, message: keyValue, list: true}}}

	resourceMessage = newMessage(map[string]*field{
		"attributes":             attributesField(resourceAttributes),
		"droppedAttributesCount": {number: resourceDropped, typ: typeVarint},
		"entityRefs":             {number: resourceEntityRefs, typ: typeMessage, list: true, message: entityMessage},
	})
	entityMessage = newMessage(map[string]*field{
		"schemaUrl":       {number: entitySchemaURL, typ: typeString},
		"type":            {number: entityType, typ: typeString},
		"idKeys":          {number: entityIDKeys, typ: typeString, list: true},
		"descriptionKeys": {number: entityDescriptionKeys, typ: typeString, list: true},
	})
	scopeMessage = newMessage(map[string]*field{
		"name":                   {number: scopeName, typ: typeString},
		"version":                {number: scopeVersion, typ: typeString},
		"attributes":             attributesField(scopeAttributes),
		"droppedAttributesCount": {number: scopeDropped, typ: typeVarint},
	})
	spanMessage = newMessage(map[string]*field{
		"traceId":                {number: spanTraceID, typ: typeID},
		"spanId":                 {number: spanSpanID, typ: typeID},
		"traceState":             {number: spanTraceState, typ: typeString},
		"parentSpanId":           {number: spanParentSpanID, typ: typeID},
		"name":                   {number: spanName, typ: typeString},
		"kind":                   {number: spanKind, typ: typeEnum, names: spanKinds, prefix: "span_kind_"},
		"startTimeUnixNano":      {number: spanStart, typ: typeFixed64},
		"endTimeUnixNano":        {number: spanEnd, typ: typeFixed64},
		"attributes":             attributesField(spanAttributes),
		"droppedAttributesCount": {number: spanDroppedAttributes, typ: typeVarint},
		"events":                 {number: spanEvents, typ: typeMessage, list: true, message: eventMessage},
		"droppedEventsCount":     {number: spanDroppedEvents, typ: typeVarint},
		"links":                  {number: spanLinks, typ: typeMessage, list: true, message: linkMessage},
		"droppedLinksCount":      {number: spanDroppedLinks, typ: typeVarint},
		"status":                 {number: spanStatus, typ: typeMessage, message: statusMessageType},
		"flags":                  {number: spanFlags, typ: typeFixed32},
	})
	eventMessage = newMessage(map[string]*field{
		"timeUnixNano":           {number: eventTime, typ: typeFixed64},
		"name":                   {number: eventName, typ: typeString},
		"attributes":             attributesField(eventAttributes),
		"droppedAttributesCount": {number: eventDropped, typ: typeVarint},
	})
	linkMessage = newMessage(map[string]*field{
		"traceId":                {number: linkTraceID, typ: typeID},
		"spanId":                 {number: linkSpanID, typ: typeID},
		"traceState":             {number: linkTraceState, typ: typeString},
		"attributes":             attributesField(linkAttributes),
		"droppedAttributesCount": {number: linkDropped, typ: typeVarint},
		"flags":                  {number: linkFlags, typ: typeFixed32},
	})
	statusMessageType = newMessage(map[string]*field{
		"message": {number: statusMessage, typ: typeString},
		"code":    {number: statusCode, typ: typeEnum, names: statusCodes, prefix: "status_code_"},
	})
)

func attributesField(number int) *field {
	return &field{number: number, typ: typeMessage, message: keyValue, list: true}
}

func init() { // anyValue contains itself
	anyValue.fields = map[string]*field{
		"stringValue": {number: valueString, typ: typeString},
		"boolValue":   {number: valueBool, typ: typeBool},
		"intValue":    {number: valueInt, typ: typeVarint},
		"doubleValue": {number: valueDouble, typ: typeDouble},
		"arrayValue":  {number: valueArray, typ: typeMessage, message: arrayValue},
		"kvlistValue": {number: valueKVList, typ: typeMessage, message: keyValueList},
		"bytesValue":  {number: valueBytes, typ: typeBytes},
	}
}
