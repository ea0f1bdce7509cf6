package otlp

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// encoder encodes the attributes and other properties of spans as arguments (section 4). Attributes keep their names;
// the fields of spans, events and resources go into the dictionary weft, whose name no attribute can have.
type encoder struct {
	*timeline.ArgsEncoder
	log  *problem.Log
	keep timeline.ArgFilter
	at   problem.Position // position of the current span

	names   map[string]timeline.KeyID // ids of weft's own keys
	request []byte                    // name of the request that starts with the span, or empty
	digits  []byte                    // scratch
	list    []attribute               // scratch
}

// attribute is an attribute that is not yet written. Its key is the part of its name after the names of the enclosing
// dictionaries.
type attribute struct {
	key, value []byte
	in         []byte // name of the attribute's dictionary, or nil
	done       bool
}

// The parts of attribute names form nested dictionaries, up to maxNested levels, unless there are more than
// maxAttributes attributes.
const (
	maxNested     = 8
	maxAttributes = 128
)

// maxInternedText limits the length of texts that are interned.
const maxInternedText = 256

// attributes writes the attributes of a message. The parameter number is their field number.
func (e *encoder) attributes(encoded []byte, number int) {
	e.list = e.list[:0]
	for r := wire.NewReader(encoded); r.Next(); {
		if r.Tag() == wire.Tag(number, wire.Len) {
			if key, value := readKeyValue(r.Bytes()); e.keep.Keeps(key) {
				e.list = append(e.list, attribute{key: e.text(key), value: value})
			}
		}
	}
	levels := maxNested
	if len(e.list) > maxAttributes {
		levels = 0
	}
	e.nest(e.list, levels)
}

// nest writes attributes, with all members of a dictionary at the position of its first member.
func (e *encoder) nest(list []attribute, levels int) {
	for i := range list {
		list[i].in = list[i].dictionary(list, levels)
	}
	for i := range list {
		switch a := &list[i]; {
		case a.done:
		case a.in == nil:
			e.Key(a.key)
			e.value(a.value, 1, false)
		default:
			from := len(e.list)
			for j := i; j < len(list); j++ {
				if b := &list[j]; bytes.Equal(b.in, a.in) {
					e.list = append(e.list, attribute{key: b.key[len(a.in)+1:], value: b.value})
					b.done = true
				}
			}
			e.Key(a.in)
			e.BeginDict()
			e.nest(e.list[from:], levels-1)
			e.EndDict()
			e.list = e.list[:from]
		}
	}
}

// dictionary returns the name of an attribute's dictionary: the part of its name before the first dot, or nil. Neither
// the name of another attribute nor weft is a dictionary: names that start with "weft." stay whole
// (timeline.IsOwnName).
func (a *attribute) dictionary(list []attribute, levels int) []byte {
	name, rest, _ := bytes.Cut(a.key, []byte{'.'})
	if levels == 0 || len(name) == 0 || len(rest) == 0 || string(name) == timeline.OwnArgs {
		return nil
	}
	if slices.ContainsFunc(list, func(other attribute) bool { return bytes.Equal(other.key, name) }) {
		return nil
	}
	return name
}

// value writes an AnyValue after its key or in an array. Arguments cannot be empty, but the presence of an attribute
// may be significant. So an empty value becomes text; an empty list or map becomes text only outside arrays. A number
// that JSON cannot represent arrives as null, which is empty too.
func (e *encoder) value(encoded []byte, depth int, inArray bool) {
	var last wire.Reader // the last field of a oneof counts
	found := false
	for r := wire.NewReader(encoded); r.Next(); {
		last, found = r, true
	}
	if !found {
		e.InternedString("null")
		return
	}
	tag := last.Tag()
	if empty := emptyText(tag, last.Bytes); empty != "" && !inArray {
		e.InternedString(empty)
		return
	}
	if depth > maxDepth && (tag == wire.Tag(valueArray, wire.Len) || tag == wire.Tag(valueKVList, wire.Len)) {
		e.log.Add(problem.ArgDepthLimit, e.at, "")
		e.base64(last.Bytes())
		return
	}
	switch tag {
	case wire.Tag(valueString, wire.Len):
		e.textValue(last.Bytes())
	case wire.Tag(valueBool, wire.Varint):
		e.Bool(last.Bool())
	case wire.Tag(valueInt, wire.Varint):
		e.Int(last.Int())
	case wire.Tag(valueDouble, wire.Fixed64):
		e.Double(last.Double())
	case wire.Tag(valueBytes, wire.Len):
		e.base64(last.Bytes())
	case wire.Tag(valueArray, wire.Len):
		e.BeginArray()
		for r := wire.NewReader(last.Bytes()); r.Next(); {
			if r.Tag() == wire.Tag(listValues, wire.Len) {
				e.value(r.Bytes(), depth+1, true)
			}
		}
		e.EndArray()
	case wire.Tag(valueKVList, wire.Len):
		e.BeginDict()
		for r := wire.NewReader(last.Bytes()); r.Next(); {
			if r.Tag() == wire.Tag(listValues, wire.Len) {
				key, value := readKeyValue(r.Bytes())
				e.Key(e.text(key))
				e.value(value, depth+1, false)
			}
		}
		e.EndDict()
	default:
		e.log.Add(problem.OTLPValueInvalid, e.at, "a value of an unknown type")
		e.Null()
	}
}

