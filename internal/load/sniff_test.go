package load

import "testing"

// Spans in protobuf begin with the byte with which packets of Perfetto begin, and are not taken for a trace that is there already.
func TestSpansAreNotPerfetto(t *testing.T) {
	for name, head := range map[string]string{
		"plain":  "\x0a\x0c\x0a\x0a\x0a\x08\x0a\x01k\x12\x03\x0a\x01v",
		"frames": "\x00\x00\x00\x0e\x0a\x0c\x0a\x0a\x0a\x08\x0a\x01k\x12\x03\x0a\x01v",
	} {
		if format := Sniff([]byte(head)); format != FormatOTLP {
			t.Errorf("%s: taken for %q", name, format)
		}
	}
}
