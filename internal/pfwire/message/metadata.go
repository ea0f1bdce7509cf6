package message

import (
	"strconv"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// Attribute is a fact about the trace: TraceAttributes.Attribute or, in its old form, ChromeMetadata.
type Attribute struct {
	Key      []byte
	Text     []byte
	Number   int64
	IsNumber bool // instead of Text
}

// TraceAttributes returns the attributes in a TraceAttributes, for Attribute.Parse.
func TraceAttributes(msg []byte) List { return newList(msg, schema.TraceAttributes_Attribute) }

// Parse decodes msg, a TraceAttributes.Attribute.
func (a *Attribute) Parse(msg []byte) error {
	*a = Attribute{}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.TraceAttributesAttribute_Key:
			a.Key = r.Bytes()
		case schema.TraceAttributesAttribute_LongValue:
			a.Number, a.IsNumber = r.Int(), true
		case schema.TraceAttributesAttribute_StringValue:
			a.Text, a.IsNumber = r.Bytes(), false
		}
	}
	return r.Err()
}

// ParseChrome decodes msg, a ChromeMetadata.
func (a *Attribute) ParseChrome(msg []byte) error {
	*a = Attribute{}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.ChromeMetadata_Name:
			a.Key = r.Bytes()
		case schema.ChromeMetadata_StringValue, schema.ChromeMetadata_JSONValue:
			a.Text, a.IsNumber = r.Bytes(), false
		case schema.ChromeMetadata_BoolValue:
			a.Text, a.IsNumber = strconv.AppendBool(nil, r.Bool()), false
		case schema.ChromeMetadata_IntValue:
			a.Number, a.IsNumber = r.Int(), true
		}
	}
	return r.Err()
}

// ChromeEvents is ChromeEventBundle.
type ChromeEvents struct {
	Metadata List  // for Attribute.ParseChrome
	Other    []int // numbers of further fields
}

// Parse decodes msg.
func (e *ChromeEvents) Parse(msg []byte) error {
	*e = ChromeEvents{Metadata: newList(msg, schema.ChromeEventBundle_Metadata), Other: e.Other[:0]}
	r := wire.NewReader(msg)
	for r.Next() {
		if r.Field() != schema.ChromeEventBundle_Metadata {
			e.Other = append(e.Other, r.Field())
		}
	}
	return r.Err()
}

// TraceUUID is TraceUuid.
type TraceUUID struct{ MSB, LSB uint64 }

// Parse decodes msg.
func (u *TraceUUID) Parse(msg []byte) error {
	*u = TraceUUID{}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.TraceUuid_Msb:
			u.MSB = r.Uint()
		case schema.TraceUuid_Lsb:
			u.LSB = r.Uint()
		}
	}
	return r.Err()
}

// ExtensionDescriptor is ExtensionDescriptor: a FileDescriptorSet, as it is or compressed.
type ExtensionDescriptor struct {
	Set, SetGzip []byte // nil: not given
}

// Parse decodes msg.
func (d *ExtensionDescriptor) Parse(msg []byte) error {
	*d = ExtensionDescriptor{}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.ExtensionDescriptor_ExtensionSet:
			d.Set, d.SetGzip = r.Bytes(), nil
		case schema.ExtensionDescriptor_ExtensionSetGzip:
			d.Set, d.SetGzip = nil, r.Bytes()
		}
	}
	return r.Err()
}

// Pages returns the pages in a TraceAttributes, which weft wrote.
func Pages(msg []byte) List { return newList(msg, schema.TraceAttributes_WeftPages) }

// Page is WeftPage. Fields of another wire type than weft writes are left out.
type Page struct {
	Window, Tab, Embedder int64
	HasWindow             bool
	URL                   []byte
	IsPrivate             bool
}

// Parse decodes msg.
func (p *Page) Parse(msg []byte) error {
	*p = Page{}
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Tag() {
		case schema.WeftPage_Window<<3 | wire.Varint:
			p.Window, p.HasWindow = r.Int(), true
		case schema.WeftPage_Tab<<3 | wire.Varint:
			p.Tab = r.Int()
		case schema.WeftPage_Embedder<<3 | wire.Varint:
			p.Embedder = r.Int()
		case schema.WeftPage_URL<<3 | wire.Len:
			p.URL = r.Bytes()
		case schema.WeftPage_IsPrivate<<3 | wire.Varint:
			p.IsPrivate = r.Bool()
		}
	}
	return r.Err()
}

// ServiceEvent is TracingServiceEvent.
type ServiceEvent struct{ TracingStarted bool }

// Parse decodes msg.
func (e *ServiceEvent) Parse(msg []byte) error {
	*e = ServiceEvent{}
	r := wire.NewReader(msg)
	for r.Next() {
		if r.Field() == schema.TracingServiceEvent_TracingStarted {
			e.TracingStarted = r.Bool()
		}
	}
	return r.Err()
}
