package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/selection"
	"github.com/weft-trace/weft/internal/table"
	"github.com/weft-trace/weft/internal/timeline"
)

// Network describes the requests of the pages in a Chrome or Firefox recording. Times are nanoseconds; points in time are on
// the trace's clock.
type Network struct {
	Requests   int64     `json:"requests"`
	Failed     int64     `json:"failed"`     // including responses with a status of 400 or more
	Unfinished int64     `json:"unfinished"` // without a recorded end
	Unfollowed int64     `json:"unfollowed"` // sent while MaxOpenRequests were open: nothing else is known about them
	Bytes      int64     `json:"bytes"`      // in Chrome with headers, as sent; in Firefox the contents, as received by a process
	Slowest    []SpanRow `json:"slowest_requests"`
	// Waterfall shows the requests that failed or took longest. Unfinished requests end when their response begins.
	Waterfall *Waterfall `json:"-"`
	start     timeline.Nanos
}

// Table returns a table of the slowest requests.
func (n *Network) Table() *table.Table {
	t := requestsTable(n.start, n.Slowest)
	t.All = int(n.Requests)
	return t
}

// Heap is the size of the JavaScript heap over time, as recorded by one thread.
type Heap struct {
	ThreadID
	Step  timeline.Nanos `json:"step_ns"` // length of the steps of Sizes, which start with the trace
	Sizes []int64        `json:"bytes"`   // the largest in each step; 0: none recorded
	Max   int64          `json:"max_bytes"`
}

// Memory limits.
const (
	MaxOpenRequests = 1 << 14
	maxSeenRequests = 1 << 18 // of Firefox; later ones count once for each process that recorded them
	maxHeaps        = 1 << 6
	heapSteps       = 400
)

// resourceArgs lists the names of the arguments to read.
var resourceArgs = []string{
	"data", "didFail", "encodedDataLength", "jsHeapSizeUsed", "requestId", "requestMethod", "statusCode", "statusText", "url", // in Chrome
	"URI", "count", "id", "requestStatus", "responseStatus", "status", "type", // in Firefox
}

// resourceCollector finds requests, heap sizes and screenshots in a walk over all events.
type resourceCollector struct {
	tl        *timeline.Timeline
	selected  *selection.Selection
	events    map[string]func(*resourceCollector, *timeline.Item)
	wanted    *timeline.ArgSelection
	args      map[string]string
	out       Network
	open      map[requestKey]*request
	seen      map[requestKey]bool // Firefox requests: each process that handles one records it
	waterfall *waterfallCollector
	heaps     map[timeline.TrackID]*Heap
	order     []timeline.TrackID // of heaps
	step      timeline.Nanos
	first     timeline.Nanos

	pictures []Screenshot
	apart    timeline.Nanos // the minimum time between pictures
}

// requestKey identifies a request: merged recordings may use the same ids.
type requestKey struct{ input, id string }

// request is a request whose end may still come.
type request struct {
	SpanRow
	answered bool
	phases   []SpanPhase // only in Firefox
}

func newResourceCollector(tl *timeline.Timeline, selected *selection.Selection) *resourceCollector {
	totals := tl.Totals()
	return &resourceCollector{
		tl: tl, selected: selected, open: map[requestKey]*request{}, seen: map[requestKey]bool{}, waterfall: newWaterfallCollector(maxWaterfall), heaps: map[timeline.TrackID]*Heap{},
		first: totals.Start, step: (totals.End-totals.Start)/heapSteps + 1, out: Network{start: totals.Start, Slowest: []SpanRow{}}, args: map[string]string{},
		wanted: tl.SelectArgs(func(name string) bool { return slices.Contains(resourceArgs, name) }),
		events: map[string]func(*resourceCollector, *timeline.Item){
			"ResourceSendRequest": (*resourceCollector).send, "ResourceReceiveResponse": (*resourceCollector).answer, "ResourceFinish": (*resourceCollector).finish,
			"UpdateCounters": (*resourceCollector).count, "Screenshot": (*resourceCollector).picture,
		},
	}
}

func (c *resourceCollector) item(it *timeline.Item) error {
	if it.Kind != timeline.ItemInstant {
		return nil
	}
	take := c.events[string(it.Name)]
	if take == nil || !c.selected.Item(it) {
		return nil
	}
	if err := readTexts(it, c.wanted, c.args); err != nil {
		return err
	}
	take(c, it)
	return nil
}

