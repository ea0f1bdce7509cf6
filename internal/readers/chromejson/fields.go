package chromejson

import (
	"bytes"
	"math"
	"math/bits"
	"unicode/utf8"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/readers"
	"github.com/weft-trace/weft/internal/timeline"
)

// field is a known member of an event (section 5).
type field uint8

const (
	fieldUnknown field = iota
	fieldPh
	fieldName
	fieldCat
	fieldTs
	fieldDur
	fieldTts
	fieldTdur
	fieldPid
	fieldTid
	fieldArgs
	fieldID
	fieldID2
	fieldScope
	fieldBindID
	fieldFlowIn
	fieldFlowOut
	fieldBp
	fieldS
	fieldSf
	fieldEsf
	fieldStack
	fieldEstack
	fieldCname
	fieldUseAsyncTts
	fieldTicount
	fieldTidelta
	numFields

	// The members of id2 are stored like fields of the event.
	fieldID2Local  = numFields
	fieldID2Global = numFields + 1
)

var fields = map[string]field{
	"args":          fieldArgs,
	"cat":           fieldCat,
	"dur":           fieldDur,
	"name":          fieldName,
	"ph":            fieldPh,
	"pid":           fieldPid,
	"tid":           fieldTid,
	"ts":            fieldTs,
	"tts":           fieldTts,
	"tdur":          fieldTdur,
	"id":            fieldID,
	"id2":           fieldID2,
	"s":             fieldS,
	"bp":            fieldBp,
	"scope":         fieldScope,
	"bind_id":       fieldBindID,
	"flow_in":       fieldFlowIn,
	"flow_out":      fieldFlowOut,
	"sf":            fieldSf,
	"esf":           fieldEsf,
	"stack":         fieldStack,
	"estack":        fieldEstack,
	"cname":         fieldCname,
	"use_async_tts": fieldUseAsyncTts,
	"ticount":       fieldTicount,
	"tidelta":       fieldTidelta,
}

// value is a scanned value: the decoded text of a string, or the input text of anything else.
type value struct {
	kind jsonscan.Kind
	text []byte
}

// event is a scanned event. Values stay text until they are used.
type event struct {
	jsonscan.Members // indexed by field

	duplicates int
	deferred   bool // args are not encoded yet
	traced     bool // args may contain the id of a recorded stack
	ph         byte // ASCII phase; 0 for any other
	ts         timeline.Nanos
}

func (ev *event) has(f field) bool { return ev.Seen>>f&1 != 0 }

// get returns the value of a field, or the zero value.
func (ev *event) get(f field) value {
	if !ev.has(f) {
		return value{}
	}
	return value{ev.Values[f].Kind, ev.Values[f].Text}
}

// eventScanner scans events. It is the part of a reader that does not depend on other events and can run in parallel.
type eventScanner struct {
	readers.ArgReader // its scanner reads the events
	ev                event
	args              timeline.ArgFilter
	tracing           bool         // look for ids of recorded stacks
	odd               bool         // the event has an unknown member
	unknown           func([]byte) // receives unknown keys

	dropped *jsonscan.KeyCache // keys of dropped arguments; nil if all are kept
}

// otherFields are the fields whose values Members does not read.
const otherFields = 1<<fieldArgs | 1<<fieldID2

// scanEvent scans an event, starting at its bracket, and encodes its arguments. The caller checks the scanner's Err.
func (es *eventScanner) scanEvent() {
	s, ev := es.S, &es.ev
	ev.Start()
	ev.duplicates, ev.deferred, ev.traced = 0, false, false
	es.Reset()
	for n, key, ok := s.Members(&ev.Members, otherFields); ok; n, key, ok = s.Members(&ev.Members, otherFields) {
		f := field(n)
		if f == fieldUnknown {
			if f = fields[string(key)]; f == fieldUnknown {
				es.unknown(key)
				s.Skip()
				continue
			}
			s.RememberKey(&ev.Keys, uint32(f))
		}
		es.scanField(f)
	}
	if s.Notes.Nonstandard > 0 {
		ev.wordsToText()
	}
}

// scanField scans the value of a field, whatever the value's kind.
func (es *eventScanner) scanField(f field) {
	ev := &es.ev
	if ev.has(f) {
		ev.duplicates++
	}
	ev.Seen |= 1 << f
	switch f {
	case fieldArgs:
		es.scanArgs()
	case fieldID2:
		es.scanID2()
	default:
		ev.set(f, es.S)
	}
}

// set stores the unconverted value of a field.
func (ev *event) set(f field, s *jsonscan.Scanner) {
	kind, text := s.Scalar()
	ev.Values[f] = jsonscan.Token{Kind: kind, Text: text}
}

// wordsToText turns bare words in fields into strings (section 3). No word is a number, so no field becomes a
// time.
func (ev *event) wordsToText() {
	for seen := ev.Seen &^ (1 << fieldArgs); seen != 0; seen &= seen - 1 {
		if v := &ev.Values[bits.TrailingZeros64(seen)]; v.Kind == jsonscan.Word {
			v.Kind = jsonscan.String
		}
	}
}

