package attribution

import (
	"github.com/weft-trace/weft/internal/timeline"
)

// typeRequest is the type of requests to a server.
const typeRequest = "Request"

// spans finds the OpenTelemetry spans that start a request (otlp.md 4); the reader has marked them.
type spans struct{}

func (spans) observe(c *collecting, s *event) error {
	if s.Kind != timeline.ItemBegin || s.facts.request == nil {
		return nil
	}
	return c.addContext(s, c.contexts.TypeOf([]byte(typeRequest)), c.contexts.nodeOf(scopeRequest, s.facts.request, Global))
}
