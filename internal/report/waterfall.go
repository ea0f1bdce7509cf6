package report

import (
	"cmp"
	"math"
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// Waterfall lists individual spans and requests: the ones that failed or took longest. Times are nanoseconds; points in time are
// on the trace's clock.
type Waterfall struct {
	Start, End timeline.Nanos // of its spans
	Spans      []WaterfallSpan
	More       int64 // number of spans left out
	Traces     int   // number of traces with these spans; archive requests count as one trace
}

// WaterfallSpan is a span or request. Each comes after its parent; children are sorted by start.
type WaterfallSpan struct {
	Start, Duration timeline.Nanos // a span that never ends has no Duration
	Name            string
	Service         string // for a request, its host
	Request         bool
	Failed          bool
	Message         string // why it failed
	Depth           int
	Phases          []SpanPhase // of a request, by start
}

// SpanPhase is a part of a request, such as waiting for the first byte.
type SpanPhase struct {
	Name            string
	Start, Duration timeline.Nanos
}

// Around returns the index of the shortest span that contains a stretch of time, or −1 if no span contains it.
func (w *Waterfall) Around(start, length timeline.Nanos) int {
	found := -1
	for i := range w.Spans {
		s := &w.Spans[i]
		if s.Start <= start && s.Start+s.Duration >= start+length && (found < 0 || s.Duration <= w.Spans[found].Duration) {
			found = i
		}
	}
	return found
}

// Memory limits.
const (
	maxWaterfall = 200 // spans
	maxPhases    = 16  // of a request
)

// waterfallCollector keeps the traces that matter most: those that failed, then the longest.
type waterfallCollector struct {
	limit  int
	traces map[string]*waterfallTrace
	kept   int
	out    Waterfall
}

// waterfallTrace is a trace, or all requests together.
type waterfallTrace struct {
	key    string
	seen   int64 // sequence number of the trace
	rooted bool  // its outermost span is present
	failed bool
	length timeline.Nanos // of the longest span
	spans  []*waterfallSpan
	least  timeline.Nanos // in a trace that is too large: shorter spans are left out unless they failed
}

type waterfallSpan struct {
	WaterfallSpan
	id, parent spanID
	kids       []*waterfallSpan
}

func newWaterfallCollector(limit int) *waterfallCollector {
	return &waterfallCollector{limit: limit, traces: map[string]*waterfallTrace{}}
}

// span handles the start of a span. An archive request gets the name of its slice.
func (c *waterfallCollector) span(f *spanFacts, it *timeline.Item) *waterfallSpan {
	s := &waterfallSpan{
		WaterfallSpan: WaterfallSpan{Start: f.start, Duration: f.length, Name: f.operationName, Service: f.service, Request: f.url != "", Failed: f.failed, Message: f.message},
		id:            f.id, parent: f.parent,
	}
	key := f.id.trace
	if s.Request {
		s.Name, key = string(it.Name), ""
	}
	c.add(key, s)
	return s
}

// addPhase adds a part of a request.
func (s *waterfallSpan) addPhase(it *timeline.Item) {
	if s != nil && s.Request && len(s.Phases) < maxPhases {
		s.Phases = append(s.Phases, SpanPhase{string(it.Name), it.TS, max(it.Dur, 0)})
	}
}

// add keeps a span, and leaves out the least important ones if there are too many.
func (c *waterfallCollector) add(key string, s *waterfallSpan) {
	t := c.traces[key]
	if t == nil {
		t = &waterfallTrace{key: key, seen: int64(len(c.traces)) + c.out.More}
		c.traces[key] = t
	}
	if s.Duration < t.least && !s.Failed {
		c.out.More++
		return
	}
	t.rooted, t.failed, t.length = t.rooted || s.parent.span == "", t.failed || s.Failed, max(t.length, s.Duration)
	t.spans = append(t.spans, s)
	for c.kept++; c.kept > c.limit; {
		c.leaveOut()
	}
}

// leaveOut leaves out the least important trace or, if there is only one, its shorter spans.
func (c *waterfallCollector) leaveOut() {
	var least *waterfallTrace
	for _, t := range c.traces {
		if least == nil || compareTraces(t, least) < 0 {
			least = t
		}
	}
	before := len(least.spans)
	if len(c.traces) > 1 {
		least.spans = nil
		delete(c.traces, least.key)
	} else {
		lengths := make([]timeline.Nanos, len(least.spans))
		for i, s := range least.spans {
			lengths[i] = s.Duration
		}
		slices.Sort(lengths)
		least.least = max(least.least+1, lengths[len(lengths)/8]) // leaves out many at once
		least.spans = slices.DeleteFunc(least.spans, func(s *waterfallSpan) bool { return s.Duration < least.least && !s.Failed })
		if len(least.spans) == before { // all failed, or took equally long
			least.spans = least.spans[:c.limit]
		}
	}
	c.kept -= before - len(least.spans)
	c.out.More += int64(before - len(least.spans))
}

// compareTraces compares traces by importance.
func compareTraces(a, b *waterfallTrace) int {
	rank := func(t *waterfallTrace) int {
		switch {
		case t.rooted && t.failed:
			return 2
		case t.rooted:
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.length, b.length), cmp.Compare(b.seen, a.seen))
}

// done returns the waterfall; nil if it is empty.
func (c *waterfallCollector) done() *Waterfall {
	if c.kept == 0 {
		return nil
	}
	var tops []*waterfallSpan
	c.out.Start, c.out.End, c.out.Traces = math.MaxInt64, math.MinInt64, len(c.traces)
	for _, t := range c.traces {
		tops = append(tops, t.nest()...)
		for _, s := range t.spans {
			c.out.Start, c.out.End = min(c.out.Start, s.Start), max(c.out.End, s.Start+s.Duration)
		}
	}
	c.list(tops)
	return &c.out
}

// nest adds spans to their parents and returns the others. A parent may come after its child, because clocks differ.
func (t *waterfallTrace) nest() (tops []*waterfallSpan) {
	byID := map[spanID]*waterfallSpan{}
	for _, s := range t.spans {
		byID[s.id] = s
	}
	for _, s := range t.spans {
		if p := byID[s.parent]; s.parent.span != "" && p != nil && !p.below(s, byID) {
			p.kids = append(p.kids, s)
		} else {
			tops = append(tops, s)
		}
	}
	return tops
}

// below reports whether s is the span top or one of top's descendants. It also returns true if the parents form a cycle.
func (s *waterfallSpan) below(top *waterfallSpan, byID map[spanID]*waterfallSpan) bool {
	for range len(byID) {
		if s == top {
			return true
		}
		next := byID[s.parent]
		if next == nil || s.parent.span == "" {
			return false
		}
		s = next
	}
	return true
}

// list adds spans, each followed by its children.
func (c *waterfallCollector) list(spans []*waterfallSpan) {
	stack := []*waterfallSpan{}
	push := func(list []*waterfallSpan, depth int) {
		slices.SortStableFunc(list, func(a, b *waterfallSpan) int {
			return cmp.Or(cmp.Compare(b.Start, a.Start), cmp.Compare(a.Duration, b.Duration), cmp.Compare(b.id.trace, a.id.trace), cmp.Compare(b.id.span, a.id.span))
		})
		for _, s := range list {
			s.Depth = depth
		}
		stack = append(stack, list...)
	}
	push(spans, 0)
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		c.out.Spans = append(c.out.Spans, s.WaterfallSpan)
		push(s.kids, s.Depth+1)
	}
}
