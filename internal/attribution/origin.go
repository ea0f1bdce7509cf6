package attribution

import (
	"net/url"

	"github.com/weft-trace/weft/internal/timeline"
)

// selfProfiles finds the page for which the threads of a JS self-profile work: the profile knows no more of it than its
// origin, by which its reader names the process (jsprofile.md 3).
type selfProfiles struct{}

func (selfProfiles) see(c *collecting, s *event) error {
	if s.place.origin == "" || s.place.Place != PlaceThread || s.isEnd() {
		return nil
	}
	n := c.contexts.nodeOf(scopeOrigin, []byte(s.place.origin), Global)
	c.contexts.Nodes[n].IsFrame = n != 0
	return c.own(s, TypeFrame, n)
}

// findOrigins finds the threads of self-profiles, and the origins of their pages: the track below such a thread that says what
// the browser was doing has them.
func findOrigins(t *timeline.Timeline, places []track) {
	origins := map[timeline.TrackID]string{}
	for id := range places {
		if t.Role(timeline.TrackID(id)) == timeline.RolePageStates {
			tr := t.Track(timeline.TrackID(id))
			origins[places[id].Thread] = originOf(tr.Spec.Subject)
		}
	}
	for id := range places {
		if p := &places[id]; p.Place == PlaceThread {
			p.origin = origins[p.Thread]
		}
	}
}

// originOf returns a text if it is the origin of a page: scheme and host, and nothing else.
func originOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != text {
		return ""
	}
	return text
}
