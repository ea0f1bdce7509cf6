package pftrace_test

import (
	"io"
	"testing"

	"github.com/weft-trace/weft/pftrace"
	"github.com/weft-trace/weft/trace"
)

// An unknown option leads to an error that suggests the intended option or lists all options.
func TestWriteUnknownOptions(t *testing.T) {
	tr, err := new(trace.Builder).Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	for want, opts := range map[string]pftrace.Options{
		`unknown compression "gzip"; use none, zlib or zstd`:                  {Compression: "gzip"},
		`unknown form of packets "dense"; use plain or compact`:               {Packets: "dense"},
		`unknown form of samples "all"; use stack-sample or none`:             {Samples: "all"},
		`unknown form of samples "stack-samples"; did you mean stack-sample?`: {Samples: "stack-samples"},
	} {
		if err := pftrace.Write(t.Context(), io.Discard, tr, opts); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	for _, opts := range []pftrace.Options{{}, {Compression: pftrace.Zstd, Packets: pftrace.Compact, Samples: pftrace.NoSamples}} {
		if err := pftrace.Write(t.Context(), io.Discard, tr, opts); err != nil {
			t.Error(err)
		}
	}
}
