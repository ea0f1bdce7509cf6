package timeline

import (
	"context"
	"sort"
)

// OpenSlices holds the slices that are open at one point during a pass, outermost first, each with its end and a value for the
// pass. Slices nest, so no slice ends after the slice around it, and slices that have ended are innermost. The zero value is
// empty.
//
// Nest uses an OpenSlices for each lane of a track, attribution and sampled calls for each thread, and WalkNested for each lane
// during a walk. docs/architecture.md explains the similar structures.
type OpenSlices[T any] struct {
	slices []openSlice[T]
}

type openSlice[T any] struct {
	end   Nanos
	value T
}

// Len returns the number of open slices.
func (o *OpenSlices[T]) Len() int { return len(o.slices) }

// At returns the value of an open slice; index 0 is the outermost.
func (o *OpenSlices[T]) At(i int) *T { return &o.slices[i].value }

// End returns the end of an open slice.
func (o *OpenSlices[T]) End(i int) Nanos { return o.slices[i].end }

// Innermost returns the value of the slice that began last, or nil if none is open.
func (o *OpenSlices[T]) Innermost() *T {
	if n := len(o.slices); n > 0 {
		return &o.slices[n-1].value
	}
	return nil
}

// Push opens a slice inside all others and returns its value for the caller to set. The value still has the contents from the
// last slice at this depth, so that its memory can be reused.
func (o *OpenSlices[T]) Push(end Nanos) *T {
	n := len(o.slices)
	if n < cap(o.slices) {
		o.slices = o.slices[:n+1]
	} else {
		o.slices = append(o.slices, openSlice[T]{})
	}
	s := &o.slices[n]
	s.end = end
	return &s.value
}

// Pop removes the innermost slice.
func (o *OpenSlices[T]) Pop() { o.slices = o.slices[:len(o.slices)-1] }

// Ended returns the value of the innermost slice if it ends at or before the given time, and otherwise nil.
func (o *OpenSlices[T]) Ended(now Nanos) *T {
	if n := len(o.slices); n > 0 && o.slices[n-1].end <= now {
		return &o.slices[n-1].value
	}
	return nil
}

// Close removes the slices that end at or before the given time. A slice that begins at that time is not inside the removed
// slices.
func (o *OpenSlices[T]) Close(now Nanos) {
	n := len(o.slices)
	for n > 0 && o.slices[n-1].end <= now {
		n--
	}
	o.slices = o.slices[:n]
}

// Find returns the index of the innermost slice that ends after ts, or -1 if there is none.
func (o *OpenSlices[T]) Find(ts Nanos) int {
	return sort.Search(len(o.slices), func(i int) bool { return o.slices[i].end <= ts }) - 1
}

// WalkNested is Walk with the open slices on the track and lane of each event, to which fn can attach values. A slice that begins
// or ends is the innermost open slice.
func WalkNested[T any](ctx context.Context, t *Timeline, fn func(it *Item, open *OpenSlices[T]) error) error {
	return t.Walk(ctx, Nested(t, fn))
}

// Nested returns a function for Walk that calls fn with the open slices, like WalkNested. Several passes, each with values of its
// own, can share one walk: the walk must pass all items, in order, to the function of each pass.
func Nested[T any](t *Timeline, fn func(it *Item, open *OpenSlices[T]) error) func(*Item) error {
	tracks := make([]OpenSlices[T], t.TrackCount())
	lanes := map[TrackLane]*OpenSlices[T]{} // lanes other than 0
	return func(it *Item) error {
		open := &tracks[it.Track]
		if it.Lane > 0 {
			at := TrackLane{it.Track, it.Lane}
			if open = lanes[at]; open == nil {
				open = &OpenSlices[T]{}
				lanes[at] = open
			}
		}
		if it.Kind == ItemBegin {
			end := noEnd
			if it.Dur != NoTime {
				end = it.TS + it.Dur
			}
			var none T
			*open.Push(end) = none
		}
		err := fn(it, open)
		if it.Kind == ItemEnd && open.Len() > 0 {
			open.Pop()
			if open.Len() == 0 && t.table.tracks[it.Track].kind == AsyncTrack { // most ids are used once
				*open = OpenSlices[T]{}
			}
		}
		return err
	}
}

// TrackLane is a lane of a track, on which slices nest; lane 0 is the track itself.
type TrackLane struct {
	Track TrackID
	Lane  uint32
}
