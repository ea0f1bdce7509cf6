package readers

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"unsafe"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/extsort"
)

// SpoolForm is the encoding of values of type T on disk, from extsort.FormOf. Create it as a package-level variable.
type SpoolForm[T any] interface {
	Bytes(v *T) []byte
	Read(r io.Reader, v *T) error
}

// Spool sorts values of type T, which has no pointers, and their payloads by time; simultaneous values keep the order in which
// they were added. A Spool is used for records that must wait for the rest of the input. Values that do not fit in memory are
// sorted in runs on disk and merged. For values without payloads, use package extsort.
type Spool[T any] struct {
	limit  int64 // bytes in memory
	dir    string
	form   SpoolForm[T]
	timeOf func(v *T) int64

	items    collections.List[item[T]]
	chunks   [][]byte // payloads
	size     int64    // bytes of items and chunks
	last     int64
	unsorted bool // an item is earlier than the previous one
	keys     collections.RadixOrder

	file *extsort.File
	runs []run
}

// item is a value with the position of its payload.
type item[T any] struct {
	value T
	at    uint64 // chunk and offset in it
	size  uint32
}

// run locates a sorted sequence of values and payloads on disk.
type run struct{ start, size int64 }

// chunkSize is the size of payload chunks; a larger payload has a separate chunk.
const chunkSize = 1 << 18

// NewSpool returns a Spool that keeps up to limit bytes in memory before it writes a run to a temporary file in dir
// ("": the system's directory).
func NewSpool[T any](limit int64, dir string, form SpoolForm[T], timeOf func(v *T) int64) *Spool[T] {
	return &Spool[T]{limit: limit, dir: dir, form: form, timeOf: timeOf}
}

// Add adds a value. The payload is copied.
func (s *Spool[T]) Add(v *T, payload []byte) error {
	last := len(s.chunks) - 1
	if last < 0 || len(s.chunks[last])+len(payload) > cap(s.chunks[last]) {
		s.chunks = append(s.chunks, make([]byte, 0, max(min(chunkSize, s.limit/4), int64(len(payload)))))
		last++
		s.size += int64(cap(s.chunks[last]))
	}
	chunk := s.chunks[last]
	it := item[T]{value: *v, at: uint64(last)<<32 | uint64(len(chunk)), size: uint32(len(payload))}
	s.chunks[last] = append(chunk, payload...)
	ts := s.timeOf(v)
	s.unsorted = s.unsorted || s.items.Len() > 0 && ts < s.last
	s.last = ts
	s.items.Append(it)
	if s.size += int64(unsafe.Sizeof(it)); s.size+s.sortSize() >= s.limit {
		return s.spill()
	}
	return nil
}

// Held returns the number of values in memory.
func (s *Spool[T]) Held() int { return s.items.Len() }

// sortSize returns the memory needed to sort the values in memory.
func (s *Spool[T]) sortSize() int64 {
	if !s.unsorted {
		return 0
	}
	return int64(s.items.Len()) * (collections.RadixKeySize + 4)
}

// order returns the indexes of the values in memory in time order, or nil if the values are already sorted.
func (s *Spool[T]) order() []int32 {
	if !s.unsorted {
		return nil
	}
	n := s.items.Len()
	times := s.keys.Numbers(n)
	for i, it := range s.items.All() {
		times[i] = collections.RadixKey(s.timeOf(&it.value))
	}
	sorted := s.keys.Sort()
	order := make([]int32, n)
	for i := range order {
		order[i] = int32(i)
		if sorted {
			order[i] = int32(s.keys.Place(i))
		}
	}
	if !sorted {
		slices.SortStableFunc(order, func(i, j int32) int {
			return cmp.Compare(s.timeOf(&s.items.At(int(i)).value), s.timeOf(&s.items.At(int(j)).value))
		})
	}
	return order
}

// eachHeld calls fn with the values in memory in time order.
func (s *Spool[T]) eachHeld(fn func(v *T, payload []byte) error) error {
	order := s.order()
	for i := range s.items.Len() {
		if order != nil {
			i = int(order[i])
		}
		it := s.items.At(i)
		at := uint32(it.at)
		if err := fn(&it.value, s.chunks[it.at>>32][at:at+it.size]); err != nil {
			return err
		}
	}
	return nil
}

