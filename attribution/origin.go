package attribution

import (
	"net/url"

	"github.com/weft-trace/weft/timeline"
)

// selfProfiles finds the page for which the threads of a JS self-profile work: the profile knows no more of it than its
// origin, by which its reader names the process (spec js-self-profiling.md 9). No other process is called by an origin.
type selfProfiles struct{}

func (selfProfiles) see(c *collector, s *seen) error {
	if s.place.origin == "" || s.place.role != roleThread || s.isEnd() {
		return nil
	}
	n := c.node(ScopeOrigin, []byte(s.place.origin), Global)
	c.nodes[n].isFrame = n != 0
	return c.own(s, TypeFrame, n)
}

// originOf returns the name of a process if it is the origin of a page: scheme and host, and nothing else.
func originOf(process *timeline.Track) string {
	u, err := url.Parse(process.Name)
	if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != process.Name {
		return ""
	}
	return process.Name
}
