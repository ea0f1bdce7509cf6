package trace_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/weft-trace/weft/trace"
)

func TestValues(t *testing.T) {
	for _, c := range []struct {
		value trace.Value
		want  string
	}{
		{trace.NewValue([]string{"b", "a"}), `["b","a"]`},
		{trace.NewValue(map[string]string{"b": "1", "a": "2"}), `{"a":"2","b":"1"}`},
		{trace.NewValue(map[string]trace.Value{"b": trace.NewValue(1), "a": trace.NewValue([]string(nil))}), `{"a":[],"b":1}`},
		{trace.NewValue(1500 * time.Microsecond), "1500000"},
		{trace.NewValue(1500 * trace.Microsecond), "1500000"},
	} {
		if got := fmt.Sprint(c.value); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
	if n := 1500 * trace.Microsecond; n.String() != "1.5ms" || n.Duration() != 1500*time.Microsecond {
		t.Errorf("%v, %v", n, n.Duration())
	}
}

// Lookup returns the same events as a loop, wherever they are in the trace.

func TestLookup(t *testing.T) {
	tr := openRecording(t, "chrome/chrome-devtools-tiny.json.gz")
	defer tr.Close()
	all := map[trace.EventID]string{}
	for ev, err := range tr.Events() {
		if err != nil {
			t.Fatal(err)
		}
		all[ev.ID] = fmt.Sprint(ev.ID, ev.Time, ev.Name, ev.Args)
	}
	last := trace.EventID(len(all))
	found, err := tr.Lookup(1, last, 1, last/2, last+1, 0)
	if err != nil || len(found) != 3 {
		t.Fatalf("%d events, error %v", len(found), err)
	}
	for id, ev := range found {
		if got := fmt.Sprint(ev.ID, ev.Time, ev.Name, ev.Args); got != all[id] {
			t.Errorf("got %s, want %s", got, all[id])
		}
	}
}