// key returns the key of an event's request; without an id if the event has none.
func (c *resourceCollector) key(it *timeline.Item) requestKey {
	process := c.tl.Track(c.tl.TrackParent(ownerOf(c.tl, it.Track)))
	return requestKey{process.Input, c.args["data.requestId"]}
}

// send handles the start of a request. A request that is sent again was redirected.
func (c *resourceCollector) send(it *timeline.Item) {
	key, url := c.key(it), c.args["data.url"]
	_, host, _ := producers.SplitURL(url)
	if key.id == "" || host == "" || strings.HasPrefix(url, "data:") { // data: urls are not fetched
		return
	}
	if before := c.open[key]; before != nil {
		before.Message = "redirected"
		delete(c.open, key)
		c.done(before, it.TS)
	}
	if len(c.open) == MaxOpenRequests {
		c.out.Requests++
		c.out.Unfollowed++
		return
	}
	c.open[key] = &request{SpanRow: SpanRow{Service: host, Operation: cmp.Or(c.args["data.requestMethod"], "GET"), URL: url, Start: it.TS}}
}

// answer handles the start of a response.
func (c *resourceCollector) answer(it *timeline.Item) {
	r := c.open[c.key(it)]
	if r == nil || it.TS < r.Start {
		return
	}
	r.answered, r.Wait = true, it.TS-r.Start
	if status, err := strconv.Atoi(c.args["data.statusCode"]); err == nil && status >= 400 {
		r.Failed, r.Message = true, strings.TrimSpace(strconv.Itoa(status)+" "+c.args["data.statusText"])
	}
}

// finish handles the end of a request. A request without a start was sent before the recording, is not followed, or has a data:
// url.
func (c *resourceCollector) finish(it *timeline.Item) {
	key := c.key(it)
	r := c.open[key]
	if r == nil {
		return
	}
	delete(c.open, key)
	if n, err := strconv.ParseFloat(c.args["data.encodedDataLength"], 64); err == nil && n > 0 && n < 1e15 {
		r.Bytes = int64(n)
	}
	if c.args["data.didFail"] == "true" && !r.Failed {
		if r.Failed, r.Message = true, "no answer"; r.answered {
			r.Message = "broken off"
		}
	}
	c.done(r, it.TS)
}

// done counts a request that has ended.
func (c *resourceCollector) done(r *request, end timeline.Nanos) {
	r.Length = max(end-r.Start, 0)
	sum(&c.out.Bytes, r.Bytes)
	c.out.Slowest = append(c.out.Slowest, r.SpanRow)
	if len(c.out.Slowest) == 8*AllRows {
		c.out.Slowest = slowestOf(c.out.Slowest)
	}
	c.draw(r)
}

// draw counts a request and adds it to the waterfall.
func (c *resourceCollector) draw(r *request) {
	c.out.Requests++
	if r.Failed {
		c.out.Failed++
	}
	_, _, path := producers.SplitURL(r.URL)
	s := &waterfallSpan{WaterfallSpan: WaterfallSpan{
		Start: r.Start, Duration: r.Length, Name: r.Operation + " " + cmp.Or(path, "/"), Service: r.Service, Request: true, Failed: r.Failed, Message: r.Message,
	}}
	if r.answered {
		s.Phases = []SpanPhase{{"wait", r.Start, r.Wait}}
	}
	if r.answered && r.Length > r.Wait {
		s.Phases = append(s.Phases, SpanPhase{"receive", r.Start + r.Wait, r.Length - r.Wait})
	}
	if len(r.phases) > 0 {
		s.Phases = r.phases[:min(len(r.phases), maxPhases)]
	}
	c.waterfall.add("", s)
}

// marker handles a Firefox slice that is a request, or a phase of one.
func (c *resourceCollector) marker(it *timeline.Item, open *timeline.OpenSlices[*request]) error {
	if c.tl.Role(it.Track) != timeline.RoleNetwork {
		return nil
	}
	switch n := open.Len(); {
	case it.Kind == timeline.ItemBegin && n == 1 && c.selected.Item(it):
		return c.startMarker(it, open.Innermost())
	case it.Kind == timeline.ItemBegin && n == 2 && *open.At(0) != nil:
		r := *open.At(0)
		r.phases = append(r.phases, SpanPhase{string(it.Name), it.TS, max(it.Dur, 0)})
		if string(it.Name) == producers.FirefoxAnswer {
			r.Wait = it.TS - r.Start
		}
	case it.Kind == timeline.ItemEnd && n == 1 && *open.Innermost() != nil:
		c.done(*open.Innermost(), it.TS)
	}
	return nil
}

