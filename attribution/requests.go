package attribution

import (
	"bytes"
	"strings"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// Request is a network request.
type Request struct {
	ID         string
	Set        SetID          // the contexts for which it was sent
	Start, End timeline.Nanos // from the sending to the finish; NoTime if not seen
	Bytes      int64          // that arrived, headers not included where the browser says so

	thread   timeline.TrackID // that sent it; 0: unknown
	fromData int64            // bytes of the pieces that arrived
	begun    []begun
}

// maxRequests bounds the requests that are told apart; requestSize is what one takes beside its id.
const (
	maxRequests = 1 << 18
	requestSize = 176
)

// requests holds the requests of a trace, by the order in which their ids appear.
type requests struct {
	list []Request
	byID map[string]int
}

func newRequests() requests { return requests{byID: map[string]int{}} }

// number returns the number of a request; false if there are too many.
func (r *requests) number(c *catalogue, id []byte) (int, bool) {
	if n, ok := r.byID[string(id)]; ok {
		return n, true
	}
	if len(r.list) >= c.most.requests || len(id) > maxIDText || !c.hasRoom(len(id)+requestSize) {
		return 0, false
	}
	n := len(r.list)
	text := strings.Clone(string(id))
	r.list = append(r.list, Request{ID: text, Start: timeline.NoTime, End: timeline.NoTime, Bytes: -1})
	r.byID[text] = n
	return n, true
}

// chromeRequests finds the events of Chrome's network requests, which belong together by requestId (attribution.md, rule 7).
type chromeRequests struct{}

func (chromeRequests) see(c *collector, s *seen) error {
	f := s.facts
	if f.requestID == nil || s.isEnd() {
		return nil
	}
	n, ok := c.found.requests.number(c.contexts, f.requestID)
	if !ok {
		c.problems.Add(problem.ContextLimit, s.position(), "request")
		return nil
	}
	e := evidence{ordinal: s.ordinal, node: NodeID(n)}
	switch {
	case s.name.event == sendRequest:
		e.kind = sends
	case s.name.event == receiveData:
		e.kind, e.value = receives, max(f.bytes, 0)
	case s.name.event == finishRequest:
		e.kind, e.value = finishes, max(f.bytes, 0)
	case s.Kind == timeline.OccursSlice && (s.place.role == roleThread || s.place.role == roleAsync):
		e.kind = handles
	default:
		return nil
	}
	return c.add(e)
}

// firefoxRequests finds the requests of Firefox and what else is about them. They belong together by the id of the channel,
// which all processes know: one where the request is made, another one where it is sent (firefox.md 5).
type firefoxRequests struct{ id []byte }

// statusPrefix stands before the state of a request in its marker, statusStart is that of one of which the end is missing.
const (
	statusPrefix = "STATUS_"
	statusStart  = "STATUS_START"
)

func (p *firefoxRequests) see(c *collector, s *seen) error {
	f := s.facts
	e := evidence{ordinal: s.ordinal, value: -1}
	switch {
	case s.isEnd():
		return nil
	case s.place.network && f.hasID && s.Kind == timeline.OccursSlice && bytes.HasPrefix(f.status, []byte(statusPrefix)):
		p.id = appendNumber(p.id[:0], &f.id)
		if e.kind = requested; s.End == timeline.NoTime || string(f.status) == statusStart {
			e.kind = unfinished
		}
		if f.hasCount && f.count >= 0 && f.count < 1<<53 {
			e.value = int64(f.count)
		}
	case f.hasChannel && (s.place.role == roleThread || s.place.role == roleAsync):
		p.id, e.kind = appendNumber(p.id[:0], &f.channel), handles
	default:
		return nil
	}
	if len(p.id) == 0 {
		return nil
	}
	n, ok := c.found.requests.number(c.contexts, p.id)
	if !ok {
		c.problems.Add(problem.ContextLimit, s.position(), "request")
		return nil
	}
	e.node = NodeID(n)
	return c.add(e)
}

// finishRequests returns the requests that were seen, with their sets.
func (s *stamper) finishRequests() []Request {
	list := s.found.requests.list
	for i := range list {
		r := &list[i]
		if r.Bytes < 0 {
			r.Bytes = r.fromData
		}
		for k := range r.begun {
			r.Set = s.sets.with(r.Set, s.bind(&r.begun[k], r.Start))
		}
	}
	return list
}
