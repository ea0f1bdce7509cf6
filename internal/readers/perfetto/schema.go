package perfetto

import (
	"encoding/base64"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// fieldKind is the type of a field, numbered as in FieldDescriptorProto.Type of google/protobuf/descriptor.proto.
type fieldKind int32

const (
	kindDouble   fieldKind = 1
	kindFloat    fieldKind = 2
	kindInt64    fieldKind = 3
	kindUint64   fieldKind = 4
	kindInt32    fieldKind = 5
	kindFixed64  fieldKind = 6
	kindFixed32  fieldKind = 7
	kindBool     fieldKind = 8
	kindString   fieldKind = 9
	kindGroup    fieldKind = 10
	kindMessage  fieldKind = 11
	kindBytes    fieldKind = 12
	kindUint32   fieldKind = 13
	kindEnum     fieldKind = 14
	kindSfixed32 fieldKind = 15
	kindSfixed64 fieldKind = 16
	kindSint32   fieldKind = 17
	kindSint64   fieldKind = 18
)

// describedTypes contains the typed event fields that the trace describes, and their types.
type describedTypes struct {
	extensions describedType
	messages   map[string]*describedType // by full name with a leading dot
	enums      map[string]map[int32]string
}

// describedType is a message type.
type describedType struct {
	name   string
	fields map[int]*field
}

// field is a field of a message type, or an extension of TrackEvent.
type field struct {
	number   int
	name     string
	kind     fieldKind
	repeated bool
	typeName string // for messages and enums
	inline   *describedType
}

// message returns the message type with this name, with or without a leading dot, or nil.
func (s *describedTypes) message(name string) *describedType {
	if name == "" {
		return nil
	}
	if name[0] != '.' {
		name = "." + name
	}
	return s.messages[name]
}

// chromeFields are TrackEvent's own fields for Chrome. They are older than the extensions and missing from the
// descriptors in traces.
var chromeFields = describedType{name: "TrackEvent", fields: fieldMap(
	chromeField(25, "chrome_user_event", scalar(1, "action", kindString), scalar(2, "action_hash", kindUint64)),
	chromeField(26, "chrome_keyed_service", scalar(1, "name", kindString)),
	chromeField(28, "chrome_histogram_sample", scalar(1, "name_hash", kindUint64), scalar(2, "name", kindString),
		scalar(3, "sample", kindInt64), scalar(4, "name_iid", kindUint64)),
	chromeField(35, "chrome_message_pump", scalar(1, "sent_messages_in_queue", kindBool),
		scalar(2, "io_handler_location_iid", kindUint64)),
	chromeField(38, "chrome_mojo_event_info", scalar(1, "watcher_notify_interface_tag", kindString),
		scalar(2, "ipc_hash", kindUint32), scalar(3, "mojo_interface_tag", kindString),
		scalar(4, "mojo_interface_method_iid", kindUint64), scalar(5, "is_reply", kindBool),
		scalar(6, "payload_size", kindUint64), scalar(7, "data_num_bytes", kindUint64)),
	chromeField(41, "chrome_window_handle_event_info", scalar(1, "dpi", kindUint32),
		scalar(2, "message_id", kindUint32), scalar(3, "hwnd_ptr", kindFixed64)),
	chromeField(43, "chrome_content_settings_event_info", scalar(1, "number_of_exceptions", kindUint32)),
	chromeField(49, "chrome_active_processes", &field{number: 1, name: "pid", kind: kindInt32, repeated: true}),
	chromeField(50, "screenshot", scalar(1, "jpg_image", kindBytes)),
)}

func scalar(number int, name string, kind fieldKind) *field {
	return &field{number: number, name: name, kind: kind}
}

func chromeField(number int, name string, members ...*field) *field {
	return &field{number: number, name: name, kind: kindMessage, inline: &describedType{name: name, fields: fieldMap(members...)}}
}

func fieldMap(fields ...*field) map[int]*field {
	m := make(map[int]*field, len(fields))
	for _, f := range fields {
		m[f.number] = f
	}
	return m
}

// firstExtension and lastExtension delimit the field numbers of TrackEvent's extensions.
const (
	firstExtension = 1000
	lastExtension  = 9999
)

// encodeTyped encodes the typed fields of the current event as arguments named after the fields.
func (r *reader) encodeTyped(args *timeline.ArgsEncoder) {
	if len(r.ev.Other) == 0 {
		return
	}
	base := len(r.occurs)
	for _, t := range r.ev.Other {
		f := chromeFields.fields[t.Number]
		if t.Number >= firstExtension && t.Number <= lastExtension {
			f = r.extensions.extensions.fields[t.Number]
		}
		if f == nil {
			r.notConverted(fmt.Sprintf("TrackEvent field %d", t.Number))
			continue
		}
		r.occurs = append(r.occurs, occurrence{f, t.Type, t.Value, t.Bytes})
	}
	r.encodeOccurrences(args, base, 0)
}

// encodeMessage encodes the fields of a message as members of the open dictionary.
func (r *reader) encodeMessage(args *timeline.ArgsEncoder, m *describedType, msg []byte, depth int) {
	if depth >= maxArgDepth {
		r.notConverted("arguments nested deeper than 512 levels")
		return
	}
	base := len(r.occurs)
	w := wire.NewReader(msg)
	for w.Next() {
		f := m.fields[w.Field()]
		if f == nil {
			r.notConverted(fmt.Sprintf("%s field %d", m.name, w.Field()))
			continue
		}
		r.occurs = append(r.occurs, occurrence{f, w.Type(), w.Uint(), w.Bytes()})
	}
	if err := w.Err(); err != nil {
		r.malformed(m.name, err)
	}
	r.encodeOccurrences(args, base, depth)
}

// Perfetto's own types that extensions use. The descriptors in traces lack them.
const (
	typeDebugAnnotation = ".perfetto.protos.DebugAnnotation"
	typeSourceLocation  = ".perfetto.protos.SourceLocation"
)

// encodeOccurrences encodes the fields on the stack from base on and removes them. All occurrences of a repeated field
// form an array. Debug annotations keep their own names, as in Perfetto.
func (r *reader) encodeOccurrences(args *timeline.ArgsEncoder, base, depth int) {
	end := len(r.occurs)
	sortOccurrences(r.occurs[base:end])
	for i := base; i < end; {
		f := r.occurs[i].field
		if f.typeName == typeDebugAnnotation {
			r.encodeAnnotation(args, r.occurs[i].bytes, true, depth+1)
			i++
			continue
		}
		skip := depth == 0 && !r.wants(f.name)
		if !skip {
			args.Key([]byte(f.name))
		}
		if !f.repeated {
			if !skip {
				r.encodeField(args, r.occurs[i], depth)
			}
			i++
			continue
		}
		if !skip {
			args.BeginArray()
		}
		for ; i < end && r.occurs[i].field == f; i++ {
			if !skip {
				r.encodePacked(args, r.occurs[i], depth)
			}
		}
		if !skip {
			args.EndArray()
		}
	}
	r.occurs = r.occurs[:base]
}

// encodePacked encodes one occurrence of a repeated field, which can be packed.
func (r *reader) encodePacked(args *timeline.ArgsEncoder, o occurrence, depth int) {
	want := wireType(o.field.kind)
	if o.typ != wire.Len || want == wire.Len {
		r.encodeField(args, o, depth)
		return
	}
	packed := o.bytes
	o.typ = want
	for len(packed) > 0 {
		var n int
		switch want {
		case wire.Varint:
			o.value, n = protowire.ConsumeVarint(packed)
		case wire.Fixed64:
			o.value, n = protowire.ConsumeFixed64(packed)
		case wire.Fixed32:
			var v uint32
			v, n = protowire.ConsumeFixed32(packed)
			o.value = uint64(v)
		}
		if n < 0 {
			r.malformed(o.field.name, protowire.ParseError(n))
			return
		}
		packed = packed[n:]
		r.encodeField(args, o, depth)
	}
}

// encodeField encodes one value.
func (r *reader) encodeField(args *timeline.ArgsEncoder, o occurrence, depth int) {
	f := o.field
	if o.typ != wireType(f.kind) {
		r.notConverted(fmt.Sprintf("field %s with a wire type that differs from its descriptor", f.name))
		return
	}
	switch f.kind {
	case kindDouble:
		args.Double(math.Float64frombits(o.value))
	case kindFloat:
		args.Double(float64(math.Float32frombits(uint32(o.value))))
	case kindBool:
		args.Bool(o.value != 0)
	case kindString:
		args.String(r.validText(o.bytes))
	case kindBytes:
		args.String(base64.StdEncoding.AppendEncode(nil, o.bytes))
	case kindSint32, kindSint64:
		args.Int(protowire.DecodeZigZag(o.value))
	case kindInt32, kindSfixed32:
		args.Int(int64(int32(o.value)))
	case kindInt64, kindSfixed64:
		args.Int(int64(o.value))
	case kindEnum:
		if name, ok := r.extensions.enums[f.typeName][int32(o.value)]; ok {
			args.String([]byte(name))
			return
		}
		args.Int(int64(int32(o.value)))
	case kindMessage:
		r.encodeSubmessage(args, o, depth)
	default:
		args.Uint(o.value)
	}
}

func (r *reader) encodeSubmessage(args *timeline.ArgsEncoder, o occurrence, depth int) {
	m := o.field.inline
	switch {
	case o.field.typeName == typeSourceLocation:
		r.encodeLocation(args, o.bytes)
		return
	case m == nil:
		m = r.extensions.messages[o.field.typeName]
	}
	args.BeginDict()
	defer args.EndDict()
	if m == nil {
		r.notConverted(fmt.Sprintf("field %s of the undescribed type %s", o.field.name, o.field.typeName))
		return
	}
	r.encodeMessage(args, m, o.bytes, depth+1)
}

// wireType returns the wire type of a field type, or -1 for groups.
func wireType(kind fieldKind) int {
	switch kind {
	case kindDouble, kindFixed64, kindSfixed64:
		return wire.Fixed64
	case kindFloat, kindFixed32, kindSfixed32:
		return wire.Fixed32
	case kindString, kindBytes, kindMessage:
		return wire.Len
	case kindGroup:
		return -1
	}
	return wire.Varint
}
