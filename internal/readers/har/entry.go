package har

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/weft-trace/weft/internal/jsonscan"
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// phase is a phase of a request. The phases are in chronological order; TLS is a part of connect.
type phase uint8

const (
	blocked phase = iota
	dns
	connect
	tls
	send
	wait
	receive
	numPhases
)

// phaseNames holds the names of the phases, both in archives and for slices.
var phaseNames = [numPhases]string{"blocked", "dns", "connect", "ssl", "send", "wait", "receive"}

// head is the fixed-size part of an entry; the rest, such as the name and arguments, is the payload in the spool.
type head struct {
	start           timeline.Nanos
	dur             timeline.Nanos
	phases          [numPhases]timeline.Nanos // notApplicable: did not take place
	offset          int64
	page            uint32 // index of the page + 1; 0: none
	tlsAfterConnect bool   // TLS follows connect instead of being part of it

	self, initiator, redirect address
}

// notApplicable is the duration of a phase that did not take place.
const notApplicable timeline.Nanos = -1

// noPhases are the phases of a request without known phases.
var noPhases = [numPhases]timeline.Nanos{
	notApplicable, notApplicable, notApplicable, notApplicable, notApplicable, notApplicable, notApplicable,
}

// unit is the entry or page being read.
type unit struct {
	findings   []finding
	started    timeline.Nanos
	zone       zone
	hasStarted bool

	// Fields of an entry:
	method, url  []byte
	status       int64
	resourceType []byte
	pageRef      []byte
	sentKey      string // key of the span in the request; see timeline.TraceparentKey
	receivedKey  string // key of the span in the response
	initiator    []byte // address that initiated the request
	redirect     []byte // target of a redirect
	messages     []socketMessage
	time         timeline.Nanos // notApplicable: unknown
	phases       [numPhases]timeline.Nanos

	// Fields of a page:
	id, title []byte
	moments   []moment
}

// moment is a named point in the loading of a page, with its time relative to the page's start.
type moment struct {
	name string
	at   timeline.Nanos
}

// finding is a problem with a value, counted when the unit is complete.
type finding struct {
	kind   problem.Kind
	detail string
}

func (u *unit) reset() {
	*u = unit{findings: u.findings[:0], moments: u.moments[:0], messages: u.messages[:0], time: notApplicable, phases: noPhases}
}

func (u *unit) invalid(name string) {
	u.findings = append(u.findings, finding{problem.HARValueInvalid, name})
}

// read reads an object as one unit. It calls member for each key; member must read the value.
func (r *reader) read(member func(key []byte)) (at problem.Position, err error) {
	at = r.Position()
	err = r.Unit(func() {
		r.current.reset()
		r.args.Reset()
		r.S.Value() // the opening brace
		for key, ok := r.S.Key(); ok; key, ok = r.S.Key() {
			member(key)
		}
	})
	return at, err
}

// count counts the problems found in the unit.
func (r *reader) count(at problem.Position) {
	for _, f := range r.current.findings {
		r.Log.Add(f.kind, at, f.detail)
	}
	r.args.Count(r.Log, at, "")
	r.args.Enc.CountOmitted(r.Log, at)
	if r.current.zone == unzoned {
		r.Log.Add(problem.HARTimeWithoutZone, at, "")
	}
}

// keeps reports whether a member is kept as an argument. If so, its key becomes the name of the next argument.
func (r *reader) keeps(key []byte) bool {
	if !r.opts.Args.Keeps(key) {
		return false
	}
	r.args.Enc.Key(key)
	return true
}

// scalar reads and returns a value. If its member is kept, the value becomes an argument.
func (r *reader) scalar(key []byte) (kind jsonscan.Kind, text []byte) {
	kept := r.keeps(key)
	kind, text = r.S.Value()
	if kept {
		r.args.Encode(kind, text, 1)
	} else {
		r.S.SkipRest(kind)
	}
	return kind, text
}

// dict reads an object, which is the value of the member with the given key. If the member is kept, the members of the object
// become arguments. For each of them, dict first calls read, which reports whether it has read the value.
func (r *reader) dict(key []byte, read func(key []byte, kept bool) bool) {
	name := string(key)
	kept := r.keeps(key)
	kind, text := r.S.Value()
	switch {
	case kind != jsonscan.Object:
		if kind != jsonscan.Null {
			r.current.invalid(name)
		}
		if kept {
			r.args.Encode(kind, text, 1)
		} else {
			r.S.SkipRest(kind)
		}
		return
	case kept:
		r.args.Enc.BeginDict()
	}
	for key, ok := r.S.Key(); ok; key, ok = r.S.Key() {
		if kept {
			r.args.Enc.Key(key)
		}
		switch {
		case read(key, kept):
		case kept:
			r.args.EncodeNext(2)
		default:
			r.S.Skip()
		}
	}
	if kept {
		r.args.Enc.EndDict()
	}
}

// inner reads a value of an object; if kept, it becomes an argument.
func (r *reader) inner(kept bool) (kind jsonscan.Kind, text []byte) {
	kind, text = r.S.Value()
	if kept {
		r.args.Encode(kind, text, 2)
	} else {
		r.S.SkipRest(kind)
	}
	return kind, text
}

// start converts the start time of an entry or a page.
func (u *unit) start(kind jsonscan.Kind, text []byte) {
	if kind == jsonscan.String {
		u.started, u.zone = isoTime(text)
		u.hasStarted = u.zone != noTime
	}
}

