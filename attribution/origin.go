package attribution

import (
	"net/url"

	"github.com/weft-trace/weft/timeline"
)

// selfProfiles finds the page for which the threads of a JS self-profile work: the profile knows no more of it than its
// origin, by which its reader names the process (spec js-self-profiling.md 9).
type selfProfiles struct{}

func (selfProfiles) see(c *collector, s *seen) error {
	if s.place.origin == "" || s.place.role != roleThread || s.isEnd() {
		return nil
	}
	n := c.node(ScopeOrigin, []byte(s.place.origin), Global)
	c.nodes[n].isFrame = n != 0
	return c.own(s, TypeFrame, n)
}

// findOrigins finds the threads of self-profiles, and the origins of their pages. What the browser was doing is on a track
// below these threads, as below no others; Firefox, too, names processes by origins.
func findOrigins(t *timeline.Timeline, places []place) {
	origins := map[timeline.TrackID]string{}
	for id := range places {
		p := &places[id]
		if p.thread == 0 || p.process == 0 || t.TrackParent(timeline.TrackID(id)) != p.thread {
			continue
		}
		if tr := t.Track(timeline.TrackID(id)); tr.Name == timeline.BrowserActivityName {
			process := t.Track(p.process)
			origins[p.thread] = originOf(&process)
		}
	}
	for id := range places {
		if p := &places[id]; p.role == roleThread {
			p.origin = origins[p.thread]
		}
	}
}

// originOf returns the name of a process if it is the origin of a page: scheme and host, and nothing else.
func originOf(process *timeline.Track) string {
	u, err := url.Parse(process.Name)
	if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != process.Name {
		return ""
	}
	return process.Name
}
