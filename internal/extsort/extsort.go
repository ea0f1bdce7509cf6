// Package extsort sorts more values than fit into memory. It collects values, which must not contain pointers, up to a limit.
// Then it sorts the values and writes a run to a temporary file, as copies of their memory. It merges the runs when they are read
// back. If everything fits into memory, no file is created, and values that arrive in order are neither sorted nor merged.
package extsort

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sync/atomic"

	"github.com/weft-trace/weft/internal/collections"
)

// Order defines an order for values of type T.
type Order[T any] struct {
	Compare func(a, b *T) int
	// Key is consistent with Compare: values with different keys are ordered like their keys. Keys are sorted without calling
	// Compare; collections.RadixKey converts signed numbers. nil: there is no key.
	Key func(v *T) uint64
}

// Sorter sorts values of type T. Values that compare equal are returned in the order in which they were added.
type Sorter[T any] struct {
	by      Order[T]
	limit   int // maximum number of values in memory
	longest int // the same for values in order, which need no memory for sorting
	dir     string

	values   collections.List[T] // in memory
	latest   T                   // the last spilled value
	descends bool                // some value was less than the previous one
	order    []int32             // sorted indexes of values; nil unless descends is set
	keys     collections.RadixOrder
	file     *File
	runs     []section
	next     func(*T) (bool, error)
}

// maxReadBuffer limits the read buffer per run during a merge, so that memory use grows little with the number of runs.
const maxReadBuffer = 64 << 10

type section struct{ start, size int64 }

// New returns a Sorter that uses up to memory bytes before it writes a run to a temporary file in dir ("" means the system's
// directory). It panics if T contains pointers.
func New[T any](by Order[T], memory int64, dir string) *Sorter[T] {
	checkType[T]()
	size := int64(sizeOf[T]())
	count := func(size int64) int { return min(max(int(memory/size), 64), math.MaxInt32) }
	s := &Sorter[T]{by: by, longest: count(size), dir: dir}
	if size += indexSize; by.Key != nil {
		size += collections.RadixKeySize
	}
	s.limit = count(size)
	return s
}

// indexSize is the memory needed to sort a value, in bytes; a key needs collections.RadixKeySize more.
const indexSize = 4

// Add adds a value. When memory is full, it writes a run to the file.
func (s *Sorter[T]) Add(v T) error {
	s.values.Append(v)
	if !s.descends && s.isLess() {
		if err := s.endAscent(); err != nil {
			return err
		}
	}
	if n := s.values.Len(); n < s.limit || n < s.longest && !s.descends {
		return nil
	}
	return s.spill()
}

// isLess reports whether the last value is less than the previous one.
func (s *Sorter[T]) isLess() bool {
	n := s.values.Len()
	if n == 1 {
		return len(s.runs) > 0 && s.by.Compare(&s.latest, s.values.At(0)) > 0
	}
	return s.by.Compare(s.values.At(n-2), s.values.At(n-1)) > 0
}

// endAscent prepares for sorting when the last value is the first that is less than the previous one: there may be more values
// than can be sorted in memory.
func (s *Sorter[T]) endAscent() error {
	if n := s.values.Len() - 1; n >= s.limit {
		last := *s.values.At(n)
		s.values.Truncate(n)
		if err := s.spill(); err != nil {
			return err
		}
		s.values.Append(last)
	}
	s.values.Clip()
	s.descends = true
	return nil
}

// sortMemory sorts the values in memory by sorting their indexes, which are small.
func (s *Sorter[T]) sortMemory() {
	if !s.descends {
		return
	}
	s.order = slices.Grow(s.order[:0], s.values.Len())
	for i := range s.values.Len() {
		s.order = append(s.order, int32(i))
	}
	if s.by.Key == nil || !s.sortKeys() {
		s.sortIndexes(s.order)
	}
}

// sortIndexes sorts indexes by their values.
func (s *Sorter[T]) sortIndexes(order []int32) {
	if len(order) < 2 {
		return
	}
	slices.SortFunc(order, func(i, j int32) int {
		if c := s.by.Compare(s.values.At(int(i)), s.values.At(int(j))); c != 0 {
			return c
		}
		return int(i) - int(j)
	})
}

