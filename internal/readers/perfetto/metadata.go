package perfetto

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
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

func (r *reader) setIntAttribute(key []byte, value int64) {
	r.b.SetIntAttribute(string(r.validText(key)), value)
}

// chromeEvents reads the metadata of a ChromeEventBundle, which become attributes of the trace.
func (r *reader) chromeEvents(msg []byte) {
	var e message.ChromeEvents
	err := e.Parse(msg)
	r.fieldsNotConverted("ChromeEventBundle", e.Other())
	for l := e.Metadata(); err == nil && l.Next(); {
		var m message.ChromeMetadata
		err = m.Parse(l.Bytes())
		r.fieldsNotConverted("ChromeMetadata", m.Mistyped())
		switch {
		case err != nil:
		case m.IsInt():
			r.setIntAttribute(m.Name(), m.Int())
		case m.IsBool():
			r.setAttribute(m.Name(), strconv.AppendBool(nil, m.Bool()))
		default:
			r.setAttribute(m.Name(), m.Text())
		}
	}
	if err != nil {
		r.malformed("chrome_events", err)
	}
}

// traceAttributes reads a TraceAttributes packet.
func (r *reader) traceAttributes(msg []byte) {
	var t message.TraceAttributes
	err := t.Parse(msg)
	r.fieldsNotConverted("TraceAttributes", t.Mistyped())
	for l := t.Attributes(); l.Next(); {
		var a message.Attribute
		if err := a.Parse(l.Bytes()); err != nil {
			r.malformed("trace_attributes", err)
			return
		}
		r.fieldsNotConverted("TraceAttributes.Attribute", a.Mistyped())
		r.traceAttribute(&a)
	}
	for pages := t.Pages(); pages.Next(); {
		if p, ok := parsePage(pages.Bytes()); ok {
			r.b.AddPage(p)
		} else {
			r.add(problem.PageInvalid, "")
		}
	}
	if err != nil {
		r.malformed("trace_attributes", err)
	}
}

// traceAttribute reads one attribute. Two of them mean that weft wrote the sequence or appended it to the trace; then weft's names
// for attributes mean what weft means by them.
func (r *reader) traceAttribute(a *message.Attribute) {
	switch key := string(a.Key()); {
	case r.seq == nil:
	case key == pfwire.AttributeVersion && !a.IsInt():
		r.own.ofWeft = true
	case key == timeline.AppendedAttribute && a.IsInt() && a.Int() == int64(r.fields.Sequence.ID):
		r.own.appended = true
	}
	switch {
	case len(a.Text()) > maxAttribute:
		r.add(problem.MetadataValueOmitted, string(a.Key()))
	case r.own.ofWeft || r.own.appended:
		r.b.SetOwnAttribute(timeline.Attribute{Key: string(r.validText(a.Key())), Text: string(r.validText(a.Text())), Int: a.Int(), IsInt: a.IsInt()})
	case a.IsInt():
		r.setIntAttribute(a.Key(), a.Int())
	default:
		r.setAttribute(a.Key(), a.Text())
	}
}

// parsePage parses a page. It is not ok if nothing that weft writes has it.
func parsePage(msg []byte) (timeline.Page, bool) {
	var p message.Page
	err := p.Parse(msg)
	url := p.URL()
	return timeline.Page{Window: p.Window(), Tab: p.Tab(), Embedder: p.Embedder(), URL: string(url), Private: p.IsPrivate(), IDSpace: string(p.IDSpace())},
		isIDSpace(p.IDSpace()) && err == nil && p.Mistyped() == nil && p.HasWindow() && len(url) <= maxAttribute && utf8.Valid(url)
}

// traceUUID keeps the identity of the recording as an attribute.
func (r *reader) traceUUID(msg []byte) {
	var u message.TraceUUID
	if err := u.Parse(msg); err != nil {
		r.malformed("trace_uuid", err)
		return
	}
	r.fieldsNotConverted("TraceUuid", u.Mistyped())
	text := fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", u.MSB()>>32, u.MSB()>>16&0xffff, u.MSB()&0xffff, u.LSB()>>48, u.LSB()&(1<<48-1))
	r.b.SetAttribute("trace_uuid", text)
}

// serviceEvent reads when the tracing service began to trace. Its events are in BOOTTIME unless they name a clock.
func (r *reader) serviceEvent(msg []byte) {
	var e message.ServiceEvent
	if err := e.Parse(msg); err != nil {
		r.malformed("service_event", err)
	}
	if e.TracingStarted() && r.fields.HasTimestamp {
		clock := pfwire.Clock{ID: cmp.Or(r.fields.ClockID, uint32(timeline.ClockBoottime)), Machine: r.fields.Sequence.Machine}
		r.started = &pfwire.Stamp{Clock: clock, Nanos: int64(r.fields.Timestamp)}
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

// validText returns text as UTF-8. Chrome writes lone surrogates in names (perfetto.md 15); what is not UTF-8
// becomes U+FFFD, as it does in the other formats.
func (r *reader) validText(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	r.add(problem.JSONInvalidUTF8, "")
	return bytes.ToValidUTF8(text, []byte("\uFFFD"))
}

// internedText returns the text of an interned id; an unknown one is counted and has the empty text. Id 0 means "not set".
func (r *reader) internedText(kind message.InternedKind, iid uint64) []byte {
	text, ok := r.interned(kind, iid)
	if !ok {
		return nil
	}
	return r.validText(text)
}

const (
	// maxInlined bounds the total length of interned texts that are written with each event that uses them, because the tables
	// of the Builder have no room for them. Beyond it they are truncated to shortText, so that a small trace that uses one
	// long text many times cannot become a huge one.
	maxInlined = 1 << 30
	shortText  = 256
)

// bounded returns an interned text, truncated beyond maxInlined if it has no room in the table in which intern looks for it.
func (r *reader) bounded(text []byte, intern func([]byte) bool) []byte {
	if len(text) <= shortText || intern(text) {
		return text
	}
	if r.inlined += len(text); r.inlined <= r.maxInlined {
		return text
	}
	r.add(problem.InternedTextLimit, "")
	return bytes.ToValidUTF8(text[:shortText], nil)
}

// encodeInterned encodes an interned text as the value of an argument.
func (r *reader) encodeInterned(args *timeline.ArgsEncoder, text []byte) {
	args.InternedText(r.bounded(r.validText(text), r.b.InternText))
}

// interned returns an entry of interned data as it is. It is not ok for an unknown one, which is counted, and for id 0.
func (r *reader) interned(kind message.InternedKind, iid uint64) ([]byte, bool) {
	if r.seq == nil || iid == 0 {
		return nil, false
	}
	entry, ok := r.seq.Interned.Text(kind, iid)
	if !ok {
		r.unknownIID(kind, iid)
	}
	return entry, ok
}

func (r *reader) unknownIID(kind message.InternedKind, iid uint64) {
	r.add(problem.InternedIDUnknown, fmt.Sprintf("InternedData field %d, iid %d", kind, iid))
}
