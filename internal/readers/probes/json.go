package probes

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
)

// jsonLine reads a line of bpftrace's JSON output: {"type": "printf", "data": "P1\t…\n"} or {"type": "value", "data":
// ["P1", …]}. The parameter truncated is set if the input ends inside the line.
func (r *reader) jsonLine(text []byte, truncated bool) error {
	text = r.fixJSON(text)
	s := &r.json
	s.ResetAt(text, r.at)
	var typ, data, count []byte
	var dataKind jsonscan.Kind
	if kind, _ := s.Value(); kind == jsonscan.Object {
		for {
			key, ok := s.Key()
			if !ok {
				break
			}
			switch string(key) {
			case "type":
				_, typ = s.Scalar()
			case "data":
				dataKind, data = s.Scalar()
			case "count":
				_, count = s.Scalar()
			default:
				s.Skip()
			}
		}
	}
	if s.Err() != nil {
		if truncated || bytes.HasPrefix(text, []byte(`{"type"`)) {
			return r.badLine("it is not a complete JSON object")
		}
		r.unknownLine(text)
		return nil
	}
	r.countNotes(&s.Notes)
	switch {
	case string(typ) == "printf" && dataKind == jsonscan.String:
		return r.printed(data)
	case string(typ) == "value" && dataKind == jsonscan.Array:
		return r.value(data, text)
	case string(typ) == "attached_probes":
		return nil
	case string(typ) == "lost_events":
		return r.lostEvents(data, count, text)
	}
	r.unknownLine(text)
	return nil
}

// countNotes counts deviations that the scanner tolerated in a line.
func (r *reader) countNotes(n *jsonscan.Notes) {
	if n.Commas > 0 && !r.commas {
		r.commas = true
		r.log.Add(problem.JSONTrailingComma, r.position(), "")
	}
	readers.CountNotes(r.log, n, r.position())
}

// escapedByte precedes the two hexadecimal digits of a byte from 80 to ff in bpftrace's JSON.
var escapedByte = []byte(`\uffffff`)

// fixJSON decodes bytes that bpftrace escapes in its own way, and writes invalid UTF-8 bytes as \xHH, because package
// jsonscan would replace them with U+FFFD.
func (r *reader) fixJSON(text []byte) []byte {
	if bytes.Contains(text, escapedByte) {
		r.fixed = appendUnescaped(r.fixed[:0], text)
		text = r.fixed
	}
	if utf8.Valid(text) {
		return text
	}
	r.valid = appendValid(r.valid[:0], text, `\\x`) // JSON also escapes the backslash
	return r.valid
}

// appendUnescaped appends a JSON text and decodes the bytes that bpftrace escaped.
func appendUnescaped(to, text []byte) []byte {
	for len(text) > 0 {
		i := bytes.IndexByte(text, '\\')
		if i < 0 || i+1 == len(text) {
			return append(to, text...)
		}
		to = append(to, text[:i]...)
		text = text[i:]
		if c, ok := hexByte(text[min(len(text), len(escapedByte)):]); ok && c >= 0x80 && bytes.HasPrefix(text, escapedByte) {
			to = append(to, c)
			text = text[len(escapedByte)+2:]
			continue
		}
		to = append(to, text[:2]...)
		text = text[2:]
	}
	return to
}

// hexByte reads two hexadecimal digits.
func hexByte(text []byte) (c byte, ok bool) {
	if len(text) < 2 {
		return 0, false
	}
	v, err := strconv.ParseUint(string(text[:2]), 16, 8)
	return byte(v), err == nil
}

// printed reads the output of a printf: one record, whose texts may contain newlines, or several lines.
func (r *reader) printed(data []byte) error {
	if len(data) > 2 && isRecord(data) {
		data = bytes.TrimSuffix(data, []byte("\n"))
		return r.record(bytes.TrimSuffix(data, []byte("\r")))
	}
	for len(data) > 0 {
		text, rest, _ := bytes.Cut(data, []byte("\n"))
		if err := r.line(text, false); err != nil {
			return err
		}
		data = rest
	}
	return nil
}

// lostEvents reads the number of events that bpftrace lost: {"events": 3}, or in some versions a separate count.
func (r *reader) lostEvents(data, count, text []byte) error {
	s := &r.tuple
	s.Reset(data)
	events, hasEvents := int64(0), false
	if kind, _ := s.Value(); kind == jsonscan.Object {
		for {
			key, ok := s.Key()
			if !ok {
				break
			}
			_, value := s.Scalar()
			if string(key) == "events" {
				events, hasEvents = jsonscan.Int64(value)
			}
		}
	}
	if !hasEvents {
		events, hasEvents = jsonscan.Int64(count)
	}
	if !hasEvents || events < 0 {
		r.unknownLine(text)
		return nil
	}
	return r.lost(uint64(events), "lost_events")
}

// value reads a tuple: a record or a header. Its strings are not escaped.
func (r *reader) value(data, text []byte) error {
	s := &r.tuple
	s.ResetAt(data, r.at)
	s.Value()
	if !s.Elem() {
		r.unknownLine(text)
		return nil
	}
	kind, first := s.Scalar()
	switch {
	case kind == jsonscan.String && string(first) == "P1":
		return r.tupleRecord(s)
	case kind == jsonscan.String && len(first) > 0 && first[0] == '#':
		r.headerText = append(r.headerText[:0], first...)
		for s.Elem() {
			_, field := s.Scalar()
			r.headerText = append(append(r.headerText, ' '), field...)
		}
		r.headerLine(r.headerText, true)
		return nil
	}
	r.unknownLine(text)
	return nil
}

// tupleRecord reads ["P1", ns, pid, tid, cpu, "provider:name", args…] after its first element.
func (r *reader) tupleRecord(s *jsonscan.Scanner) error {
	var numbers [4]int64
	for i := range numbers {
		if !s.Elem() {
			return r.badLine("it has fewer than six fields")
		}
		kind, field := s.Scalar()
		v, n := decimal(field)
		if kind != jsonscan.Integer || n != len(field) {
			return r.badNumber(i)
		}
		numbers[i] = v
	}
	if !s.Elem() {
		return r.badLine("it has fewer than six fields")
	}
	kind, name := s.Scalar()
	if kind != jsonscan.String {
		return r.badLine("the probe is not a text")
	}
	r.payload = r.payload[:0]
	for s.Elem() {
		kind, field := s.Scalar()
		tag := byte(tupleText)
		if kind == jsonscan.Integer {
			tag = tupleInteger
		}
		r.payload = append(r.payload, tag)
		r.payload = binary.AppendUvarint(r.payload, uint64(len(field)))
		r.payload = append(r.payload, field...)
	}
	if s.Err() != nil {
		return r.badLine("it is not a complete JSON array")
	}
	r.countNotes(&s.Notes)
	return r.add(numbers, name, formTuple, r.payload)
}

// Fields of a tuple are stored as one of these tags, the length and the text.
const (
	tupleText    = 't'
	tupleInteger = 'i'
)
