package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/recording"
)

// numOddTexts is the number of calls with odd texts at the start of a scenario of the recorded program. One more call
// has an unreadable pointer; DTrace loses it.
const numOddTexts = 30

// TestFormsOfProbeLines checks that several forms of recordings of one program give the same result: text with all
// bytes escaped, tuples by two versions of bpftrace, and DTrace's texts. The tracers keep 63, 63, 1,023 and 255 bytes
// of a text.
func TestFormsOfProbeLines(t *testing.T) {
	for tid, all := range calls(t, "bpftrace17-text-rx") {
		if len(all) < numOddTexts {
			t.Fatalf("thread %s: %d calls", tid, len(all))
		}
		want := all[:numOddTexts]
		for _, name := range []string{"bpftrace17-json", "bpftrace27-json-fork", "dtrace-js"} {
			found := 0
			for _, got := range calls(t, name) {
				for i := 0; i+len(want) <= len(got); i++ {
					if slices.Equal(want, got[i:i+len(want)]) {
						found++
					}
				}
			}
			if found < 2 {
				t.Errorf("%s: %d threads make the calls of thread %s of bpftrace17-text-rx:\n%s", name, found, tid, strings.Join(want, "\n"))
			}
		}
	}
}

// calls returns the JavaScript functions in a recording by thread: depth, name and arguments of each, with texts
// truncated to the length that all tracers keep.
func calls(t *testing.T, name string) map[string][]string {
	t.Helper()
	p, _ := mustProject(t, recording.Bytes(t, "traces/probes/"+name+".probelines"), convert.Options{})
	all := map[string][]string{}
	for _, s := range p.slices {
		if s.category != "js" {
			continue
		}
		row := fmt.Sprintf("%d %q", s.level(), cutText(s.name))
		for _, a := range s.args.all {
			if !strings.HasPrefix(a.key, "weft_") && !strings.HasPrefix(a.key, "end_") {
				row += fmt.Sprintf(" %s=%q", a.key, cutText(a.value))
			}
		}
		all[s.track.tid] = append(all[s.track.tid], row)
	}
	return all
}

// cutText truncates a text to fewer bytes than any tracer keeps, at a character boundary.
func cutText(text string) string {
	const most = 56
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}
