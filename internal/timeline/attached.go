package timeline

import (
	"cmp"
	"slices"
)

// Attached is a list of values, such as flows or arguments, that a pass computed for the slices and instants of a nested
// timeline, sorted by ordinal.
type Attached[T any] interface {
	// From returns a reader that starts at an ordinal. Each call of next stores the next value, or returns false at the end.
	// Values stay valid when the next one is read, and several readers can be used at once.
	From(ordinal uint64) (next func(*T) (bool, error), err error)
	// Close frees memory and removes files.
	Close() error
}

// readAhead reads values one by one. The zero readAhead is empty.
type readAhead[T any] struct {
	next  func(*T) (bool, error) // nil at the end
	value T
	have  bool
}

// peek returns the next value, or nil if there is none. The value stays valid until the caller clears have, which consumes it.
func (a *readAhead[T]) peek() (*T, error) {
	if !a.have && a.next != nil {
		var err error
		if a.have, err = a.next(&a.value); err != nil {
			return nil, err
		}
		if !a.have {
			a.next = nil
		}
	}
	if !a.have {
		return nil, nil
	}
	return &a.value, nil
}

// attachedCursor reads, during a walk, the values attached to the records of each group.
type attachedCursor[T interface{ ordinal() uint64 }] struct {
	ahead readAhead[T]
	group []T
}

// open positions the cursor at an ordinal; values may be nil.
func (c *attachedCursor[T]) open(values Attached[T], ordinal uint64) (err error) {
	if values != nil {
		c.ahead.next, err = values.From(ordinal)
	}
	return err
}

// read reads the values of the next group, whose ordinals are less than end.
func (c *attachedCursor[T]) read(end uint64) error {
	c.group = c.group[:0]
	for {
		v, err := c.ahead.peek()
		if err != nil || v == nil || (*v).ordinal() >= end {
			return err
		}
		c.group = append(c.group, *v)
		c.ahead.have = false
	}
}

// find returns the values for one record of the group.
func (c *attachedCursor[T]) find(ordinal uint64) []T {
	i, found := slices.BinarySearchFunc(c.group, ordinal, func(v T, ordinal uint64) int { return cmp.Compare(v.ordinal(), ordinal) })
	if !found {
		return nil
	}
	j := i
	for j < len(c.group) && c.group[j].ordinal() == ordinal {
		j++
	}
	return c.group[i:j]
}
