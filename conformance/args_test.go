package conformance

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	pb "github.com/weft-trace/weft/gen/perfetto/protos"
)

// Types of arguments in the tables.
const (
	typeInt    = "int"
	typeReal   = "real"
	typeString = "string"
	typeBool   = "bool"

	typePointer = "pointer" // only in Perfetto traces
)

// maxArgDepth limits the nesting of annotations in the projection; weft keeps deeper arguments as JSON text.
const maxArgDepth = 1000

// arg is one flattened argument.
type arg struct{ key, typ, value string }

// argList holds the flattened arguments of a slice. As in trace_processor, the last argument with a key counts. Arrays
// do not replace each other: a second array, such as at the end of a slice, continues the first.
type argList struct {
	all     []arg
	index   map[string]int
	lengths map[string]int // lengths of arrays by key
	marker  string         // name of a Firefox marker whose slice is named after its label
}

// element returns the key of the next member of an array.
func (l *argList) element(array string) string {
	if l.lengths == nil {
		l.lengths = map[string]int{}
	}
	l.lengths[array]++
	return array + "[" + strconv.Itoa(l.lengths[array]-1) + "]"
}

// addMarker reads the name of a marker from weft's additions.
func (l *argList) addMarker(t *timed, weft *pb.DebugAnnotation) error {
	for _, a := range weft.GetDictEntries() {
		name, err := argName(t, a)
		if err != nil {
			return err
		}
		if name == "marker" {
			l.marker = a.GetStringValue()
		}
	}
	return nil
}

// set adds an argument or replaces the one with its key.
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

// add flattens the annotations of an event, except weft's own, and adds its picture under trace_processor's name for
// it.
func (l *argList) add(t *timed) error {
	if picture := t.event.GetScreenshot().GetJpgImage(); picture != nil {
		l.set("screenshot.jpg_image", "string", base64.StdEncoding.EncodeToString(picture))
	}
	for _, a := range t.event.GetDebugAnnotations() {
		name, err := argName(t, a)
		if err != nil {
			return err
		}
		if name == "weft" {
			if err := l.addMarker(t, a); err != nil {
				return err
			}
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
	for _, element := range a.GetArrayValues() {
		if proto.Size(element) == 0 {
			return fmt.Errorf("member of array %s without value: what follows would move up", key)
		}
		if err := l.flatten(t, l.element(key), element, depth+1); err != nil {
			return err
		}
	}
	if a.GetValue() == nil {
		return nil
	}
	if text, ok := a.GetValue().(*pb.DebugAnnotation_LegacyJsonValue); ok {
		return l.flattenText(key, text.LegacyJsonValue)
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

// flattenText adds a value given as JSON text. Empty objects and arrays have an index in the enclosing array; null does
// not, so it must not occur. Names are as in the tables: trace_processor keeps them here.
func (l *argList) flattenText(key, text string) error {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := l.flattenNext(key, d); err != nil {
		return fmt.Errorf("JSON text of %s: %w", key, err)
	}
	if d.More() {
		return fmt.Errorf("JSON text of %s goes on after its value", key)
	}
	return nil
}

func (l *argList) flattenNext(key string, d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	switch v := token.(type) {
	case nil:
		return errors.New("null, which has no value")
	case bool:
		l.set(key, typeBool, strconv.FormatBool(v))
	case string:
		l.set(key, typeString, v)
	case json.Number:
		return l.setNumber(key, v)
	case json.Delim:
		for d.More() {
			member := ""
			if v == '[' {
				member = l.element(key)
			} else if token, err := d.Token(); err != nil {
				return err
			} else {
				member = key + "." + cleanKey(token.(string))
			}
			if err := l.flattenNext(member, d); err != nil {
				return err
			}
		}
		_, err = d.Token() // the closing bracket
	}
	return err
}

// setNumber adds a number from JSON text, as an integer if it is written like one. trace_processor misreads larger
// integers.
func (l *argList) setNumber(key string, number json.Number) error {
	if v, err := number.Int64(); err == nil {
		l.set(key, typeInt, strconv.FormatInt(v, 10))
		return nil
	}
	v, err := number.Float64()
	if err != nil || !strings.ContainsAny(number.String(), ".eE") {
		return fmt.Errorf("%s is an integer of more than 63 bits", number)
	}
	l.set(key, typeReal, formatReal(v))
	return nil
}

// scalar returns the value of a scalar annotation.
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
			return "", "", fmt.Errorf("text %q is not UTF-8", v.StringValue)
		}
		return typeString, v.StringValue, nil
	case *pb.DebugAnnotation_StringValueIid:
		value, err = text(t.state.argTexts, v.StringValueIid, "")
		return typeString, value, err
	case *pb.DebugAnnotation_PointerValue: // only from Perfetto traces
		return typePointer, strconv.FormatUint(v.PointerValue, 16), nil
	}
	return "", "", fmt.Errorf("value of type %T, which weft does not write", a.GetValue())
}

// argName returns the name of an annotation or entry.
func argName(t *timed, a *pb.DebugAnnotation) (string, error) {
	return text(t.state.argNames, a.GetNameIid(), a.GetName())
}

// cleanKey converts a name as trace_processor does: characters with a meaning in a path become underscores.
func cleanKey(name string) string {
	return strings.NewReplacer(".", "_", "[", "_", "]", "_").Replace(name)
}

// formatReal formats a double so that equal values have equal texts.
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
