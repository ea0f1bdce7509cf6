package perfetto

import (
	"encoding/base64"

	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
	"github.com/weft-trace/weft/internal/wire"
)

// maxArgDepth is the number of levels that arguments may be nested, as in the other formats.
const maxArgDepth = 512

// annotationKind says in which form a DebugAnnotation has its value.
type annotationKind uint8

const (
	annotationEmpty annotationKind = iota
	annotationBool
	annotationUint
	annotationInt
	annotationDouble
	annotationText
	annotationPointer
	annotationNested // the old form, a NestedValue
	annotationJSON
	annotationDict
	annotationArray
	annotationProto
)

// annotation is a DebugAnnotation (perfetto.md 2) without its members.
type annotation struct {
	name  []byte
	kind  annotationKind
	value wire.Reader // stands at the value of a scalar
	bytes []byte      // text, JSON, nested or proto value; the whole message of a dictionary or array
	proto []byte      // name of the type of a proto value
}

// annotationKinds gives the form of a value by the number of its field.
var annotationKinds = [...]annotationKind{
	schema.DebugAnnotation_BoolValue:       annotationBool,
	schema.DebugAnnotation_UintValue:       annotationUint,
	schema.DebugAnnotation_IntValue:        annotationInt,
	schema.DebugAnnotation_DoubleValue:     annotationDouble,
	schema.DebugAnnotation_StringValue:     annotationText,
	schema.DebugAnnotation_PointerValue:    annotationPointer,
	schema.DebugAnnotation_NestedValue:     annotationNested,
	schema.DebugAnnotation_LegacyJSONValue: annotationJSON,
	schema.DebugAnnotation_DictEntries:     annotationDict,
	schema.DebugAnnotation_ArrayValues:     annotationArray,
	schema.DebugAnnotation_ProtoValue:      annotationProto,
	schema.DebugAnnotation_StringValueIID:  annotationText,
}

func (r *reader) parseAnnotation(msg []byte) (annotation, error) {
	var a annotation
	w := wire.NewReader(msg)
	for w.Next() {
		switch f := w.Field(); f {
		case schema.DebugAnnotation_NameIID:
			a.name = r.internedText(pfwire.InternedAnnotationNames, w.Uint())
		case schema.DebugAnnotation_Name:
			a.name = r.validText(w.Bytes())
		case schema.DebugAnnotation_ProtoTypeNameIID:
			a.proto = r.internedText(pfwire.InternedValueTypeNames, w.Uint())
		case schema.DebugAnnotation_ProtoTypeName:
			a.proto = w.Bytes()
		case schema.DebugAnnotation_StringValueIID:
			a.kind, a.bytes = annotationText, r.internedText(pfwire.InternedStringValues, w.Uint())
		case schema.DebugAnnotation_DictEntries, schema.DebugAnnotation_ArrayValues:
			a.kind, a.bytes = annotationKinds[f], msg
		default:
			if f < len(annotationKinds) && annotationKinds[f] != annotationEmpty {
				a.kind, a.value, a.bytes = annotationKinds[f], w, w.Bytes()
			}
		}
	}
	return a, w.Err()
}

// encodeArgs encodes the arguments of the current event with the Builder's encoder: debug annotations, typed fields,
// and what else an event says about itself. A legacy event that has become something else adds its phase and id.
func (r *reader) encodeArgs(l *legacyEvent) {
	e := &r.ev
	args := r.b.Args()
	args.Reset()
	r.traceIDs = v8profile.TraceIDs{}
	if text := r.correlation(); len(text) > 0 {
		args.Correlate(string(text))
	}
	for _, msg := range e.annotations {
		r.encodeAnnotation(args, msg, true, 0)
	}
	r.encodeTyped(args)
	if e.hasCorrelation && r.key(args, "correlation_id") {
		args.Uint(e.correlationNum)
	}
	if e.hasWeight && r.key(args, "callstack_weight") {
		args.Double(e.weight)
	}
	if e.task != nil || e.log != nil || e.sourceLocation != nil || e.sourceIID != 0 {
		r.encodeOrigin(args)
	}
	if l != nil {
		r.encodeLegacy(args, l)
	}
	if n := args.Duplicates(); n > 0 {
		at := problem.Position{Event: int64(e.index), Offset: r.offset}
		r.problems.AddN(problem.JSONDuplicateKey, uint64(n), at, "in the arguments")
	}
}

// weftKey is the name of the argument that holds what weft adds.
const weftKey = "weft"

// encodeLegacy encodes what an event has that became something else: its phase, id and times. It is no argument of the
// input and there whichever of those are kept.
func (r *reader) encodeLegacy(args *timeline.ArgsEncoder, l *legacyEvent) {
	args.Key([]byte(weftKey))
	args.ExtendDict()
	args.Key([]byte("ph"))
	args.String(r.validText([]byte{l.phase}))
	if l.idKind != noID {
		args.Key([]byte("id"))
		args.String(l.idText())
	}
	if len(l.scope) > 0 {
		args.Key([]byte("scope"))
		args.String(r.validText(l.scope))
	}
	if l.hasDuration && l.durationUS >= 0 && l.durationUS <= maxMicros {
		args.Key([]byte("dur"))
		args.Int(l.durationUS * 1000)
	}
	if tts := r.ev.threadTime; tts != timeline.NoTime {
		args.Key([]byte("tts"))
		args.Int(int64(tts))
	}
	args.EndDict()
}

