package attribution

import (
	"strconv"
	"strings"

	"github.com/weft-trace/weft/timeline"
)

// earlierNotes reads what an earlier attribution has written, where the trace itself no longer says it: a Perfetto trace
// does not know which thread wrote an asynchronous slice. Everything else is found again, and the notes are replaced.
type earlierNotes struct{}

func (earlierNotes) see(c *collector, s *seen) error {
	if !s.facts.hasNote || s.place.role != roleAsync || s.Thread != 0 || s.isEnd() {
		return nil
	}
	for m := range c.t.Members(s.facts.note) {
		if m.Kind != timeline.ArgDict {
			continue
		}
		var id, via []byte
		hops := int64(0)
		for a := range c.t.Members(m) {
			switch string(a.Key) {
			case "id":
				id = text(&a)
			case "via":
				via = text(&a)
			case "hops":
				hops, _ = integer(&a)
			}
		}
		identity, ok := parseIdentity(string(id))
		if string(via) != viaNames[ViaAsync] || !ok {
			continue
		}
		node, typ := c.node(identity.Scope, []byte(identity.ID), identity.Process), c.typeOf(m.Key)
		if node == 0 || typ == 0 {
			continue
		}
		c.nodes[node].context = true
		c.nodes[node].isFrame = c.nodes[node].isFrame || identity.Scope == ScopeFrame || identity.Scope == ScopeWindow
		e := evidence{ordinal: s.ordinal, kind: inherited, typ: typ, node: node, value: min(max(hops, 0), maxHops)}
		if err := c.add(e); err != nil {
			return err
		}
	}
	return nil
}

// parseIdentity is the inverse of Identity.String.
func parseIdentity(text string) (Identity, bool) {
	scope, id, ok := strings.Cut(text, "/")
	if !ok || id == "" {
		return Identity{}, false
	}
	out := Identity{Scope: scope, ID: id, Process: Global}
	global := scope == ScopeScript || scope == ScopeWindow || scope == ScopeLatency || scope == ScopeTab
	if i := strings.LastIndexByte(id, '@'); i > 0 && !global {
		if pid, err := strconv.ParseInt(id[i+1:], 10, 64); err == nil {
			out.ID, out.Process = id[:i], pid
		}
	}
	return out, true
}
