package attribution

import (
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// A provider knows where one kind of producer says for whom work was done. All slices and instants of a trace are shown
// to all providers, once, in the order of time, before anything is attributed; a provider answers with evidence and
// with objects. What evidence means is the passes' affair and the same for every producer.
type provider interface {
	see(c *collecting, s *event) error
}

// A starter is a provider that has to do something before the first event.
type starter interface {
	start(c *collecting)
}

// providers returns all providers. The order matters only among those that concern the same events.
func providers(t *timeline.Timeline, names *contextNames) []provider {
	return []provider{
		newExplicitEvents(t),
		&chromeFrames{},
		names,
		&chromeInput{},
		&chromeRequests{},
		&chromeGraphics{},
		&gcSlices{},
		&scripts{},
		&firefoxWindows{},
		&firefoxInput{},
		&firefoxRequests{},
		&selfProfiles{},
		layoutProbes{},
		spans{},
		&earlierNotes{},
	}
}

// event is a slice, an instant or the end event of a slice with what providers ask for.
type event struct {
	*timeline.Head
	ordinal uint64 // of the slice, also at its end
	place   *track
	name    *nameInfo
	call    bool // a call of a function, as samples show it
	facts   *arguments
}

// isEnd reports whether it is the end of a slice whose start was seen before.
func (s *event) isEnd() bool { return s.Kind == timeline.ItemEnd }

func (s *event) position() problem.Position {
	return problem.Position{Event: int64(s.Event), Offset: s.Offset}
}