// key names a top-level argument. It returns false if the caller of Read does not want that argument.
func (r *reader) key(args *timeline.ArgsEncoder, name string) bool {
	r.text = append(r.text[:0], name...)
	if r.keepArg != nil && !r.keepArg(r.text) {
		return false
	}
	args.Key(r.text)
	return true
}

// encodeAnnotation encodes a DebugAnnotation and what is in it. The elements of arrays have no names.
func (r *reader) encodeAnnotation(args *timeline.ArgsEncoder, msg []byte, named bool, depth int) {
	a, err := r.parseAnnotation(msg)
	if err != nil {
		r.malformed("debug annotation", err)
		return
	}
	if a.kind == annotationEmpty {
		return
	}
	if depth == 0 && r.profiles != nil {
		r.seeTraceID(&a)
	}
	// What weft added to a trace that it wrote is kept with the events.
	if depth == 0 && r.keepArg != nil && string(a.name) != weftKey && !r.keepArg(a.name) {
		return
	}
	if depth >= maxArgDepth {
		r.notConverted("arguments nested deeper than 512 levels")
		return
	}
	if named {
		args.Key(a.name)
	}
	switch a.kind {
	case annotationBool:
		args.Bool(a.value.Bool())
	case annotationUint:
		args.Uint(a.value.Uint())
	case annotationInt:
		args.Int(a.value.Int())
	case annotationDouble:
		args.Double(a.value.Double())
	case annotationText:
		args.String(r.validText(a.bytes))
	case annotationPointer:
		args.Pointer(a.value.Uint())
	case annotationJSON:
		args.JSON(r.validText(a.bytes))
	case annotationNested:
		r.encodeNested(args, a.bytes, depth)
	case annotationProto:
		r.encodeProto(args, &a, depth)
	case annotationDict:
		args.ExtendDict() // one event may have a dictionary in parts
		r.encodeMembers(args, a.bytes, schema.DebugAnnotation_DictEntries, depth)
		args.EndDict()
	case annotationArray:
		args.BeginArray()
		r.encodeMembers(args, a.bytes, schema.DebugAnnotation_ArrayValues, depth)
		args.EndArray()
	}
}

// encodeMembers encodes the entries of a dictionary (field 11) or the elements of an array (field 12).
func (r *reader) encodeMembers(args *timeline.ArgsEncoder, msg []byte, field, depth int) {
	for w := wire.NewReader(msg); w.Next(); {
		if w.Field() == field {
			r.encodeAnnotation(args, w.Bytes(), field == schema.DebugAnnotation_DictEntries, depth+1)
		}
	}
}

// encodeNested encodes the value of a NestedValue, the form in which Chrome still writes some of its arguments. The
// keys and values of a dictionary pair by their position.
func (r *reader) encodeNested(args *timeline.ArgsEncoder, msg []byte, depth int) {
	var kind uint64
	var value wire.Reader
	w := wire.NewReader(msg)
	for w.Next() {
		switch w.Field() {
		case schema.DebugAnnotationNestedValue_NestedType:
			kind = w.Uint()
		case schema.DebugAnnotationNestedValue_IntValue, schema.DebugAnnotationNestedValue_DoubleValue,
			schema.DebugAnnotationNestedValue_BoolValue, schema.DebugAnnotationNestedValue_StringValue:
			value = w
		}
	}
	if err := w.Err(); err != nil {
		r.malformed("nested value", err)
	}
	switch kind {
	case schema.DebugAnnotationNestedValue_Dict:
		args.BeginDict()
		r.encodeNestedDict(args, msg, depth)
		args.EndDict()
		return
	case schema.DebugAnnotationNestedValue_Array:
		args.BeginArray()
		for w := wire.NewReader(msg); w.Next(); {
			if w.Field() == schema.DebugAnnotationNestedValue_ArrayValues && r.nestedDepth(depth) {
				r.encodeNested(args, w.Bytes(), depth+1)
			}
		}
		args.EndArray()
		return
	}
	switch value.Field() {
	case schema.DebugAnnotationNestedValue_IntValue:
		args.Int(value.Int())
	case schema.DebugAnnotationNestedValue_DoubleValue:
		args.Double(value.Double())
	case schema.DebugAnnotationNestedValue_BoolValue:
		args.Bool(value.Bool())
	case schema.DebugAnnotationNestedValue_StringValue:
		args.String(r.validText(value.Bytes()))
	}
}

