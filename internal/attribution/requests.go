package attribution

import (
	"bytes"
	"strings"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

const (
	maxRequests = 1 << 18
	requestSize = 176 // bytes of a request without its id
)

// requests numbers the requests of a trace in order of the first occurrence of their ids.
type requests struct {
	Ids  []string
	byID map[string]int
}

func newRequests() requests { return requests{byID: map[string]int{}} }

// number returns the number of a request, or false if there are too many.
func (r *requests) number(c *Catalogue, id []byte) (int, bool) {
	if n, ok := r.byID[string(id)]; ok {
		return n, true
	}
	if len(r.Ids) >= c.Limits.Of(maxRequests) || len(id) > maxIDText || !c.reserve(len(id)+requestSize) {
		return 0, false
	}
	n := len(r.Ids)
	text := strings.Clone(string(id))
	r.Ids = append(r.Ids, text)
	r.byID[text] = n
	return n, true
}

// request returns the number of the request with an id; if there are too many, it counts a problem and returns false.
func (c *collecting) request(s *event, id []byte) (NodeID, bool) {
	n, ok := c.found.Requests.number(c.contexts, c.global(id, s.track.idSpace))
	if !ok {
		c.problems.Add(problem.ContextLimit, s.position(), "request")
	}
	return NodeID(n), ok
}

// chromeRequests finds the events of Chrome's network requests, which share a requestId (attribution.md, rule 7).
type chromeRequests struct{}

func (chromeRequests) observe(c *collecting, s *event) error {
	f := s.facts
	if f.requestID == nil || s.isEnd() {
		return nil
	}
	n, ok := c.request(s, f.requestID)
	if !ok {
		return nil
	}
	e := Evidence{ordinal: s.ordinal, Node: n}
	switch {
	case s.name.event == producers.ResourceSendRequest:
		e.kind = sends
	case s.name.event == producers.ResourceReceivedData:
		e.kind, e.value = receives, max(f.bytes, 0)
	case s.name.event == producers.ResourceFinish:
		e.kind, e.value = finishes, max(f.bytes, 0)
	case s.Kind == timeline.ItemBegin && (s.track.Place == PlaceThread || s.track.Place == placeAsync):
		e.kind = handles
	default:
		return nil
	}
	return c.add(e)
}

// firefoxRequests finds Firefox's requests and the markers that belong to them. A request and its markers share the channel id,
// even across the processes that create and send a request (firefox.md 5).
type firefoxRequests struct{ id []byte }

// States of a request in its marker.
const (
	statusPrefix = "STATUS_"
	statusStart  = "STATUS_START" // not finished
)

func (p *firefoxRequests) observe(c *collecting, s *event) error {
	f := s.facts
	e := Evidence{ordinal: s.ordinal, value: -1}
	switch {
	case s.isEnd():
		return nil
	case s.track.network && f.hasID && s.Kind == timeline.ItemBegin && bytes.HasPrefix(f.status, []byte(statusPrefix)):
		p.id = appendNumber(p.id[:0], &f.id)
		if e.kind = requested; s.End == timeline.NoTime || string(f.status) == statusStart {
			e.kind = unfinished
		}
		if f.hasCount && f.count >= 0 && f.count < 1<<53 {
			e.value = int64(f.count)
		}
	case f.hasChannel && (s.track.Place == PlaceThread || s.track.Place == placeAsync):
		p.id, e.kind = appendNumber(p.id[:0], &f.channel), handles
	default:
		return nil
	}
	if len(p.id) == 0 {
		return nil
	}
	n, ok := c.request(s, p.id)
	if !ok {
		return nil
	}
	e.Node = n
	return c.add(e)
}
