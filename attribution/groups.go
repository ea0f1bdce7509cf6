package attribution

import (
	"net"
	"net/url"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/weft-trace/weft/timeline"
)

// pageOf returns the row of a page: the frame at the root of a frame's tree. Isolates, which stand above frames, are rows
// of their own.
func (r *Result) pageOf(node NodeID, ts timeline.Nanos) rowKey {
	page := node
	for _, n := range r.c.ancestors(node, ts) {
		if r.c.nodes[n].isFrame {
			page = n
		}
	}
	return rowKey{node: page}
}

// entityOf returns the row of who is responsible for a script: its registrable domain, or the extension.
func (r *Result) entityOf(node NodeID, _ timeline.Nanos) rowKey {
	return rowKey{group: entityOf(r.c.nodes[node].ID)}
}

// entityOf returns the registrable domain of a url (the public suffix and one label), the host where there is none, the
// extension of a script of one, or the scheme.
func entityOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" {
		return "(no url)"
	}
	host := u.Hostname()
	switch {
	case strings.HasSuffix(u.Scheme, "-extension"):
		return "extension " + host
	case host == "":
		return u.Scheme + ":"
	case net.ParseIP(host) != nil:
		return host
	}
	if domain, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
		return domain
	}
	return host
}
