package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/timeline"
)

// Loads lists the page loads that a browser or an HTTP archive recorded. Times are nanoseconds; points in time are on the
// trace's clock.
type Loads struct {
	Pages []Load `json:"pages"`          // in time order, without empty pages and pages of the browser itself
	More  int64  `json:"more,omitempty"` // pages for which there was no room
	// Shift is the largest layout shift on any thread; nil: none.
	Shift *LayoutShift `json:"layout_shift,omitempty"`
}

// Load is the load of a page. All times except Start are relative to Start; nil: not recorded.
type Load struct {
	URL          string          `json:"url"`
	Start        timeline.Nanos  `json:"ts_ns"` // of the navigation
	FirstPaint   *timeline.Nanos `json:"first_contentful_paint_ns,omitempty"`
	LargestPaint *timeline.Nanos `json:"largest_contentful_paint_ns,omitempty"`
	DOMContent   *timeline.Nanos `json:"dom_content_loaded_ns,omitempty"`
	Loaded       *timeline.Nanos `json:"load_ns,omitempty"`
	Archive      bool            `json:"-"` // from an HTTP archive
}

// LayoutShift is the cumulative layout shift of a thread's page: the largest sum of shifts in a session window, which ends
// after one second without shifts, or after five seconds in all. Shifts right after an input do not count.
type LayoutShift struct {
	ThreadID
	Score  float64        `json:"score"`
	Start  timeline.Nanos `json:"ts_ns"` // of the first shift of the window
	End    timeline.Nanos `json:"end_ns"`
	Shifts int            `json:"shifts"`
}

// Memory limits, and the limits of a session window.
const (
	maxLoads       = 1 << 10
	maxLoadText    = 1 << 12 // bytes of an argument
	maxShiftTracks = 1 << 10
	shiftGap       = timeline.Nanos(1e9)
	shiftWindow    = timeline.Nanos(5e9)
)

// loadEvent is the meaning of an event for a load.
type loadEvent uint8

const (
	noLoadEvent loadEvent = iota
	navigated
	paintedFirst
	paintedLargest
	parsed
	loadEnded
	shifted
	archivePage
	archiveDOMContent
	archiveLoaded
	markedFirstPaint // in Firefox, whose markers start with the navigation
	markedLargestPaint
	markedLoaded
)

// loadEvents maps the names of events in Chrome traces and archives to their meanings.
var loadEvents = map[string]loadEvent{
	"navigationStart": navigated, "firstContentfulPaint": paintedFirst, "largestContentfulPaint::Candidate": paintedLargest, "MarkDOMContent": parsed,
	"MarkLoad": loadEnded, "LayoutShift": shifted, "page": archivePage, "onContentLoad": archiveDOMContent, "onLoad": archiveLoaded,
}

// loadEventOf returns the meaning of events with a name.
func loadEventOf(name string) loadEvent {
	switch {
	case loadEvents[name] != noLoadEvent:
		return loadEvents[name]
	case strings.HasPrefix(name, "Contentful paint after "):
		return markedFirstPaint
	case strings.HasPrefix(name, "Largest contentful paint after "):
		return markedLargestPaint
	case strings.HasPrefix(name, "Document ") && strings.Contains(name, " loaded after "):
		return markedLoaded
	}
	return noLoadEvent
}

// loadCollector finds loads in a walk over all events.
type loadCollector struct {
	tl       *timeline.Timeline
	selected *selection.Selection
	events   []loadEvent // by NameID
	out      Loads
	index    map[string]int    // index in Pages, by the key of the navigation
	frames   map[string]string // by frame: its latest navigation
	shifts   map[timeline.TrackID]*LayoutShift
	wanted   *timeline.ArgSelection
	args     map[string]string // of the current event, by path
}

// loadArgs lists the names of the arguments to read.
var loadArgs = []string{"data", "documentLoaderURL", "frame", "had_recent_input", "isOutermostMainFrame", "navigationId", "score", "startedDateTime", "title", "weighted_score_delta"}

