package resolved

import (
	"cmp"
	"context"
	"errors"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/timeline"
)

// sliceEnds holds the data from the ends of slices: CPU times and arguments. Ends follow their starts in the timeline, so one
// pass collects them, and the walk reads them in the order of the starts. The zero sliceEnds is empty.
type sliceEnds struct {
	ends *extsort.Sorter[sliceEnd] // nil if there are none
	args *extsort.File             // nil if no end has arguments

	next    sliceEnd // read ahead
	more    bool
	pending map[uint64]sliceEnd // ends skipped so far at the current time
	time    timeline.Nanos
	buf     []byte
}

// sliceEnd is the data from the end of one slice.
type sliceEnd struct {
	slice    uint64         // ordinal of the slice
	cpuTime  timeline.Nanos // at the end; NoTime if unknown
	argsAt   int64          // offset in sliceEnds.args
	argsSize int64
}

var bySlice = extsort.Order[sliceEnd]{
	Compare: func(a, b *sliceEnd) int { return cmp.Compare(a.slice, b.slice) },
	Key:     func(e *sliceEnd) uint64 { return e.slice },
}

// acquireEnds returns ends, positioned at the first slice, for the exclusive use of one walk. A nested walk collects its own
// ends.
func (r *Reader) acquireEnds(ctx context.Context) (*sliceEnds, error) {
	s := r.ends
	if s == nil {
		return collectEnds(ctx, r.tl)
	}
	r.ends = nil
	if err := s.rewind(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// releaseEnds keeps the ends from a finished walk for the next one.
func (r *Reader) releaseEnds(s *sliceEnds) {
	if r.ends != nil || r.closed {
		_ = s.close() // the data has been read, so an error does not matter
		return
	}
	r.ends = s
}

func collectEnds(ctx context.Context, tl *timeline.Timeline) (*sliceEnds, error) {
	s := &sliceEnds{}
	if !tl.HasSliceEnds() {
		return s, nil
	}
	s.ends, s.pending = extsort.New(bySlice, tl.Memory()/8, tl.TempDir()), map[uint64]sliceEnd{}
	err := tl.SliceEnds(ctx, func(e *timeline.SliceEnd) error { return s.add(e, tl.TempDir()) })
	if err == nil && s.args != nil {
		err = s.args.Flush()
	}
	if err == nil {
		err = s.read()
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *sliceEnds) add(end *timeline.SliceEnd, dir string) error {
	e := sliceEnd{slice: end.Ordinal, argsSize: int64(len(end.Args))}
	e.cpuTime, _ = end.ThreadTime.Nanos()
	if e.argsSize > 0 {
		if s.args == nil {
			f, err := extsort.NewFile(dir)
			if err != nil {
				return err
			}
			s.args = f
		}
		e.argsAt = s.args.Size()
		if _, err := s.args.Write(end.Args); err != nil {
			return err
		}
	}
	return s.ends.Add(e)
}

// read reads the next end.
func (s *sliceEnds) read() (err error) {
	s.more, err = s.ends.Next(&s.next)
	return err
}

func (s *sliceEnds) rewind() error {
	if s.ends == nil {
		return nil
	}
	clear(s.pending)
	if err := s.ends.Rewind(); err != nil {
		return err
	}
	return s.read()
}

// find returns the end of a slice. Slices are requested in ordinal order, except that flows may reorder slices with equal times.
func (s *sliceEnds) find(it *timeline.Item) (end sliceEnd, ok bool, err error) {
	if it.TS != s.time {
		clear(s.pending)
		s.time = it.TS
	}
	if len(s.pending) > 0 {
		end, ok = s.pending[it.Ordinal]
	}
	for !ok && s.more && s.next.slice <= it.Ordinal {
		if s.next.slice == it.Ordinal {
			end, ok = s.next, true
		} else {
			s.pending[s.next.slice] = s.next
		}
		if err := s.read(); err != nil {
			return end, false, err
		}
	}
	return end, ok, nil
}

// apply adds the data from the end of a slice to its row.
func (s *sliceEnds) apply(row *Row) error {
	if s.ends == nil || row.Item.Added {
		return nil
	}
	end, ok, err := s.find(row.Item)
	if err != nil || !ok {
		return err
	}
	if begin, known := row.Item.ThreadTime.Nanos(); known && end.cpuTime != timeline.NoTime {
		row.ThreadDuration = timeline.NewCPUTime(end.cpuTime - begin)
	}
	if end.argsSize > 0 {
		s.buf = append(s.buf[:0], make([]byte, end.argsSize)...)
		if _, err := s.args.ReadAt(s.buf, end.argsAt); err != nil {
			return err
		}
		row.EndArgs = s.buf
	}
	return nil
}

func (s *sliceEnds) close() error {
	if s.ends == nil {
		return nil
	}
	err := s.ends.Close()
	if s.args != nil {
		err = errors.Join(err, s.args.Close())
	}
	return err
}
