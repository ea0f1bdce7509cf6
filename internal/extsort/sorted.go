package extsort

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/weft-trace/weft/internal/blocks"
)

// Sorted is a sorted sequence that can be entered anywhere, by several readers at once.
type Sorted[T any] struct {
	codec Codec[T]
	held  blocks.List[T] // in memory, or
	order []int32        // of held; nil: as they are
	file  *File          // on disk
	count int
}

// Sort ends the adding and returns everything as a Sorted, which takes over the values. The Sorter is empty afterwards.
func (s *Sorter[T]) Sort() (*Sorted[T], error) {
	if len(s.runs) == 0 {
		s.sortHeld()
		out := &Sorted[T]{codec: s.codec, held: s.held, order: s.order, count: s.held.Len()}
		s.free()
		return out, s.Close()
	}
	if err := s.spillRest(); err != nil {
		return nil, err
	}
	if len(s.runs) == 1 {
		out := &Sorted[T]{codec: s.codec, file: s.file, count: int(s.file.Size()) / s.codec.Size}
		s.file = nil
		return out, s.Close()
	}
	f, err := NewFile(s.dir)
	if err != nil {
		return nil, err
	}
	out := &Sorted[T]{codec: s.codec, file: f}
	if err := s.copyTo(out); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return out, s.Close()
}

// copyTo writes all values in order to the file of out.
func (s *Sorter[T]) copyTo(out *Sorted[T]) error {
	buf, v := make([]byte, s.codec.Size), new(T)
	for {
		ok, err := s.Next(v)
		if err != nil {
			return err
		}
		if !ok {
			return out.file.Flush()
		}
		s.codec.Put(buf, v)
		if _, err := out.file.Write(buf); err != nil {
			return err
		}
		out.count++
	}
}

// Len returns the number of values.
func (s *Sorted[T]) Len() int { return s.count }

// Close removes the temporary file.
func (s *Sorted[T]) Close() error {
	s.held, s.order = blocks.List[T]{}, nil
	if s.file == nil {
		return nil
	}
	return s.file.Close()
}

// Search returns the index of the first value for which reached is true, Len if there is none. It must be false for
// all values before that one and true for all behind it.
func (s *Sorted[T]) Search(reached func(*T) bool) (int, error) {
	var failed error
	buf := make([]byte, s.codec.Size)
	i := sort.Search(s.count, func(i int) bool {
		if s.file == nil {
			return reached(s.held.At(place(s.order, i)))
		}
		if _, err := s.file.ReadAt(buf, int64(i)*int64(s.codec.Size)); err != nil && failed == nil {
			failed = fmt.Errorf("reading a temporary file: %w", err)
		}
		var v T
		s.codec.Get(buf, &v)
		return reached(&v)
	})
	return i, failed
}

// At stores the value of index i in v.
func (s *Sorted[T]) At(i int, v *T) error {
	if s.file == nil {
		*v = *s.held.At(place(s.order, i))
		return nil
	}
	buf := make([]byte, s.codec.Size)
	if _, err := s.file.ReadAt(buf, int64(i)*int64(s.codec.Size)); err != nil {
		return fmt.Errorf("reading a temporary file: %w", err)
	}
	s.codec.Get(buf, v)
	return nil
}

// From returns a Cursor that starts at the value of index i.
func (s *Sorted[T]) From(i int) *Cursor[T] {
	c := &Cursor[T]{sorted: s, next: i}
	if s.file != nil {
		size := int64(s.codec.Size)
		c.in = bufio.NewReaderSize(s.file.Section(int64(i)*size, int64(s.count-i)*size), 64<<10)
		c.buf = make([]byte, size)
	}
	return c
}

// Cursor reads a Sorted from some place to its end.
type Cursor[T any] struct {
	sorted *Sorted[T]
	next   int
	in     io.Reader
	buf    []byte
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
		*v = *s.held.At(place(s.order, i))
		return true, nil
	}
	if _, err := io.ReadFull(c.in, c.buf); err != nil {
		return false, fmt.Errorf("reading a temporary file: %w", err)
	}
	s.codec.Get(c.buf, v)
	return true, nil
}