// scanID2 scans id2, whose members are ids in separate number spaces.
func (es *eventScanner) scanID2() {
	s, ev := es.S, &es.ev
	ev.Seen &^= 1<<fieldID2Local | 1<<fieldID2Global
	kind, _ := s.Value()
	if kind != jsonscan.Object {
		s.SkipRest(kind)
		return
	}
	for key, ok := s.Key(); ok; key, ok = s.Key() {
		f := fieldID2Local
		switch string(key) {
		case "local":
		case "global":
			f = fieldID2Global
		default:
			s.Skip()
			continue
		}
		ev.Seen |= 1 << f
		ev.set(f, s)
	}
}

// name returns the text of a string, number or bool, or nil for other values.
func (v value) name() []byte {
	switch v.kind {
	case jsonscan.String, jsonscan.Integer, jsonscan.Number, jsonscan.Word, jsonscan.True, jsonscan.False:
		return v.text
	}
	return nil
}

// str returns the text of a string, or nil for other values.
func (v value) str() []byte {
	if v.kind == jsonscan.String {
		return v.text
	}
	return nil
}

// isID reports whether the value is a possible id: a string or an integer.
func (v value) isID() bool { return v.kind == jsonscan.String || v.kind == jsonscan.Integer }

// nanos converts a field in microseconds, given as a number or numeric string (section 6).
func (ev *event) nanos(f field) (timeline.Nanos, bool) {
	v := &ev.Values[f]
	if !ev.has(f) || v.Kind != jsonscan.Integer && v.Kind != jsonscan.Number && v.Kind != jsonscan.String {
		return 0, false
	}
	ns, ok := v.Thousandths()
	return timeline.Nanos(ns), ok && ns != math.MinInt64
}

// nanos converts any value the way event.nanos converts a field.
func (v value) nanos() (timeline.Nanos, bool) {
	switch v.kind {
	case jsonscan.Integer, jsonscan.Number, jsonscan.String:
		ns, ok := jsonscan.Decimal(v.text, 3)
		return timeline.Nanos(ns), ok && ns != math.MinInt64
	}
	return 0, false
}

// scanPhase sets ev.ph from the first character of the phase. It returns false if the event has no phase.
func (ev *event) scanPhase() bool {
	ph := ev.get(fieldPh).str()
	if len(ph) == 0 {
		return false
	}
	ev.ph = ph[0]
	if ev.ph >= utf8.RuneSelf {
		ev.ph = 0
	}
	return true
}

// letter returns the first character of the phase.
func (ev *event) letter() []byte {
	ph := ev.get(fieldPh).str()
	_, n := utf8.DecodeRune(ph)
	return ph[:n]
}

// timestamp sets the event's time. For an unusable time, it counts a problem and returns false.
func (rd *reader) timestamp() bool {
	ev := &rd.ev
	ts, ok := ev.nanos(fieldTs)
	if ok {
		ts, ok = addNanos(ts, rd.opts.Offset)
	}
	switch {
	case !ok:
		rd.problem(problem.EventInvalidTimestamp, string(clip(ev.get(fieldTs).text)))
		return false
	case ts < 0:
		rd.problem(problem.EventNegativeTimestamp, string(clip(ev.get(fieldTs).text)))
		return false
	}
	ev.ts = ts
	return true
}

// duration returns the event's duration. For an unusable duration, it counts a problem and returns false.
func (rd *reader) duration() (timeline.Nanos, bool) {
	dur, ok := rd.ev.nanos(fieldDur)
	if ok {
		_, ok = addNanos(rd.ev.ts, dur)
	}
	switch {
	case !ok:
		rd.problem(problem.EventInvalidDuration, string(clip(rd.ev.get(fieldDur).text)))
		return 0, false
	case dur < 0:
		rd.problem(problem.SliceNegativeDuration, string(clip(rd.ev.get(fieldDur).text)))
		return 0, false
	}
	return dur, true
}

// maxThreadTime is the largest usable thread time, 146 years, so that the sum of a time and a duration fits in Nanos.
const maxThreadTime = math.MaxInt64 / 2

// threadTime returns a thread time, or NoTime if it is missing or unusable. It counts unusable times.
func (rd *reader) threadTime(f field) timeline.Nanos {
	if !rd.ev.has(f) {
		return timeline.NoTime
	}
	t, ok := rd.ev.nanos(f)
	if !ok || t < 0 || t > maxThreadTime {
		rd.problem(problem.EventInvalidThreadTime, string(clip(rd.ev.Values[f].Text)))
		return timeline.NoTime
	}
	return t
}

// addNanos adds two times. It returns false if the sum overflows or is the last possible time, after which nothing can end.
func addNanos(a, b timeline.Nanos) (timeline.Nanos, bool) {
	sum := a + b
	return sum, (sum > a) == (b > 0) && sum < math.MaxInt64
}

// clip truncates input text for a message.
func clip(text []byte) []byte { return bytes.ToValidUTF8(text[:min(len(text), 100)], []byte("\uFFFD")) }
