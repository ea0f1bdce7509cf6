package load

import "testing"

// Spans in protobuf start with the same byte as Perfetto packets, but are not recognized as a Perfetto trace.
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
