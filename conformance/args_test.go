package conformance

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	pb "github.com/weft-trace/weft/gen/perfetto/protos"
)

// The types of arguments, as the tables call them.
const (
	typeInt    = "int"
	typeReal   = "real"
	typeString = "string"
	typeBool   = "bool"

	typePointer = "pointer" // of Perfetto traces only
	typeJSON    = "json"
)

// maxArgDepth bounds the nesting of annotations that the projection follows; weft keeps deeper arguments as JSON text.
const maxArgDepth = 1000

// arg is one flattened argument.
type arg struct{ key, typ, value string }

// argList holds the flattened arguments of a slice. Of equal keys the last counts, as in trace_processor.
type argList struct {
	all   []arg
	index map[string]int
}

// set adds an argument or replaces the one of the same key.
func (l *argList) set(key, typ, value string) {
	if at, ok := l.index[key]; ok {
		l.all[at] = arg{key, typ, value}
		return
	}
	if l.index == nil {
		l.index = map[string]int{}
	}
	l.index[key] = len(l.all)
	l.all = append(l.all, arg{key, typ, value})
}

// add flattens the annotations of an event, except those that weft adds itself.
func (l *argList) add(t *timed) error {
	for _, a := range t.event.GetDebugAnnotations() {
		name, err := argName(t, a)
		if err != nil {
			return err
		}
		if name == "weft" {
			continue
		}
		if name == "" {
			return errors.New("annotation without name")
		}
		if err := l.flatten(t, cleanKey(name), a, 0); err != nil {
			return fmt.Errorf("annotation %q: %w", name, err)
		}
	}
	return nil
}

// flatten adds one annotation under a key.
func (l *argList) flatten(t *timed, key string, a *pb.DebugAnnotation, depth int) error {
	if depth > maxArgDepth {
		return errors.New("nested too deep")
	}
	for _, entry := range a.GetDictEntries() {
		name, err := argName(t, entry)
		if err != nil {
			return err
		}
		if name == "" {
			return fmt.Errorf("entry of %s without name", key)
		}
		if err := l.flatten(t, key+"."+cleanKey(name), entry, depth+1); err != nil {
			return err
		}
	}
	for i, element := range a.GetArrayValues() {
		if err := l.flatten(t, key+"["+strconv.Itoa(i)+"]", element, depth+1); err != nil {
			return err
		}
	}
	if a.GetValue() == nil {
		return nil
	}
	if len(a.GetDictEntries())+len(a.GetArrayValues()) > 0 {
		return errors.New("annotation with entries and a value")
	}
	typ, value, err := scalar(t, a)
	if err != nil {
		return err
	}
	l.set(key, typ, value)
	return nil
}

// scalar returns the value of an annotation that holds one.
func scalar(t *timed, a *pb.DebugAnnotation) (typ, value string, err error) {
	switch v := a.GetValue().(type) {
	case *pb.DebugAnnotation_BoolValue:
		return typeBool, strconv.FormatBool(v.BoolValue), nil
	case *pb.DebugAnnotation_UintValue:
		return typeInt, strconv.FormatUint(v.UintValue, 10), nil
	case *pb.DebugAnnotation_IntValue:
		return typeInt, strconv.FormatInt(v.IntValue, 10), nil
	case *pb.DebugAnnotation_DoubleValue:
		return typeReal, formatReal(v.DoubleValue), nil
	case *pb.DebugAnnotation_StringValue:
		if !utf8.ValidString(v.StringValue) {
			return "", "", fmt.Errorf("text %q is no UTF-8", v.StringValue)
		}
		return typeString, v.StringValue, nil
	case *pb.DebugAnnotation_StringValueIid:
		value, err = text(t.state.argTexts, v.StringValueIid, "")
		return typeString, value, err
	case *pb.DebugAnnotation_PointerValue: // this one and the next come from Perfetto traces
		return typePointer, strconv.FormatUint(v.PointerValue, 16), nil
	case *pb.DebugAnnotation_LegacyJsonValue:
		return typeJSON, v.LegacyJsonValue, nil
	}
	return "", "", fmt.Errorf("value of type %T, which weft does not write", a.GetValue())
}

// argName returns the name of an annotation or entry.
func argName(t *timed, a *pb.DebugAnnotation) (string, error) {
	return text(t.state.argNames, a.GetNameIid(), a.GetName())
}

// cleanKey is what trace_processor makes of a name: characters with a meaning in a path become underscores.
func cleanKey(name string) string {
	return strings.NewReplacer(".", "_", "[", "_", "]", "_").Replace(name)
}

// formatReal writes a double so that equal ones are equal texts.
func formatReal(v float64) string {
	switch {
	case math.IsNaN(v):
		return "NaN"
	case math.IsInf(v, 1):
		return "Infinity"
	case math.IsInf(v, -1):
		return "-Infinity"
	case v == 0:
		return "0" // the sign of zero is not compared
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}
