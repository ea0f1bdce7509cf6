package pfwire

import (
	"testing"

	"github.com/weft-trace/weft/gen/perfetto/protos"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/testkit"
	"github.com/weft-trace/weft/internal/timeline"
)

// Snapshots of further machines contain the clock of the file: otherwise Perfetto v58 uses the machine's BOOTTIME as the clock of
// the whole trace.
func TestMachinesLeaveTheClockAlone(t *testing.T) {
	b := timeline.NewBuilder(timeline.Options{TempDir: t.TempDir(), Problems: new(problem.Log)})
	for machine, text := range []string{"I 1/1 a 7\nS 1/2 1 8 stack=main", "I 1/1 b 8\nS 1/2 1 9 stack=main", "I 1/1 c 9"} {
		b.SetMachine(uint32(machine))
		if err := testkit.Add(b, text); err != nil {
			t.Fatal(err)
		}
	}
	tl := finishTimeline(t, b)
	for _, samples := range []SampleForm{StackSamples, NoSamples} {
		snapshots := map[uint32]int{}
		for _, p := range decode(t, write(t, tl, Options{Packets: CompactPackets, Samples: samples})).Packet {
			s := p.GetClockSnapshot()
			if s == nil {
				continue
			}
			snapshots[p.GetMachineId()]++
			if clocks := clocksOf(s); clocks[schema.BuiltinClockTraceFile] != (p.GetMachineId() != 0) {
				t.Errorf("machine %d: %v", p.GetMachineId(), s)
			}
		}
		for machine := range uint32(3) {
			if snapshots[machine] != 1 {
				t.Errorf("machine %d has %d clock snapshots", machine, snapshots[machine])
			}
		}
	}
}

func clocksOf(s *protos.ClockSnapshot) map[uint32]bool {
	all := map[uint32]bool{}
	for _, c := range s.Clocks {
		all[c.GetClockId()] = true
	}
	return all
}
