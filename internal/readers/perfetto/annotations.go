package perfetto

import (
	"encoding/base64"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
)

// maxArgDepth is the maximum nesting depth of arguments.
const maxArgDepth = 512

// annotation is a debug annotation with resolved texts.
type annotation struct {
	message.Annotation
	name []byte
	text []byte // text, JSON, nested or proto value
	typ  []byte // type name of a proto value
}

func (r *reader) parseAnnotation(msg []byte) (a annotation, err error) {
	err = a.Parse(msg)
	a.text, a.typ = a.Bytes, a.TypeName
	if a.NameIID != 0 {
		a.name = r.bounded(r.internedText(message.InternedAnnotationNames, a.NameIID), r.b.InternKey)
	} else {
		a.name = r.validText(a.Name)
	}
	if a.TextIID != 0 {
		a.text = r.internedText(message.InternedStringValues, a.TextIID)
	}
	if a.TypeNameIID != 0 {
		a.typ = r.internedText(message.InternedValueTypeNames, a.TypeNameIID)
	}
	return a, err
}

// encodeArgs encodes the arguments of the current event with the Builder's encoder: debug annotations, typed fields and other
// properties of the event. The parameter l, if not nil, is a legacy event that was converted to another kind; its phase and id
// are added.
func (r *reader) encodeArgs(l *message.LegacyEvent) {
	e := &r.ev
	args := r.b.Args()
	args.Reset()
	r.traceIDs = v8profile.TraceIDs{}
	args.Correlate(string(r.correlation()))
	e.byWeft = r.seqInfo.byWeft
	for _, msg := range e.Annotations {
		r.encodeAnnotation(args, msg, true, 0)
	}
	r.readScreenshot()
	r.encodeTyped(args)
	if e.HasCorrelationID && r.key(args, "correlation_id") {
		args.Uint(e.CorrelationID)
	}
	if e.HasWeight && r.key(args, "callstack_weight") {
		args.Double(e.CallstackWeight)
	}
	if e.Task != nil || e.Log != nil || e.SourceLocation != nil || e.SourceLocationIID != 0 {
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

// encodeLegacy encodes the phase, id and times of an event that was converted to another kind. They are not input
// arguments, so they are always kept.
func (r *reader) encodeLegacy(args *timeline.ArgsEncoder, l *message.LegacyEvent) {
	args.OwnKey([]byte(timeline.OwnArgs))
	args.ExtendDict()
	args.Key([]byte("ph"))
	args.String(r.validText([]byte{l.Phase}))
	if l.IDKind != 0 {
		args.Key([]byte("id"))
		args.String(idText(l.ID))
	}
	if len(l.Scope) > 0 {
		args.Key([]byte("scope"))
		args.String(r.validText(l.Scope))
	}
	if l.HasDuration && l.DurationUS >= 0 && l.DurationUS <= maxMicros {
		args.Key([]byte("dur"))
		args.Int(l.DurationUS * 1000)
	}
	if tts := r.ev.threadTime; tts != timeline.NoTime {
		args.Key([]byte("tts"))
		args.Int(int64(tts))
	}
	args.EndDict()
}

// key adds the key of a top-level argument. It returns false if the argument filter drops the argument.
func (r *reader) key(args *timeline.ArgsEncoder, name string) bool {
	if !r.wants(name) {
		return false
	}
	r.text = append(r.text[:0], name...)
	args.Key(r.text)
	return true
}

// encodeAnnotation encodes a DebugAnnotation and its contents. Array elements have no names.
func (r *reader) encodeAnnotation(args *timeline.ArgsEncoder, msg []byte, named bool, depth int) {
	a, err := r.parseAnnotation(msg)
	if err != nil {
		r.malformed("debug annotation", err)
		return
	}
	if a.Kind == message.NoAnnotation {
		return
	}
	if depth == 0 && r.profiles != nil {
		r.recordTraceID(&a)
	}
	byWeft := depth == 0 && r.ev.byWeft
	additions := byWeft && a.Kind == message.DictAnnotation && string(a.name) == timeline.OwnArgs
	// Keep weft's additions to events.
	if depth == 0 && !additions && !r.args.Keeps(a.name) {
		return
	}
	if depth >= maxArgDepth {
		r.notConverted("arguments nested deeper than 512 levels")
		return
	}
	switch {
	case additions && (r.fields.DidNotEnd || r.ev.async != nil):
		r.encodeWeft(args, &a)
		return
	case additions, byWeft && string(a.name) != timeline.OwnArgs:
		args.OwnKey(a.name) // reserved names from the input already have their underscore
	case named:
		args.Key(a.name)
	}
	switch a.Kind {
	case message.TextAnnotation:
		if a.TextIID != 0 {
			r.encodeInterned(args, a.text)
		} else {
			args.String(r.validText(a.text))
		}
	case message.JSONAnnotation:
		args.JSON(r.validText(a.text))
	case message.NestedAnnotation:
		r.encodeNested(args, a.text, depth)
	case message.ProtoAnnotation:
		r.encodeProto(args, &a, depth)
	case message.DictAnnotation:
		args.ExtendDict() // an event can contain a dictionary in several parts
		r.encodeMembers(args, &a, depth)
		args.EndDict()
	case message.ArrayAnnotation:
		args.BeginArray()
		r.encodeMembers(args, &a, depth)
		args.EndArray()
	default:
		encodeScalar(args, a.Scalar)
	}
}

// encodeScalar encodes a number or bool and ignores other values.
func encodeScalar(args *timeline.ArgsEncoder, v message.Scalar) {
	switch v.Kind {
	case message.BoolAnnotation:
		args.Bool(v.Bool())
	case message.UintAnnotation:
		args.Uint(v.Uint())
	case message.IntAnnotation:
		args.Int(v.Int())
	case message.DoubleAnnotation:
		args.Double(v.Double())
	case message.PointerAnnotation:
		args.Pointer(v.Uint())
	}
}

// encodeMembers encodes the entries of a dictionary or the elements of an array.
func (r *reader) encodeMembers(args *timeline.ArgsEncoder, a *annotation, depth int) {
	for m := a.Members(); m.Next(); {
		r.encodeAnnotation(args, m.Bytes(), a.Kind == message.DictAnnotation, depth+1)
	}
}

// encodeWeft encodes an event's weft dictionary except the writer's additions: the id and scope of an asynchronous track, which
// are set on the track, and the mark of an unfinished slice.
func (r *reader) encodeWeft(args *timeline.ArgsEncoder, a *annotation) {
	n := 0
	var last [3]annotation // the last members, in reverse order
	for m := a.Members(); m.Next(); n++ {
		last[2], last[1], last[0] = last[1], last[0], annotation{}
		last[0].Annotation.Parse(m.Bytes()) // problems are counted below
	}
	tail := last[:min(n, len(last))]
	if r.fields.DidNotEnd && len(tail) > 0 && r.isNamed(&tail[0], pfwire.DidNotEndKey, message.BoolAnnotation) && tail[0].Bool() {
		tail, n = tail[1:], n-1
	}
	n -= r.setAsyncID(tail)
	if n == 0 {
		return
	}
	args.OwnKey([]byte(timeline.OwnArgs))
	args.ExtendDict()
	for m := a.Members(); n > 0 && m.Next(); n-- {
		r.encodeAnnotation(args, m.Bytes(), true, 1)
	}
	args.EndDict()
}

// setAsyncID sets the id and scope of the event's track from the last arguments, and returns how many of the arguments it used.
func (r *reader) setAsyncID(tail []annotation) (used int) {
	t := r.ev.async
	if t == nil {
		return 0
	}
	var scope []byte
	if len(tail) > 1 && r.isNamed(&tail[0], "scope", message.TextAnnotation) {
		scope, tail, used = tail[0].Bytes, tail[1:], 1
	}
	if len(tail) == 0 || !r.isNamed(&tail[0], "id", message.TextAnnotation) {
		return 0
	}
	if id := tail[0].Bytes; utf8.Valid(id) && utf8.Valid(scope) && r.b.SetAsyncID(t.id, id, scope) {
		return used + 1
	}
	return 0
}

// isNamed reports whether an annotation has the given name and kind, and no interned text.
func (r *reader) isNamed(a *annotation, name string, kind message.AnnotationKind) bool {
	return a.Kind == kind && a.TextIID == 0 && string(r.annotationName(a)) == name
}

// encodeNested encodes a NestedValue, which Chrome still uses for some arguments. The keys and values of a dictionary
// are paired by position.
func (r *reader) encodeNested(args *timeline.ArgsEncoder, msg []byte, depth int) {
	var v message.NestedValue
	if err := v.Parse(msg); err != nil {
		r.malformed("nested value", err)
	}
	switch v.Kind {
	case message.DictAnnotation:
		args.BeginDict()
		for keys, values := v.Keys(), v.Values(); keys.Next() && values.Next(); {
			if r.nestedDepth(depth) {
				args.Key(r.validText(keys.Bytes()))
				r.encodeNested(args, values.Bytes(), depth+1)
			}
		}
		args.EndDict()
	case message.ArrayAnnotation:
		args.BeginArray()
		for values := v.Values(); values.Next(); {
			if r.nestedDepth(depth) {
				r.encodeNested(args, values.Bytes(), depth+1)
			}
		}
		args.EndArray()
	case message.TextAnnotation:
		args.String(r.validText(v.Text))
	default:
		encodeScalar(args, v.Scalar)
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

// encodeProto encodes an annotation whose value is a message. If the type is not described, encodeProto encodes the bytes in
// base64, with the type name.
func (r *reader) encodeProto(args *timeline.ArgsEncoder, a *annotation, depth int) {
	args.BeginDict()
	defer args.EndDict()
	if m := r.extensions.message(string(a.typ)); m != nil {
		r.encodeMessage(args, m, a.text, depth+1)
		return
	}
	args.Key([]byte("proto_type_name"))
	r.encodeInterned(args, a.typ)
	args.Key([]byte("proto_value"))
	args.String(base64.StdEncoding.AppendEncode(nil, a.text))
}

// correlation returns the correlation id of the event, or nil.
func (r *reader) correlation() []byte {
	e := &r.ev
	switch {
	case e.CorrelationIID != 0:
		return r.internedText(message.InternedCorrelationIDs, e.CorrelationIID)
	case e.Correlation != nil:
		return r.validText(e.Correlation)
	}
	return nil
}

// encodeOrigin encodes the task, source location and log message of an event, under Perfetto's names for these
// arguments: task.posted_from.file_name and so on.
func (r *reader) encodeOrigin(args *timeline.ArgsEncoder) {
	e := &r.ev
	if e.Task != nil && r.key(args, "task") {
		args.BeginDict()
		var task message.TaskExecution
		if err := task.Parse(e.Task); err != nil {
			r.malformed("task execution", err)
		}
		r.fieldsNotConverted("TaskExecution", task.Mistyped())
		r.encodeLocationIID(args, "posted_from", task.PostedFromIID())
		args.EndDict()
	}
	if e.SourceLocationIID != 0 && r.wants("source_location") {
		r.encodeLocationIID(args, "source_location", e.SourceLocationIID)
	} else if e.SourceLocation != nil && r.key(args, "source_location") {
		r.encodeLocation(args, e.SourceLocation)
	}
	if e.Log != nil && r.key(args, "log_message") {
		r.encodeLog(args, e.Log)
	}
}

// wants reports whether the argument filter keeps a top-level argument.
func (r *reader) wants(name string) bool { return r.args.KeepsText(name) }

// encodeLocationIID encodes an interned SourceLocation.
func (r *reader) encodeLocationIID(args *timeline.ArgsEncoder, name string, iid uint64) {
	if msg, ok := r.interned(message.InternedSourceLocations, iid); ok {
		args.Key([]byte(name))
		r.encodeLocation(args, msg)
	}
}

func (r *reader) encodeLocation(args *timeline.ArgsEncoder, msg []byte) {
	var l message.SourceLocation
	if err := l.Parse(msg); err != nil {
		r.malformed("source location", err)
	}
	r.fieldsNotConverted("SourceLocation", l.Mistyped())
	args.BeginDict()
	if file := l.File(); file != nil {
		args.Key([]byte("file_name"))
		r.encodeInterned(args, file)
	}
	if function := l.Function(); function != nil {
		args.Key([]byte("function_name"))
		r.encodeInterned(args, function)
	}
	if l.HasLine() {
		args.Key([]byte("line_number"))
		args.Int(l.Line())
	}
	args.EndDict()
}

// logPriorities holds the names of the LogMessage.Priority values.
var logPriorities = [...]string{"unspecified", "unused", "verbose", "debug", "info", "warn", "error", "fatal"}

func (r *reader) encodeLog(args *timeline.ArgsEncoder, msg []byte) {
	var l message.LogMessage
	if err := l.Parse(msg); err != nil {
		r.malformed("log_message", err)
	}
	r.fieldsNotConverted("LogMessage", l.Mistyped())
	args.BeginDict()
	r.encodeLocationIID(args, "source_location", l.SourceLocationIID())
	if body := r.internedText(message.InternedLogMessages, l.BodyIID()); body != nil {
		args.Key([]byte("body"))
		r.encodeInterned(args, body)
	}
	if p := l.Priority(); l.HasPriority() && p < uint64(len(logPriorities)) {
		args.Key([]byte("priority"))
		args.InternedString(logPriorities[p])
	}
	args.EndDict()
}
