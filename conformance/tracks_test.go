package conformance

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	pb "github.com/weft-trace/weft/gen/perfetto/protos"
)

// Kinds of tracks and slices in the tables.
const (
	kindThread   = "thread"
	kindOverflow = "overflow"
	kindAsync    = "async"
	kindProcess  = "process"
	kindGlobal   = "global"
	kindCounter  = "counter" // has no rows in the slices table
	kindLeftOut  = ""        // one of weft's own tracks, which no table shows
)

// maxAncestors is trace_processor's limit for the hierarchy of tracks (perfetto.md 5).
const maxAncestors = 100

// track is one described track.
type track struct {
	kind        string
	pid, tid    string // as in the tables; empty if the track has none
	name        string
	processName string
	threadName  string
	counter     *pb.CounterDescriptor
}

// descriptors are the track descriptors of a trace by uuid.
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

// track returns a track with its kind, process and thread.
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
		t.tid, t.threadName = originalTid(home, t.pid)
	case home.GetProcess() != nil:
		t.pid, t.processName = originalPid(home)
	}
	t.kind = kindOf(d, home)
	return t, nil
}

// home returns the nearest thread or process among a track and its ancestors, or nil.
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

// process returns the track of the process with a pid.
func (all descriptors) process(pid int32) (*pb.TrackDescriptor, error) {
	for _, d := range all {
		if d.GetProcess() != nil && d.GetProcess().GetPid() == pid {
			return d, nil
		}
	}
	return nil, fmt.Errorf("process %d is not described", pid)
}

// kindOf returns the kind of a track according to its position and name (testdata/conformance/chrome-json/README.md,
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
		return kindLeftOut // weft adds no events to the track of a process itself
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

// inTheInput matches the description of a process or thread with an assigned id (docs/formats/perfetto.md).
var inTheInput = regexp.MustCompile(`^In the input: (?:(?:pid|tid) (-?[0-9]+|"(?:[^"\\]|\\.)+")(?:, named (".*"))?|called (".*"))$`)

// original returns the id and the name of a process or thread in the input, if its description marks its id as
// assigned. A process or thread with a text as id has that text as its name.
func original(description string) (id, name string, assigned bool) {
	m := inTheInput.FindStringSubmatch(description)
	if m == nil {
		return "", "", false
	}
	unquote := func(text string) string {
		if unquoted, err := strconv.Unquote(text); err == nil {
			return unquoted
		}
		return text
	}
	if m[3] != "" {
		return "str:" + unquote(m[3]), unquote(m[3]), true
	}
	return unquote(m[1]), unquote(m[2]), true
}

// originalPid returns the process id in the input, and the process's name if the input has one.
func originalPid(d *pb.TrackDescriptor) (pid, name string) {
	if pid, name, assigned := original(d.GetDescription()); assigned {
		return pid, name
	}
	return strconv.FormatInt(int64(d.GetProcess().GetPid()), 10), d.GetProcess().GetProcessName()
}

// originalTid returns the thread id in the input, and the thread's name. The main thread of a process whose pid is 0 or
// a text has the id of its process.
func originalTid(d *pb.TrackDescriptor, pid string) (tid, name string) {
	tid, name, assigned := original(d.GetDescription())
	switch {
	case !assigned:
		return strconv.FormatInt(d.GetThread().GetTid(), 10), d.GetThread().GetThreadName()
	case tid == "0":
		return pid, name
	}
	return tid, name
}
