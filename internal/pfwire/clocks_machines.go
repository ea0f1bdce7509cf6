package pfwire

import (
	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/schema"
)

// Each machine in a trace has its own clocks. RemoteClockSync packets relate them to the clocks of the host, which is machine 0.
// Without such packets, the wall clocks of a machine and the host are assumed to agree. If a wall clock is unknown, the two
// clocks with the id of the trace's clock, usually BOOTTIME, are assumed to agree.

// named replaces clock id 0 of another machine with the id of the trace's clock.
func (c *Clocks) named(clock Clock) Clock {
	if clock.ID == 0 && clock.Machine != 0 {
		clock.ID = c.target().ID
	}
	return clock
}

// bridge relates a machine to the host if nothing else does, as Perfetto does on first use. It reports whether it added a link.
func (c *Clocks) bridge(machine uint32) bool {
	target := c.target()
	clock := Clock{ID: target.ID, Machine: machine}
	if c.findRoute(clock, target) != nil {
		return false
	}
	wall, hostWall := Clock{ID: ClockRealtime, Machine: machine}, Clock{ID: ClockRealtime}
	if c.findRoute(clock, wall) != nil && (hostWall == target || c.findRoute(hostWall, target) != nil) {
		c.linkAll([]reading{{wall, 0}, {hostWall, 0}})
	} else {
		c.linkAll([]reading{{clock, 0}, {target, 0}})
	}
	return true
}

// RemoteSync is the result of one relay service round for one clock: the machine's clock is ahead of the host's by Low to High.
type RemoteSync struct {
	Clock     uint32
	Round     int   // clocks in one round were read together
	Host, Own int64 // readings on the host and the machine at about the same moment
	Low, High int64
	ahead     int64 // Perfetto's estimate
}

// maxRemoteRounds limits how many rounds of a RemoteClockSync packet are used.
const maxRemoteRounds = 1 << 10

// remoteInterval is the maximum time between the readings of a round, in nanoseconds.
const remoteInterval = 30_000_000_000

// Sync adds a RemoteClockSync message from a machine, and returns the results of its rounds.
func (c *Clocks) Sync(machine uint32, msg []byte) ([]RemoteSync, error) {
	var m message.RemoteClockSync
	err := m.Parse(msg)
	var all []RemoteSync
	var previous [2]map[uint32]int64
	for l, n := m.Rounds(), 0; l.Next() && n < maxRemoteRounds; n++ {
		var pair message.SyncedClocks
		if err := pair.Parse(l.Bytes()); err != nil {
			return all, err
		}
		readings := [2]map[uint32]int64{readingsOf(pair.Client), readingsOf(pair.Host)}
		c.linkAll(asReadings(readings[0], machine))
		if elapsed := readings[0][ClockBoottime] - previous[0][ClockBoottime]; previous[0] != nil && uint64(elapsed) < remoteInterval {
			all = append(all, roundOf(n, previous, readings)...)
		}
		previous = readings
	}
	c.linkRounds(machine, all)
	return all, err
}

// readingsOf returns the readings of built-in clocks in a ClockSnapshot.
func readingsOf(msg []byte) map[uint32]int64 {
	all := map[uint32]int64{}
	var s message.ClockSnapshot
	if s.Parse(msg) != nil {
		return all
	}
	for l := s.Clocks(); l.Next() && len(all) < maxReadings; {
		var r message.ClockReading
		if r.Parse(l.Bytes()) == nil && r.ID() > 0 && r.ID() < schema.BuiltinClockMaxID && r.Timestamp() > 0 {
			all[r.ID()] = r.Timestamp()
		}
	}
	return all
}

func asReadings(times map[uint32]int64, machine uint32) (all []reading) {
	for id := uint32(1); id < schema.BuiltinClockMaxID; id++ {
		if t, ok := times[id]; ok {
			all = append(all, reading{Clock{ID: id, Machine: machine}, t})
		}
	}
	return all
}

// roundOf compares two pairs of clock readings, taken in the order machine, host, machine, host.
func roundOf(n int, first, second [2]map[uint32]int64) (all []RemoteSync) {
	for id := uint32(1); id < schema.BuiltinClockMaxID; id++ {
		own1, host1, own2, host2 := first[0][id], first[1][id], second[0][id], second[1][id]
		if own1 == 0 || host1 == 0 || own2 == 0 || host2 == 0 || own2 < own1 || host2 < host1 {
			continue
		}
		byMachine, byHost := own1+(own2-own1)/2-host1, own2-host1-(host2-host1)/2
		all = append(all, RemoteSync{
			Clock: id, Round: n, Host: host2, Own: own2, Low: max(own1-host1, own2-host2), High: own2 - host1, ahead: byMachine + (byHost-byMachine)/2,
		})
	}
	return all
}

// linkRounds relates the clocks of a machine to the host's by the mean of all rounds.
func (c *Clocks) linkRounds(machine uint32, all []RemoteSync) {
	for id := uint32(1); id < schema.BuiltinClockMaxID; id++ {
		var sum, n, at int64
		for i := range all {
			if r := &all[i]; r.Clock == id {
				n++
				sum += (r.ahead - sum) / n // running mean
				at = r.Host
			}
		}
		if n > 0 && machine != 0 {
			c.linkAll([]reading{{Clock{ID: id}, at}, {Clock{ID: id, Machine: machine}, at + sum}})
		}
	}
}
