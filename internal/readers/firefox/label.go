package firefox

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/jsonscan"
)

// template is a label of a schema, such as "{marker.name} - {marker.data.url}" (section 6).
type template []part

// part is a piece of a template: literal text or a placeholder.
type part struct {
	kind partKind
	text string // literal text; in a ternary, the text for a truthy value
	no   string // in a ternary, the text for a falsy value
	slot int    // slot of the value; only in partField and partTernary
}

type partKind uint8

const (
	partText partKind = iota
	partName
	partStart
	partEnd
	partDuration
	partCategory
	partField
	partTernary
)

// maxParts limits the number of parts, since each costs time for every marker. Real templates have a few.
const maxParts = 64

// template parses a label. An unknown placeholder is empty, as in the front end. The second result is false if the label
// exceeds a limit and therefore cannot be used in full.
func (s *schema) template(text string) (t template, whole bool) {
	for range maxParts {
		open := strings.IndexByte(text, '{')
		length := -1
		if open >= 0 {
			if length = indexUnquoted(text[open:], '}'); length < 0 {
				length = strings.IndexByte(text[open:], '}')
			}
		}
		if length < 0 {
			if text != "" {
				t = append(t, part{text: clip(text, maxLabel)})
			}
			return t, len(text) <= maxLabel
		}
		if open > maxLabel {
			return append(t, part{text: clip(text, maxLabel)}), false
		}
		if open > 0 {
			t = append(t, part{text: text[:open]})
		}
		if len(s.slots) == maxSlots {
			return t, false
		}
		if p, ok := s.placeholder(strings.TrimSpace(text[open+1 : open+length])); ok {
			t = append(t, p)
		}
		text = text[open+length+1:]
	}
	return t, text == ""
}

// indexUnquoted returns the index of the first c outside quotes, or -1.
func indexUnquoted(text string, c byte) int {
	quote := byte(0)
	for i := range len(text) {
		switch at := text[i]; {
		case quote != 0:
			if at == quote {
				quote = 0
			}
		case at == c:
			return i
		case at == '\'' || at == '"':
			quote = at
		}
	}
	return -1
}

// placeholder parses the text in braces. It returns false for an unknown placeholder.
func (s *schema) placeholder(text string) (part, bool) {
	if question := indexUnquoted(text, '?'); question >= 0 {
		rest := text[question+1:]
		colon := indexUnquoted(rest, ':')
		key, isData := strings.CutPrefix(strings.TrimSpace(text[:question]), "marker.data.")
		if colon < 0 || !isData {
			return part{}, false
		}
		yes, no := clip(literal(rest[:colon]), maxLabel), clip(literal(rest[colon+1:]), maxLabel)
		return part{kind: partTernary, slot: s.slot(key), text: yes, no: no}, true
	}
	if key, ok := strings.CutPrefix(text, "marker.data."); ok {
		return part{kind: partField, slot: s.slot(key)}, true
	}
	kind, ok := map[string]partKind{
		"marker.name": partName, "marker.start": partStart, "marker.end": partEnd,
		"marker.duration": partDuration, "marker.category": partCategory,
	}[text]
	return part{kind: kind}, ok
}

// literal removes surrounding spaces and quotes.
func literal(quoted string) string {
	quoted = strings.TrimSpace(quoted)
	if len(quoted) >= 2 && (quoted[0] == '\'' || quoted[0] == '"') && quoted[len(quoted)-1] == quoted[0] {
		return quoted[1 : len(quoted)-1]
	}
	return quoted
}

// labelled holds the properties of a marker that a label can use.
type labelled struct {
	name, category []byte
	start, end     float64 // ms; end is NaN for instants
	slots          []field
	values         []value // by slot; strings are resolved
}

// maxLabel limits the length of a label without its last part: a template can repeat a long text many times.
const maxLabel = 1 << 10