// emptyText returns the text for an empty array or key-value list, "" for any other value.
func emptyText(tag uint32, content func() []byte) string {
	text := ""
	switch tag {
	case wire.Tag(valueArray, wire.Len):
		text = "[]"
	case wire.Tag(valueKVList, wire.Len):
		text = "{}"
	default:
		return ""
	}
	for r := wire.NewReader(content()); r.Next(); {
		if r.Tag() == wire.Tag(listValues, wire.Len) {
			return ""
		}
	}
	return text
}

func (e *encoder) base64(v []byte) {
	e.String(base64.StdEncoding.AppendEncode(nil, v))
}

func (e *encoder) textValue(v []byte) {
	if v = e.text(v); len(v) <= maxInternedText {
		e.InternedText(v)
	} else {
		e.String(v)
	}
}

// text returns text from the input as valid UTF-8, which protobuf requires but not all producers write.
func (e *encoder) text(v []byte) []byte {
	if utf8.Valid(v) {
		return v
	}
	e.log.Add(problem.JSONInvalidUTF8, e.at, "")
	return validText(v)
}

func validText(v []byte) []byte { return bytes.ToValidUTF8(v, []byte("\ufffd")) }

// beginWeft opens the dictionary of arguments that weft adds.
func (e *encoder) beginWeft() {
	e.OwnKey([]byte(timeline.OwnArgs))
	e.BeginDict()
}

// name writes one of weft's own keys in a dictionary.
func (e *encoder) name(key string) {
	if id, ok := e.names[key]; ok {
		e.KeyWithID(id)
		return
	}
	e.Key([]byte(key))
	if id := e.KeyID(); id != 0 {
		e.names[key] = id
	}
}

// hex writes an id in hex unless the id is empty. If repeats is set, it interns the id.
func (e *encoder) hex(key string, id []byte, repeats bool) {
	if len(id) == 0 {
		return
	}
	e.name(key)
	e.digits = hex.AppendEncode(e.digits[:0], id)
	text := e.digits
	if repeats && len(text) <= maxInternedText {
		e.InternedText(text)
	} else {
		e.String(text)
	}
}

// optionalText writes nonempty text; number writes a nonzero number.
func (e *encoder) optionalText(key string, v []byte) {
	if len(v) > 0 {
		e.name(key)
		e.textValue(v)
	}
}

func (e *encoder) number(key string, v uint64) {
	if v != 0 {
		e.name(key)
		e.Uint(v)
	}
}

// dropped writes the number of items that the producer dropped, and counts these items.
func (e *encoder) dropped(key string, n uint64) {
	e.number(key, n)
	e.log.AddN(problem.ProducerDataLoss, n, e.at, key)
}

// enum writes the name of an enum value unless the value is 0.
func (e *encoder) enum(key string, names []string, v uint64) {
	switch {
	case v == 0:
	case v < uint64(len(names)):
		e.name(key)
		e.InternedString(names[v])
	default:
		e.number(key, v)
	}
}

// duplicates counts duplicate and omitted attributes.
func (e *encoder) duplicates() {
	e.log.AddN(problem.AttributeDuplicate, uint64(e.Duplicates()), e.at, "")
	e.CountOmitted(e.log, e.at)
}

// span returns the arguments of a span. The parameter resource is nil except for the first span of a resource.
func (e *encoder) span(f *spanFields, h *head, scope *scope, resource *entry) timeline.Args {
	e.Reset()
	e.attributes(f.encoded, spanAttributes)
	e.beginWeft()
	e.hex("trace_id", f.traceID, true)
	e.hex("span_id", f.spanID, false)
	e.hex("parent_span_id", f.parentSpanID, false)
	e.enum("kind", spanKinds, f.kind)
	e.enum("status", statusCodes, f.statusCode)
	e.optionalText("status_message", f.statusMessage)
	e.optionalText("request", e.text(e.request))
	e.optionalText("trace_state", f.traceState)
	e.number("flags", f.flags)
	e.dropped("dropped_attributes", f.droppedAttributes)
	e.dropped("dropped_events", f.droppedEvents)
	e.dropped("dropped_links", f.droppedLinks)
	if h.flags&endedAtStart != 0 {
		e.name("end_time_unix_nano")
		e.Uint(endOf(f.encoded))
	}
	e.scope(scope)
	e.resource(resource)
	e.linkList(f)
	e.EndDict()
	e.duplicates()
	return e.Args()
}

