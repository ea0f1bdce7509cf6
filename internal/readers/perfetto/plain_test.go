package perfetto

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/v8profile"
	"github.com/weft-trace/weft/pftrace"
)

// samples are StackSamples of which some are in the usual form: of two threads, at times before the clock is known, and after a
// descriptor that gives the ids of a thread another meaning.
const samples = oneThread + `
packet { trusted_packet_sequence_id: 1 trace_attributes { attribute { key: "weft.version" string_value: "1" } } }
packet { trusted_packet_sequence_id: 1 trace_packet_defaults { stack_sample_defaults { source: "chrome" } } interned_data {
	function_names { iid: 1 str: "f" } frames { iid: 1 function_name_id: 1 } callstacks { iid: 1 frame_ids: 1 } callstacks { iid: 2 } } }
packet { trusted_packet_sequence_id: 1 timestamp: 1 stack_sample { task_context { pid: 10 tid: 11 } callstack_iid: 1 primary_weight: 5 } }
packet { trusted_packet_sequence_id: 1 timestamp: 2 stack_sample { task_context { pid: 10 tid: 11 } callstack_iid: 1 primary_weight: 6 } }
packet { trusted_packet_sequence_id: 1 timestamp: 3 stack_sample { task_context { pid: 10 tid: 11 } callstack_iid: 2 primary_weight: 7 } }
packet { trusted_packet_sequence_id: 1 timestamp: 4 stack_sample { task_context { pid: 10 tid: 11 } callstack_iid: 9 primary_weight: 8 } }
packet { trusted_packet_sequence_id: 1 timestamp: 5 stack_sample { task_context { pid: 10 tid: 12 } callstack_iid: 1 primary_weight: 9 } }
packet { trusted_packet_sequence_id: 1 timestamp: 6 stack_sample { task_context { pid: 10 tid: 12 } primary_weight: 10 } }
packet { trusted_packet_sequence_id: 1 timestamp: 18446744073709551615 stack_sample { task_context { pid: 10 tid: 12 } primary_weight: 11 } }
packet { trusted_packet_sequence_id: 1 timestamp: 7 stack_sample { task_context { pid: 10 tid: 12 } callstack_iid: 1 primary_weight: 18446744073709551615 } }
packet { trusted_packet_sequence_id: 1 timestamp: 8 stack_sample { task_context { pid: 10 tid: 12 } callstack_iid: 1 } }
packet { trusted_packet_sequence_id: 1 timestamp: 9 stack_sample { execution_context { cpu: 3 } task_context { pid: 10 tid: 12 } primary_weight: 1 } }
packet { trusted_packet_sequence_id: 1 trace_packet_defaults { stack_sample_defaults { source: "another" } } }
packet { trusted_packet_sequence_id: 1 timestamp: 10 stack_sample { task_context { pid: 10 tid: 12 } callstack_iid: 1 primary_weight: 1 } }
packet { trusted_packet_sequence_id: 1 timestamp: 11 stack_sample { task_context { pid: 10 tid: 12 } callstack_iid: 1 primary_weight: 2 } }
`

// Arguments and samples that are read in one pass are those that are looked at one by one: the same bytes, ids of stacks and problems.
func TestPlain(t *testing.T) {
	traces := map[string][]byte{"samples": encode(t, samples)}
	for _, c := range cases(t) {
		traces[c.file] = c.trace
	}
	for _, rec := range recordings[:2] {
		traces[rec.name] = rec.open(t)
	}
	for _, name := range []string{"chrome-devtools-tiny.json.gz", "chrome-everything-small.json.gz"} {
		var out bytes.Buffer
		tl := readJSON(t, openRecording(t, "chrome", name)).timeline
		if err := pftrace.Write(t.Context(), &out, traceOf(t.Context(), tl), pftrace.Options{Packets: pftrace.Compact}); err != nil {
			t.Fatal(err)
		}
		traces[name] = out.Bytes()
	}
	for name, input := range traces {
		for wanted, keep := range map[string]timeline.ArgFilter{
			"all": {}, "some": timeline.OnlyArgs("data", "args", "name", "frame", "src_file", "source"),
		} {
			plain := argumentsOf(t, input, Options{Args: keep})
			if diff := cmp.Diff(argumentsOf(t, input, Options{Args: keep, notPlain: true}), plain); diff != "" {
				t.Errorf("%s, %s arguments: -one by one +in one pass\n%s", name, wanted, diff)
			}
			if name == "samples" && len(plain) < 12 {
				t.Errorf("only %q", plain)
			}
		}
	}
}

// argumentsOf lists the arguments of a trace as they are encoded, the ids of stacks in them, samples and problems.
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
	err = tl.Walk(t.Context(), func(it *timeline.Item) error {
		if it.Kind == timeline.ItemSample {
			lines = append(lines, fmt.Sprint(it.Event, it.TS, it.Offset, tl.Track(it.Track).TID, it.Callstack, it.Value, it.CPU, string(it.Name)))
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
