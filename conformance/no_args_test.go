package conformance

import (
	"bytes"
	"strings"
	"testing"

	"github.com/weft-trace/weft/convert"
)

// Every reader obeys --args none. The only arguments left are weft's own: about an event (weft, weft.probe, weft.flags)
// and about the losses of a tracer.
func TestNoArgs(t *testing.T) {
	folders := []string{"chrome", "node", "pytorch", "firefox", "cpuprofile", "jsprofile", "otlp", "probes", "perfetto"}
	eachRecordingOf(t, folders, func(t *testing.T, name string, input []byte) {
		tr, err := convert.Open(t.Context(), bytes.NewReader(input), convert.Options{NoArgs: true, TempDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		defer tr.Close()
		for ev, err := range tr.Events() {
			if err != nil {
				t.Fatal(err)
			}
			for a := range ev.Args.Members() {
				if !strings.HasPrefix(a.Key, "weft") && a.Key != "lost" {
					t.Fatalf("%s %q has the argument %s", ev.Kind, ev.Name, a.Key)
				}
			}
		}
	})
}
