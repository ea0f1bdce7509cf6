package perfetto

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// maxAttribute is the size of the largest metadata value that is kept, as in chrome-json.md 14.
const maxAttribute = 16 << 10

func (r *reader) setAttribute(key, value []byte) {
	if len(value) > maxAttribute {
		r.add(problem.MetadataValueOmitted, string(key))
		return
	}
	r.b.SetAttribute(string(r.validText(key)), string(r.validText(value)))
}

// chromeEvents reads the metadata of a ChromeEventBundle, which become attributes of the trace.
func (r *reader) chromeEvents(msg []byte) {
	w := wire.NewReader(msg)
	for w.Next() {
		if w.Field() != schema.ChromeEventBundle_Metadata {
			r.notConverted(fmt.Sprintf("ChromeEventBundle field %d", w.Field()))
			continue
		}
		if err := r.chromeMetadata(w.Bytes()); err != nil {
			r.malformed("chrome_events", err)
			return
		}
	}
	if err := w.Err(); err != nil {
		r.malformed("chrome_events", err)
	}
}

func (r *reader) chromeMetadata(msg []byte) error {
	var name, text []byte
	var number int64
	isNumber := false
	w := wire.NewReader(msg)
	for w.Next() {
		switch w.Field() {
		case schema.ChromeMetadata_Name:
			name = w.Bytes()
		case schema.ChromeMetadata_StringValue, schema.ChromeMetadata_JSONValue:
			text = w.Bytes()
		case schema.ChromeMetadata_BoolValue:
			text = fmt.Append(nil, w.Bool())
		case schema.ChromeMetadata_IntValue:
			number, isNumber = w.Int(), true
		}
	}
	if isNumber {
		r.b.SetIntAttribute(string(r.validText(name)), number)
		return w.Err()
	}
	r.setAttribute(name, text)
	return w.Err()
}

// traceAttributes reads a TraceAttributes packet.
func (r *reader) traceAttributes(msg []byte) {
	w := wire.NewReader(msg)
	for w.Next() {
		if w.Field() == schema.TraceAttributes_WeftPages {
			r.page(&w)
			continue
		}
		if w.Field() != schema.TraceAttributes_Attribute {
			continue
		}
		var key, text []byte
		var number int64
		isNumber := false
		e := wire.NewReader(w.Bytes())
		for e.Next() {
			switch e.Field() {
			case schema.TraceAttributesAttribute_Key:
				key = e.Bytes()
			case schema.TraceAttributesAttribute_LongValue:
				number, isNumber = e.Int(), true
			case schema.TraceAttributesAttribute_StringValue:
				text, isNumber = e.Bytes(), false
			}
		}
		switch {
		case e.Err() != nil:
			r.malformed("trace_attributes", e.Err())
			return
		case isNumber:
			r.b.SetIntAttribute(string(r.validText(key)), number)
		default:
			if r.seq != nil && string(key) == pfwire.AttributeVersion {
				r.tracks.ofWeft[r.seq] = true
			}
			r.setAttribute(key, text)
		}
	}
	if err := w.Err(); err != nil {
		r.malformed("trace_attributes", err)
	}
}

// page reads a page that weft wrote.
func (r *reader) page(field *wire.Reader) {
	if p, ok := parsePage(field); ok {
		r.b.AddPage(p)
	} else {
		r.add(problem.PageInvalid, "")
	}
}

// parsePage parses a page. It is not ok if nothing that weft writes has it.
func parsePage(field *wire.Reader) (p timeline.Page, ok bool) {
	if field.Type() != wire.Len {
		return p, false
	}
	w := wire.NewReader(field.Bytes())
	for w.Next() {
		switch w.Tag() {
		case wire.Tag(schema.WeftPage_Window, wire.Varint):
			p.Window, ok = w.Int(), true
		case wire.Tag(schema.WeftPage_Tab, wire.Varint):
			p.Tab = w.Int()
		case wire.Tag(schema.WeftPage_Embedder, wire.Varint):
			p.Embedder = w.Int()
		case wire.Tag(schema.WeftPage_URL, wire.Len):
			p.URL = string(w.Bytes())
		case wire.Tag(schema.WeftPage_IsPrivate, wire.Varint):
			p.Private = w.Bool()
		}
	}
	return p, ok && w.Err() == nil && len(p.URL) <= maxAttribute && utf8.ValidString(p.URL)
}

// traceUUID keeps the identity of the recording as an attribute.
func (r *reader) traceUUID(msg []byte) {
	var id [16]byte
	w := wire.NewReader(msg)
	for w.Next() {
		switch w.Field() {
		case schema.TraceUuid_Msb:
			binary.BigEndian.PutUint64(id[:8], w.Uint())
		case schema.TraceUuid_Lsb:
			binary.BigEndian.PutUint64(id[8:], w.Uint())
		}
	}
	if err := w.Err(); err != nil {
		r.malformed("trace_uuid", err)
		return
	}
	text := fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
	r.b.SetAttribute("trace_uuid", text)
}

// serviceEvent reads when the tracing service began to trace. Its events are in BOOTTIME unless they name a clock.
func (r *reader) serviceEvent(msg []byte) {
	w := wire.NewReader(msg)
	for w.Next() {
		if w.Field() == schema.TracingServiceEvent_TracingStarted && w.Bool() && r.fields.HasTimestamp {
			clock := pfwire.Clock{ID: cmp.Or(r.fields.ClockID, uint32(timeline.ClockBoottime))}
			r.started = &pfwire.Stamp{Clock: clock, Nanos: int64(r.fields.Timestamp)}
		}
	}
	if err := w.Err(); err != nil {
		r.malformed("service_event", err)
	}
}

// setStarted keeps when the service began to trace as an attribute. If no snapshot explains the clock, the time is taken for
// one of the trace, as in Perfetto.
func (r *reader) setStarted() {
	if r.started == nil {
		return
	}
	ts, err := r.state.Clocks.TraceTime(*r.started)
	if errors.Is(err, pfwire.ErrUnknownClock) {
		ts, err = r.started.Nanos, nil
	}
	if err == nil && ts >= 0 {
		r.b.SetIntAttribute(pfwire.AttributeStarted, ts)
	}
}

// validText returns text as UTF-8. Chrome writes lone surrogates in names (perfetto.md 15); what is no UTF-8
// becomes U+FFFD, as it does in the other formats.
func (r *reader) validText(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	r.add(problem.JSONInvalidUTF8, "")
	return bytes.ToValidUTF8(text, []byte("\uFFFD"))
}

// internedText returns the text of an interned id; an unknown one is counted and has the empty text.
func (r *reader) internedText(kind pfwire.InternedKind, iid uint64) []byte {
	text, ok := r.interned(kind, iid)
	if !ok {
		return nil
	}
	return r.validText(text)
}

// interned returns an entry of interned data as it is.
func (r *reader) interned(kind pfwire.InternedKind, iid uint64) ([]byte, bool) {
	if r.seq == nil {
		return nil, false
	}
	entry, ok := r.seq.Interned.Text(kind, iid)
	if !ok {
		r.unknownIID(kind, iid)
	}
	return entry, ok
}

func (r *reader) unknownIID(kind pfwire.InternedKind, iid uint64) {
	r.add(problem.InternedIDUnknown, fmt.Sprintf("InternedData field %d, iid %d", kind, iid))
}
