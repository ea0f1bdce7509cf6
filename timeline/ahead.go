package timeline

import (
	"context"
	"slices"
)

const (
	// maxAhead bounds the groups of which something is made ahead, as the values may be large.
	maxAhead = 1 << 12
	// aheadSize is the least number of occurrences that are handed over at once: enough that neither goroutine waits for
	// the other often, which takes longer than reading them.
	aheadSize = 2048
	// aheadBatches is the number of batches that are read, wait and are looked at.
	aheadBatches = 4
)

// aheadBatch are the occurrences of some groups, and what was made of each.
type aheadBatch[T any] struct {
	occurrences
	ends   []int // of the groups, in out
	values []T   // nil: none are asked for, or there is one group and it is too large
}

// OccurrencesAhead is Timeline.Occurrences with a goroutine of its own that reads the next groups while fn looks at one. fn
// must not change the timeline.
func (t *Timeline) OccurrencesAhead(ctx context.Context, args bool, fn func(group []Occurrence) error) error {
	return occurrencesAhead(ctx, t, args, nil, func(group []Occurrence, _ []struct{}) error { return fn(group) })
}

// PreparedAhead is Timeline.OccurrencesAhead with arguments, for a pass that makes a value of each occurrence by itself
// before it looks at them in their order. prepare makes them while fn is at work on others, and gets what an earlier call
// has left in v. values are those of the group, valid during the call; they are nil for a group that is so large that fn
// has to prepare its values itself.
func PreparedAhead[T any](ctx context.Context, t *Timeline, prepare func(o *Occurrence, v *T), fn func(group []Occurrence, values []T) error) error {
	return occurrencesAhead(ctx, t, true, prepare, fn)
}

func occurrencesAhead[T any](
	ctx context.Context, t *Timeline, args bool, prepare func(o *Occurrence, v *T), fn func(group []Occurrence, values []T) error,
) error {
	full, free := make(chan *aheadBatch[T], aheadBatches), make(chan *aheadBatch[T], aheadBatches)
	for range aheadBatches {
		free <- &aheadBatch[T]{occurrences: occurrences{t: t, args: args}}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var readErr error
	go func() {
		defer close(full)
		readErr = readAhead(ctx, t, prepare, full, free)
	}()
	var err error
	for b := range full {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = b.each(fn)
		}
		if err != nil {
			stop() // and wait until nobody reads
		}
		free <- b
	}
	if err != nil {
		return err
	}
	return readErr
}

// readAhead fills batches that are free, as long as the context is not done.
func readAhead[T any](ctx context.Context, t *Timeline, prepare func(o *Occurrence, v *T), full chan<- *aheadBatch[T], free <-chan *aheadBatch[T]) error {
	b := <-free
	next := func() error {
		full <- b // has room for all that there are
		ordinal := b.ordinal
		b = <-free
		b.ordinal, b.out, b.ends = ordinal, b.out[:0], b.ends[:0]
		return ctx.Err()
	}
	err := t.store.groups(false, func(g *group) error {
		large := g.len() > maxAhead
		if len(b.out) >= aheadSize || large && len(b.out) > 0 {
			if err := next(); err != nil {
				return err
			}
		}
		first := len(b.out)
		if err := b.append(g); err != nil {
			return err
		}
		if len(b.out) > first {
			b.ends = append(b.ends, len(b.out))
		}
		if b.prepare(first, large, prepare); large {
			return next()
		}
		return nil
	})
	if err == nil {
		full <- b
	}
	return err
}

// prepare makes the values of a group that was read, or none if it is large or none are asked for.
func (b *aheadBatch[T]) prepare(first int, large bool, prepare func(o *Occurrence, v *T)) {
	if large || prepare == nil {
		b.values = nil
		return
	}
	if n := len(b.out); n > len(b.values) {
		b.values = slices.Grow(b.values, n-len(b.values))[:n]
	}
	for i := first; i < len(b.out); i++ {
		prepare(&b.out[i], &b.values[i])
	}
}

// each calls fn for every group.
func (b *aheadBatch[T]) each(fn func(group []Occurrence, values []T) error) error {
	first := 0
	for _, end := range b.ends {
		var values []T
		if b.values != nil {
			values = b.values[first:end:end]
		}
		if err := fn(b.out[first:end:end], values); err != nil {
			return err
		}
		first = end
	}
	return nil
}
