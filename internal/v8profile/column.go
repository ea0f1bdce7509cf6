package v8profile

import (
	"encoding/binary"
	"errors"
)

// column is an append-only list of variable-length numbers in a spool, which is read from the start.
type column struct {
	n       int      // numbers
	extents []extent // of the spool
	last    []byte   // bytes not in the spool yet
	before  int64    // the last number of a list of differences
}

// bytes returns the memory that the column uses outside the spool.
func (c *column) bytes() int64 { return int64(cap(c.extents))*16 + int64(cap(c.last)) }

// add appends a number.
func (c *column) add(s *spool, v uint64) error {
	c.last = binary.AppendUvarint(c.last, v)
	c.n++
	if len(c.last) <= maxExtent-2*binary.MaxVarintLen64 { // there is still space for two numbers that belong together
		return nil
	}
	p, err := s.add(c.last)
	c.extents, c.last = append(c.extents, p), c.last[:0]
	return err
}

// addDifference appends a number that is close to the previous one.
func (c *column) addDifference(s *spool, v int64) error {
	d := v - c.before
	c.before = v
	return c.add(s, uint64(d)<<1^uint64(d>>63))
}

// columnReader reads a column, which must not grow in the meantime.
type columnReader struct {
	c      *column
	s      *spool
	unread []byte // part of the current extent
	extent int    // index of the next extent
	before int64
	buf    []byte
	err    error
}

func (c *column) reader(s *spool) columnReader { return columnReader{c: c, s: s} }

// next returns the next number, or 0 after the end or an error.
func (r *columnReader) next() uint64 {
	if len(r.unread) == 0 && !r.load() {
		return 0
	}
	v, n := binary.Uvarint(r.unread)
	r.unread = r.unread[max(n, 0):]
	return v
}

// nextDifference returns the next number that addDifference added.
func (r *columnReader) nextDifference() int64 {
	d := r.next()
	r.before += int64(d>>1) ^ -int64(d&1)
	return r.before
}

// load reads the next extent.
func (r *columnReader) load() bool {
	switch {
	case r.err != nil || r.extent > len(r.c.extents):
		return false
	case r.extent == len(r.c.extents):
		r.unread = r.c.last
	default:
		if r.buf == nil && r.c.extents[r.extent].at < 0 {
			r.buf = make([]byte, maxExtent)
		}
		r.unread, r.err = r.s.read(r.c.extents[r.extent], r.buf)
	}
	r.extent++
	return r.err == nil && len(r.unread) > 0
}

// positions lists the lines or columns of samples. It stores only known positions, each as two numbers: the number of samples
// since the previous known position, and the position.
type positions struct {
	list    column
	length  int // number of samples up to the last known position or the end of the last piece
	after   int // the sample after the last position in list
	waiting []position
}

// position is a line or column, possibly of a sample that has not been read yet.
type position struct {
	sample int
	value  int32
}

// known reports whether any position is known.
func (ps *positions) known() bool { return ps.length > 0 }

// add adds the position of a sample. Calls must be in sample order. The parameter samples is the number of samples so far.
func (ps *positions) add(s *spool, sample, samples int, value int32) error {
	if value == 0 || sample >= maxSamples {
		return nil
	}
	ps.length = sample + 1
	if sample >= samples {
		ps.waiting = append(ps.waiting, position{sample, value})
		return nil
	}
	return ps.write(s, position{sample, value})
}

func (ps *positions) write(s *spool, p position) error {
	gap := uint64(p.sample - ps.after)
	ps.after = p.sample + 1
	return errors.Join(ps.list.add(s, gap), ps.list.add(s, uint64(p.value)))
}

// end ends a piece of the profile and drops positions without samples.
func (ps *positions) end(s *spool, samples int) error {
	for _, p := range ps.waiting {
		if p.sample >= samples {
			break
		}
		if err := ps.write(s, p); err != nil {
			return err
		}
	}
	ps.waiting = ps.waiting[:0]
	if ps.known() {
		ps.length = samples
	}
	return nil
}

// bytes returns the memory that the positions use outside the spool.
func (ps *positions) bytes() int64 { return ps.list.bytes() + int64(cap(ps.waiting))*16 }

// positionReader reads positions sample by sample.
type positionReader struct {
	list   columnReader
	unread int // number of positions
	sample int // of value; -1: no more
	value  int32
}

func (ps *positions) reader(s *spool) positionReader {
	r := positionReader{list: ps.list.reader(s), unread: ps.list.n / 2, sample: -1}
	r.advance()
	return r
}

func (r *positionReader) advance() {
	if r.unread == 0 {
		r.sample = -1
		return
	}
	r.unread--
	r.sample += 1 + int(r.list.next())
	r.value = int32(r.list.next())
}

// at returns the position of a sample, or 0 if unknown. Call it for every sample in order.
func (r *positionReader) at(sample int) int32 {
	if r.sample != sample {
		return 0
	}
	v := r.value
	r.advance()
	return v
}