// millis converts a duration in milliseconds, exactly. It returns notApplicable for a negative duration, which marks a phase that
// did not take place.
func (u *unit) millis(kind jsonscan.Kind, text []byte, name string) timeline.Nanos {
	switch kind {
	case jsonscan.Integer, jsonscan.Number:
		if ns, ok := jsonscan.Decimal(text, 6); ok && ns <= maxLength {
			return max(timeline.Nanos(ns), notApplicable)
		}
	case jsonscan.Null:
		return notApplicable
	}
	u.invalid(name)
	return notApplicable
}

// maxLength limits a duration to 4.5 years, so that the end of a request, the sum of its start and its phases, stays in
// range.
const maxLength = math.MaxInt64 / 64

// entry reads an entry into the spool.
func (r *reader) entry() error {
	at, err := r.read(r.entryMember)
	if err != nil {
		return err
	}
	r.count(at)
	u := &r.current
	if !u.hasStarted {
		r.Log.Add(problem.EventInvalidTimestamp, at, string(u.url))
		return nil
	}
	h := head{start: u.started, phases: u.phases, offset: at.Offset, tlsAfterConnect: u.phases[tls] > u.phases[connect]}
	h.self, h.initiator, h.redirect = addressOf(u.url), addressOf(u.initiator), redirectOf(u.url, u.redirect)
	if len(u.pageRef) > 0 {
		h.page = r.pageIndex(u.pageRef) + 1
	}
	if h.measure(u.time); u.mismatch(h.dur) {
		r.Log.Add(problem.HARTimeMismatch, at, string(u.url))
	}
	h.dur = max(h.dur, u.time)
	if h.start, err = r.shift(h.start, at, u.url); err != nil {
		return nil
	}
	r.names = producers.AppendRequestName(r.names[:0], u.method, u.url)
	if len(r.names) == 0 { // no address
		r.names = fmt.Appendf(r.names, "status %d", u.status)
	}
	r.value = appendText(r.value[:0], r.names)
	category := append([]byte("network,"), u.resourceType...)
	category = bytes.TrimSuffix(category, []byte(","))
	r.value = appendText(r.value, category)
	r.value = appendText(appendText(r.value, []byte(u.sentKey)), []byte(u.receivedKey))
	r.value = appendMessages(r.value, u.messages)
	return r.entries.Add(&h, append(r.value, r.args.Enc.Args()...))
}

// appendText appends a text with its length, for nextText.
func appendText(to, text []byte) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// tolerance is the allowed difference between the time of an entry and the sum of its phases, which producers round to
// milliseconds.
const tolerance = 5_000_000

// mismatch reports whether the time of a request differs from the sum of its phases. A request with neither a time nor phases
// is a mismatch too.
func (u *unit) mismatch(sum timeline.Nanos) bool {
	hasPhases := u.phases != noPhases
	if u.time == notApplicable {
		return !hasPhases
	}
	return hasPhases && distance(sum, u.time) > tolerance
}

// measure sets the duration of a request to the sum of its phases. TLS is a part of connect, but some producers write
// it as a separate phase. measure assumes this if TLS is longer than connect, or if adding it brings the sum closer to
// the total time.
func (h *head) measure(total timeline.Nanos) {
	var sum timeline.Nanos
	for p, d := range h.phases {
		if phase(p) != tls && d != notApplicable {
			sum += d
		}
	}
	if d := h.phases[tls]; d > 0 {
		h.tlsAfterConnect = h.tlsAfterConnect || total != notApplicable && distance(total, sum+d) < distance(total, sum)
		if h.tlsAfterConnect {
			sum += d
		}
	}
	h.dur = sum
}

func distance(a, b timeline.Nanos) timeline.Nanos { return max(a-b, b-a) }

func (r *reader) entryMember(key []byte) {
	u := &r.current
	switch string(key) {
	case "startedDateTime":
		u.start(r.scalar(key))
	case "time":
		kind, text := r.scalar(key)
		u.time = u.millis(kind, text, "time")
	case "pageref":
		if kind, text := r.scalar(key); kind == jsonscan.String {
			u.pageRef = text
		}
	case "_resourceType":
		if kind, text := r.scalar(key); kind == jsonscan.String && bytes.IndexByte(text, ',') < 0 {
			u.resourceType = text
		}
	case "_webSocketMessages":
		r.socketMessages(r.keeps(key))
	case "_initiator":
		u.initiator = r.initiatorOf(r.keeps(key))
	case "request":
		r.dict(key, r.requestMember)
	case "response":
		r.dict(key, r.responseMember)
	case "timings":
		r.dict(key, r.timing)
	default:
		r.scalar(key)
	}
}

// requestMember reads a member of a request if the reader uses its value. It returns false for other members, which can only
// become arguments.
func (r *reader) requestMember(key []byte, kept bool) bool {
	u := &r.current
	switch string(key) {
	case "method":
		if kind, text := r.inner(kept); kind == jsonscan.String {
			u.method = text
		}
	case "url":
		if kind, text := r.inner(kept); kind == jsonscan.String {
			u.url = text
		}
	case "headers":
		u.sentKey = r.headersOf(kept)
	default:
		return false
	}
	return true
}

// responseMember is like requestMember, but for a response.
func (r *reader) responseMember(key []byte, kept bool) bool {
	switch string(key) {
	case "status":
		if kind, text := r.inner(kept); kind == jsonscan.Integer {
			r.current.status, _ = jsonscan.Int64(text)
		}
	case "redirectURL":
		if kind, text := r.inner(kept); kind == jsonscan.String {
			r.current.redirect = text
		}
	case "headers":
		r.current.receivedKey = r.headersOf(kept)
	default:
		return false
	}
	return true
}

// timing reads a member of timings.
func (r *reader) timing(key []byte, kept bool) bool {
	for p, name := range phaseNames {
		if string(key) == name {
			kind, text := r.inner(kept)
			r.current.phases[p] = r.current.millis(kind, text, name)
			return true
		}
	}
	return false
}
