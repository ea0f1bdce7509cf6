package chromejson

import (
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// id returns the event's id: the first of id, id2.global and id2.local that is a string or an integer (section 11).
func (ev *event) id() (value, timeline.AsyncIDKind, bool) {
	if v := ev.get(fieldID); v.isID() {
		return v, timeline.AsyncPlain, true
	}
	if v := ev.get(fieldID2Global); v.isID() {
		return v, timeline.AsyncGlobal, true
	}
	if v := ev.get(fieldID2Local); v.isID() {
		return v, timeline.AsyncLocal, true
	}
	return value{}, 0, false
}

// asyncTrack returns the track of the event's asynchronous id. If the event lacks an id or a pid, it counts a problem
// and returns false.
func (rd *reader) asyncTrack(legacy bool) (timeline.TrackID, bool) {
	ev := &rd.ev
	id, kind, ok := ev.id()
	if !ok {
		rd.problem(problem.AsyncMissingID, "")
		return 0, false
	}
	if !rd.hasPid() {
		rd.problem(problem.AsyncMissingPid, "")
		return 0, false
	}
	if legacy {
		kind = kind.Legacy()
	}
	key := timeline.AsyncKey{
		Category: ev.get(fieldCat).name(),
		Kind:     kind,
		ID:       id.text,
		IsText:   id.str() != nil,
		Scope:    ev.get(fieldScope).str(),
		Process:  rd.process(),
	}
	if kind == timeline.AsyncPlain && producers.HasIDPerThread(key.Category) {
		key.Thread, key.At = rd.thread(), rd.position()
	}
	track := rd.b.Async(&key)
	if !rd.b.HasPlace(track) {
		rd.b.SetPlace(track, producers.ChromePlace(key.Category, rd.ev.get(fieldName).name()))
	}
	return track, true
}

// async adds a b, e or n event (section 11). Asynchronous tracks have no thread clock, so a thread time becomes an argument if
// the producer requests it.
func (rd *reader) async(kind timeline.Kind) (bool, error) {
	track, ok := rd.asyncTrack(false)
	if !ok {
		return false, nil
	}
	out := rd.prepare(kind, track)
	if rd.ev.Seen&(1<<fieldUseAsyncTts) != 0 && isTrue(rd.ev.get(fieldUseAsyncTts)) {
		if tts := rd.threadTime(fieldTts); tts != timeline.NoTime {
			rd.weftKey("tts")
			rd.Enc.Int(int64(tts))
		}
	}
	out.Callstack = rd.callstack(fieldSf, fieldStack)
	rd.setWriter()
	return true, rd.send()
}

// legacyAsync adds an S, F, T or p event (section 12). An F has no name, because it closes the slice last opened under its id.
func (rd *reader) legacyAsync(kind timeline.Kind) error {
	track, ok := rd.asyncTrack(true)
	if !ok {
		return nil
	}
	out := rd.prepare(kind, track)
	if kind == timeline.End {
		out.Name = nil
	}
	rd.setWriter()
	return rd.send()
}