// appendLabel appends the text of a label.
func (t template) appendLabel(b []byte, m *labelled) []byte {
	start := len(b)
	for i := range t {
		if len(b)-start >= maxLabel {
			break
		}
		switch p := &t[i]; p.kind {
		case partText:
			b = append(b, p.text...)
		case partName:
			b = append(b, m.name...)
		case partCategory:
			b = append(b, m.category...)
		case partStart:
			b = appendDuration(b, m.start)
		case partEnd:
			if !math.IsNaN(m.end) {
				b = appendDuration(b, m.end)
			}
		case partDuration:
			if !math.IsNaN(m.end) {
				b = appendDuration(b, m.end-m.start)
			}
		case partField:
			b = appendField(b, m.slots[p.slot].format, &m.values[p.slot])
		case partTernary:
			if m.values[p.slot].isTrue() {
				b = append(b, p.text...)
			} else {
				b = append(b, p.no...)
			}
		}
	}
	return b
}

// isTrue reports whether a value is truthy in JavaScript.
func (v *value) isTrue() bool {
	switch v.kind {
	case jsonscan.True, jsonscan.Object, jsonscan.Array:
		return true
	case jsonscan.String:
		return len(v.text) > 0
	case jsonscan.Integer, jsonscan.Number:
		f, _ := jsonscan.Float64(v.text)
		return f != 0
	}
	return false
}

// appendField appends a value in readable form.
func appendField(b []byte, f format, v *value) []byte {
	switch v.kind {
	case jsonscan.Invalid, jsonscan.Null:
		return b
	case jsonscan.True, jsonscan.False:
		return strconv.AppendBool(b, v.kind == jsonscan.True)
	case jsonscan.Integer, jsonscan.Number:
	case jsonscan.Array:
		return appendList(b, v.text)
	default:
		return append(b, v.text...)
	}
	n, ok := jsonscan.Float64(v.text)
	if !ok {
		return append(b, v.text...)
	}
	switch f {
	case formatTime, formatMillis:
		return appendDuration(b, n)
	case formatMicros:
		return appendDuration(b, n/1e3)
	case formatNanos:
		return appendDuration(b, n/1e6)
	case formatBytes:
		return appendBytes(b, n)
	case formatPercentage:
		return append(appendRounded(b, n*100), '%')
	case formatHex:
		if u, ok := jsonscan.Uint64(v.text); ok {
			return strconv.AppendUint(append(b, "0x"...), u, 16)
		}
	}
	return append(b, v.text...)
}

// appendList appends the elements of a list, separated by commas.
func appendList(b, text []byte) []byte {
	var s jsonscan.Scanner
	s.Reset(text)
	s.Value()
	for first := true; s.Elem(); first = false {
		if !first {
			b = append(b, ", "...)
		}
		_, element := s.Scalar()
		b = append(b, element...)
	}
	return b
}

// appendDuration appends a duration, given in ms, in a suitable unit.
func appendDuration(b []byte, ms float64) []byte {
	switch size := math.Abs(ms); {
	case size >= 1000:
		return append(appendRounded(b, ms/1000), 's')
	case size >= 1 || size == 0:
		return append(appendRounded(b, ms), "ms"...)
	case size >= 1e-3:
		return append(appendRounded(b, ms*1e3), "µs"...)
	}
	return append(appendRounded(b, ms*1e6), "ns"...)
}

// appendBytes appends a number of bytes in a suitable unit.
func appendBytes(b []byte, n float64) []byte {
	units := [...]string{"B", "KB", "MB", "GB", "TB"}
	i := 0
	for ; math.Abs(n) >= 1024 && i < len(units)-1; i++ {
		n /= 1024
	}
	return append(appendRounded(b, n), units[i]...)
}

// appendRounded appends a number with up to three decimals, without trailing zeros.
func appendRounded(b []byte, f float64) []byte {
	start := len(b)
	b = strconv.AppendFloat(b, f, 'f', 3, 64)
	if bytes.IndexByte(b[start:], '.') < 0 {
		return b
	}
	for b[len(b)-1] == '0' {
		b = b[:len(b)-1]
	}
	if b[len(b)-1] == '.' {
		b = b[:len(b)-1]
	}
	return b
}
