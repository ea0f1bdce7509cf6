package attribution

import (
	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/timeline"
)

// A provider extracts evidence and objects from the events of one kind of producer. Every provider sees all slices and
// instants of a trace once, in time order, before the other passes, which treat evidence from all producers alike.
type provider interface {
	observe(c *collecting, s *event) error
}

// A starter is a provider that is called before the first event.
type starter interface {
	start(c *collecting)
}

// providers returns all providers. The order matters only for providers that handle the same events.
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

// event is a slice, an instant or the end event of a slice, with the information that providers use.
type event struct {
	*timeline.Head
	ordinal uint64 // of the slice, also for its end event
	track   *track
	name    *nameInfo
	call    bool // a function call, from samples
	facts   *arguments
}

// isEnd reports whether the event is the end of a slice; the start was an earlier event.
func (s *event) isEnd() bool { return s.Kind == timeline.ItemEnd }

func (s *event) position() problem.Position {
	return problem.Position{Event: int64(s.Event), Offset: s.Offset}
}
