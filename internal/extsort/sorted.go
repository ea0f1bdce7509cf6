package extsort

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/weft-trace/weft/internal/collections"
)

// Sorted is a sorted sequence with random access; several readers can use it at once.
type Sorted[T any] struct {
	values collections.List[T] // if the values are in memory
	order  []int32             // sorted indexes of values; nil: values are already in order
	file   *File               // nil: the values are in memory
	count  int
}

// Sort moves all values to a Sorted. The Sorter is empty afterwards.
func (s *Sorter[T]) Sort() (*Sorted[T], error) {
	if len(s.runs) == 0 {
		s.sortMemory()
		out := &Sorted[T]{values: s.values, order: s.order, count: s.values.Len()}
		s.free()
		return out, s.Close()
	}
	if err := s.spillRest(); err != nil {
		return nil, err
	}
	if len(s.runs) == 1 {
		out := &Sorted[T]{file: s.file, count: int(s.file.Size()) / sizeOf[T]()}
		s.file = nil
		return out, s.Close()
	}
	f, err := NewFile(s.dir)
	if err != nil {
		return nil, err
	}
	out := &Sorted[T]{file: f}
	if err := s.copyTo(out); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return out, s.Close()
}

// copyTo writes all values to out, in order.
func (s *Sorter[T]) copyTo(out *Sorted[T]) error {
	v := new(T)
	for {
		ok, err := s.Next(v)
		if err != nil {
			return err
		}
		if !ok {
			return out.file.Flush()
		}
		if _, err := out.file.Write(bytesOf(v)); err != nil {
			return err
		}
		out.count++
	}
}

// Len returns the number of values.
func (s *Sorted[T]) Len() int { return s.count }

// Close removes the temporary file, if any. It may be called on a nil Sorted.
func (s *Sorted[T]) Close() error {
	if s == nil {
		return nil
	}
	s.values, s.order = collections.List[T]{}, nil
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// Search returns the index of the first value for which reached is true, or Len if there is none. reached must be false for all
// values before that value and true for all values after it.
func (s *Sorted[T]) Search(reached func(*T) bool) (int, error) {
	var failed error
	i := sort.Search(s.count, func(i int) bool {
		if s.file == nil {
			return reached(s.values.At(place(s.order, i)))
		}
		var v T
		if err := s.At(i, &v); err != nil && failed == nil {
			failed = err
		}
		return reached(&v)
	})
	return i, failed
}

// At stores the value at index i in v.
func (s *Sorted[T]) At(i int, v *T) error {
	if s.file == nil {
		*v = *s.values.At(place(s.order, i))
		return nil
	}
	if _, err := s.file.ReadAt(bytesOf(v), int64(i)*int64(sizeOf[T]())); err != nil {
		return fmt.Errorf("reading a temporary file: %w", err)
	}
	return nil
}

// From returns a Cursor that starts at index i.
func (s *Sorted[T]) From(i int) *Cursor[T] {
	c := &Cursor[T]{sorted: s, next: i}
	if s.file != nil {
		size := int64(sizeOf[T]())
		c.in = bufio.NewReaderSize(s.file.Section(int64(i)*size, int64(s.count-i)*size), 64<<10)
	}
	return c
}

// Cursor reads a Sorted from an index to its end.
type Cursor[T any] struct {
	sorted *Sorted[T]
	next   int
	in     io.Reader
}

// Next stores the next value in v and reports whether there was one.
func (c *Cursor[T]) Next(v *T) (bool, error) {
	s := c.sorted
	if c.next >= s.count {
		return false, nil
	}
	i := c.next
	c.next++
	if s.file == nil {
		*v = *s.values.At(place(s.order, i))
		return true, nil
	}
	err := read(c.in, v)
	return err == nil, err
}
