package migrate

import "testing"

// Spans in protobuf begin with the byte with which packets of Perfetto begin, and are not taken for a trace that is there already.
func TestSpansAreNotPerfetto(t *testing.T) {
	var r run
	for name, head := range map[string]string{
		"plain":  "\x0a\x0c\x0a\x0a\x0a\x08\x0a\x01k\x12\x03\x0a\x01v",
		"frames": "\x00\x00\x00\x0e\x0a\x0c\x0a\x0a\x0a\x08\x0a\x01k\x12\x03\x0a\x01v",
	} {
		if r.isPerfetto([]byte(head)) || !r.looksLikeTrace([]byte(head)) {
			t.Errorf("%s: taken for a Perfetto trace %v, for a trace %v", name, r.isPerfetto([]byte(head)), r.looksLikeTrace([]byte(head)))
		}
	}
}