// sortKeys sorts the indexes by the keys of their values, and indexes with equal keys by the values themselves. It returns false
// if the keys are too far apart.
func (s *Sorter[T]) sortKeys() bool {
	keys := s.keys.Numbers(s.values.Len())
	for i, v := range s.values.All() {
		keys[i] = s.by.Key(v)
	}
	if !s.keys.Sort() {
		return false
	}
	from := 0 // start of the indexes with equal keys
	for i := range s.order {
		if i > 0 && !s.keys.Same(i-1, i) {
			s.sortIndexes(s.order[from:i])
			from = i
		}
		s.order[i] = int32(s.keys.Place(i))
	}
	s.sortIndexes(s.order[from:])
	return true
}

func (s *Sorter[T]) spill() error {
	s.sortMemory()
	if s.file == nil {
		f, err := NewFile(s.dir)
		if err != nil {
			return err
		}
		s.file = f
	}
	start := s.file.Size()
	for i := range s.values.Len() {
		if _, err := s.file.Write(bytesOf(s.values.At(place(s.order, i)))); err != nil {
			return err
		}
	}
	run := section{start, s.file.Size() - start}
	if n := len(s.runs); n > 0 && !s.descends {
		s.runs[n-1].size += run.size // continue the previous run
	} else {
		s.runs = append(s.runs, run)
	}
	s.latest = *s.values.At(s.values.Len() - 1)
	s.values.Truncate(0)
	s.order = s.order[:0]
	return nil
}

// place returns the index of the i-th value in an order; if order is nil, the values are already in order.
func place(order []int32, i int) int {
	if order == nil {
		return i
	}
	return int(order[i])
}

// Next stores the smallest remaining value in v and reports whether there was one. No values can be added after the first call.
// Rewind restarts at the smallest value.
func (s *Sorter[T]) Next(v *T) (bool, error) {
	if s.next == nil {
		if err := s.Rewind(); err != nil {
			return false, err
		}
	}
	return s.next(v)
}

// Rewind restarts Next at the smallest value.
func (s *Sorter[T]) Rewind() error {
	if len(s.runs) == 0 {
		if len(s.order) != s.values.Len() {
			s.sortMemory()
		}
		i := 0
		s.next = func(v *T) (bool, error) {
			if i == s.values.Len() {
				return false, nil
			}
			*v = *s.values.At(place(s.order, i))
			i++
			return true, nil
		}
		return nil
	}
	if err := s.spillRest(); err != nil {
		return err
	}
	sequences := make([]Sequence[T], len(s.runs))
	bufSize := max(s.limit*sizeOf[T]()/len(s.runs), 4096)
	for i, r := range s.runs {
		sequences[i] = Values[T](bufio.NewReaderSize(s.file.Section(r.start, r.size), min(bufSize, maxReadBuffer)))
	}
	m, err := NewMerger(sequences, s.by.Compare)
	if err != nil {
		return err
	}
	s.next = m.Next
	return nil
}

// spillRest writes the remaining values to the file.
func (s *Sorter[T]) spillRest() error {
	if s.values.Len() > 0 {
		if err := s.spill(); err != nil {
			return err
		}
	}
	s.free()
	return s.file.Flush()
}

// free frees the memory that values use.
func (s *Sorter[T]) free() {
	s.values, s.order, s.keys = collections.List[T]{}, nil, collections.RadixOrder{}
}

// Close removes the temporary file and leaves the sorter empty.
func (s *Sorter[T]) Close() error {
	s.free()
	s.runs, s.next, s.descends = nil, nil, false
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}

// Sequence is an iterator: it stores the next value in v and reports whether there was one.
type Sequence[T any] func(v *T) (bool, error)

// Values returns the sequence of values in r, each in the form that Bytes returns. The buffer of r must have space for at least
// one value. Values panics if T contains pointers.
func Values[T any](r *bufio.Reader) Sequence[T] {
	checkType[T]()
	return func(v *T) (bool, error) {
		err := read(r, v)
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		return err == nil, err
	}
}

// Merger merges sorted sequences. Among equal values, those from earlier sequences come first.
type Merger[T any] struct {
	heads collections.Heap[*head[T]]
}

type head[T any] struct {
	value T
	next  Sequence[T]
	run   int
}

// NewMerger returns a Merger for the given sequences.
func NewMerger[T any](sequences []Sequence[T], compare func(a, b *T) int) (*Merger[T], error) {
	m := &Merger[T]{heads: collections.NewHeap(func(a, b **head[T]) bool {
		c := compare(&(*a).value, &(*b).value)
		return c < 0 || c == 0 && (*a).run < (*b).run
	})}
	for i, next := range sequences {
		h := &head[T]{next: next, run: i}
		ok, err := next(&h.value)
		if err != nil {
			return nil, err
		}
		if ok {
			m.heads.Push(h)
		}
	}
	return m, nil
}

