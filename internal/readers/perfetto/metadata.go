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
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

func (r *reader) setAttribute(key, value []byte) {
	if len(value) > readers.MaxAttribute {
		r.add(problem.MetadataValueOmitted, string(key))
		return
	}
	r.b.SetAttribute(string(r.validText(key)), string(r.validText(value)))
}

func (r *reader) setIntAttribute(key []byte, value int64) {
	r.b.SetIntAttribute(string(r.validText(key)), value)
}

// chromeEvents reads the metadata in a ChromeEventBundle into trace attributes.
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

// traceAttribute reads one attribute. Two attributes show that weft wrote the sequence or appended it to the trace;
// after them, weft's attribute names have weft's meaning.
func (r *reader) traceAttribute(a *message.Attribute) {
	switch key := string(a.Key()); {
	case r.seq == nil:
	case key == pfwire.AttributeVersion && !a.IsInt():
		r.seqInfo.byWeft = true
	case key == timeline.AppendedAttribute && a.IsInt() && a.Int() == int64(r.fields.Sequence.ID):
		r.seqInfo.appended = true
	}
	switch {
	case len(a.Text()) > readers.MaxAttribute:
		r.add(problem.MetadataValueOmitted, string(a.Key()))
	case r.seqInfo.byWeft || r.seqInfo.appended:
		r.b.SetOwnAttribute(timeline.Attribute{Key: string(r.validText(a.Key())), Text: string(r.validText(a.Text())), Int: a.Int(), IsInt: a.IsInt()})
	case a.IsInt():
		r.setIntAttribute(a.Key(), a.Int())
	default:
		r.setAttribute(a.Key(), a.Text())
	}
}

// parsePage parses a page. It returns false for pages that weft would not write.
func parsePage(msg []byte) (timeline.Page, bool) {
	var p message.Page
	err := p.Parse(msg)
	url := p.URL()
	return timeline.Page{Window: p.Window(), Tab: p.Tab(), Embedder: p.Embedder(), URL: string(url), Private: p.IsPrivate(), IDSpace: string(p.IDSpace())},
		isIDSpace(p.IDSpace()) && err == nil && p.Mistyped() == nil && p.HasWindow() && len(url) <= readers.MaxAttribute && utf8.Valid(url)
}

// traceUUID adds the identity of the recording as an attribute.
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

// serviceEvent reads the time at which the tracing service started tracing. The time is in BOOTTIME unless the packet
// names a clock.
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

// setStarted adds an attribute with the start time of tracing. If no snapshot defines the clock of that time, the time
// is used as trace time, as in Perfetto.
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

// validText returns text as UTF-8. Chrome writes lone surrogates in names (perfetto.md 15); as in the other formats,
// invalid bytes become U+FFFD.
func (r *reader) validText(text []byte) []byte {
	if utf8.Valid(text) {
		return text
	}
	r.add(problem.JSONInvalidUTF8, "")
	return bytes.ToValidUTF8(text, []byte("\uFFFD"))
}

// internedText returns the text of an interned id. It counts an unknown id and returns nil. Id 0 means "not set".
func (r *reader) internedText(kind message.InternedKind, iid uint64) []byte {
	text, ok := r.interned(kind, iid)
	if !ok {
		return nil
	}
	return r.validText(text)
}

const (
	// maxInlined limits the total length of interned texts that are repeated in each event because the Builder's tables
	// are full. Further texts are truncated to shortText, so that a small trace with many references to one long text
	// does not become a huge trace.
	maxInlined = 1 << 30
	shortText  = 256
)

// bounded returns an interned text. Beyond maxInlined it truncates texts that intern cannot find in, or add to, a
// table.
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

// interned returns an unconverted entry of interned data. It returns false for id 0, and for an unknown id, which it
// counts.
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
