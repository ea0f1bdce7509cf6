package otlp

import (
	"bytes"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/wire"
)

// requests finds the spans that start requests: spans without a parent, and server and consumer spans whose parent is
// not running, because it is missing, in another file or already over. The rest of a request nests in its first span or
// is linked to it by arrows.
type requests struct {
	open map[spanKey]timeline.Nanos // ends of running spans
	ends collections.Heap[requestEnd]
	name []byte
}

// requestEnd is the end of a running span.
type requestEnd struct {
	at  timeline.Nanos
	key spanKey
}

func newRequests() requests {
	return requests{
		open: map[spanKey]timeline.Nanos{},
		ends: collections.NewHeap(func(a, b *requestEnd) bool { return a.at < b.at }),
	}
}

// begins reports whether a span starts a request. Call it in order of start time.
func (r *requests) begins(h *head, kind uint64) bool {
	for r.ends.Len() > 0 && r.ends.Top().at <= h.start {
		if e := r.ends.Pop(); r.open[e.key] == e.at {
			delete(r.open, e.key)
		}
	}
	_, inRequest := r.open[h.parentKey()]
	if end := h.endOrEndless(); h.key().isValid() && end > h.start && end >= r.open[h.key()] {
		r.open[h.key()] = end
		r.ends.Push(requestEnd{end, h.key()})
	}
	return h.parent == 0 || !inRequest && serves(kind)
}

// nameOf returns the name of a request that starts with a span: the names of the service and the span, and the route
// unless it is part of the span's name.
func (r *requests) nameOf(service string, f *spanFields) []byte {
	r.name = append(append(append(r.name[:0], service...), ": "...), f.name...)
	if route := f.route(); len(route) > 0 && !bytes.Contains(f.name, route) {
		r.name = append(append(r.name, ' '), route...)
	}
	return r.name
}

// route returns the attribute http.route.
func (f *spanFields) route() (route []byte) {
	for r := wire.NewReader(f.encoded); r.Next(); {
		if r.Tag() == wire.Tag(spanAttributes, wire.Len) {
			if key, value := readKeyValue(r.Bytes()); string(key) == "http.route" {
				route = textOf(value)
			}
		}
	}
	return route
}
