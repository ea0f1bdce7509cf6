package attribution

import (
	"github.com/weft-trace/weft/internal/timeline"
)

// typeRequest is the type of the requests that servers answer.
const typeRequest = "Request"

// spans finds the spans of OpenTelemetry with which requests begin (otlp.md 4), which the reader has told by their parents.
type spans struct{}

func (spans) see(c *collecting, s *event) error {
	if s.Kind != timeline.ItemBegin || s.facts.request == nil {
		return nil
	}
	return c.own(s, c.contexts.TypeOf([]byte(typeRequest)), c.contexts.nodeOf(scopeRequest, s.facts.request, Global))
}
