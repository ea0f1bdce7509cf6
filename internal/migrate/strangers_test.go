package migrate

import "testing"

// A protobuf file that is not a Perfetto trace is neither converted nor taken for a Perfetto trace.
func TestOtherProtobuf(t *testing.T) {
	a := newTestArchive(t, map[string]string{
		"profile.pb":   "\n\x04\x08\x01\x10\x02\n\x04\x08\x03\x10\x04\x12\x07\n\x02\x01\x02\x12\x01\x05", // from pprof
		"trace.json":   small,
		"other.binpb":  "\n\x0f\n\x04name\x12\x07package",
		"real.pftrace": "\n\x02\x40\x01",
	})
	if _, err := a.run(nil); err != nil {
		t.Fatal(err)
	}
	a.want(map[string]string{"profile.pb": "skipped no-trace", "trace.json": "done", "other.binpb": "skipped no-trace", "real.pftrace": "skipped perfetto"})
}
