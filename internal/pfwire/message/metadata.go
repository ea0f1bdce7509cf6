package message

import "github.com/weft-trace/weft/internal/schema"

// Attribute is TraceAttributes.Attribute.
type Attribute struct{ fields }

// TraceAttributes returns the attributes in a TraceAttributes.
func TraceAttributes(msg []byte) List { return newList(msg, schema.TraceAttributes_Attribute) }

func (a *Attribute) Key() []byte  { return a.bytes(schema.TraceAttributesAttribute_Key) }
func (a *Attribute) Text() []byte { return a.bytes(schema.TraceAttributesAttribute_StringValue) }
func (a *Attribute) Int() int64   { return a.int(schema.TraceAttributesAttribute_LongValue) }

// IsInt reports whether the value is an Int, not a Text.
func (a *Attribute) IsInt() bool {
	return a.oneof(schema.TraceAttributesAttribute_LongValue, schema.TraceAttributesAttribute_StringValue) == schema.TraceAttributesAttribute_LongValue
}

// ChromeEvents is ChromeEventBundle.
type ChromeEvents struct{ fields }

// Metadata returns the metadata, for ChromeMetadata.
func (e *ChromeEvents) Metadata() List { return e.list(schema.ChromeEventBundle_Metadata) }

// Other returns the numbers of the other fields.
func (e *ChromeEvents) Other() []int { return e.beyond(1 << schema.ChromeEventBundle_Metadata) }

// ChromeMetadata is ChromeMetadata, which are attributes in their old form.
type ChromeMetadata struct{ fields }

func (m *ChromeMetadata) Name() []byte { return m.bytes(schema.ChromeMetadata_Name) }
func (m *ChromeMetadata) Bool() bool   { return m.uint(schema.ChromeMetadata_BoolValue) != 0 }
func (m *ChromeMetadata) Int() int64   { return m.int(schema.ChromeMetadata_IntValue) }
func (m *ChromeMetadata) IsBool() bool { return m.value() == schema.ChromeMetadata_BoolValue }
func (m *ChromeMetadata) IsInt() bool  { return m.value() == schema.ChromeMetadata_IntValue }

// Text returns the value if it is a text or JSON.
func (m *ChromeMetadata) Text() []byte { return m.bytes(m.value()) }

func (m *ChromeMetadata) value() int {
	return m.oneof(schema.ChromeMetadata_StringValue, schema.ChromeMetadata_BoolValue, schema.ChromeMetadata_IntValue, schema.ChromeMetadata_JSONValue)
}

// Pages returns the pages in a TraceAttributes, which weft wrote.
func Pages(msg []byte) List { return newList(msg, schema.TraceAttributes_WeftPages) }

// Page is WeftPage.
type Page struct{ fields }

func (p *Page) HasWindow() bool { return p.has(schema.WeftPage_Window) }
func (p *Page) Window() int64   { return p.int(schema.WeftPage_Window) }
func (p *Page) Tab() int64      { return p.int(schema.WeftPage_Tab) }
func (p *Page) Embedder() int64 { return p.int(schema.WeftPage_Embedder) }
func (p *Page) URL() []byte     { return p.bytes(schema.WeftPage_URL) }
func (p *Page) IsPrivate() bool { return p.uint(schema.WeftPage_IsPrivate) != 0 }

// TraceUUID is TraceUuid.
type TraceUUID struct{ fields }

func (u *TraceUUID) MSB() uint64 { return u.uint(schema.TraceUuid_Msb) }
func (u *TraceUUID) LSB() uint64 { return u.uint(schema.TraceUuid_Lsb) }

// ServiceEvent is TracingServiceEvent.
type ServiceEvent struct{ fields }

func (e *ServiceEvent) TracingStarted() bool {
	return e.uint(schema.TracingServiceEvent_TracingStarted) != 0
}

// ExtensionDescriptor is ExtensionDescriptor: a FileDescriptorSet, as it is or compressed.
type ExtensionDescriptor struct{ fields }

func (d *ExtensionDescriptor) Set() []byte { return d.bytes(schema.ExtensionDescriptor_ExtensionSet) }
func (d *ExtensionDescriptor) SetGzip() []byte {
	return d.bytes(schema.ExtensionDescriptor_ExtensionSetGzip)
}
