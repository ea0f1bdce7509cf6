package perfetto

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"slices"

	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/wire"
)

// maxDescriptor limits the unpacked size of an extension descriptor. Chrome's has 84 KB.
const maxDescriptor = 16 << 20

// extensionDescriptor adds the types from the trace's descriptor of typed fields (perfetto.md 9).
func (r *reader) extensionDescriptor(msg []byte) {
	set, err := descriptorSet(msg)
	if err == nil {
		err = r.extensions.add(set)
	}
	if err != nil {
		r.malformed("extension_descriptor", err)
	}
}

// descriptorSet returns the unpacked FileDescriptorSet in an ExtensionDescriptor.
func descriptorSet(msg []byte) ([]byte, error) {
	var d message.ExtensionDescriptor
	if err := d.Parse(msg); err != nil || d.SetGzip() == nil {
		return d.Set(), err
	}
	return gunzip(d.SetGzip())
}

func gunzip(packed []byte) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	set, err := io.ReadAll(io.LimitReader(z, maxDescriptor+1))
	if len(set) > maxDescriptor {
		return nil, fmt.Errorf("more than %d bytes", maxDescriptor)
	}
	return set, err
}

// Field numbers in google/protobuf/descriptor.proto that are needed to read typed event fields.
const (
	setFile = 1 // in FileDescriptorSet

	filePackage   = 2 // in FileDescriptorProto
	fileMessage   = 4
	fileEnum      = 5
	fileExtension = 7

	descriptorName = 1 // in all messages below

	messageField     = 2 // in DescriptorProto
	messageNested    = 3
	messageEnum      = 4
	messageExtension = 6

	fieldExtendee = 2 // in FieldDescriptorProto
	fieldNumber   = 3
	fieldLabel    = 4
	fieldType     = 5
	fieldTypeName = 6

	labelRepeated = 3 // value of FieldDescriptorProto.Label

	enumValue = 2 // in EnumDescriptorProto

	enumNumber = 2 // in EnumValueDescriptorProto
)

// maxNestedTypes limits how deeply message types are nested.
const maxNestedTypes = 32

// add adds the messages, enums and extensions of TrackEvent in an encoded FileDescriptorSet. Earlier definitions take
// precedence. On an error, it keeps the definitions read so far.
func (s *describedTypes) add(set []byte) error {
	if s.messages == nil {
		s.messages = make(map[string]*describedType)
		s.enums = make(map[string]map[int32]string)
		s.extensions = describedType{fields: make(map[int]*field)}
	}
	return eachMessage(set, func(number int, file []byte) error {
		if number != setFile {
			return nil
		}
		return s.addFile(file)
	})
}

// eachMessage calls do with each length-delimited field of a message.
func eachMessage(msg []byte, do func(number int, content []byte) error) error {
	r := wire.NewReader(msg)
	for r.Next() {
		if r.Type() != wire.Len {
			continue
		}
		if err := do(r.Field(), r.Bytes()); err != nil {
			return err
		}
	}
	return r.Err()
}

// textOf returns the last text in a message with the given field number.
func textOf(msg []byte, number int) (text string) {
	for r := wire.NewReader(msg); r.Next(); {
		if r.Field() == number && r.Type() == wire.Len {
			text = string(r.Bytes())
		}
	}
	return text
}

func (s *describedTypes) addFile(file []byte) error {
	scope := textOf(file, filePackage)
	if scope != "" {
		scope = "." + scope
	}
	return eachMessage(file, func(number int, content []byte) error {
		switch number {
		case fileMessage:
			return s.addMessage(scope, content, 0)
		case fileEnum:
			return s.addEnum(scope, content)
		case fileExtension:
			return s.addExtension(content)
		}
		return nil
	})
}

func (s *describedTypes) addMessage(scope string, msg []byte, depth int) error {
	if depth >= maxNestedTypes {
		return nil
	}
	m := &describedType{name: textOf(msg, descriptorName), fields: make(map[int]*field)}
	name := scope + "." + m.name
	err := eachMessage(msg, func(number int, content []byte) error {
		switch number {
		case messageField:
			f, err := newField(content)
			m.fields[f.number] = f
			return err
		case messageNested:
			return s.addMessage(name, content, depth+1)
		case messageEnum:
			return s.addEnum(name, content)
		case messageExtension:
			return s.addExtension(content)
		}
		return nil
	})
	if s.messages[name] == nil {
		s.messages[name] = m
	}
	return err
}

func (s *describedTypes) addEnum(scope string, enum []byte) error {
	names := make(map[int32]string)
	err := eachMessage(enum, func(number int, value []byte) error {
		if number != enumValue {
			return nil
		}
		n := int32(0)
		r := wire.NewReader(value)
		for r.Next() {
			if r.Field() == enumNumber && r.Type() == wire.Varint {
				n = int32(r.Int())
			}
		}
		if _, ok := names[n]; !ok {
			names[n] = textOf(value, descriptorName)
		}
		return r.Err()
	})
	s.enums[scope+"."+textOf(enum, descriptorName)] = names
	return err
}

func (s *describedTypes) addExtension(msg []byte) error {
	if textOf(msg, fieldExtendee) != ".perfetto.protos.TrackEvent" {
		return nil
	}
	f, err := newField(msg)
	if s.extensions.fields[f.number] == nil {
		s.extensions.fields[f.number] = f
	}
	return err
}

// newField reads a FieldDescriptorProto.
func newField(msg []byte) (*field, error) {
	f := &field{name: textOf(msg, descriptorName), kind: kindDouble, typeName: textOf(msg, fieldTypeName)}
	r := wire.NewReader(msg)
	for r.Next() {
		if r.Type() != wire.Varint {
			continue
		}
		switch r.Field() {
		case fieldNumber:
			f.number = int(int32(r.Int()))
		case fieldLabel:
			f.repeated = r.Int() == labelRepeated
		case fieldType:
			f.kind = fieldKind(r.Int())
		}
	}
	return f, r.Err()
}

// occurrence is one field of the message being decoded.
type occurrence struct {
	field *field
	typ   int // wire type
	value uint64
	bytes []byte
}

// sortOccurrences sorts by field number, so that the occurrences of repeated fields are grouped.
func sortOccurrences(all []occurrence) {
	byNumber := func(a, b occurrence) int { return a.field.number - b.field.number }
	if !slices.IsSortedFunc(all, byNumber) {
		slices.SortStableFunc(all, byNumber)
	}
}
