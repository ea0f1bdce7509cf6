package attribution

import (
	"net/url"

	"github.com/weft-trace/weft/internal/timeline"
)

// selfProfiles finds the page of a JS self-profile's threads by the page's origin, which is the only fact about the page in the
// profile (jsprofile.md 3).
type selfProfiles struct{}

func (selfProfiles) observe(c *collecting, s *event) error {
	if s.track.origin == "" || s.track.Place != PlaceThread || s.isEnd() {
		return nil
	}
	n := c.contexts.nodeOf(scopeOrigin, []byte(s.track.origin), Global)
	c.contexts.Nodes[n].IsFrame = n != 0
	return c.addContext(s, TypeFrame, n)
}

// findOrigins finds the threads of self-profiles and the origins of their pages. The origins are the subjects of the threads'
// page state tracks.
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

// originOf returns a text if it is the origin of a page, which has only a scheme and a host; otherwise "".
func originOf(text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Host == "" || u.Scheme+"://"+u.Host != text {
		return ""
	}
	return text
}
