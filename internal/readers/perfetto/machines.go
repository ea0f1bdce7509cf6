package perfetto

import (
	"github.com/weft-trace/weft/internal/pfwire"
	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/timeline"
)

// machineTracks holds the tracks of all machines; tracks belongs to the current packet's machine. Uuids, pids and flow
// ids are local to a machine.
type machineTracks struct {
	machine   uint32
	home      uint32 // the machine of the trace itself
	homeKnown bool
	tracks    *tracks
	machines  map[uint32]*tracks
}

func newMachineTracks() *machineTracks {
	host := newTracks()
	return &machineTracks{tracks: &host, machines: map[uint32]*tracks{0: &host}}
}

// maxMachines limits how many machines are distinguished; data from further machines is assigned to the trace's own
// machine.
const maxMachines = 1 << 10

// adoptMachine makes the machine of the first packet the trace's own, because a file may contain no data from the host.
func (r *reader) adoptMachine(f *message.TracePacket) {
	if !r.homeKnown && f.Payload != schema.TracePacket_SynchronizationMarker {
		r.home, r.homeKnown = f.Sequence.Machine, true
	}
	switch f.Sequence.Machine {
	case r.home:
		f.Sequence.Machine = 0
	case 0: // the host came later and gets the number of the adopted machine
		f.Sequence.Machine = r.home
	}
}

// setMachine makes the machine of a packet the current one.
func (r *reader) setMachine(machine uint32) {
	m := r.machineTracks
	if machine == m.machine {
		return
	}
	if m.machines[machine] == nil {
		if len(m.machines) >= maxMachines {
			r.setMachine(0)
			return
		}
		tracks := newTracks()
		m.machines[machine] = &tracks
	}
	m.machine, m.tracks = machine, m.machines[machine]
	r.b.SetMachine(machine)
}

// flowID makes a flow id unique across machines.
func (r *reader) flowID(id uint64) uint64 {
	if r.machine == 0 {
		return id
	}
	return (id ^ uint64(r.machine)*0x9e3779b97f4a7c15) * 0xa0761d6478bd642f
}

// systemInfo reads the name of the machine. The other fields are settings and properties of the system.
func (r *reader) systemInfo(msg []byte) {
	var info message.SystemInfo
	if err := info.Parse(msg); err != nil {
		r.malformed("system_info", err)
		return
	}
	switch name := string(r.validText(info.MachineName())); {
	case name == "":
	case r.machine != 0:
		r.b.NameMachine(r.machine, name)
	case r.b.Observer() != nil:
		r.b.Observer().Host(name)
	}
	if info.HasMore() {
		r.notConverted("TracePacket field 45")
	}
}

// remoteClockSync reads the offsets between the clocks of the current machine and the host's.
func (r *reader) remoteClockSync(msg []byte) {
	rounds, err := r.state.Clocks.Sync(r.fields.Sequence.Machine, msg)
	if err != nil {
		r.malformed("remote_clock_sync", err)
	}
	if r.b.Observer() == nil {
		return
	}
	var wall *pfwire.RemoteSync
	for i := range rounds {
		switch s := &rounds[i]; {
		case s.Clock == pfwire.ClockRealtime:
			wall = s
		case s.Clock == pfwire.ClockMonotonic && wall != nil && wall.Round == s.Round:
			r.b.Observer().HostSync(&timeline.HostSync{
				Own: timeline.Nanos(wall.Own - s.Own), Host: timeline.Nanos(wall.Host - s.Host), Low: timeline.Nanos(s.Low), High: timeline.Nanos(s.High),
			})
		}
	}
}
