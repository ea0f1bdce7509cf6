package perfetto

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/weft-trace/weft/internal/pfwire/message"
)

// maxDescriptor bounds the unpacked size of an extension descriptor. Chrome's is 84 KB.
const maxDescriptor = 16 << 20

// extensionDescriptor takes over the descriptor of typed fields that a trace brings along (perfetto.md 9).
func (r *reader) extensionDescriptor(msg []byte) {
	set, err := descriptorSet(msg)
	if err == nil {
		err = r.extensions.add(set)
	}
	if err != nil {
		r.malformed("extension_descriptor", err)
	}
}

// descriptorSet returns the FileDescriptorSet in an ExtensionDescriptor, unpacked.
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

// add takes over the messages, enums and extensions of TrackEvent of an encoded FileDescriptorSet. What an earlier one
// defines stays.
func (s *describedTypes) add(set []byte) error {
	var files descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(set, &files); err != nil {
		return err
	}
	if s.messages == nil {
		s.messages = make(map[string]*describedType)
		s.enums = make(map[string]map[int32]string)
		s.extensions = describedType{fields: make(map[int]*field)}
	}
	for _, file := range files.GetFile() {
		scope := "." + file.GetPackage()
		if file.GetPackage() == "" {
			scope = ""
		}
		s.addExtensions(file.GetExtension())
		s.addEnums(scope, file.GetEnumType())
		s.addMessages(scope, file.GetMessageType(), 0)
	}
	return nil
}

// maxNestedTypes bounds how deep message types are declared inside each other.
const maxNestedTypes = 32

func (s *describedTypes) addMessages(scope string, types []*descriptorpb.DescriptorProto, depth int) {
	if depth >= maxNestedTypes {
		return
	}
	for _, t := range types {
		name := scope + "." + t.GetName()
		s.addExtensions(t.GetExtension())
		s.addEnums(name, t.GetEnumType())
		s.addMessages(name, t.GetNestedType(), depth+1)
		if s.messages[name] != nil {
			continue
		}
		m := &describedType{name: t.GetName(), fields: make(map[int]*field, len(t.GetField()))}
		for _, f := range t.GetField() {
			m.fields[int(f.GetNumber())] = newField(f)
		}
		s.messages[name] = m
	}
}

func (s *describedTypes) addEnums(scope string, enums []*descriptorpb.EnumDescriptorProto) {
	for _, e := range enums {
		names := make(map[int32]string, len(e.GetValue()))
		for _, v := range e.GetValue() {
			if _, ok := names[v.GetNumber()]; !ok {
				names[v.GetNumber()] = v.GetName()
			}
		}
		s.enums[scope+"."+e.GetName()] = names
	}
}

func (s *describedTypes) addExtensions(fields []*descriptorpb.FieldDescriptorProto) {
	for _, f := range fields {
		n := int(f.GetNumber())
		if f.GetExtendee() == ".perfetto.protos.TrackEvent" && s.extensions.fields[n] == nil {
			s.extensions.fields[n] = newField(f)
		}
	}
}

func newField(f *descriptorpb.FieldDescriptorProto) *field {
	return &field{
		number:   int(f.GetNumber()),
		name:     f.GetName(),
		kind:     f.GetType(),
		repeated: f.GetLabel() == descriptorpb.FieldDescriptorProto_LABEL_REPEATED,
		typeName: f.GetTypeName(),
	}
}

// occurrence is one field of a message that is being decoded.
type occurrence struct {
	field *field
	typ   int // of the wire
	value uint64
	bytes []byte
}

// sortOccurrences brings the occurrences of a repeated field together.
func sortOccurrences(all []occurrence) {
	byNumber := func(a, b occurrence) int { return a.field.number - b.field.number }
	if !slices.IsSortedFunc(all, byNumber) {
		slices.SortStableFunc(all, byNumber)
	}
}