func newLoadCollector(tl *timeline.Timeline, selected *selection.Selection) *loadCollector {
	c := &loadCollector{
		tl: tl, selected: selected, events: make([]loadEvent, tl.NameCount()+1), index: map[string]int{}, frames: map[string]string{},
		shifts: map[timeline.TrackID]*LayoutShift{}, args: map[string]string{},
		wanted: tl.SelectArgs(func(name string) bool { return slices.Contains(loadArgs, name) }),
	}
	for id := range tl.NameCount() {
		c.events[id+1] = loadEventOf(string(tl.Name(timeline.NameID(id + 1))))
	}
	return c
}

func (c *loadCollector) item(it *timeline.Item) error {
	if it.Kind != timeline.ItemInstant && it.Kind != timeline.ItemBegin {
		return nil
	}
	event := c.events[it.NameID]
	if it.NameID == 0 {
		event = loadEventOf(string(it.Name))
	}
	if event == noLoadEvent || !c.selected.Item(it) {
		return nil
	}
	if err := readTexts(it, c.wanted, c.args); err != nil {
		return err
	}
	frame := cmp.Or(c.args["frame"], c.args["data.frame"])
	switch event {
	case navigated:
		url, id := c.args["data.documentLoaderURL"], c.args["data.navigationId"]
		if c.args["data.isOutermostMainFrame"] != "false" && IsPage(url) && c.load(id, url, it.TS) != nil {
			c.frames[frame] = id
		} else {
			delete(c.frames, frame)
		}
	case paintedFirst, paintedLargest:
		c.passed(c.args["data.navigationId"], event, it.TS)
	case parsed, loadEnded:
		c.passed(c.frames[frame], event, it.TS)
	case shifted:
		c.shift(it)
	case archivePage:
		if isURL(c.args["title"]) && c.args["startedDateTime"] != "" {
			if l := c.load(strconv.Itoa(int(it.Track)), c.args["title"], it.TS); l != nil {
				l.Archive = true
			}
		}
	case archiveDOMContent, archiveLoaded:
		c.passed(strconv.Itoa(int(it.Track)), event, it.TS)
	case markedFirstPaint, markedLargestPaint, markedLoaded:
		c.marker(it, event)
	}
	return nil
}

// readTexts reads the texts and numbers among the arguments of an event, by name; the names of dictionary members are prefixed
// with the name of the dictionary and a dot. It truncates long texts.
func readTexts(it *timeline.Item, wanted *timeline.ArgSelection, args map[string]string) error {
	clear(args)
	if err := it.ReadArgs(); err != nil {
		return err
	}
	wanted.Paths(it.Args, func(path string, arg *timeline.Arg) bool {
		text := arg.AppendText(nil)
		if args[path] = string(text); len(text) > maxLoadText {
			args[path] = strings.ToValidUTF8(string(text[:maxLoadText]), "") + "…"
		}
		return true
	})
	return nil
}

// load returns the load with the given key. It adds the load if it is new; if there are too many loads, it returns nil.
func (c *loadCollector) load(key, url string, start timeline.Nanos) *Load {
	if i, ok := c.index[key]; ok {
		return &c.out.Pages[i]
	}
	if len(c.out.Pages) == maxLoads {
		c.out.More++
		return nil
	}
	c.index[key] = len(c.out.Pages)
	c.out.Pages = append(c.out.Pages, Load{URL: strings.Clone(url), Start: start})
	return &c.out.Pages[len(c.out.Pages)-1]
}

// passed records when a load reached an event. Of the candidates for the largest paint, the last one counts; of all other
// events, the first.
func (c *loadCollector) passed(key string, event loadEvent, at timeline.Nanos) {
	i, ok := c.index[key]
	if !ok {
		return
	}
	l := &c.out.Pages[i]
	to := map[loadEvent]**timeline.Nanos{
		paintedFirst: &l.FirstPaint, paintedLargest: &l.LargestPaint, parsed: &l.DOMContent, loadEnded: &l.Loaded, archiveDOMContent: &l.DOMContent, archiveLoaded: &l.Loaded,
		markedFirstPaint: &l.FirstPaint, markedLargestPaint: &l.LargestPaint, markedLoaded: &l.Loaded,
	}[event]
	if at >= l.Start && (*to == nil || event == paintedLargest || event == markedLargestPaint) {
		*to = new(at - l.Start)
	}
}

