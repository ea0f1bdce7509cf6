package attribution_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/weft-trace/weft/attribution"
	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
)

// Identities indicate whether they belong to a process, and requests whether their start and end are known, without reserved
// values.
func TestWhatIsNotKnown(t *testing.T) {
	tr, err := convert.Open(t.Context(), bytes.NewReader(recording.Bytes(t, "traces/chrome/chrome-devtools-tiny.json")), convert.Options{TempDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	res, err := attribution.Run(t.Context(), tr, attribution.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer res.Close()
	local, global := 0, 0
	for ev, err := range tr.Events() {
		if err != nil {
			t.Fatal(err)
		}
		contexts, err := res.ContextsOf(ev.ID)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range contexts {
			want := c.ID.Scope + "/" + c.ID.ID
			if c.ID.Local {
				local++
				want += fmt.Sprint("@", c.ID.Process)
			} else if global++; c.ID.Process != 0 {
				t.Fatalf("%+v belongs to no process and has one", c.ID)
			}
			if c.ID.String() != want {
				t.Fatalf("%+v is called %s, want %s", c.ID, c.ID, want)
			}
		}
	}
	if local == 0 || global == 0 {
		t.Errorf("%d contexts of a process, %d of none", local, global)
	}
	requests := res.Requests()
	if len(requests) == 0 {
		t.Error("no requests")
	}
	for _, q := range requests {
		if q.Start != nil && *q.Start < tr.Summary().Start || q.End != nil && *q.End < tr.Summary().Start || q.Bytes < 0 {
			t.Errorf("request %s: start %v, end %v, %d bytes", q.ID, q.Start, q.End, q.Bytes)
		}
	}
}
