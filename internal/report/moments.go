package report

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/timeline"
)

// Moment is a milestone of a page: when it had loaded, or first showed something.
type Moment struct {
	At    timeline.Nanos
	Label string
	ThreadID
	onThread bool
	track    timeline.TrackID
}

// OnThread reports whether it is known on which thread it was.
func (m *Moment) OnThread() bool { return m.onThread }

// milestones are the labels of instants, as Chrome, Firefox and HTTP archives name them.
var milestones = map[string]string{
	"MarkDOMContent": "DOM ready", "onContentLoad": "DOM ready", "MarkLoad": "load", "onLoad": "load",
	"firstContentfulPaint": "first paint", "largestContentfulPaint::Candidate": largestPaint, "LargestContentfulPaint": largestPaint,
}

const (
	largestPaint  = "largest paint" // the last candidate is it
	maxMilestones = 2               // of a label and thread
	maxMoments    = 1 << 12         // that are kept in a walk
)

// momentCollector finds the milestones in a walk.
type momentCollector struct {
	tl       *timeline.Timeline
	selected *selection.Selection
	args     *timeline.ArgSelection
	labels   []string                 // by NameID
	seen     map[momentKey]int        // how many
	largest  map[timeline.TrackID]int // index in list
	list     []Moment
}

type momentKey struct {
	track timeline.TrackID
	label string
}

func newMomentCollector(tl *timeline.Timeline, selected *selection.Selection) *momentCollector {
	c := &momentCollector{tl: tl, selected: selected, labels: make([]string, tl.NameCount()+1), seen: map[momentKey]int{}, largest: map[timeline.TrackID]int{}}
	for id := range c.labels {
		c.labels[id] = milestones[string(tl.Name(timeline.NameID(id)))]
	}
	c.args = tl.SelectArgs(func(name string) bool { return name == "data" || name == "isOutermostMainFrame" })
	return c
}

// item takes in an item of the walk.
func (c *momentCollector) item(it *timeline.Item) error {
	if it.Kind != timeline.ItemInstant || c.labels[it.NameID] == "" || len(c.list) == maxMoments || !c.selected.Item(it) {
		return nil
	}
	if err := it.ReadArgs(); err != nil || c.inFrame(it) {
		return err
	}
	m := Moment{At: it.TS, Label: c.labels[it.NameID], track: c.tl.Above(it.Track, timeline.ThreadTrack)}
	if m.onThread = m.track != 0; m.onThread {
		m.ThreadID = threadID(c.tl, m.track)
	}
	track := cmp.Or(m.track, it.Track)
	if i, ok := c.largest[track]; ok && m.Label == largestPaint {
		c.list[i].At = m.At
		return nil
	}
	if m.Label == largestPaint {
		c.largest[track] = len(c.list)
	}
	if c.seen[momentKey{track, m.Label}]++; c.seen[momentKey{track, m.Label}] > maxMilestones {
		return nil
	}
	c.list = append(c.list, m)
	return nil
}

// inFrame reports whether an instant is of a frame in a page.
func (c *momentCollector) inFrame(it *timeline.Item) bool {
	for arg := range c.args.List(it.Args) {
		if string(arg.Key) != "data" || arg.Kind != timeline.ArgDict {
			continue
		}
		for member := range c.args.Members(arg) {
			if string(member.Key) == "isOutermostMainFrame" && argText(&member) == "false" {
				return true
			}
		}
	}
	return false
}

// done returns the milestones by time.
func (c *momentCollector) done() []Moment {
	slices.SortStableFunc(c.list, func(a, b Moment) int { return cmp.Compare(a.At, b.At) })
	return c.list
}
