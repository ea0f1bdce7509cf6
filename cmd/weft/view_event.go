//go:build !wasm

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/weft-trace/weft/convert"
	"github.com/weft-trace/weft/internal/resolved"
	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/view"
)

// findEvent returns the slice or instant of --event as the UI finds it in what was made of the input; made is nil if the input is shown as
// it is.
func (v *viewing) findEvent(ctx context.Context, tl *timeline.Timeline, made *stored) (*view.Event, error) {
	found, err := eventOf(ctx, tl, *v.event)
	if err != nil {
		return nil, err
	}
	there, err := eventsLike(ctx, tl, found)
	if err != nil {
		return nil, err
	}
	wanted := slices.IndexFunc(there, func(e likeEvent) bool { return e.number == *v.event })
	shown := there
	if made == nil && wanted >= 0 && there[wanted].offset < 0 {
		return nil, fmt.Errorf("--event: event %d is a call that weft makes of samples when it converts, and this trace is shown as it is: add --js-calls refined", *v.event)
	}
	if made != nil { // converting adds slices, such as the marks of long tasks
		if shown, err = v.eventsMade(ctx, made, found); err != nil {
			return nil, err
		}
	}
	found.Before = placeOf(there, wanted, shown)
	return found, nil
}

// eventOf returns when event N of the input is, a slice or an instant.
func eventOf(ctx context.Context, tl *timeline.Timeline, number uint32) (found *view.Event, err error) {
	last, idle := int64(-1), false
	err = tl.Walk(ctx, func(item *timeline.Item) error {
		if item.Kind != timeline.ItemBegin && item.Kind != timeline.ItemInstant || item.Added {
			return nil
		}
		last = max(last, int64(item.Event))
		if item.Event != number {
			return nil
		}
		if item.Idle {
			idle = true
			return nil
		}
		found = &view.Event{TS: int64(item.TS), Dur: lengthInUI(item)}
		return errFound
	})
	switch {
	case err != nil && err != errFound:
		return nil, err
	case found != nil:
		return found, nil
	case idle:
		return nil, fmt.Errorf("--event: event %d says that a thread was idle, which the Perfetto UI does not show", number)
	case last < 0:
		return nil, fmt.Errorf("--event: the trace has no slices and no instants")
	case int64(number) > last:
		return nil, fmt.Errorf("--event: there is no event %d; the last slice or instant is event %d", number, last)
	}
	return nil, fmt.Errorf("--event: event %d is neither a slice nor an instant; weft dump shows their numbers", number)
}

// lengthInUI is the length that the UI gives a slice or an instant.
func lengthInUI(item *timeline.Item) int64 {
	switch {
	case item.Kind == timeline.ItemInstant:
		return 0
	case item.Dur == timeline.NoTime:
		return view.Endless
	}
	return int64(item.Dur)
}

// A likeEvent is a slice or an instant with the time and the length of another one.
type likeEvent struct {
	name, category, track string
	number                uint32
	offset                int64 // in the file; less than 0: weft adds it
}

// sameAs reports whether two events, of an input and of what was made of it, may be one.
func (e likeEvent) sameAs(other likeEvent) bool {
	return e.name == other.name && e.category == other.category && e.track == other.track
}

// eventsLike returns the slices and instants that the UI shows with the time and the length of an event, itself among them, in the order of Walk.
func eventsLike(ctx context.Context, tl *timeline.Timeline, event *view.Event) (list []likeEvent, err error) {
	err = tl.Walk(ctx, func(item *timeline.Item) error {
		switch {
		case int64(item.TS) > event.TS:
			return errFound
		case int64(item.TS) < event.TS || item.Idle || item.Kind != timeline.ItemBegin && item.Kind != timeline.ItemInstant || lengthInUI(item) != event.Dur:
			return nil
		}
		list = append(list, likeEvent{string(item.Name), string(item.Category), resolved.TrackText(tl, item.Track, item.Lane), item.Event, item.Offset})
		return nil
	})
	if err == errFound {
		err = nil
	}
	return list, err
}

// eventsMade is eventsLike of a trace that weft made.
func (v *viewing) eventsMade(ctx context.Context, made *stored, event *view.Event) (list []likeEvent, err error) {
	opts := convert.Options{From: convert.FormatPerfetto, Memory: v.opts.Memory, TempDir: v.opts.TempDir, Workers: v.opts.Workers, NoArgs: true}
	tr, tl, err := openTimeline(ctx, "the converted trace", made.reader(), opts)
	if err != nil {
		return nil, err
	}
	list, err = eventsLike(ctx, tl, event)
	return list, errors.Join(err, tr.Close())
}

// placeOf returns how many of the events that are shown come before the wanted one in their file, which is the order in which the UI numbers
// events of one time. An event that is not among them is taken for the first.
func placeOf(there []likeEvent, wanted int, shown []likeEvent) int {
	if wanted < 0 {
		return 0
	}
	same := 0 // events before the wanted one that look the same
	for _, e := range there[:wanted] {
		if e.sameAs(there[wanted]) {
			same++
		}
	}
	inFile := slices.DeleteFunc(slices.Clone(shown), func(e likeEvent) bool { return e.offset < 0 })
	slices.SortStableFunc(inFile, func(a, b likeEvent) int { return cmp.Compare(a.offset, b.offset) })
	for i, e := range inFile {
		if !e.sameAs(there[wanted]) {
			continue
		}
		if same == 0 {
			return i
		}
		same--
	}
	return 0
}
