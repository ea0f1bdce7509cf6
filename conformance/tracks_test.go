package conformance

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	pb "github.com/weft-trace/weft/gen/perfetto/protos"
)

// The kinds of tracks and slices, as the tables call them.
const (
	kindThread   = "thread"
	kindOverflow = "overflow"
	kindAsync    = "async"
	kindProcess  = "process"
	kindGlobal   = "global"
	kindCounter  = "counter" // has no rows in the slices table
	kindLeftOut  = ""        // a track of weft's own that no table shows
)

// maxAncestors is the deepest hierarchy of tracks that trace_processor accepts (perfetto.md 5).
const maxAncestors = 100

// firstSynthetic is where the ids that weft makes up may begin: they are handed out downwards from 2^31-1.
const firstSynthetic = 1<<31 - 1<<20

// track is one described track.
type track struct {
	kind        string
	pid, tid    string // as the tables write them; empty if the track has none
	name        string
	processName string
	threadName  string
	counter     *pb.CounterDescriptor
}

// descriptors holds the track descriptors of a trace while tracks are made of them.
type descriptors map[uint64]*pb.TrackDescriptor

// describe returns the tracks of a trace by uuid.
func describe(packets []*pb.TracePacket) (map[uint64]*track, error) {
	all := descriptors{}
	for i, packet := range packets {
		d := packet.GetTrackDescriptor()
		if d == nil {
			continue
		}
		if _, again := all[d.GetUuid()]; again {
			return nil, fmt.Errorf("packet %d: track %d is described twice; weft describes each once", i, d.GetUuid())
		}
		all[d.GetUuid()] = d
	}
	tracks := map[uint64]*track{}
	for uuid, d := range all {
		t, err := all.track(d)
		if err != nil {
			return nil, fmt.Errorf("track %d: %w", uuid, err)
		}
		tracks[uuid] = t
	}
	return tracks, nil
}

// track finds the kind of a track and the process and thread that it belongs to.
func (all descriptors) track(d *pb.TrackDescriptor) (*track, error) {
	home, err := all.home(d)
	if err != nil {
		return nil, err
	}
	t := &track{name: d.GetName(), counter: d.GetCounter()}
	switch {
	case home.GetThread() != nil:
		process, err := all.process(home.GetThread().GetPid())
		if err != nil {
			return nil, err
		}
		t.pid, t.processName = originalPid(process)
		t.tid, t.threadName = originalTid(home.GetThread(), t.pid)
	case home.GetProcess() != nil:
		t.pid, t.processName = originalPid(home.GetProcess())
	}
	t.kind = kindOf(d, home)
	return t, nil
}

// home returns the nearest thread or process among a track and its ancestors, nil if there is none.
func (all descriptors) home(d *pb.TrackDescriptor) (*pb.TrackDescriptor, error) {
	for range maxAncestors {
		if d.GetThread() != nil || d.GetProcess() != nil {
			return d, nil
		}
		if d.GetParentUuid() == 0 {
			return nil, nil
		}
		parent := all[d.GetParentUuid()]
		if parent == nil {
			return nil, fmt.Errorf("parent %d is not described", d.GetParentUuid())
		}
		d = parent
	}
	return nil, errors.New("more than 100 ancestors")
}

// process returns the process with a pid.
func (all descriptors) process(pid int32) (*pb.ProcessDescriptor, error) {
	for _, d := range all {
		if d.GetProcess() != nil && d.GetProcess().GetPid() == pid {
			return d.GetProcess(), nil
		}
	}
	return nil, fmt.Errorf("process %d is not described", pid)
}

// kindOf returns the kind of a track by where it is and how it is called (testdata/conformance/chrome-json/README.md,
// "Computing the same", 3 and 6).
func kindOf(d, home *pb.TrackDescriptor) string {
	name := d.GetName()
	switch {
	case d.GetCounter() != nil && home.GetProcess() != nil && strings.HasPrefix(name, "memory "):
		return kindLeftOut // from memory dumps
	case d.GetCounter() != nil:
		return kindCounter
	case home != nil && d.GetUuid() == home.GetUuid():
		if d.GetThread() != nil {
			return kindThread
		}
		return kindLeftOut // weft puts nothing on the track of a process itself
	case name == "Thread state", name == "Other events", name == "Clock sync", strings.HasSuffix(name, " objects"):
		return kindLeftOut
	case home.GetThread() != nil:
		return kindOverflow
	case home.GetProcess() != nil && name == "Process instants":
		return kindProcess
	case home == nil && name == "Global instants":
		return kindGlobal
	}
	return kindAsync
}

// originalPid returns a process id as the input wrote it, and the process's name if it is one of the input. weft
// replaces ids that Perfetto cannot hold and keeps their text in a label; a process whose id was a text has that text as
// its name and no label.
func originalPid(p *pb.ProcessDescriptor) (pid, name string) {
	if p.GetPid() < firstSynthetic {
		return strconv.FormatInt(int64(p.GetPid()), 10), p.GetProcessName()
	}
	for _, label := range p.GetProcessLabels() {
		if original, ok := strings.CutPrefix(label, "pid "); ok {
			if p.GetProcessName() == label {
				return original, "" // a name in want of a better one
			}
			return original, p.GetProcessName()
		}
	}
	if p.GetProcessName() == "" {
		return strconv.FormatInt(int64(p.GetPid()), 10), "" // not made up after all
	}
	return "str:" + p.GetProcessName(), p.GetProcessName()
}

// originalTid returns a thread id as the input wrote it, and the thread's name. A made-up tid equal to the pid is the
// main thread, any other one stands for a text, which is the thread's name.
func originalTid(t *pb.ThreadDescriptor, pid string) (tid, name string) {
	switch {
	case t.GetTid() < firstSynthetic, t.GetTid() > 1<<31-1, t.GetThreadName() == "" && t.GetTid() != int64(t.GetPid()):
		return strconv.FormatInt(t.GetTid(), 10), t.GetThreadName()
	case t.GetTid() == int64(t.GetPid()):
		return pid, t.GetThreadName()
	}
	return "str:" + t.GetThreadName(), t.GetThreadName()
}
