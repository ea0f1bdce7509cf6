package find

import (
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// Limits for relate.
const (
	maxProcesses = 16 // processes of a request
	maxSame      = 8  // maximum length of Hit.SameRequest
)

// latest is the slice of a request that ends last in a process.
type latest struct {
	process timeline.TrackID
	hit     int
}

// relate finds hits in different processes that belong to the same request. These are an event and a slice of another process
// that is open at the time of the event. Both have the same request id or, if one of the two has no request id, the same URL.
func (r *Result) relate() {
	requests := map[string][]latest{}
	for i := range r.Hits {
		h := &r.Hits[i]
		if !h.IsEvent() {
			continue
		}
		for _, key := range []string{"id " + h.id, "url " + h.url} {
			if key == "id " || key == "url " {
				continue
			}
			list := requests[key]
			for _, other := range list {
				o := &r.Hits[other.hit]
				if other.process != h.process && o.lasts(h.TS) && (key[0] == 'i' || h.id == "" || o.id == "") {
					r.same(i, other.hit)
				}
			}
			if h.Kind == "slice" {
				requests[key] = r.updateLatest(list, i)
			}
		}
	}
}

// lasts reports whether a slice is still open at a time after its start.
func (h *Hit) lasts(at timeline.Nanos) bool { return h.Dur == timeline.NoTime || at-h.TS <= h.Dur }

// updateLatest makes a slice the latest of its process, unless another slice of the process ends later.
func (r *Result) updateLatest(list []latest, hit int) []latest {
	h := &r.Hits[hit]
	at := slices.IndexFunc(list, func(l latest) bool { return l.process == h.process })
	switch {
	case at < 0 && len(list) < maxProcesses:
		return append(list, latest{h.process, hit})
	case at < 0:
		at = 0
	default:
		if o := &r.Hits[list[at].hit]; h.Dur != timeline.NoTime && o.lasts(h.TS+h.Dur) {
			return list
		}
	}
	list[at] = latest{h.process, hit}
	return list
}

// same relates a hit to an earlier slice, and that slice to the hit if the hit is also a slice.
func (r *Result) same(hit, slice int) {
	add := func(to, other *Hit) {
		if len(to.SameRequest) < maxSame && !slices.Contains(to.SameRequest, other) {
			to.SameRequest = append(to.SameRequest, other)
		}
	}
	h, s := &r.Hits[hit], &r.Hits[slice]
	if add(h, s); h.Kind == "slice" {
		add(s, h)
	}
}
