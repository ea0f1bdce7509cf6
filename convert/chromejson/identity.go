package chromejson

import (
	"math"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/timeline"
)

// idSlots is the number of threads and of processes that idCache remembers.
const idSlots = 256

// idCache remembers the tracks of recent numeric ids: neighbouring events are mostly of a few threads.
type idCache struct {
	processes [idSlots]processSlot
	threads   [idSlots]threadSlot
}

// processSlot is a pid and its track; track 0 is an empty slot.
type processSlot struct {
	pid   int64
	track timeline.TrackID
}

// threadSlot is a tid in a process and its track; track 0 is an empty slot.
type threadSlot struct {
	tid            int64
	process, track timeline.TrackID
}

func slotOf(num int64) int { return int(uint64(num) * 0x9e3779b97f4a7c15 >> 56) }

// identifier converts a pid or tid: to a number, or to a text that names the process or thread. Zero and the empty text
// are what a missing id is (spec 7).
func (v value) identifier() (num int64, text string) {
	switch v.kind {
	case jsonscan.Integer:
		if n, ok := jsonscan.Int64(v.text); ok {
			return n, ""
		}
		return 0, string(v.text) // beyond 64 bits, kept apart by its text
	case jsonscan.Number:
		f, _ := jsonscan.Float64(v.text)
		if math.Abs(f) < 1<<63 {
			return int64(f), ""
		}
		return 0, string(v.text)
	case jsonscan.String:
		return 0, string(v.text)
	}
	return 0, ""
}

// hasPid reports whether the event names a process.
func (rd *reader) hasPid() bool {
	switch rd.ev.get(fieldPid).kind {
	case jsonscan.Integer, jsonscan.Number, jsonscan.String:
		return true
	}
	return false
}

// process returns the track of the event's process.
func (rd *reader) process() timeline.TrackID {
	num, text := rd.ev.get(fieldPid).identifier()
	return rd.processOf(num, text)
}

func (rd *reader) processOf(num int64, text string) timeline.TrackID {
	if text != "" {
		return rd.b.Process(timeline.ProcessKey{Text: text})
	}
	slot := &rd.ids.processes[slotOf(num)]
	if slot.track == 0 || slot.pid != num {
		*slot = processSlot{num, rd.b.Process(timeline.ProcessKey{Num: num})}
	}
	return slot.track
}

// thread returns the track of the event's thread; without tid, that of the main thread.
func (rd *reader) thread() timeline.TrackID {
	pid, pidText := rd.ev.get(fieldPid).identifier()
	process := rd.processOf(pid, pidText)
	tid, text := rd.ev.get(fieldTid).identifier()
	if text != "" {
		return rd.b.Thread(process, timeline.ThreadKey{Text: text})
	}
	slot := &rd.ids.threads[slotOf(tid^int64(process)<<32)]
	if slot.track == 0 || slot.tid != tid || slot.process != process {
		*slot = threadSlot{tid, process, rd.b.Thread(process, timeline.ThreadKey{Num: tid})}
	}
	return slot.track
}

// child returns a named track under parent.
func (rd *reader) child(parent timeline.TrackID, name string) timeline.TrackID {
	byName := rd.children[parent]
	if byName == nil {
		byName = map[string]timeline.TrackID{}
		rd.children[parent] = byName
	}
	id, ok := byName[name]
	if !ok {
		id = rd.b.Child(parent, name)
		byName[name] = id
	}
	return id
}
