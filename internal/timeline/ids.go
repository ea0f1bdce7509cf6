package timeline

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/problem"
)

// InputID is the id, in the input, of a process or of a thread within its process: a number, or text that is also its name.
type InputID struct {
	Num      int64
	Text     string
	IsNumber bool // Text is a number too large for Num, not a name
}

// Processes and threads have the same form of id.
type (
	ProcessKey = InputID // of a process
	ThreadKey  = InputID // of a thread
)

// HasNumber reports whether the id is a number rather than a name.
func (id InputID) HasNumber() bool { return id.Text == "" || id.IsNumber }

// String returns the id as text.
func (id InputID) String() string {
	if id.Text != "" {
		return id.Text
	}
	return strconv.FormatInt(id.Num, 10)
}

// Number returns the id as text if it is a number, and otherwise "".
func (id InputID) Number() string {
	if !id.HasNumber() {
		return ""
	}
	return id.String()
}

// MarshalJSON writes a numeric id as a number, or as text if it exceeds 64 bits. It writes null for a name, which the caller
// writes elsewhere.
func (id InputID) MarshalJSON() ([]byte, error) {
	switch {
	case !id.HasNumber():
		return []byte("null"), nil
	case id.Text != "":
		return json.Marshal(id.Text)
	}
	return strconv.AppendInt(nil, id.Num, 10), nil
}

// UnmarshalJSON reads the output of MarshalJSON. A null leaves the id unchanged.
func (id *InputID) UnmarshalJSON(text []byte) error {
	switch {
	case string(text) == "null":
		return nil
	case len(text) > 0 && text[0] == '"':
		*id = InputID{IsNumber: true}
		return json.Unmarshal(text, &id.Text)
	}
	*id = InputID{}
	return json.Unmarshal(text, &id.Num)
}

// nameOr returns the name of a process or thread: its id if that is text, and otherwise the given name.
func (id InputID) nameOr(name string) string {
	if !id.HasNumber() {
		return id.Text
	}
	return name
}

// Unlabelled returns the name of a track without the label that labelNamesakes appends.
func (tr *Track) Unlabelled() string {
	if len(tr.Labels) == 0 {
		return tr.Name
	}
	return strings.TrimSuffix(tr.Name, " ("+tr.Labels[0]+")")
}

// FullName returns the display name of a track. If the output uses an assigned number for a process or thread, the name
// identifies it by its first label or by the input's id, unless the assigned number already shows the id.
func (tr *Track) FullName() string {
	if !tr.Assigned || !tr.InputID.HasNumber() {
		return tr.Name
	}
	var which string
	switch {
	case len(tr.Labels) > 0:
		which = tr.Labels[0]
	case tr.Name != "" && tr.InputID.SeenIn(tr.number()):
		return tr.Name
	case tr.Kind == ProcessTrack:
		which = "pid " + tr.InputID.String()
	default:
		which = "tid " + tr.InputID.String()
	}
	switch {
	case tr.Name == "" || tr.Name == which:
		return which
	case tr.Kind == ThreadTrack && tr.InputID == InputID{}:
		return tr.Name // a main thread, which is displayed inside its process
	}
	return tr.Name + " (" + which + ")"
}

// number returns the pid or tid in the output.
func (tr *Track) number() int64 {
	if tr.Kind == ThreadTrack {
		return tr.TID
	}
	return int64(tr.PID)
}

// SeenIn reports whether an output number ends with the decimal digits of the id, as 10048213 ends with 48213.
func (id InputID) SeenIn(number int64) bool {
	return id.Text == "" && id.Num >= 0 && number > id.Num && (number-id.Num)%madeUp == 0
}

// Title returns FullName followed by the number in the input, if any: "python (GPU 0) [pid 0]".
func (tr *Track) Title() string {
	kind := "pid"
	switch {
	case tr.Kind == ThreadTrack:
		kind = "tid"
	case tr.Kind != ProcessTrack:
		return tr.Name
	}
	return tr.InputID.Title(tr.FullName(), kind)
}

// Title returns name, followed by the id if the id is a number: "main [tid 7]".
func (id InputID) Title(name, kind string) string {
	if !id.HasNumber() {
		return name
	}
	number := kind + " " + id.String()
	switch name = strings.TrimSuffix(name, " ("+number+")"); name { // a full name may already contain it
	case "", number:
		return "[" + number + "]"
	}
	return name + " [" + number + "]"
}

// RequestNumber requests the output number for an id that Perfetto cannot represent, as recorded in a trace written by weft. It
// has no effect if the number is already in use.
func (b *Builder) RequestNumber(id TrackID, number int64) {
	switch t := b.table; {
	case number <= 0:
	case t.tracks[id].kind == ProcessTrack && number <= math.MaxInt32:
		t.process(id).pid = int32(number)
	case t.tracks[id].kind == ThreadTrack:
		t.thread(id).tid = number
	}
}

// idTable allocates ids that the input does not use.
type idTable struct {
	taken    map[int64]bool
	next     int64
	lastHigh int64 // the lowest id allocated downwards from 2^31; 0: none
}

// madeUp is the smallest difference between an allocated id and the id in the input; all such differences are multiples of it. No
// Linux pid or tid is that high.
const madeUp = 10_000_000

// resembling allocates an id whose last digits are an id from the input: the lowest free number of the form id + n·madeUp,
// starting with n = multiple. For ids that are negative or too high, it allocates the highest free number below 2^31.
func (t *idTable) resembling(id, multiple int64) int64 {
	for number := id + max(multiple, 1)*madeUp; id >= 0 && id <= math.MaxInt32 && number <= math.MaxInt32; number += madeUp {
		if t.reserve(number) != 0 {
			return number
		}
	}
	if t.lastHigh == 0 {
		t.lastHigh = math.MaxInt32 + 1
	}
	for t.lastHigh--; t.taken[t.lastHigh]; {
		t.lastHigh--
	}
	t.taken[t.lastHigh] = true
	return t.lastHigh
}

