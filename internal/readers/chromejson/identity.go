package chromejson

import (
	"math"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// idSlots is the number of slots for processes, and for threads, in an idCache.
const idSlots = 256

// idCache caches the tracks of recent numeric ids: most neighbouring events belong to a few threads.
type idCache struct {
	processes [idSlots]processSlot
	threads   [idSlots]threadSlot
	texts     map[timeline.TrackID]bool // processes and threads with textual ids
}

// processSlot is a pid and its track; track 0 marks an empty slot.
type processSlot struct {
	pid   int64
	track timeline.TrackID
}

// threadSlot is a tid in a process and its track; track 0 marks an empty slot.
type threadSlot struct {
	tid            int64
	process, track timeline.TrackID
}

func slotOf(num int64) int { return int(uint64(num) * 0x9e3779b97f4a7c15 >> 56) }

// identifier converts a pid or tid to a number, or to a text that identifies the process or thread. A missing id
// yields zero and no text (section 7). A number beyond 64 bits becomes text.
func (v value) identifier() (num int64, text string) {
	switch v.kind {
	case jsonscan.Integer:
		if n, ok := jsonscan.Int64(v.text); ok {
			return n, ""
		}
		return 0, string(v.text)
	case jsonscan.Number:
		f, _ := jsonscan.Float64(v.text)
		if math.Abs(f) < 1<<63 {
			return int64(f), ""
		}
		return 0, string(v.text)
	case jsonscan.String, jsonscan.Word:
		return 0, string(v.text)
	}
	return 0, ""
}

// number converts an integer field. It returns false for other values and for integers beyond 64 bits.
func (ev *event) number(f field) (int64, bool) {
	v := &ev.Values[f]
	if !ev.has(f) || v.Kind != jsonscan.Integer {
		return 0, false
	}
	return v.Int()
}

// isNumber reports whether the value is a number.
func (v value) isNumber() bool { return v.kind == jsonscan.Integer || v.kind == jsonscan.Number }

// hasPid reports whether the event has a pid that identifies a process.
func (rd *reader) hasPid() bool {
	pid := rd.ev.get(fieldPid)
	return pid.isNumber() || pid.kind == jsonscan.String || pid.kind == jsonscan.Word
}

// process returns the track of the event's process.
func (rd *reader) process() timeline.TrackID {
	num, ok := rd.ev.number(fieldPid)
	if !ok {
		pid, text := rd.ev.get(fieldPid), ""
		if num, text = pid.identifier(); text != "" {
			process := rd.newProcess(timeline.ProcessKey{Text: text, IsNumber: pid.isNumber()})
			rd.countTextID(process, pid)
			return process
		}
	}
	slot := &rd.ids.processes[slotOf(num)]
	if slot.track == 0 || slot.pid != num {
		*slot = processSlot{num, rd.newProcess(timeline.ProcessKey{Num: num})}
	}
	return slot.track
}

// newProcess returns the track of a possibly new process and records its first position.
func (rd *reader) newProcess(key timeline.ProcessKey) timeline.TrackID {
	process := rd.b.Process(key)
	rd.b.SetProcessPosition(process, rd.position())
	return process
}

// countTextID counts a process or thread with a textual id, once.
func (rd *reader) countTextID(track timeline.TrackID, id value) {
	if id.isNumber() || rd.ids.texts[track] {
		return
	}
	if rd.ids.texts == nil {
		rd.ids.texts = map[timeline.TrackID]bool{}
	}
	rd.ids.texts[track] = true
	rd.problem(problem.TextID, string(id.text))
}

// thread returns the track of the event's thread or, without a tid, of the main thread.
func (rd *reader) thread() timeline.TrackID {
	process := rd.process()
	tid, ok := rd.ev.number(fieldTid)
	if !ok {
		id, text := rd.ev.get(fieldTid), ""
		if tid, text = id.identifier(); text != "" {
			thread := rd.b.Thread(process, timeline.ThreadKey{Text: text, IsNumber: id.isNumber()})
			rd.countTextID(thread, id)
			return thread
		}
	}
	slot := &rd.ids.threads[slotOf(tid^int64(process)<<32)]
	if slot.track == 0 || slot.tid != tid || slot.process != process {
		*slot = threadSlot{tid, process, rd.b.Thread(process, timeline.ThreadKey{Num: tid})}
	}
	return slot.track
}

// roleTrack returns the track of a role below a process, a thread or the root.
func (rd *reader) roleTrack(parent timeline.TrackID, role timeline.Role) timeline.TrackID {
	key := roleKey{parent, role}
	id, ok := rd.roles[key]
	if !ok {
		id = rd.b.RoleTrack(parent, role)
		rd.roles[key] = id
	}
	return id
}

// roleKey identifies a track by its role.
type roleKey struct {
	parent timeline.TrackID
	role   timeline.Role
}
