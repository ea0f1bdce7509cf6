package perfetto

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/bridge"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
	"github.com/weft-trace/weft/pftrace"
	"github.com/weft-trace/weft/trace"
)

// Arguments that are encoded in one pass are those that are looked at one by one: the same bytes, ids of stacks and problems.
func TestPlainArguments(t *testing.T) {
	traces := map[string][]byte{}
	for _, c := range cases(t) {
		traces[c.file] = c.trace
	}
	for _, rec := range recordings[:2] {
		traces[rec.name] = rec.open(t)
	}
	for _, name := range []string{"chrome-devtools-tiny.json.gz", "chrome-everything-small.json.gz"} {
		var out bytes.Buffer
		tl := readJSON(t, openRecording(t, "chrome", name)).timeline
		if err := pftrace.Write(t.Context(), &out, bridge.Trace[trace.Trace](t.Context(), tl), pftrace.Options{Packets: pftrace.Compact}); err != nil {
			t.Fatal(err)
		}
		traces[name] = out.Bytes()
	}
	for name, input := range traces {
		for wanted, keep := range map[string]func([]byte) bool{
			"all": nil, "some": func(name []byte) bool { return len(name)%2 == 0 },
		} {
			plain := argumentsOf(t, input, Options{KeepArg: keep})
			if diff := cmp.Diff(argumentsOf(t, input, Options{KeepArg: keep, notPlain: true}), plain); diff != "" {
				t.Errorf("%s, %s arguments: -one by one +in one pass\n%s", name, wanted, diff)
			}
		}
	}
}

// argumentsOf lists the arguments of a trace as they are encoded, the ids of stacks in them, and the problems.
func argumentsOf(t *testing.T, input []byte, opts Options) (lines []string) {
	t.Helper()
	var log problem.Log
	b := timeline.NewBuilder(timeline.Options{Problems: &log, TempDir: t.TempDir()})
	defer b.Close()
	opts.Problems, opts.TempDir = &log, t.TempDir()
	opts.Profiles = v8profile.NewAssembler(&log, v8profile.AssemblerOptions{})
	if err := Read(t.Context(), bytes.NewReader(input), b, opts); err != nil {
		return []string{err.Error()}
	}
	tl, err := b.Finish(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	if err := tl.Nest(t.Context()); err != nil {
		t.Fatal(err)
	}
	err = tl.Occurrences(context.Background(), true, func(group []timeline.Head) error {
		for i := range group {
			o := &group[i]
			lines = append(lines, fmt.Sprintf("%d %d %x %d", o.Event, o.TS, []byte(o.Args), o.TraceID))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, total := range log.Totals() {
		lines = append(lines, fmt.Sprint(total.Kind.Name(), total.Count))
	}
	return lines
}
