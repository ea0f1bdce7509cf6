package timeline

import (
	"context"
	"reflect"
	"slices"
)

const (
	// aheadSize is the number of occurrences that are handed over at once, if memory allows: so many that neither goroutine
	// waits for the other often, which takes longer than reading them.
	aheadSize = 2048
	// aheadBatches is the number of batches that are read, wait and are looked at.
	aheadBatches = 4
	// aheadShare bounds all occurrences and values together to one part in 16 of the memory of the timeline.
	aheadShare = 16
)

// aheadBatch are the occurrences of some groups, and what was made of each.
type aheadBatch[T any] struct {
	occurrences
	ends     []int // of the groups, in out
	values   []T
	prepared int // values that are of these occurrences; less than those if the last group is too large
}

// OccurrencesAhead is Timeline.Occurrences with a goroutine of its own that reads the next groups while fn looks at one. fn
// must not change the timeline.
func (t *Timeline) OccurrencesAhead(ctx context.Context, args bool, fn func(group []Head) error) error {
	return occurrencesAhead(ctx, t, args, nil, func(group []Head, _ []struct{}) error { return fn(group) })
}

// PreparedAhead is Timeline.OccurrencesAhead with arguments, for a pass that makes a value of each occurrence by itself
// before it looks at them in their order. prepare runs concurrently with fn; v holds the value of an earlier call for reuse. values
// belong to the group and are valid during the call; they are nil for a group that is so large that fn
// has to prepare its values itself, with ReadArgs.
func PreparedAhead[T any](ctx context.Context, t *Timeline, prepare func(o *Head, v *T), fn func(group []Head, values []T) error) error {
	return occurrencesAhead(ctx, t, true, prepare, fn)
}

func occurrencesAhead[T any](
	ctx context.Context, t *Timeline, args bool, prepare func(o *Head, v *T), fn func(group []Head, values []T) error,
) error {
	ctx, stop := context.WithCancel(ctx)
	full, free := make(chan *aheadBatch[T], aheadBatches), make(chan *aheadBatch[T], aheadBatches)
	batches := make([]*aheadBatch[T], aheadBatches)
	for i := range batches {
		batches[i] = &aheadBatch[T]{occurrences: occurrences{t: t, args: args}}
	}
	r := &aheadReader[T]{ctx: ctx, prepare: prepare, size: aheadLen[T](t.Memory()), full: full, free: free, batch: batches[0], spare: batches[1:]}
	var readErr error
	go func() {
		defer close(full)
		readErr = r.run(t)
	}()
	defer func() { // stop reading, even if fn panics
		stop()
		for range full {
		}
	}()
	for b := range full {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := b.each(fn); err != nil {
			return err
		}
		if b.isLarge(r.size) {
			*b = aheadBatch[T]{occurrences: occurrences{t: t, args: args}}
		}
		free <- b // has room for all that there are
	}
	return readErr
}

// aheadLen returns the number of occurrences in a batch, each with a value, of a timeline with so much memory.
func aheadLen[T any](memory int64) int {
	each := reflect.TypeFor[Head]().Size() + reflect.TypeFor[T]().Size()
	return int(min(max(memory/aheadShare/aheadBatches/int64(each), 64), aheadSize))
}

// aheadReader reads groups into batches that are free.
type aheadReader[T any] struct {
	ctx     context.Context
	prepare func(o *Head, v *T) // nil: no values are asked for
	size    int                 // of a batch
	full    chan<- *aheadBatch[T]
	free    <-chan *aheadBatch[T]
	spare   []*aheadBatch[T] // that were free
	batch   *aheadBatch[T]   // to be filled
}

// run reads all groups until the context is done.
func (r *aheadReader[T]) run(t *Timeline) error {
	err := t.groups(r.ctx, false, r.group)
	if err == nil {
		r.full <- r.batch
	}
	return err
}

// group adds a group to the batch, or to the next one if it is full.
func (r *aheadReader[T]) group(g *group) error {
	if n := len(r.batch.out); n > 0 && (n+g.len() > r.size || r.batch.heldBytes > heldChunk/2) {
		if err := r.handOver(); err != nil {
			return err
		}
	}
	b := r.batch
	first := len(b.out)
	if err := b.append(g); err != nil {
		return err
	}
	n := len(b.out)
	if n == first {
		return nil
	}
	b.ends = append(b.ends, n)
	if r.prepare != nil && n <= r.size && b.heldBytes <= maxHeld {
		b.values = slices.Grow(b.values, max(n-len(b.values), 0))[:max(n, len(b.values))]
		for i := first; i < n; i++ {
			r.prepare(&b.out[i], &b.values[i])
		}
		b.prepared = n
	}
	if b.isLarge(r.size) {
		return r.handOver() // while the group is there, see ReadArgs
	}
	return nil
}

// handOver hands over the batch and gets another one. With a large one all others are waited for, so that there is one of
// these at a time.
func (r *aheadReader[T]) handOver() error {
	wait, ordinal := 1, r.batch.ordinal
	if r.batch.isLarge(r.size) {
		wait = aheadBatches
	}
	r.full <- r.batch // has room for all that there are
	for len(r.spare) < wait {
		select {
		case b := <-r.free:
			r.spare = append(r.spare, b)
		case <-r.ctx.Done():
			return r.ctx.Err()
		}
	}
	last := len(r.spare) - 1
	r.batch, r.spare = r.spare[last], r.spare[:last]
	r.batch.reset()
	r.batch.ends, r.batch.prepared, r.batch.ordinal = r.batch.ends[:0], 0, ordinal
	return r.ctx.Err()
}

// isLarge reports whether a batch is a group that is beyond what batches take.
func (b *aheadBatch[T]) isLarge(size int) bool { return len(b.out) > size || b.heldBytes > heldChunk }

// each calls fn for every group.
func (b *aheadBatch[T]) each(fn func(group []Head, values []T) error) error {
	first := 0
	for _, end := range b.ends {
		var values []T
		if end <= b.prepared {
			values = b.values[first:end:end]
		}
		if err := fn(b.out[first:end:end], values); err != nil {
			return err
		}
		first = end
	}
	return nil
}
