package pfwire

import "bytes"

// LooksLikeTrace reports whether the head of an input is a Perfetto trace: a file of packet fields, the first byte is
// the tag of field 1 (perfetto.md 2). That byte is a line feed as well, with which a JSON file may begin. JSON
// wins where both readings are possible: a packet whose content would begin with a quote or a bracket does not exist.
func LooksLikeTrace(head []byte) bool {
	if len(head) == 0 || head[0] != 0x0A {
		return false
	}
	text := bytes.TrimLeft(head, " \t\r\n")
	if len(text) == 0 {
		return false
	}
	inner := bytes.TrimLeft(text[1:], " \t\r\n")
	switch text[0] {
	case '{':
		return len(inner) > 0 && inner[0] != '"' && inner[0] != '}'
	case '[':
		return len(inner) > 0 && inner[0] != '{' && inner[0] != ']' && inner[0] != ','
	}
	return true
}