// lowest allocates the lowest free number.
func (t *idTable) lowest() int64 {
	for t.next++; t.taken[t.next]; {
		t.next++
	}
	t.taken[t.next] = true
	return t.next
}

// reserve allocates a number, or returns 0 if the number is already used.
func (t *idTable) reserve(number int64) int64 {
	if t.taken[number] {
		return 0
	}
	t.taken[number] = true
	return number
}

// IsPID reports whether Perfetto can represent the process id with the same meaning.
func (id InputID) IsPID() bool { return id.Text == "" && id.Num > 0 && id.Num <= math.MaxInt32 }

// assignIDs sets the pid and tid of every used process and thread. It replaces numbers that Perfetto cannot represent, or
// interprets differently, with numbers that the input does not use (chrome-json.md 7).
func (t *trackTable) assignIDs(problems *problem.Log) {
	ids := idTable{taken: map[int64]bool{}}
	for i := range t.processes {
		ids.taken[t.processes[i].key.Num] = true
	}
	for i := range t.threads {
		ids.taken[t.threads[i].key.Num] = true
	}
	for i := range t.processes { // numbers from RequestNumber take precedence
		if p := &t.processes[i]; p.pid != 0 {
			p.pid = int32(ids.reserve(int64(p.pid)))
		}
	}
	for i := range t.threads {
		if th := &t.threads[i]; th.tid != 0 {
			th.tid = ids.reserve(th.tid)
		}
	}
	for id := range t.tracks {
		if row := &t.tracks[id]; row.kind == ProcessTrack && row.used {
			t.processes[row.index].assignPID(&ids, problems)
		}
	}
	for id := range t.tracks {
		if row := &t.tracks[id]; row.kind == ThreadTrack && row.used {
			t.assignTID(row, &ids, problems)
		}
	}
	t.labelNamesakes()
}

// labelNamesakes appends the first label of a process to its name if another process with the same name is shown with a label
// (Track.FullName), as in "python (GPU 0)" and "python (GPU 1)".
func (t *trackTable) labelNamesakes() {
	labelled := map[string]bool{}
	for i := range t.processes {
		if p := &t.processes[i]; p.assigned && p.key.HasNumber() && len(p.labels) > 0 && p.name.text != "" {
			labelled[p.name.text] = true
		}
	}
	for i := range t.processes {
		if p := &t.processes[i]; labelled[p.name.text] && !p.assigned && p.displayName == "" && len(p.labels) > 0 {
			p.displayName = p.name.text + " (" + p.labels[0] + ")"
		}
	}
}

func (p *process) assignPID(ids *idTable, problems *problem.Log) {
	if p.taken { // readers of the output distinguish the two processes by number alone
		p.pid = int32(ids.resembling(p.key.Num, p.madeUp))
		problems.Add(problem.PidRemapped, problem.NoPosition, fmt.Sprintf("%s is written as %d", p.whose(), p.pid))
		if !p.renumbered {
			p.recorded, p.renumbered = p.key.Num, true
		}
		p.was, p.key = p.key, ProcessKey{Num: int64(p.pid)}
		return
	}
	if p.key.IsPID() {
		p.pid = int32(p.key.Num)
		return
	}
	if p.assigned = true; p.pid != 0 { // the number from RequestNumber
		return
	}
	if p.key == (ProcessKey{}) {
		p.pid = int32(ids.resembling(0, p.madeUp))
	} else {
		p.pid = int32(ids.lowest())
	}
	if p.key.HasNumber() {
		at := problem.NoPosition
		if p.noted {
			at = p.first
		}
		problems.Add(problem.PidRemapped, at, fmt.Sprintf("pid %s is written as %d", p.key, p.pid))
	}
}

// assignTID sets the tid of a thread. All pids must already be assigned.
func (t *trackTable) assignTID(row *track, ids *idTable, problems *problem.Log) {
	th := &t.threads[row.index]
	switch {
	case t.isMain(row) && t.process(row.parent).taken:
		th.tid = int64(t.process(row.parent).pid)
		th.key.Num = th.tid
		return
	case th.key.Text == "" && th.taken && th.key.Num > 0:
		th.tid = ids.resembling(th.key.Num, t.process(row.parent).madeUp)
	case th.key.Text == "" && th.key.Num != 0:
		th.tid = th.key.Num
		return
	case th.key.Text == "" && t.tracks[row.parent].kind == ProcessTrack: // Perfetto numbers a main thread like its process
		th.tid = int64(t.process(row.parent).pid)
	case th.tid == 0:
		th.tid = ids.lowest()
		if th.key.IsNumber {
			problems.Add(problem.PidRemapped, problem.NoPosition, fmt.Sprintf("tid %s is written as %d", th.key, th.tid))
		}
	}
	th.assigned = true
}

// isMain reports whether a thread has the same number as its process.
func (t *trackTable) isMain(row *track) bool {
	if t.tracks[row.parent].kind != ProcessTrack {
		return false
	}
	p, key := t.process(row.parent), t.threads[row.index].key
	return p.taken && p.was == key || p.key == key
}

// shownName returns the display name of a process.
func (p *process) shownName() string {
	if p.displayName != "" {
		return p.displayName
	}
	return p.key.nameOr(p.name.text)
}

// whose describes a process whose number an earlier input also uses.
func (p *process) whose() string { return "pid " + p.key.String() + " of " + p.input }
