package message

import (
	"slices"

	"github.com/weft-trace/weft/internal/schema"
)

// TraceAttributes decodes the message TraceAttributes.
type TraceAttributes struct{ fields }

// Parse decodes msg.
func (t *TraceAttributes) Parse(msg []byte) error { return t.parse(msg, schema.MessageTraceAttributes) }

// Attributes returns the attributes, which are Attributes.
func (t *TraceAttributes) Attributes() List { return t.list(schema.TraceAttributes_Attribute) }

// Pages returns the pages, written by weft, which are Pages; damaged ones may be nil.
func (t *TraceAttributes) Pages() List { return t.list(schema.TraceAttributes_WeftPages) }

// Mistyped is fields.Mistyped without pages.
func (t *TraceAttributes) Mistyped() []int {
	return slices.DeleteFunc(t.fields.Mistyped(), func(n int) bool { return n == schema.TraceAttributes_WeftPages })
}

// Attribute decodes the message TraceAttributes.Attribute.
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

// ChromeEvents decodes the message ChromeEventBundle.
type ChromeEvents struct{ fields }

// Parse decodes msg.
func (e *ChromeEvents) Parse(msg []byte) error { return e.parse(msg, schema.MessageChromeEventBundle) }

// Metadata returns the metadata, which are ChromeMetadata.
func (e *ChromeEvents) Metadata() List { return e.list(schema.ChromeEventBundle_Metadata) }

// Other returns the numbers of the other fields.
func (e *ChromeEvents) Other() []int { return e.beyond(1 << schema.ChromeEventBundle_Metadata) }

// ChromeMetadata decodes the message ChromeMetadata, the old form of attributes.
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

// Page decodes the message WeftPage.
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

// TraceUUID decodes the message TraceUuid.
type TraceUUID struct{ fields }

// Parse decodes msg.
func (u *TraceUUID) Parse(msg []byte) error { return u.parse(msg, schema.MessageTraceUuid) }

func (u *TraceUUID) MSB() uint64 { return u.uint(schema.TraceUuid_Msb) }
func (u *TraceUUID) LSB() uint64 { return u.uint(schema.TraceUuid_Lsb) }

// ServiceEvent decodes the message TracingServiceEvent.
type ServiceEvent struct{ fields }

// Parse decodes msg.
func (e *ServiceEvent) Parse(msg []byte) error {
	return e.parse(msg, schema.MessageTracingServiceEvent)
}

func (e *ServiceEvent) TracingStarted() bool {
	return e.uint(schema.TracingServiceEvent_TracingStarted) != 0
}

// ExtensionDescriptor decodes the message ExtensionDescriptor: a FileDescriptorSet, perhaps compressed.
type ExtensionDescriptor struct{ fields }

// Parse decodes msg.
func (d *ExtensionDescriptor) Parse(msg []byte) error {
	return d.parse(msg, schema.MessageExtensionDescriptor)
}

func (d *ExtensionDescriptor) Set() []byte { return d.bytes(schema.ExtensionDescriptor_ExtensionSet) }
func (d *ExtensionDescriptor) SetGzip() []byte {
	return d.bytes(schema.ExtensionDescriptor_ExtensionSetGzip)
}
