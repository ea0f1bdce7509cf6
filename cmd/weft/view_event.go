//go:build !wasm

package main

import (
	"context"
	"fmt"

	"github.com/weft-trace/weft/internal/timeline"
	"github.com/weft-trace/weft/internal/view"
)

// findEvent returns the slice or instant that is event N of the input. If the input is shown unchanged, the event must be in
// the file, which does not contain the calls that weft makes from samples.
func findEvent(ctx context.Context, tl *timeline.Timeline, number uint32, asItIs bool) (found *view.Event, err error) {
	last, idle, call := int64(-1), false, false
	err = tl.Walk(ctx, func(item *timeline.Item) error {
		if item.Kind != timeline.ItemBegin && item.Kind != timeline.ItemInstant || item.Added {
			return nil
		}
		last = max(last, int64(item.Event))
		switch {
		case item.Event != number:
			return nil
		case item.Idle:
			idle = true
			return nil
		case asItIs && item.Offset < 0:
			call = true
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
		return nil, fmt.Errorf("--event: event %d marks a thread as idle, which the Perfetto UI does not show", number)
	case call:
		return nil, fmt.Errorf("--event: event %d is a call that weft makes of samples when it converts, and this trace is shown as it is: add --js-calls refined", number)
	case last < 0:
		return nil, fmt.Errorf("--event: the trace has no slices and no instants")
	case int64(number) > last:
		return nil, fmt.Errorf("--event: there is no event %d; the last slice or instant is event %d", number, last)
	}
	return nil, fmt.Errorf("--event: event %d is neither a slice nor an instant; weft dump shows their numbers", number)
}

// lengthInUI returns the duration of a slice or an instant in the UI.
func lengthInUI(item *timeline.Item) int64 {
	switch {
	case item.Kind == timeline.ItemInstant:
		return 0
	case item.Dur == timeline.NoTime:
		return view.Endless
	}
	return int64(item.Dur)
}