// spill writes the values in memory to disk.
func (s *Spool[T]) spill() error {
	if s.items.Len() == 0 {
		return nil
	}
	if s.file == nil {
		f, err := extsort.NewFile(s.dir)
		if err != nil {
			return err
		}
		s.file = f
	}
	start := s.file.Size()
	if err := s.eachHeld(s.write); err != nil {
		return err
	}
	s.runs = append(s.runs, run{start, s.file.Size() - start})
	s.items.Truncate(0)
	s.chunks = slices.Delete(s.chunks, 1, len(s.chunks)) // there is at least one, because there are items
	s.size, s.unsorted = 0, false
	for i := range s.chunks {
		s.chunks[i] = s.chunks[i][:0]
		s.size += int64(cap(s.chunks[i]))
	}
	return nil
}

func (s *Spool[T]) write(v *T, payload []byte) error {
	if _, err := s.file.Write(s.form.Bytes(v)); err != nil {
		return err
	}
	var size [4]byte
	binary.LittleEndian.PutUint32(size[:], uint32(len(payload)))
	if _, err := s.file.Write(size[:]); err != nil {
		return err
	}
	_, err := s.file.Write(payload)
	return err
}

// Each calls fn with all values in time order. Both arguments are valid only during the call. Do not call Add after Each.
func (s *Spool[T]) Each(fn func(v *T, payload []byte) error) error {
	if len(s.runs) == 0 {
		return s.eachHeld(fn)
	}
	if err := s.spill(); err != nil {
		return err
	}
	s.free()
	if err := s.file.Flush(); err != nil {
		return err
	}
	m := collections.NewHeap(s.comesFirst)
	buffer := int(min(max(s.limit/int64(len(s.runs)), 4096), 64<<10))
	for i, run := range s.runs {
		h := &mergeHead[T]{r: bufio.NewReaderSize(s.file.Section(run.start, run.size), buffer), run: i, form: s.form}
		ok, err := h.next()
		if err != nil {
			return err
		}
		if ok {
			m.Push(h)
		}
	}
	for m.Len() > 0 {
		h := *m.Top()
		if err := fn(&h.value, h.payload); err != nil {
			return err
		}
		ok, err := h.next()
		if err != nil {
			return err
		}
		if ok {
			m.Fix()
		} else {
			m.Pop()
		}
	}
	return nil
}

// comesFirst orders runs by the times of their next values, and at equal times by age.
func (s *Spool[T]) comesFirst(a, b **mergeHead[T]) bool {
	return cmp.Or(cmp.Compare(s.timeOf(&(*a).value), s.timeOf(&(*b).value)), cmp.Compare((*a).run, (*b).run)) < 0
}

func (s *Spool[T]) free() {
	s.items, s.chunks, s.keys, s.size = collections.List[item[T]]{}, nil, collections.RadixOrder{}, 0
}

// Close removes the temporary file.
func (s *Spool[T]) Close() error {
	s.free()
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}

// mergeHead is the next value of a run.
type mergeHead[T any] struct {
	r       *bufio.Reader
	run     int
	form    SpoolForm[T]
	value   T
	payload []byte
}

// next reads the next value. It returns false at the end of the run.
func (h *mergeHead[T]) next() (bool, error) {
	if err := h.form.Read(h.r, &h.value); errors.Is(err, io.EOF) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	var size [4]byte
	if _, err := io.ReadFull(h.r, size[:]); err != nil {
		return false, fmt.Errorf("reading a temporary file: %w", errors.Join(io.ErrUnexpectedEOF, err))
	}
	n := int(binary.LittleEndian.Uint32(size[:]))
	h.payload = slices.Grow(h.payload[:0], n)[:n]
	if _, err := io.ReadFull(h.r, h.payload); err != nil {
		return false, fmt.Errorf("reading a temporary file: %w", errors.Join(io.ErrUnexpectedEOF, err))
	}
	return true, nil
}
