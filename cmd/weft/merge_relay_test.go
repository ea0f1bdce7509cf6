package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/weft-trace/weft/gen/perfetto/protos"
)

// The traces of a host and of a guest. The guest's relay service compared the guest's clocks with the host's clocks. REALTIME −
// MONOTONIC is 1,700,000,000 s on the host. The clock MONOTONIC of the guest is ahead by 5,000 s, and the guest's wall clock by 3
// ms.
const (
	relayHost = `
packet { trusted_packet_sequence_id: 1 sequence_flags: 1 clock_snapshot {
  clocks { clock_id: 6 timestamp: 1000000000000 } clocks { clock_id: 3 timestamp: 1000000000000 } clocks { clock_id: 1 timestamp: 1700001000000000000 } } }
packet { track_descriptor { uuid: 5 thread { pid: 100 tid: 100 thread_name: "host" } } }
packet { timestamp: 1001000000000 trusted_packet_sequence_id: 1 track_event { type: TYPE_INSTANT track_uuid: 5 name: "on the host" } }
`
	relayGuest = `
packet { machine_id: 7 trusted_packet_sequence_id: 1 sequence_flags: 1 clock_snapshot {
  clocks { clock_id: 6 timestamp: 6000000000000 } clocks { clock_id: 3 timestamp: 6000000000000 } clocks { clock_id: 1 timestamp: 1700001000003000000 } } }
packet { machine_id: 7 trusted_packet_sequence_id: 1 system_info { machine_name: "guest" } }
packet { machine_id: 7 trusted_packet_sequence_id: 1 remote_clock_sync {
  synced_clocks {
    client_clocks { clocks { clock_id: 6 timestamp: 6000000000000 } clocks { clock_id: 3 timestamp: 6000000000000 } clocks { clock_id: 1 timestamp: 1700001000003000000 } }
    host_clocks { clocks { clock_id: 6 timestamp: 1000000100000 } clocks { clock_id: 3 timestamp: 1000000100000 } clocks { clock_id: 1 timestamp: 1700001000000100000 } }
  }
  synced_clocks {
    client_clocks { clocks { clock_id: 6 timestamp: 6000000300000 } clocks { clock_id: 3 timestamp: 6000000300000 } clocks { clock_id: 1 timestamp: 1700001000003200000 } }
    host_clocks { clocks { clock_id: 6 timestamp: 1000000500000 } clocks { clock_id: 3 timestamp: 1000000500000 } clocks { clock_id: 1 timestamp: 1700001000000500000 } }
  }
} }
packet { machine_id: 7 track_descriptor { uuid: 5 thread { pid: 100 tid: 100 thread_name: "guest" } } }
packet { machine_id: 7 timestamp: 6002000000000 trusted_packet_sequence_id: 1 track_event { type: TYPE_INSTANT track_uuid: 5 name: "on the guest" } }
`
)

// textTrace writes a trace, given in protobuf text format, to a file.
func textTrace(t *testing.T, name, text string) string {
	t.Helper()
	var trace protos.Trace
	if err := prototext.Unmarshal([]byte(text), &trace); err != nil {
		t.Fatal(err)
	}
	data, err := proto.Marshal(&trace)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// The relay service of a guest reveals how its clocks compare to the host's: it asked at 6,000 s, when the host's clock was at
// most 1,000.0001 s, and had the response at 6,000.0003 s, when the host's clock was at least 1,000.0001 s. So the guest is ahead
// by 4,999.9999 to 5,000.0002 s. The wall clocks contradict these bounds, which leads to a note: wall clocks of two hosts are
// never exact.
func TestMergeRelay(t *testing.T) {
	host, guest := textTrace(t, "host.pftrace", relayHost), textTrace(t, "guest.pftrace", relayGuest)
	for _, args := range [][]string{{host, guest}, {guest, host, "--reference", "host"}} {
		report, _ := merged(t, args...)
		if len(report.Notes) != 1 || !strings.Contains(report.Notes[0], "contradict clock sync by 2.898 ms") {
			t.Errorf("%q", report.Notes)
		}
		for _, in := range report.Inputs {
			if in.Name == "host" {
				continue
			}
			if in.By != "clock sync" || in.Low != -5_000_000_200_000 || in.High != -4_999_999_900_000 || in.Evidence != "1 round of a relay service" || in.Host != "guest" {
				t.Errorf("placed at %+v", in)
			}
		}
	}
	report, out := merged(t, "--machines", host, guest)
	if report.Inputs[1].Machine != 1 {
		t.Errorf("%+v", report.Inputs[1])
	}
	if got := machinesOf(t, out); len(got) != 2 || got[1] != "1 guest 100 guest" {
		t.Errorf("%q", got)
	}
}
