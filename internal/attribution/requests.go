package attribution

import (
	"bytes"
	"strings"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// maxRequests bounds the requests that are told apart; requestSize is what one takes beside its id.
const (
	maxRequests = 1 << 18
	requestSize = 176
)

// requests holds the requests of a trace, by the order in which their ids appear.
type requests struct {
	Ids  []string
	byID map[string]int
}

func newRequests() requests { return requests{byID: map[string]int{}} }

// number returns the number of a request; false if there are too many.
func (r *requests) number(c *Catalogue, id []byte) (int, bool) {
	if n, ok := r.byID[string(id)]; ok {
		return n, true
	}
	if len(r.Ids) >= c.Room.Of(maxRequests) || len(id) > maxIDText || !c.hasRoom(len(id)+requestSize) {
		return 0, false
	}
	n := len(r.Ids)
	text := strings.Clone(string(id))
	r.Ids = append(r.Ids, text)
	r.byID[text] = n
	return n, true
}

// chromeRequests finds the events of Chrome's network requests, which belong together by requestId (attribution.md, rule 7).
type chromeRequests struct{}

func (chromeRequests) see(c *collecting, s *event) error {
	f := s.facts
	if f.requestID == nil || s.isEnd() {
		return nil
	}
	n, ok := c.found.Requests.number(c.contexts, c.global(f.requestID, s.place.idSpace))
	if !ok {
		c.problems.Add(problem.ContextLimit, s.position(), "request")
		return nil
	}
	e := Evidence{ordinal: s.ordinal, Node: NodeID(n)}
	switch {
	case s.name.event == producers.ResourceSendRequest:
		e.kind = sends
	case s.name.event == producers.ResourceReceivedData:
		e.kind, e.value = receives, max(f.bytes, 0)
	case s.name.event == producers.ResourceFinish:
		e.kind, e.value = finishes, max(f.bytes, 0)
	case s.Kind == timeline.ItemBegin && (s.place.Place == PlaceThread || s.place.Place == placeAsync):
		e.kind = handles
	default:
		return nil
	}
	return c.add(e)
}

// firefoxRequests finds the requests of Firefox and what else is about them. They belong together by the id of the channel,
// which all processes know: one where the request is made, another one where it is sent (firefox.md 5).
type firefoxRequests struct{ id []byte }

// statusPrefix begins the state of a request in its marker; statusStart is the state of a request without end.
const (
	statusPrefix = "STATUS_"
	statusStart  = "STATUS_START"
)

func (p *firefoxRequests) see(c *collecting, s *event) error {
	f := s.facts
	e := Evidence{ordinal: s.ordinal, value: -1}
	switch {
	case s.isEnd():
		return nil
	case s.place.network && f.hasID && s.Kind == timeline.ItemBegin && bytes.HasPrefix(f.status, []byte(statusPrefix)):
		p.id = appendNumber(p.id[:0], &f.id)
		if e.kind = requested; s.End == timeline.NoTime || string(f.status) == statusStart {
			e.kind = unfinished
		}
		if f.hasCount && f.count >= 0 && f.count < 1<<53 {
			e.value = int64(f.count)
		}
	case f.hasChannel && (s.place.Place == PlaceThread || s.place.Place == placeAsync):
		p.id, e.kind = appendNumber(p.id[:0], &f.channel), handles
	default:
		return nil
	}
	if len(p.id) == 0 {
		return nil
	}
	n, ok := c.found.Requests.number(c.contexts, c.global(p.id, s.place.idSpace))
	if !ok {
		c.problems.Add(problem.ContextLimit, s.position(), "request")
		return nil
	}
	e.Node = NodeID(n)
	return c.add(e)
}
