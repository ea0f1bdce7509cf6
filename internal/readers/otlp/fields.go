package otlp

import (
	"strconv"

	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// spanFields are the fields of a span that are not in its head. The last of repeated fields counts.
type spanFields struct {
	encoded []byte

	traceID, spanID, parentSpanID []byte
	traceState, name              []byte
	kind                          uint64
	flags                         uint64
	droppedAttributes             uint64
	droppedEvents                 uint64
	droppedLinks                  uint64
	statusCode                    uint64
	statusMessage                 []byte
	thread                        threadFields
	numLinks                      int
}

// threadFields are the attributes thread.id and thread.name.
type threadFields struct {
	id    int64
	hasID bool
	name  []byte
}

// key returns the key of the thread. It returns false if the span names no thread.
func (t *threadFields) key() (timeline.ThreadKey, bool) {
	switch {
	case t.hasID && t.id != 0:
		return timeline.ThreadKey{Num: t.id}, true
	case t.hasID:
		return timeline.ThreadKey{Text: "0", IsNumber: true}, true // not the main thread, which has the pid
	case len(t.name) > 0:
		return timeline.ThreadKey{Text: string(validText(t.name))}, true
	}
	return timeline.ThreadKey{}, false
}

func readSpan(encoded []byte) spanFields {
	f := spanFields{encoded: encoded}
	for r := wire.NewReader(encoded); r.Next(); {
		switch r.Tag() {
		case wire.Tag(spanTraceID, wire.Len):
			f.traceID = r.Bytes()
		case wire.Tag(spanSpanID, wire.Len):
			f.spanID = r.Bytes()
		case wire.Tag(spanParentSpanID, wire.Len):
			f.parentSpanID = r.Bytes()
		case wire.Tag(spanTraceState, wire.Len):
			f.traceState = r.Bytes()
		case wire.Tag(spanName, wire.Len):
			f.name = r.Bytes()
		case wire.Tag(spanKind, wire.Varint):
			f.kind = r.Uint()
		case wire.Tag(spanFlags, wire.Fixed32):
			f.flags = r.Uint()
		case wire.Tag(spanDroppedAttributes, wire.Varint):
			f.droppedAttributes = r.Uint()
		case wire.Tag(spanDroppedEvents, wire.Varint):
			f.droppedEvents = r.Uint()
		case wire.Tag(spanDroppedLinks, wire.Varint):
			f.droppedLinks = r.Uint()
		case wire.Tag(spanStatus, wire.Len):
			f.status(r.Bytes())
		case wire.Tag(spanAttributes, wire.Len):
			f.thread.attribute(r.Bytes())
		case wire.Tag(spanLinks, wire.Len):
			f.numLinks++
		}
	}
	return f
}

func (f *spanFields) status(encoded []byte) {
	for r := wire.NewReader(encoded); r.Next(); {
		switch r.Tag() {
		case wire.Tag(statusMessage, wire.Len):
			f.statusMessage = r.Bytes()
		case wire.Tag(statusCode, wire.Varint):
			f.statusCode = r.Uint()
		}
	}
}

// links returns a Reader for the span's links; the Reader also returns other fields.
func (f *spanFields) links() *wire.Reader {
	r := wire.NewReader(f.encoded)
	if f.numLinks == 0 {
		r = wire.NewReader(nil)
	}
	return &r
}

// attribute reads an attribute that identifies a thread.
func (t *threadFields) attribute(encoded []byte) {
	key, value := readKeyValue(encoded)
	switch string(key) {
	case "thread.id":
		for r := wire.NewReader(value); r.Next(); {
			switch r.Tag() {
			case wire.Tag(valueInt, wire.Varint):
				t.id, t.hasID = r.Int(), true
			case wire.Tag(valueString, wire.Len):
				if id, err := strconv.ParseInt(string(r.Bytes()), 10, 64); err == nil {
					t.id, t.hasID = id, true
				}
			}
		}
	case "thread.name":
		t.name = textOf(value)
	}
}

// readKeyValue reads an attribute; value is an AnyValue.
func readKeyValue(encoded []byte) (key, value []byte) {
	for r := wire.NewReader(encoded); r.Next(); {
		switch r.Tag() {
		case wire.Tag(keyValueKey, wire.Len):
			key = r.Bytes()
		case wire.Tag(keyValueValue, wire.Len):
			value = r.Bytes()
		}
	}
	return key, value
}

// textOf returns the text in an AnyValue, or nil for any other value.
func textOf(value []byte) (text []byte) {
	for r := wire.NewReader(value); r.Next(); {
		if r.Tag() == wire.Tag(valueString, wire.Len) {
			text = r.Bytes()
		}
	}
	return text
}

// event is a span event.
type event struct {
	encoded []byte
	time    timeline.Nanos // NoTime: none
	name    []byte
	dropped uint64
}

func readEvent(encoded []byte) event {
	ev := event{encoded: encoded, time: timeline.NoTime}
	for r := wire.NewReader(encoded); r.Next(); {
		switch r.Tag() {
		case wire.Tag(eventTime, wire.Fixed64):
			ev.time = nanos(r.Uint())
		case wire.Tag(eventName, wire.Len):
			ev.name = r.Bytes()
		case wire.Tag(eventDropped, wire.Varint):
			ev.dropped = r.Uint()
		}
	}
	return ev
}

// linkKey returns the key of the span that a link refers to.
func linkKey(encoded []byte) (key spanKey) {
	for r := wire.NewReader(encoded); r.Next(); {
		switch r.Tag() {
		case wire.Tag(linkTraceID, wire.Len):
			key.trace = idOfTrace(r.Bytes())
		case wire.Tag(linkSpanID, wire.Len):
			key.id = idOfSpan(r.Bytes())
		}
	}
	return key
}
