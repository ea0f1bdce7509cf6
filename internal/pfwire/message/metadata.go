package message

import (
	"slices"

	"github.com/weft-trace/weft/internal/schema"
)

// TraceAttributes decodes a TraceAttributes message.
type TraceAttributes struct{ fields }

// Parse decodes msg.
func (t *TraceAttributes) Parse(msg []byte) error { return t.parse(msg, schema.MessageTraceAttributes) }

// Attributes returns a list of encoded Attributes.
func (t *TraceAttributes) Attributes() List { return t.list(schema.TraceAttributes_Attribute) }

// Pages returns a list of encoded Pages, which only weft writes; damaged ones may be nil.
func (t *TraceAttributes) Pages() List { return t.list(schema.TraceAttributes_WeftPages) }

// Mistyped is like fields.Mistyped, but ignores pages.
func (t *TraceAttributes) Mistyped() []int {
	return slices.DeleteFunc(t.fields.Mistyped(), func(n int) bool { return n == schema.TraceAttributes_WeftPages })
}

// Attribute decodes a TraceAttributes.Attribute message.
type Attribute struct{ fields }

// Parse decodes msg.
func (a *Attribute) Parse(msg []byte) error {
	return a.parse(msg, schema.MessageTraceAttributesAttribute)
}

func (a *Attribute) Key() []byte  { return a.bytes(schema.TraceAttributesAttribute_Key) }
func (a *Attribute) Text() []byte { return a.bytes(schema.TraceAttributesAttribute_StringValue) }
func (a *Attribute) Int() int64   { return a.int(schema.TraceAttributesAttribute_LongValue) }

// IsInt reports whether the value is an Int rather than a Text.
func (a *Attribute) IsInt() bool {
	return a.oneof(schema.TraceAttributesAttribute_LongValue, schema.TraceAttributesAttribute_StringValue) == schema.TraceAttributesAttribute_LongValue
}

// ChromeEvents decodes a ChromeEventBundle message.
type ChromeEvents struct{ fields }

// Parse decodes msg.
func (e *ChromeEvents) Parse(msg []byte) error { return e.parse(msg, schema.MessageChromeEventBundle) }

// Metadata returns a list of encoded ChromeMetadata.
func (e *ChromeEvents) Metadata() List { return e.list(schema.ChromeEventBundle_Metadata) }

// Other returns the numbers of the other fields.
func (e *ChromeEvents) Other() []int { return e.beyond(1 << schema.ChromeEventBundle_Metadata) }

// ChromeMetadata decodes a ChromeMetadata message, the old form of attributes.
type ChromeMetadata struct{ fields }

// Parse decodes msg.
func (m *ChromeMetadata) Parse(msg []byte) error { return m.parse(msg, schema.MessageChromeMetadata) }

func (m *ChromeMetadata) Name() []byte { return m.bytes(schema.ChromeMetadata_Name) }
func (m *ChromeMetadata) Bool() bool   { return m.uint(schema.ChromeMetadata_BoolValue) != 0 }
func (m *ChromeMetadata) Int() int64   { return m.int(schema.ChromeMetadata_IntValue) }
func (m *ChromeMetadata) IsBool() bool { return m.value() == schema.ChromeMetadata_BoolValue }
func (m *ChromeMetadata) IsInt() bool  { return m.value() == schema.ChromeMetadata_IntValue }

// Text returns a text or JSON value.
func (m *ChromeMetadata) Text() []byte { return m.bytes(m.value()) }

func (m *ChromeMetadata) value() int {
	return m.oneof(schema.ChromeMetadata_StringValue, schema.ChromeMetadata_BoolValue, schema.ChromeMetadata_IntValue, schema.ChromeMetadata_JSONValue)
}

// Page decodes a WeftPage message.
type Page struct{ fields }

// Parse decodes msg.
func (p *Page) Parse(msg []byte) error { return p.parse(msg, schema.MessageWeftPage) }

func (p *Page) HasWindow() bool { return p.has(schema.WeftPage_Window) }
func (p *Page) Window() int64   { return p.int(schema.WeftPage_Window) }
func (p *Page) Tab() int64      { return p.int(schema.WeftPage_Tab) }
func (p *Page) Embedder() int64 { return p.int(schema.WeftPage_Embedder) }
func (p *Page) URL() []byte     { return p.bytes(schema.WeftPage_URL) }
func (p *Page) IDSpace() []byte { return p.bytes(schema.WeftPage_IDSpace) }
func (p *Page) IsPrivate() bool { return p.uint(schema.WeftPage_IsPrivate) != 0 }

// TraceUUID decodes a TraceUuid message.
type TraceUUID struct{ fields }

// Parse decodes msg.
func (u *TraceUUID) Parse(msg []byte) error { return u.parse(msg, schema.MessageTraceUuid) }

func (u *TraceUUID) MSB() uint64 { return u.uint(schema.TraceUuid_Msb) }
func (u *TraceUUID) LSB() uint64 { return u.uint(schema.TraceUuid_Lsb) }

// ServiceEvent decodes a TracingServiceEvent message.
type ServiceEvent struct{ fields }

// Parse decodes msg.
func (e *ServiceEvent) Parse(msg []byte) error {
	return e.parse(msg, schema.MessageTracingServiceEvent)
}

func (e *ServiceEvent) TracingStarted() bool {
	return e.uint(schema.TracingServiceEvent_TracingStarted) != 0
}

// ExtensionDescriptor decodes an ExtensionDescriptor message: a FileDescriptorSet, which may be compressed.
type ExtensionDescriptor struct{ fields }

// Parse decodes msg.
func (d *ExtensionDescriptor) Parse(msg []byte) error {
	return d.parse(msg, schema.MessageExtensionDescriptor)
}

func (d *ExtensionDescriptor) Set() []byte { return d.bytes(schema.ExtensionDescriptor_ExtensionSet) }
func (d *ExtensionDescriptor) SetGzip() []byte {
	return d.bytes(schema.ExtensionDescriptor_ExtensionSetGzip)
}
