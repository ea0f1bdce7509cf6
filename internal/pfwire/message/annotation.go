package message

import (
	"math"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// AnnotationKind is the form of a DebugAnnotation's value.
type AnnotationKind uint8

const (
	NoAnnotation AnnotationKind = iota
	BoolAnnotation
	UintAnnotation
	IntAnnotation
	DoubleAnnotation
	TextAnnotation
	PointerAnnotation
	NestedAnnotation // the old form, a NestedValue
	JSONAnnotation
	DictAnnotation
	ArrayAnnotation
	ProtoAnnotation
)

// annotationKinds maps field numbers to the kinds of their values.
var annotationKinds = [...]AnnotationKind{
	schema.DebugAnnotation_BoolValue:       BoolAnnotation,
	schema.DebugAnnotation_UintValue:       UintAnnotation,
	schema.DebugAnnotation_IntValue:        IntAnnotation,
	schema.DebugAnnotation_DoubleValue:     DoubleAnnotation,
	schema.DebugAnnotation_StringValue:     TextAnnotation,
	schema.DebugAnnotation_PointerValue:    PointerAnnotation,
	schema.DebugAnnotation_NestedValue:     NestedAnnotation,
	schema.DebugAnnotation_LegacyJSONValue: JSONAnnotation,
	schema.DebugAnnotation_DictEntries:     DictAnnotation,
	schema.DebugAnnotation_ArrayValues:     ArrayAnnotation,
	schema.DebugAnnotation_ProtoValue:      ProtoAnnotation,
	schema.DebugAnnotation_StringValueIID:  TextAnnotation,
}

// Annotation decodes a DebugAnnotation message (perfetto.md 2), except its members.
type Annotation struct {
	Name    []byte
	NameIID uint64 // 0: see Name

	Scalar
	Values  int    // number of values; all members of a list count as one
	Bytes   []byte // text, JSON, nested or proto value
	TextIID uint64 // iid of a text; 0: see Bytes

	TypeName    []byte // type name of a proto value
	TypeNameIID uint64 // 0: see TypeName

	msg []byte
}

// Scalar is the kind of an annotation and its value, if the value is a number or a boolean.
type Scalar struct {
	Kind   AnnotationKind
	scalar uint64
}

// Parse decodes msg.
func (a *Annotation) Parse(msg []byte) error { return a.parse(msg, false) }

// ParseHead decodes an annotation that weft encoded, but stops after the first member of a list; the name precedes the members.
func (a *Annotation) ParseHead(msg []byte) error { return a.parse(msg, true) }

func (a *Annotation) parse(msg []byte, head bool) error {
	*a = Annotation{msg: msg}
	last := 0
	r := wire.NewReader(msg)
	for r.Next() {
		switch f := r.Field(); f {
		case schema.DebugAnnotation_NameIID:
			a.Name, a.NameIID = nil, r.Uint()
		case schema.DebugAnnotation_Name:
			a.Name, a.NameIID = r.Bytes(), 0
		case schema.DebugAnnotation_ProtoTypeNameIID:
			a.TypeName, a.TypeNameIID = nil, r.Uint()
		case schema.DebugAnnotation_ProtoTypeName:
			a.TypeName, a.TypeNameIID = r.Bytes(), 0
		default:
			if f >= len(annotationKinds) || annotationKinds[f] == NoAnnotation {
				continue
			}
			a.Kind, a.scalar, a.Bytes, a.TextIID = annotationKinds[f], r.Uint(), r.Bytes(), 0
			if f == schema.DebugAnnotation_StringValueIID {
				a.TextIID = r.Uint()
			}
			if f != last || !a.IsList() {
				a.Values++
			}
			if last = f; head && a.IsList() {
				return nil
			}
		}
	}
	return r.Err()
}

// IsList reports whether the value is a dictionary or an array.
func (a *Annotation) IsList() bool { return a.Kind == DictAnnotation || a.Kind == ArrayAnnotation }

// Bool returns the value of a BoolAnnotation.
func (s Scalar) Bool() bool { return s.scalar != 0 }

// Uint returns the value of a UintAnnotation or PointerAnnotation.
func (s Scalar) Uint() uint64 { return s.scalar }

// Int returns the value of an IntAnnotation.
func (s Scalar) Int() int64 { return int64(s.scalar) }

// Double returns the value of a DoubleAnnotation.
func (s Scalar) Double() float64 { return math.Float64frombits(s.scalar) }

// Members returns the entries of a dictionary or the elements of an array, which are annotations. For other values, the List is
// empty.
func (a *Annotation) Members() List {
	switch a.Kind {
	case DictAnnotation:
		return newList(a.msg, schema.DebugAnnotation_DictEntries)
	case ArrayAnnotation:
		return newList(a.msg, schema.DebugAnnotation_ArrayValues)
	}
	return List{}
}

// NestedValue decodes a DebugAnnotation.NestedValue message, except its members. Its kind is bool, int, double, text,
// dictionary or array.
type NestedValue struct {
	Scalar
	Text []byte

	msg []byte
}

// Parse decodes msg.
func (v *NestedValue) Parse(msg []byte) error {
	*v = NestedValue{msg: msg}
	list := NoAnnotation
	r := wire.NewReader(msg)
	for r.Next() {
		switch r.Field() {
		case schema.DebugAnnotationNestedValue_NestedType:
			switch list = NoAnnotation; r.Uint() {
			case schema.DebugAnnotationNestedValue_Dict:
				list = DictAnnotation
			case schema.DebugAnnotationNestedValue_Array:
				list = ArrayAnnotation
			}
		case schema.DebugAnnotationNestedValue_IntValue:
			v.Kind, v.scalar = IntAnnotation, r.Uint()
		case schema.DebugAnnotationNestedValue_DoubleValue:
			v.Kind, v.scalar = DoubleAnnotation, r.Uint()
		case schema.DebugAnnotationNestedValue_BoolValue:
			v.Kind, v.scalar = BoolAnnotation, r.Uint()
		case schema.DebugAnnotationNestedValue_StringValue:
			v.Kind, v.Text = TextAnnotation, r.Bytes()
		}
	}
	if list != NoAnnotation {
		v.Kind = list
	}
	return r.Err()
}

// Keys returns the keys of a dictionary, which are texts and correspond to its Values by position.
func (v *NestedValue) Keys() List { return newList(v.msg, schema.DebugAnnotationNestedValue_DictKeys) }

// Values returns the values of a dictionary or array, which are NestedValues.
func (v *NestedValue) Values() List {
	if v.Kind == DictAnnotation {
		return newList(v.msg, schema.DebugAnnotationNestedValue_DictValues)
	}
	return newList(v.msg, schema.DebugAnnotationNestedValue_ArrayValues)
}
