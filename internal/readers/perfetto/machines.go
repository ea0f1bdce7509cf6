package perfetto

import "github.com/weft-trace/weft/internal/pfwire/message"

// machineTracks are the tracks of the machine of the current packet. Uuids, pids and ids of flows mean something on one machine.
type machineTracks struct {
	machine  uint32
	tracks   *tracks
	machines map[uint32]*tracks
}

func newMachineTracks() *machineTracks {
	host := newTracks()
	return &machineTracks{tracks: &host, machines: map[uint32]*tracks{0: &host}}
}

// maxMachines bounds how many machines are kept apart.
const maxMachines = 1 << 10

// setMachine makes the machine of a packet the current one.
func (r *reader) setMachine(machine uint32) {
	m := r.machineTracks
	if machine == m.machine {
		return
	}
	if m.machines[machine] == nil {
		if len(m.machines) >= maxMachines {
			return
		}
		of := newTracks()
		m.machines[machine] = &of
	}
	m.machine, m.tracks = machine, m.machines[machine]
	r.sampled.track = 0 // its ids mean another thread
	r.b.SetMachine(machine)
}

// flowID returns the id of a flow among those of all machines.
func (r *reader) flowID(id uint64) uint64 {
	if r.machine == 0 {
		return id
	}
	return (id ^ uint64(r.machine)*0x9e3779b97f4a7c15) * 0xa0761d6478bd642f
}

// systemInfo reads what the machine is called. The rest is settings and properties of the system.
func (r *reader) systemInfo(msg []byte) {
	var info message.SystemInfo
	if err := info.Parse(msg); err != nil {
		r.malformed("system_info", err)
		return
	}
	if name := info.MachineName(); len(name) > 0 && r.machine != 0 {
		r.b.NameMachine(r.machine, string(r.validText(name)))
	}
	if info.HasMore() {
		r.notConverted("TracePacket field 45")
	}
}

// remoteClockSync reads how the clocks of the current machine compare to those of the host.
func (r *reader) remoteClockSync(msg []byte) {
	_, err := r.state.Clocks.Sync(r.fields.Sequence.Machine, msg)
	if err != nil {
		r.malformed("remote_clock_sync", err)
	}
}