// startMarker reads a Firefox request. Each process that handles a request records it; the first record with an end
// counts.
func (c *resourceCollector) startMarker(it *timeline.Item, note **request) error {
	if err := readTexts(it, c.wanted, c.args); err != nil || c.args["type"] != producers.FirefoxRequest {
		return err
	}
	key, url := requestKey{c.tl.Track(c.tl.TrackParent(it.Track)).Input, c.args["id"]}, c.args["URI"]
	_, host, _ := producers.SplitURL(url)
	if host == "" || strings.HasPrefix(url, "data:") || c.seen[key] {
		return nil
	}
	r := &request{SpanRow: SpanRow{Service: host, Operation: cmp.Or(c.args["requestMethod"], "GET"), URL: url, Start: it.TS}}
	r.Failed, r.Message = firefoxOutcome(c.args)
	if n, err := strconv.ParseInt(c.args["count"], 10, 64); err == nil && n > 0 && n < 1e15 {
		r.Bytes = n
	}
	switch ends := hasEnd(&it.Head) && c.args["status"] != "STATUS_START"; {
	case !ends && key.id == "":
		c.unfinished(r)
	case !ends && c.open[key] == nil && len(c.open) == MaxOpenRequests:
		c.out.Requests++
		c.out.Unfollowed++
	case !ends && c.open[key] == nil:
		c.open[key] = r
	case ends:
		delete(c.open, key)
		if key.id != "" && len(c.seen) < maxSeenRequests {
			c.seen[key] = true
		}
		*note = r
	}
	return nil
}

// unfinished counts a request without an end.
func (c *resourceCollector) unfinished(r *request) {
	c.out.Unfinished++
	r.Length, r.Message = r.Wait, cmp.Or(r.Message, "not finished")
	c.draw(r)
}

// firefoxOutcome returns whether a Firefox request failed, and a word for how it ended if it did not simply succeed.
func firefoxOutcome(args map[string]string) (failed bool, message string) {
	if status, err := strconv.Atoi(args["responseStatus"]); err == nil && status >= 400 {
		return true, args["responseStatus"]
	}
	switch status := args["status"]; {
	case status == "STATUS_REDIRECT":
		return false, "redirected"
	case status == "STATUS_CANCEL":
		return true, "canceled"
	}
	if result := args["requestStatus"]; result != "" && result != "NS_OK" {
		return true, result
	}
	return false, ""
}

// count records the size of a heap.
func (c *resourceCollector) count(it *timeline.Item) {
	size, err := strconv.ParseInt(c.args["data.jsHeapSizeUsed"], 10, 64)
	if err != nil || size <= 0 || it.TS < c.first {
		return
	}
	thread := ownerOf(c.tl, it.Track)
	h := c.heaps[thread]
	if h == nil {
		if len(c.heaps) == maxHeaps {
			return
		}
		h = &Heap{ThreadID: threadID(c.tl, thread), Step: c.step, Sizes: make([]int64, heapSteps)}
		c.heaps[thread], c.order = h, append(c.order, thread)
	}
	at := min(int((it.TS-c.first)/c.step), heapSteps-1)
	h.Sizes[at], h.Max = max(h.Sizes[at], size), max(h.Max, size)
}

// add adds the results to an All after the walk.
func (c *resourceCollector) add(out *All) {
	left := make([]*request, 0, len(c.open))
	for _, r := range c.open {
		left = append(left, r)
	}
	slices.SortFunc(left, func(a, b *request) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.URL, b.URL)) })
	for _, r := range left {
		c.unfinished(r)
	}
	if c.out.Slowest = slowestOf(c.out.Slowest); c.out.Requests > 0 {
		out.Network, c.out.Waterfall = &c.out, c.waterfall.done()
	}
	out.Screenshots = c.screenshots()
	for _, thread := range c.order {
		out.Heaps = append(out.Heaps, *c.heaps[thread])
	}
	slices.SortStableFunc(out.Heaps, func(a, b Heap) int { return cmp.Compare(b.Max, a.Max) })
}