func (r *reader) encodeNestedDict(args *timeline.ArgsEncoder, msg []byte, depth int) {
	keys, values := wire.NewReader(msg), wire.NewReader(msg)
	for next(&keys, schema.DebugAnnotationNestedValue_DictKeys) && next(&values, schema.DebugAnnotationNestedValue_DictValues) {
		if r.nestedDepth(depth) {
			args.Key(r.validText(keys.Bytes()))
			r.encodeNested(args, values.Bytes(), depth+1)
		}
	}
}

// nestedDepth reports whether one more level is allowed.
func (r *reader) nestedDepth(depth int) bool {
	if depth+1 < maxArgDepth {
		return true
	}
	r.notConverted("arguments nested deeper than 512 levels")
	return false
}

// next steps to the next occurrence of a field.
func next(w *wire.Reader, field int) bool {
	for w.Next() {
		if w.Field() == field {
			return true
		}
	}
	return false
}

// encodeProto encodes an annotation whose value is a message of its own type. Without a description of that type the
// bytes are kept, as base64, with the name of the type.
func (r *reader) encodeProto(args *timeline.ArgsEncoder, a *annotation, depth int) {
	args.BeginDict()
	defer args.EndDict()
	if m := r.extensions.message(string(a.proto)); m != nil {
		r.encodeMessage(args, m, a.bytes, depth+1)
		return
	}
	args.Key([]byte("proto_type_name"))
	args.String(r.validText(a.proto))
	args.Key([]byte("proto_value"))
	args.String(base64.StdEncoding.AppendEncode(nil, a.bytes))
}

// correlation returns the text by which the event belongs together with others, nil if it has none.
func (r *reader) correlation() []byte {
	e := &r.ev
	switch {
	case e.correlationIID != 0:
		return r.internedText(pfwire.InternedCorrelationIDs, e.correlationIID)
	case e.correlation != nil:
		return r.validText(e.correlation)
	}
	return nil
}

// encodeOrigin encodes where in the source an event comes from, under the names that Perfetto gives these arguments:
// task.posted_from.file_name and so on.
func (r *reader) encodeOrigin(args *timeline.ArgsEncoder) {
	e := &r.ev
	if e.task != nil && r.key(args, "task") {
		args.BeginDict()
		for w := wire.NewReader(e.task); w.Next(); {
			if w.Field() == schema.TaskExecution_PostedFromIID {
				r.encodeLocationIID(args, "posted_from", w.Uint())
			}
		}
		args.EndDict()
	}
	if e.sourceIID != 0 && r.wants("source_location") {
		r.encodeLocationIID(args, "source_location", e.sourceIID)
	} else if e.sourceLocation != nil && r.key(args, "source_location") {
		r.encodeLocation(args, e.sourceLocation)
	}
	if e.log != nil && r.key(args, "log_message") {
		r.encodeLog(args, e.log)
	}
}

// wants reports whether the caller of Read wants a top-level argument.
func (r *reader) wants(name string) bool { return r.keepArg == nil || r.keepArg([]byte(name)) }

// encodeLocationIID encodes an interned SourceLocation.
func (r *reader) encodeLocationIID(args *timeline.ArgsEncoder, name string, iid uint64) {
	if msg, ok := r.interned(pfwire.InternedSourceLocations, iid); ok {
		args.Key([]byte(name))
		r.encodeLocation(args, msg)
	}
}

func (r *reader) encodeLocation(args *timeline.ArgsEncoder, msg []byte) {
	args.BeginDict()
	w := wire.NewReader(msg)
	for w.Next() {
		switch w.Field() {
		case schema.SourceLocation_FileName:
			args.Key([]byte("file_name"))
			args.String(r.validText(w.Bytes()))
		case schema.SourceLocation_FunctionName:
			args.Key([]byte("function_name"))
			args.String(r.validText(w.Bytes()))
		case schema.SourceLocation_LineNumber:
			args.Key([]byte("line_number"))
			args.Int(w.Int())
		}
	}
	args.EndDict()
	if err := w.Err(); err != nil {
		r.malformed("source location", err)
	}
}

// logPriorities names the values of LogMessage.Priority.
var logPriorities = [...]string{"unspecified", "unused", "verbose", "debug", "info", "warn", "error", "fatal"}

func (r *reader) encodeLog(args *timeline.ArgsEncoder, msg []byte) {
	args.BeginDict()
	w := wire.NewReader(msg)
	for w.Next() {
		switch w.Field() {
		case schema.LogMessage_SourceLocationIID:
			r.encodeLocationIID(args, "source_location", w.Uint())
		case schema.LogMessage_BodyIID:
			if body := r.internedText(pfwire.InternedLogMessages, w.Uint()); body != nil {
				args.Key([]byte("body"))
				args.String(body)
			}
		case schema.LogMessage_Prio:
			if p := w.Uint(); p < uint64(len(logPriorities)) {
				args.Key([]byte("priority"))
				args.String([]byte(logPriorities[p]))
			}
		}
	}
	args.EndDict()
	if err := w.Err(); err != nil {
		r.malformed("log_message", err)
	}
}
