package find

import (
	"slices"

	"github.com/weft-trace/weft/internal/timeline"
)

// Bounds of what relate looks at and keeps: the processes of a request, and the hits that one is related to.
const (
	maxProcesses = 16
	maxSame      = 8
)

// latest is the slice of a request that ends last in a process.
type latest struct {
	process timeline.TrackID
	hit     int
}

// relate finds the hits that are about one request as several processes saw it: an event and a slice of another process that has the same
// id of the request, or where one of them has no id the same URL, while that lasts.
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
			of := requests[key]
			for _, other := range of {
				o := &r.Hits[other.hit]
				if other.process != h.process && o.lasts(h.TS) && (key[0] == 'i' || h.id == "" || o.id == "") {
					r.same(i, other.hit)
				}
			}
			if h.Kind == "slice" {
				requests[key] = r.remember(of, i)
			}
		}
	}
}

// lasts reports whether a slice has not ended at a time after its start.
func (h *Hit) lasts(at timeline.Nanos) bool { return h.Dur == timeline.NoTime || at-h.TS <= h.Dur }

// remember makes a slice the latest of its process, unless another one ends later.
func (r *Result) remember(of []latest, hit int) []latest {
	h := &r.Hits[hit]
	at := slices.IndexFunc(of, func(l latest) bool { return l.process == h.process })
	switch {
	case at < 0 && len(of) < maxProcesses:
		return append(of, latest{h.process, hit})
	case at < 0:
		at = 0
	default:
		if o := &r.Hits[of[at].hit]; h.Dur != timeline.NoTime && o.lasts(h.TS+h.Dur) {
			return of
		}
	}
	of[at] = latest{h.process, hit}
	return of
}

// same relates a hit to a slice that began before, and the slice to the hit if that is a slice as well.
func (r *Result) same(hit, slice int) {
	add := func(to, other *Hit) {
		if len(to.Same) < maxSame && !slices.Contains(to.Same, other) {
			to.Same = append(to.Same, other)
		}
	}
	h, s := &r.Hits[hit], &r.Hits[slice]
	if add(h, s); h.Kind == "slice" {
		add(s, h)
	}
}