// Peek returns the value that Next will store, or nil if there is none. The value is valid until the next call of Next.
func (m *Merger[T]) Peek() *T {
	if m.heads.Len() == 0 {
		return nil
	}
	return &(*m.heads.Top()).value
}

// Next stores the smallest remaining value in v and reports whether there was one.
func (m *Merger[T]) Next(v *T) (bool, error) {
	if m.heads.Len() == 0 {
		return false, nil
	}
	first := *m.heads.Top()
	*v = first.value
	switch ok, err := first.next(&first.value); {
	case err != nil:
		return false, err
	case ok:
		m.heads.Fix()
	default:
		m.heads.Pop()
	}
	return true, nil
}

// File is a temporary file that is written once, from start to end, and read in sections. If the system allows it, the file is
// unlinked immediately, so that it disappears however the program ends.
//
// A goroutine writes one chunk while the next one is being filled, because writing takes longer than producing the bytes usually
// does.
type File struct {
	f    *os.File
	size int64
	path string // Close removes this path; "" if already unlinked

	buf        []byte      // the current chunk
	full, free chan []byte // nil: the goroutine is not running
	done       chan struct{}
	failed     atomic.Bool
	err        error // error from the goroutine; valid if failed is set
}

// fileChunk is the number of bytes written per system call.
const fileChunk = 256 << 10

// NewFile creates a temporary file in dir ("" means the system's directory for temporary files).
func NewFile(dir string) (*File, error) {
	f, err := os.CreateTemp(dir, "weft-*.tmp")
	if err != nil {
		return nil, fmt.Errorf("making a temporary file: %w", err)
	}
	t := &File{f: f, path: f.Name(), buf: make([]byte, 0, fileChunk)}
	if os.Remove(t.path) == nil {
		t.path = ""
	}
	return t, nil
}

// Write appends p to the file. An error may come from an earlier write.
func (t *File) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > fileChunk-len(t.buf) {
		k := fileChunk - len(t.buf)
		t.buf, p = append(t.buf, p[:k]...), p[k:]
		if err := t.writeBehind(); err != nil {
			return 0, err
		}
	}
	t.buf = append(t.buf, p...)
	t.size += int64(n)
	return n, nil
}

// writeBehind passes the current chunk to the goroutine, starting the goroutine if necessary.
func (t *File) writeBehind() error {
	if t.failed.Load() {
		return t.err
	}
	if t.full == nil {
		t.full, t.free, t.done = make(chan []byte), make(chan []byte, 2), make(chan struct{})
		t.free <- make([]byte, 0, fileChunk)
		go t.writeChunks(t.full, t.done)
	}
	t.full <- t.buf
	t.buf = (<-t.free)[:0]
	return nil
}

// writeChunks writes chunks until the channel is closed. After an error, it discards them.
func (t *File) writeChunks(full <-chan []byte, done chan<- struct{}) {
	defer close(done)
	for chunk := range full {
		if !t.failed.Load() {
			t.write(chunk)
		}
		t.free <- chunk
	}
}

func (t *File) write(chunk []byte) {
	if _, err := t.f.Write(chunk); err != nil {
		t.err = fmt.Errorf("writing a temporary file: %w", err)
		t.failed.Store(true)
	}
}

// wait waits for the goroutine to end.
func (t *File) wait() {
	if t.full != nil {
		close(t.full)
		<-t.done
		t.full = nil
	}
}

// Size returns the number of bytes written.
func (t *File) Size() int64 { return t.size }

// Flush makes everything written so far readable.
func (t *File) Flush() error {
	t.wait()
	if !t.failed.Load() {
		t.write(t.buf)
		t.buf = t.buf[:0]
	}
	if t.failed.Load() {
		return t.err
	}
	return nil
}

// Section returns a reader for size bytes of the file, starting at the offset start. It requires Flush.
func (t *File) Section(start, size int64) *io.SectionReader {
	return io.NewSectionReader(t.f, start, size)
}

// ReadAt reads from the file like os.File.ReadAt. It requires Flush.
func (t *File) ReadAt(p []byte, off int64) (int, error) { return t.f.ReadAt(p, off) }

// Close closes and removes the file.
func (t *File) Close() error {
	t.wait()
	err := t.f.Close()
	if t.path != "" {
		err = errors.Join(err, os.Remove(t.path))
	}
	return err
}
