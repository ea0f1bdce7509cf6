package perfetto

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weft-trace/weft/internal/flowbind"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// Data from machines beyond the limit belongs to the trace's own machine, regardless of earlier data.
func TestManyMachines(t *testing.T) {
	text := new(strings.Builder)
	for machine := range maxMachines + 1 {
		fmt.Fprintf(text, `packet { machine_id: %d track_descriptor { uuid: 1 process { pid: 10 process_name: "of %[1]d" } } }
packet { machine_id: %[1]d timestamp: 100 trusted_packet_sequence_id: 1 sequence_flags: 1 track_event { type: TYPE_INSTANT track_uuid: 1 name: "on %[1]d" } }
`, machine)
	}
	var log problem.Log
	b := timeline.NewBuilder(timeline.Options{Problems: &log, TempDir: t.TempDir()})
	defer b.Close()
	if err := Read(context.Background(), bytes.NewReader(encode(t, text.String())), b, Options{Options: readers.Options{Problems: &log}}); err != nil {
		t.Fatal(err)
	}
	tl, err := b.Finish(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	if err := flowbind.NestAndResolve(context.Background(), tl); err != nil {
		t.Fatal(err)
	}
	if n := len(tl.Machines()); n != maxMachines-1 {
		t.Errorf("%d machines beside that of the trace, want %d", n, maxMachines-1)
	}
	seen := 0
	err = tl.Walk(context.Background(), func(it *timeline.Item) error {
		seen++
		if name, machine := string(it.Name), tl.Machine(it.Track); name == fmt.Sprint("on ", maxMachines) && machine != 0 {
			t.Errorf("%q is on machine %d", name, machine)
		}
		return nil
	})
	if err != nil || seen != maxMachines+1 {
		t.Fatalf("%d events, error %v", seen, err)
	}
}
