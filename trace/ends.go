package trace

import (
	"cmp"
	"context"
	"errors"

	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/timeline"
)

// sliceEnds holds what the ends of slices bring: CPU times and arguments. A walk finds them later than the begins that
// they belong to, so one walk collects them and the next one reads them in the order of the begins.
type sliceEnds struct {
	ends *extsort.Sorter[sliceEnd]
	args *extsort.File // nil if no end has arguments

	next    sliceEnd // read ahead
	more    bool
	pending map[EventID]sliceEnd // of slices at time that another one has overtaken
	time    Nanos
	buf     []byte
}

// sliceEnd is what the end of one slice brings.
type sliceEnd struct {
	slice    EventID
	cpuTime  timeline.Nanos // at the end; NoTime if unknown
	argsAt   int64          // in sliceEnds.args
	argsSize int64
}

var bySlice = extsort.Order[sliceEnd]{
	Compare: func(a, b *sliceEnd) int { return cmp.Compare(a.slice, b.slice) },
	Key:     func(e *sliceEnd) uint64 { return uint64(e.slice) },
}

// takeEnds gives ends that are read from the first slice on to one loop over the events. A loop inside that one does not
// find them and collects its own.
func (t *Trace) takeEnds() (*sliceEnds, error) {
	s := t.ends
	if s == nil {
		return collectEnds(t.ctx, t.tl)
	}
	t.ends = nil
	if err := s.rewind(); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// putEnds keeps the ends of a loop that is over for the next one.
func (t *Trace) putEnds(s *sliceEnds) {
	if t.ends != nil || t.closed {
		_ = s.close() // they were read, so nothing is lost
		return
	}
	t.ends = s
}

func collectEnds(ctx context.Context, tl *timeline.Timeline) (*sliceEnds, error) {
	s := &sliceEnds{ends: extsort.New(bySlice, tl.Memory()/8, tl.TempDir()), pending: map[EventID]sliceEnd{}}
	err := tl.Walk(ctx, func(it *timeline.Item) error {
		if it.Kind != timeline.ItemEnd || (it.ThreadTime == timeline.CPUTime{}) && len(it.Args) == 0 {
			return nil
		}
		return s.add(it, tl.TempDir())
	})
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

func (s *sliceEnds) add(it *timeline.Item, dir string) error {
	e := sliceEnd{slice: EventID(it.Ordinal + 1), argsSize: int64(len(it.Args))}
	e.cpuTime, _ = it.ThreadTime.Nanos()
	if e.argsSize > 0 {
		if s.args == nil {
			f, err := extsort.NewFile(dir)
			if err != nil {
				return err
			}
			s.args = f
		}
		e.argsAt = s.args.Size()
		if _, err := s.args.Write(it.Args); err != nil {
			return err
		}
	}
	return s.ends.Add(e)
}

// read reads the next end ahead.
func (s *sliceEnds) read() (err error) {
	s.more, err = s.ends.Next(&s.next)
	return err
}

func (s *sliceEnds) rewind() error {
	clear(s.pending)
	if err := s.ends.Rewind(); err != nil {
		return err
	}
	return s.read()
}

// find finds the end of a slice. Slices come in the order of their ids, but for those that a flow pulls forward among the
// slices of one time.
func (s *sliceEnds) find(ev *Event) (end sliceEnd, ok bool, err error) {
	if ev.Time != s.time {
		clear(s.pending)
		s.time = ev.Time
	}
	end, ok = s.pending[ev.ID]
	for !ok && s.more && s.next.slice <= ev.ID {
		if s.next.slice == ev.ID {
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

// applyEnd gives the current slice what its end brings.
func (r *eventReader) applyEnd() error {
	ev, s := &r.event, r.ends
	end, ok, err := s.find(ev)
	if err != nil || !ok {
		return err
	}
	if ev.CPUTime != nil && end.cpuTime != timeline.NoTime {
		r.cpuDuration = Nanos(end.cpuTime) - *ev.CPUTime
		ev.CPUDuration = &r.cpuDuration
	}
	if end.argsSize > 0 {
		s.buf = append(s.buf[:0], make([]byte, end.argsSize)...)
		if _, err := s.args.ReadAt(s.buf, end.argsAt); err != nil {
			return err
		}
		r.args.end = s.buf
	}
	return nil
}

func (s *sliceEnds) close() error {
	err := s.ends.Close()
	if s.args != nil {
		err = errors.Join(err, s.args.Close())
	}
	return err
}
