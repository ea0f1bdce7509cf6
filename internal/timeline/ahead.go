package timeline

import (
	"context"
	"reflect"
	"slices"
)

const (
	// aheadSize is the maximum number of occurrences handed over at once. Larger batches make the goroutines wait for each other
	// less often; waiting costs more than reading.
	aheadSize = 2048
	// aheadBatches is the number of batches that exist at a time: being read, waiting or being processed.
	aheadBatches = 4
	// aheadShare limits all occurrences and values together to 1/16 of the timeline's memory budget, see aheadLen.
	aheadShare = 16
)

// aheadBatch holds the occurrences of several groups and the value prepared for each.
type aheadBatch[T any] struct {
	occurrences
	ends     []int // index in out at which each group ends
	values   []T
	prepared int // number of valid values; less than len(out) if the last group is too large
}

// OccurrencesAhead is Timeline.Occurrences with a goroutine that reads ahead while fn processes a group. fn must not change the
// timeline.
func (t *Timeline) OccurrencesAhead(ctx context.Context, args bool, fn func(group []Head) error) error {
	return occurrencesAhead(ctx, t, args, nil, func(group []Head, _ []struct{}) error { return fn(group) })
}

// PreparedAhead is OccurrencesAhead with arguments, for a pass that computes an independent value for each occurrence before it
// processes them in order. prepare runs concurrently with fn; *v holds the value from an earlier call, for reuse. The parameter
// values holds one value for each occurrence of the group and is valid during the call of fn. It is nil if the group is so large
// that fn must prepare the values itself, with ReadArgs.
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
		free <- b // never blocks: the channel has capacity for all batches
	}
	return readErr
}

// aheadLen returns the number of occurrences, each with a value, in a batch for a timeline with the given memory.
func aheadLen[T any](memory int64) int {
	each := reflect.TypeFor[Head]().Size() + reflect.TypeFor[T]().Size()
	return int(min(max(memory/aheadShare/aheadBatches/int64(each), 64), aheadSize))
}

// aheadReader reads groups into free batches.
type aheadReader[T any] struct {
	ctx     context.Context
	prepare func(o *Head, v *T) // nil: prepare no values
	size    int                 // maximum number of occurrences in a batch
	full    chan<- *aheadBatch[T]
	free    <-chan *aheadBatch[T]
	spare   []*aheadBatch[T] // free batches already received
	batch   *aheadBatch[T]   // being filled
}

// run reads all groups, unless the context is done first.
func (r *aheadReader[T]) run(t *Timeline) error {
	err := t.groups(r.ctx, false, r.group)
	if err == nil {
		r.full <- r.batch
	}
	return err
}

// group adds a group to the batch. If the batch lacks space for the group, the batch is handed over first.
func (r *aheadReader[T]) group(g *group) error {
	if n := len(r.batch.out); n > 0 && (n+g.len() > r.size || r.batch.copiedBytes > copiedChunk/2) {
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
	if r.prepare != nil && n <= r.size && b.copiedBytes <= maxCopied {
		b.values = slices.Grow(b.values, max(n-len(b.values), 0))[:max(n, len(b.values))]
		for i := first; i < n; i++ {
			r.prepare(&b.out[i], &b.values[i])
		}
		b.prepared = n
	}
	if b.isLarge(r.size) {
		return r.handOver() // hand over while the records of the group are valid, see ReadArgs
	}
	return nil
}

// handOver hands over the batch and takes a free one. After a large batch, it waits until all batches are free, so that only one
// large batch exists at a time.
func (r *aheadReader[T]) handOver() error {
	wait, ordinal := 1, r.batch.ordinal
	if r.batch.isLarge(r.size) {
		wait = aheadBatches
	}
	r.full <- r.batch // never blocks: the channel has capacity for all batches
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

// isLarge reports whether a batch is a single group that exceeds the usual limits.
func (b *aheadBatch[T]) isLarge(size int) bool {
	return len(b.out) > size || b.copiedBytes > copiedChunk
}

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
