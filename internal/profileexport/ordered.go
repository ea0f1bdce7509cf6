package profileexport

import (
	"context"
	"errors"
)

// errNotOrdered reports that Options.Ordered was not set.
var errNotOrdered = errors.New("the profile has sums only")

// cancelEvery is the number of pieces between checks of the context.
const cancelEvery = 1 << 14

// eachThread calls fn for every thread that has pieces, with an iterator over these pieces in time order.
func (p *Profile) eachThread(ctx context.Context, fn func(thread int, next func(*piece) (bool, error)) error) error {
	if p.pieces == nil {
		return errNotOrdered
	}
	var ahead piece
	n := 0
	more, err := p.pieces.Next(&ahead)
	for err == nil && more {
		thread := ahead.thread
		next := func(x *piece) (bool, error) {
			if n++; n%cancelEvery == 0 && ctx.Err() != nil {
				return false, ctx.Err()
			}
			if !more || ahead.thread != thread {
				return false, nil
			}
			*x = ahead
			var err error
			more, err = p.pieces.Next(&ahead)
			return true, err
		}
		if err := fn(int(thread), next); err != nil {
			return err
		}
		for more && ahead.thread == thread && err == nil { // skip the pieces that fn did not read
			more, err = p.pieces.Next(&ahead)
		}
	}
	return err
}

// Title returns the names of the process and the thread.
func (t *Thread) Title() string {
	if t.Process == "" {
		return t.Name
	}
	return t.Process + ", " + t.Name
}

// busiest returns the index in Stacked of the thread with the most time, or 0 if there are no threads.
func (p *Profile) busiest() (index int) {
	threads := p.Stacked()
	for i, thread := range threads {
		if p.Threads[thread].Time > p.Threads[threads[index]].Time {
			index = i
		}
	}
	return index
}

// internContextFrames adds the frames of all contexts, so that the frame table is complete.
func (p *Profile) internContextFrames() {
	if !p.by {
		return
	}
	for id := range p.contexts.lists {
		p.contexts.frames(p.stacks, contextsID(id))
	}
}
