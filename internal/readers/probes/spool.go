package probes

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/weft-trace/weft/internal/blocks"
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/minheap"
	"github.com/weft-trace/weft/internal/radix"
	"github.com/weft-trace/weft/internal/timeline"
)

// record is a firing of a probe, or a loss, before its arguments are read.
type record struct {
	ts     timeline.Nanos
	offset int64  // of its line
	at     uint64 // of the payload: chunk and place in it
	size   uint32 // of the payload
	event  uint32 // number of the record in the input
	thread uint32 // index into reader.threadList
	probe  uint32 // index into reader.probeList
	form   form
}

// form is the form of a record's payload.
type form uint8

const (
	formBare   form = iota // nothing: there are no arguments
	formFields             // fields separated by tabs, as written
	formTuple              // fields with their kind and length
	formLoss               // the number of events that were lost
)

// spool sorts records by time, those of one time in the order in which they were added. What does not fit in memory is sorted in runs on
// disk, each a sequence of records with their payloads, and merged.
type spool struct {
	limit int64 // bytes to hold
	dir   string

	records  blocks.List[record]
	chunks   [][]byte // of payloads
	held     int64    // bytes of records and chunks
	last     timeline.Nanos
	unsorted bool // a record is earlier than the one before
	keys     radix.Order
	latest   timeline.Nanos // the latest time of all

	file *extsort.File
	runs []run
	head [recordHead]byte // scratch
}

// run is a sorted sequence of records on disk.
type run struct{ start, size int64 }

const (
	recordSize = 48      // of a record in memory
	recordHead = 33      // of a record on disk, before its payload
	chunkSize  = 1 << 18 // of payloads; a larger one has a chunk of its own
)

// add adds a record. The payload is copied.
func (s *spool) add(r *record, payload []byte) error {
	last := len(s.chunks) - 1
	if last < 0 || len(s.chunks[last])+len(payload) > cap(s.chunks[last]) {
		s.chunks = append(s.chunks, make([]byte, 0, max(min(chunkSize, s.limit/4), int64(len(payload)))))
		last++
		s.held += int64(cap(s.chunks[last]))
	}
	chunk := s.chunks[last]
	r.at, r.size = uint64(last)<<32|uint64(len(chunk)), uint32(len(payload))
	s.chunks[last] = append(chunk, payload...)
	s.unsorted = s.unsorted || s.records.Len() > 0 && r.ts < s.last
	s.last, s.latest = r.ts, max(s.latest, r.ts)
	s.records.Append(*r)
	if s.held += recordSize; s.held+s.sortSize() >= s.limit {
		return s.spill()
	}
	return nil
}

// sortSize is the memory that sorting the records takes.
func (s *spool) sortSize() int64 {
	if !s.unsorted {
		return 0
	}
	return int64(s.records.Len()) * (radix.KeySize + 4)
}

// order returns the places of the held records in the order of time; nil if they are already sorted.
func (s *spool) order() []int32 {
	if !s.unsorted {
		return nil
	}
	n := s.records.Len()
	times := s.keys.Numbers(n)
	for i, r := range s.records.All() {
		times[i] = radix.KeyOf(int64(r.ts))
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
			return cmp.Compare(s.records.At(int(i)).ts, s.records.At(int(j)).ts)
		})
	}
	return order
}

// eachHeld calls fn with the held records in the order of time.
func (s *spool) eachHeld(fn func(r *record, payload []byte) error) error {
	order := s.order()
	for i := range s.records.Len() {
		if order != nil {
			i = int(order[i])
		}
		r := s.records.At(i)
		at := uint32(r.at)
		if err := fn(r, s.chunks[r.at>>32][at:at+r.size]); err != nil {
			return err
		}
	}
	return nil
}

// spill writes the held records to disk.
func (s *spool) spill() error {
	if s.records.Len() == 0 {
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
	s.records.Truncate(0)
	s.chunks = slices.Delete(s.chunks, 1, len(s.chunks)) // there is one, or nothing was held
	s.held, s.unsorted = 0, false
	for i := range s.chunks {
		s.chunks[i] = s.chunks[i][:0]
		s.held += int64(cap(s.chunks[i]))
	}
	return nil
}

func (s *spool) write(r *record, payload []byte) error {
	b, le := s.head[:], binary.LittleEndian
	le.PutUint64(b, uint64(r.ts))
	le.PutUint64(b[8:], uint64(r.offset))
	le.PutUint32(b[16:], r.event)
	le.PutUint32(b[20:], r.thread)
	le.PutUint32(b[24:], r.probe)
	le.PutUint32(b[28:], r.size)
	b[32] = byte(r.form)
	if _, err := s.file.Write(b); err != nil {
		return err
	}
	_, err := s.file.Write(payload)
	return err
}

// each calls fn with all records in the order of time. The payload is valid during the call.
func (s *spool) each(fn func(r *record, payload []byte) error) error {
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
	m := minheap.New(comesFirst)
	buffer := int(min(max(s.limit/int64(len(s.runs)), 4096), 64<<10))
	for i, run := range s.runs {
		h := &mergeHead{r: bufio.NewReaderSize(s.file.Section(run.start, run.size), buffer), run: i}
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
		if err := fn(&h.record, h.payload); err != nil {
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

// free frees what is held.
func (s *spool) free() {
	s.records, s.chunks, s.keys, s.held = blocks.List[record]{}, nil, radix.Order{}, 0
}

// close removes the temporary file.
func (s *spool) close() error {
	s.free()
	if s.file == nil {
		return nil
	}
	err := s.file.Close()
	s.file = nil
	return err
}

// mergeHead is the next record of a run.
type mergeHead struct {
	r       *bufio.Reader
	run     int
	record  record
	payload []byte
	head    [recordHead]byte
}

// next reads the next record; false if there is none.
func (h *mergeHead) next() (bool, error) {
	b, le := h.head[:], binary.LittleEndian
	if _, err := io.ReadFull(h.r, b); err == io.EOF {
		return false, nil
	} else if err != nil {
		return false, fmt.Errorf("reading a temporary file: %w", err)
	}
	h.record = record{
		ts: timeline.Nanos(le.Uint64(b)), offset: int64(le.Uint64(b[8:])), event: le.Uint32(b[16:]), thread: le.Uint32(b[20:]),
		probe: le.Uint32(b[24:]), size: le.Uint32(b[28:]), form: form(b[32]),
	}
	h.payload = slices.Grow(h.payload[:0], int(h.record.size))[:h.record.size]
	if _, err := io.ReadFull(h.r, h.payload); err != nil {
		return false, fmt.Errorf("reading a temporary file: %w", errors.Join(io.ErrUnexpectedEOF, err))
	}
	return true, nil
}

// comesFirst orders runs by their next records; of those of one time the earlier run comes first.
func comesFirst(a, b **mergeHead) bool {
	return cmp.Or(cmp.Compare((*a).record.ts, (*b).record.ts), cmp.Compare((*a).run, (*b).run)) < 0
}