// marker handles a Firefox marker. Markers of one load start together on one thread; only some names contain the url.
func (c *loadCollector) marker(it *timeline.Item, event loadEvent) {
	if !hasEnd(&it.Head) || !strings.HasPrefix(string(it.Category), "DOM") {
		return
	}
	url := string(it.Name)
	if _, after, ok := strings.Cut(url, " for URL "); ok {
		url = after
	} else if url, ok = strings.CutPrefix(url, "Document "); ok {
		url, _, _ = strings.Cut(url, " loaded after ")
	}
	url, _, _ = strings.Cut(url, ", foreground tab")
	key := strconv.Itoa(int(ownerOf(c.tl, it.Track))) + " " + strconv.FormatInt(int64(it.TS), 10)
	if !isURL(url) {
		url = ""
	}
	if l := c.load(key, url, it.TS); l != nil {
		l.URL = cmp.Or(l.URL, url)
		c.passed(key, event, endOf(&it.Head))
	}
}

// shift adds a layout shift to the window of its thread.
func (c *loadCollector) shift(it *timeline.Item) {
	score, err := strconv.ParseFloat(cmp.Or(c.args["data.weighted_score_delta"], c.args["data.score"]), 64)
	if err != nil || !(score > 0 && score < 1e6) || c.args["data.had_recent_input"] != "false" {
		return
	}
	thread := ownerOf(c.tl, it.Track)
	w := c.shifts[thread]
	switch {
	case w == nil && len(c.shifts) == maxShiftTracks:
		return
	case w == nil || it.TS-w.End >= shiftGap || it.TS-w.Start >= shiftWindow:
		w = &LayoutShift{ThreadID: threadID(c.tl, thread), Start: it.TS}
		c.shifts[thread] = w
	}
	w.Score, w.End, w.Shifts = w.Score+score, it.TS, w.Shifts+1
	if c.out.Shift == nil || w.Score > c.out.Shift.Score {
		c.out.Shift = new(*w)
	}
}

// done returns the loads after the walk; nil if there are neither loads nor shifts.
func (c *loadCollector) done() *Loads {
	c.out.Pages = slices.DeleteFunc(c.out.Pages, func(l Load) bool { return l.URL == "" || IsOwnPage(l.URL) })
	if len(c.out.Pages) == 0 && c.out.Shift == nil {
		return nil
	}
	return &c.out
}

// end returns when the last of the loads was complete; 0: unknown.
func (l *Loads) end() (end timeline.Nanos) {
	if l == nil {
		return 0
	}
	for i := range l.Pages {
		if p := &l.Pages[i]; p.Loaded != nil {
			end = max(end, p.Start+*p.Loaded)
		}
	}
	return end
}

// LoadMoment is when a load reached a milestone.
type LoadMoment struct {
	At      timeline.Nanos
	Label   string // "DOM ready", "load", "first content" or "largest content"
	URL     string
	Archive bool
}

// Moments returns the milestones of all loads.
func (l *Loads) Moments() (list []LoadMoment) {
	if l == nil {
		return nil
	}
	for i := range l.Pages {
		p := &l.Pages[i]
		for _, m := range []struct {
			after *timeline.Nanos
			label string
		}{{p.FirstPaint, "first content"}, {p.LargestPaint, "largest content"}, {p.DOMContent, "DOM ready"}, {p.Loaded, "load"}} {
			if m.after != nil {
				list = append(list, LoadMoment{p.Start + *m.after, m.label, p.URL, p.Archive})
			}
		}
	}
	return list
}