// endOf returns the end time of a span as written.
func endOf(encoded []byte) (end uint64) {
	for r := wire.NewReader(encoded); r.Next(); {
		if r.Tag() == wire.Tag(spanEnd, wire.Fixed64) {
			end = r.Uint()
		}
	}
	return end
}

// scope writes the contents of a scope except its name.
func (e *encoder) scope(s *scope) {
	if s.bare && len(s.schemas) == 0 {
		return
	}
	e.name("scope")
	e.BeginDict()
	e.optionalText("version", s.version)
	e.attributesDict(s.encoded, scopeAttributes)
	e.number("dropped_attributes", s.dropped)
	e.schemas(s.schemas)
	e.EndDict()
}

// attributesDict writes attributes into a separate dictionary.
func (e *encoder) attributesDict(encoded []byte, number int) {
	e.name("attributes")
	e.BeginDict()
	e.attributes(encoded, number)
	e.EndDict()
}

func (e *encoder) schemas(urls []string) {
	switch len(urls) {
	case 0:
	case 1:
		e.name("schema_url")
		e.InternedString(urls[0])
	default:
		e.name("schema_url")
		e.BeginArray()
		for _, url := range urls {
			e.InternedString(url)
		}
		e.EndArray()
	}
}

// linkList writes the links of a span. Links to spans in the input also become arrows.
func (e *encoder) linkList(f *spanFields) {
	if f.numLinks == 0 {
		return
	}
	e.name("links")
	e.BeginArray()
	for r := f.links(); r.Next(); {
		if r.Tag() == wire.Tag(spanLinks, wire.Len) {
			e.link(r.Bytes())
		}
	}
	e.EndArray()
}

func (e *encoder) link(encoded []byte) {
	e.BeginDict()
	for r := wire.NewReader(encoded); r.Next(); {
		switch r.Tag() {
		case wire.Tag(linkTraceID, wire.Len):
			e.hex("trace_id", r.Bytes(), true)
		case wire.Tag(linkSpanID, wire.Len):
			e.hex("span_id", r.Bytes(), false)
		case wire.Tag(linkTraceState, wire.Len):
			e.optionalText("trace_state", r.Bytes())
		case wire.Tag(linkFlags, wire.Fixed32):
			e.number("flags", r.Uint())
		case wire.Tag(linkDropped, wire.Varint):
			e.dropped("dropped_attributes", r.Uint())
		}
	}
	e.attributesDict(encoded, linkAttributes)
	e.EndDict()
}

func (e *encoder) event(ev *event, spanID []byte) timeline.Args {
	e.Reset()
	e.attributes(ev.encoded, eventAttributes)
	e.beginWeft()
	e.hex("span_id", spanID, false)
	e.dropped("dropped_attributes", ev.dropped)
	e.EndDict()
	e.duplicates()
	return e.Args()
}

// resource writes the contents of a resource.
func (e *encoder) resource(r *entry) {
	if r == nil {
		return
	}
	e.name("resource")
	e.BeginDict()
	e.attributesDict(r.encoded, resourceAttributes)
	e.schemas(r.schemas)
	var dropped uint64
	for f := wire.NewReader(r.encoded); f.Next(); {
		if f.Tag() == wire.Tag(resourceDropped, wire.Varint) {
			dropped = f.Uint()
		}
	}
	e.dropped("dropped_attributes", dropped)
	e.entities(r.encoded)
	e.EndDict()
}

// entities writes the entities of a resource, with the names of their attributes.
func (e *encoder) entities(resource []byte) {
	e.name("entities")
	e.BeginArray()
	for r := wire.NewReader(resource); r.Next(); {
		if r.Tag() == wire.Tag(resourceEntityRefs, wire.Len) {
			e.entity(r.Bytes())
		}
	}
	e.EndArray()
}

func (e *encoder) entity(encoded []byte) {
	e.BeginDict()
	for r := wire.NewReader(encoded); r.Next(); {
		switch r.Tag() {
		case wire.Tag(entitySchemaURL, wire.Len):
			e.optionalText("schema_url", r.Bytes())
		case wire.Tag(entityType, wire.Len):
			e.optionalText("type", r.Bytes())
		}
	}
	e.texts("id_keys", encoded, entityIDKeys)
	e.texts("description_keys", encoded, entityDescriptionKeys)
	e.EndDict()
}

// texts writes the texts of a repeated field.
func (e *encoder) texts(key string, encoded []byte, number int) {
	e.name(key)
	e.BeginArray()
	for r := wire.NewReader(encoded); r.Next(); {
		if r.Tag() == wire.Tag(number, wire.Len) {
			e.textValue(r.Bytes())
		}
	}
	e.EndArray()
}
