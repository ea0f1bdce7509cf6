package report

import (
	"cmp"
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// CriticalSpan is a stretch of time in which a span was on the critical path of its trace: the work that must become faster for
// the whole trace to become faster. The stretches of a path follow each other without gaps.
type CriticalSpan struct {
	Start     timeline.Nanos `json:"ts_ns"`
	Duration  timeline.Nanos `json:"dur_ns"`
	Service   string         `json:"service"`
	Operation string         `json:"operation"`
	Kind      string         `json:"kind,omitempty"`
	Depth     int            `json:"depth"` // number of spans around it on the path
	Failed    bool           `json:"error,omitempty"`
	Message   string         `json:"message,omitempty"`
	Trace     string         `json:"trace_id,omitempty"`
	Span      string         `json:"span_id,omitempty"`
}

// criticalPath finds the critical path below a span. It goes backwards from the end of the span, always into the child that ended
// last. Children count only while their parent runs. Of overlapping children, only the one that ended last counts: the parent did
// not wait for the others.
type criticalPath struct {
	reader *spanReader
	root   *pathSpan
	spans  map[spanID]*pathSpan
	left   int64 // spans of the trace for which there was no room
}

// pathSpan is a span of the trace.
type pathSpan struct {
	spanFacts
	end  timeline.Nanos // not after its parent's, on the path
	kids []*pathSpan
}

// pathTask is the rest of a span that is still to be handled: its time before until, and the children in kids[next:].
type pathTask struct {
	*pathSpan
	until timeline.Nanos
	next  int
}

func (p *criticalPath) item(it *timeline.Item) error {
	if it.Kind != timeline.ItemBegin || !hasEnd(&it.Head) || p.root.id.span == "" {
		return nil
	}
	f, ok, err := p.reader.read(it)
	switch {
	case err != nil || !ok || f.id.trace != p.root.id.trace:
		return err
	case len(p.spans) == maxPathSpans:
		p.left++
		return nil
	}
	s := &pathSpan{spanFacts: f, end: endOf(&it.Head)}
	if f.id == p.root.id && f.start == p.root.start && len(p.root.kids) == 0 {
		s = p.root
	} else if parent := p.spans[f.parent]; parent != nil {
		parent.kids = append(parent.kids, s)
	}
	p.spans[f.id] = s
	return nil
}

// path returns the path in time order.
func (p *criticalPath) path() (steps []CriticalSpan) {
	stack := []pathTask{{pathSpan: p.root, until: p.root.end}}
	for len(stack) > 0 {
		t := &stack[len(stack)-1]
		if t.next == 0 {
			for _, k := range t.kids {
				k.end = min(k.end, t.end)
			}
			slices.SortStableFunc(t.kids, func(a, b *pathSpan) int { return cmp.Compare(b.end, a.end) })
		}
		for t.next < len(t.kids) && (t.kids[t.next].end > t.until || t.kids[t.next].start >= t.kids[t.next].end) {
			t.next++
		}
		from, depth := t.start, len(stack)-1
		if t.next < len(t.kids) {
			from = t.kids[t.next].end
		}
		if from < t.until {
			steps = append(steps, CriticalSpan{Start: from, Duration: t.until - from, Service: t.service, Operation: t.operationName, Kind: t.kind, Depth: depth,
				Failed: t.failed, Message: t.message, Trace: t.id.trace, Span: t.id.span})
		}
		if t.next == len(t.kids) {
			stack = stack[:len(stack)-1]
			continue
		}
		kid := t.kids[t.next]
		t.next, t.until = t.next+1, kid.start
		stack = append(stack, pathTask{pathSpan: kid, until: kid.end})
	}
	slices.Reverse(steps)
	return steps
}
