package probes

import (
	"bytes"

	"github.com/weft-trace/weft/internal/jsonscan"
)

// detectWithin is the number of bytes of an input that Detect examines.
const detectWithin = 64 << 10

// Detect reports whether an input that starts with head contains probe lines: whether its first 64 KiB contain
// "#probelines 1" or a record, as a line or in the text of a line of bpftrace's JSON output.
func Detect(head []byte) bool {
	head = bytes.TrimPrefix(head[:min(len(head), detectWithin)], []byte("\xEF\xBB\xBF"))
	if !isText(head[:min(len(head), 256)]) {
		return false
	}
	for len(head) > 0 {
		line, rest, _ := bytes.Cut(head, []byte("\n"))
		if isProbeLine(line) || len(line) > 0 && line[0] == '{' && isProbeJSON(line) {
			return true
		}
		head = rest
	}
	return false
}

// isText reports whether the start of an input contains no bytes that mark binary files, such as Perfetto traces, whose
// first byte can be a line feed.
func isText(head []byte) bool {
	for _, c := range head {
		if c < '\a' || c > '\r' && c < ' ' && c != '\x1b' {
			return false
		}
	}
	return true
}

// isProbeLine reports whether a line is a record or "#probelines 1", possibly after DTrace's columns.
func isProbeLine(line []byte) bool {
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) > 0 && (line[0] == ' ' || isDigit(line[0])) {
		line = afterColumns(line)
	}
	return len(line) > 2 && isRecord(line) || isVersion(line)
}

func isVersion(line []byte) bool {
	keyword, rest := nextField(line)
	version, _ := nextField(rest)
	return string(keyword) == "#probelines" && string(version) == "1"
}

// isProbeJSON reports whether a line of JSON contains a record or "#probelines 1".
func isProbeJSON(line []byte) bool {
	var s, elements jsonscan.Scanner
	s.Reset(line)
	if kind, _ := s.Value(); kind != jsonscan.Object {
		return false
	}
	var typ string
	found := false
	for {
		key, ok := s.Key()
		if !ok {
			return s.Err() == nil && found && (typ == "printf" || typ == "value")
		}
		kind, value := s.Scalar()
		switch {
		case string(key) == "type":
			typ = string(value)
		case string(key) != "data":
		case kind == jsonscan.String:
			for text := range bytes.SplitSeq(value, []byte("\n")) {
				found = found || isProbeLine(text)
			}
		case kind == jsonscan.Array:
			elements.Reset(value)
			elements.Value()
			if elements.Elem() {
				kind, first := elements.Scalar()
				found = kind == jsonscan.String && (string(first) == "P1" || isVersion(first) || string(first) == "#probelines")
			}
		}
	}
}
