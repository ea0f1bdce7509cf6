package flowbind

import (
	"errors"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/timeline"
)

// refs holds the members of all resolved flows, by ordinal.
type refs struct {
	sorted *extsort.Sorted[timeline.FlowRef]
	steps  *Steps // nil if they were not collected, or after TakeSteps
}

// From implements timeline.Attached.
func (r *refs) From(ordinal uint64) (func(*timeline.FlowRef) (bool, error), error) {
	i, err := r.sorted.Search(func(f *timeline.FlowRef) bool { return f.Ordinal >= ordinal })
	if err != nil {
		return nil, err
	}
	return r.sorted.From(i).Next, nil
}

// Close implements timeline.Attached.
func (r *refs) Close() error {
	err := r.sorted.Close()
	if r.steps != nil {
		err = errors.Join(err, r.steps.Close())
	}
	return err
}
