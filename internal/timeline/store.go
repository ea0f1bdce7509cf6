package timeline

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/extsort"
)

// store holds the records of a timeline in time order, in memory or on disk.
type store interface {
	// groups calls fn for the records of each timestamp, in order. If rewrite is set, fn may change the records and their order
	// permanently. A group ends after maxGroup records even if the next record has the same timestamp.
	groups(rewrite bool, fn func(g *group) error) error
	// section is like groups, for a range of records whose first record is the first of its timestamp. Several sections can be
	// read at once.
	section(first, count int, fn func(g *group) error) error
	payloads
	// reader returns independent payloads for concurrent use.
	reader() payloads
	// len returns the number of records.
	len() int
	close() error
}

// payloads provides access to the variable-size data of records.
type payloads interface {
	// payload returns the payload at a position; it is valid until the next call.
	payload(at uint64) ([]byte, error)
}

// maxGroup limits the number of records of one timestamp that are ordered together. Only broken inputs have so many. The limit
// does not depend on the memory budget, so neither does the output.
const maxGroup = 1 << 20

// group holds the records of one timestamp.
type group struct {
	order []uint32 // indexes of the records, in order
	mem   *memory  // holds the records; nil: buf holds them
	buf   []record
}

func (g *group) len() int { return len(g.order) }

// record returns the record for an index from order.
func (g *group) record(i uint32) *record {
	if g.mem != nil {
		return g.mem.at(i)
	}
	return &g.buf[i]
}

func (g *group) at(i int) *record { return g.record(g.order[i]) }

// memory is the store of a timeline that fits into the budget, and the buffer of a Builder.
type memory struct {
	records collections.List[record]
	count   int // number of records
	time    timeOrder
	order   []uint32 // indexes of records in time order; set by sort

	arena      [][]byte // payloads, each preceded by its length
	arenaBase  int      // number of the first chunk
	arenaBytes int64    // size of payloads and of wasted space at the ends of chunks, except the last chunk
	free       [][]byte // empty chunks of the arena
}

const (
	arenaChunk = 1 << 20
	// firstArena is the chunk size for a small trace. Later chunks double in size until they reach arenaChunk.
	firstArena = 1 << 14
	// bytesPerRecord is the maximum memory per record, which is needed during sorting.
	bytesPerRecord = recordSize + bytesPerPlace + collections.RadixKeySize
)

func (m *memory) len() int { return m.count }
func (m *memory) size() int64 {
	return int64(m.count)*(recordSize+m.time.size()) + m.arenaBytes
}

// at returns the record at index i.
func (m *memory) at(i uint32) *record { return m.records.At(int(i)) }

func (m *memory) add(r *record) { *m.next(r.ts) = *r }

// next adds a record with the given time and otherwise unspecified contents, and returns it.
func (m *memory) next(ts Nanos) *record {
	m.time.add(m.count, ts)
	m.count++
	return m.records.Next()
}

// addPayload stores a copy of p and returns its position, which is not 0.
func (m *memory) addPayload(p []byte) uint64 {
	need := len(p) + binary.MaxVarintLen32
	last := len(m.arena) - 1
	if last < 0 || cap(m.arena[last])-len(m.arena[last]) < need {
		if last >= 0 {
			m.arenaBytes += int64(cap(m.arena[last]) - len(m.arena[last]))
		}
		m.arena = append(m.arena, m.arenaChunk(need))
		last++
	}
	chunk := m.arena[last]
	position := uint64(last+m.arenaBase)<<32 | uint64(len(chunk))
	m.arena[last] = append(binary.AppendUvarint(chunk, uint64(len(p))), p...)
	m.arenaBytes += int64(len(m.arena[last]) - len(chunk))
	return position + 1
}

// arenaChunk returns an empty chunk with a capacity of at least need bytes.
func (m *memory) arenaChunk(need int) []byte {
	if n := len(m.free); n > 0 && need <= arenaChunk {
		chunk := m.free[n-1]
		m.free = m.free[:n-1]
		return chunk
	}
	return make([]byte, 0, max(need, min(arenaChunk, firstArena<<min(len(m.arena), 8))))
}

func (m *memory) payloadAt(at uint64) []byte {
	at--
	b := m.arena[int(at>>32)-m.arenaBase][uint32(at):]
	n, w := binary.Uvarint(b)
	return b[w : w+int(n)]
}

func (m *memory) payload(at uint64) ([]byte, error) { return m.payloadAt(at), nil }

// reset empties the buffer without freeing its memory.
func (m *memory) reset() {
	m.records.Truncate(0)
	m.count, m.order = 0, m.order[:0]
	m.time.reset()
	for _, chunk := range m.arena {
		if cap(chunk) == arenaChunk {
			m.free = append(m.free, chunk[:0])
		}
	}
	clear(m.arena)
	m.arena, m.arenaBytes = m.arena[:0], 0
}

func (m *memory) close() error {
	*m = memory{}
	return nil
}

func (m *memory) reader() payloads { return m }

func (m *memory) groups(_ bool, fn func(g *group) error) error {
	return m.each(m.order, fn)
}

func (m *memory) section(first, count int, fn func(g *group) error) error {
	return m.each(m.order[first:first+count], fn)
}

// each calls fn for the records of each timestamp. The parameter order is a part of the time order.
func (m *memory) each(order []uint32, fn func(g *group) error) error {
	g := group{mem: m}
	for i := 0; i < len(order); {
		ts := m.at(order[i]).ts
		j := i + 1
		for j < len(order) && j-i < maxGroup && m.at(order[j]).ts == ts {
			j++
		}
		g.order = order[i:j]
		if err := fn(&g); err != nil {
			return err
		}
		i = j
	}
	return nil
}

// sort computes the time order of the records.
func (m *memory) sort() {
	m.order = m.time.appendTo(m.order[:0], m.count, func(i uint32) Nanos { return m.at(i).ts })
}

// mergeOrders merges two time orders of records. Among simultaneous records, those from a come first.
func (m *memory) mergeOrders(a, b []uint32) []uint32 {
	if len(a) == 0 {
		return b
	}
	merged := make([]uint32, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if m.at(a[0]).ts <= m.at(b[0]).ts {
			merged, a = append(merged, a[0]), a[1:]
		} else {
			merged, b = append(merged, b[0]), b[1:]
		}
	}
	return append(append(merged, a...), b...)
}

// disk is the store of a timeline that does not fit into the budget: a file of records in time order and a file of payloads.
type disk struct {
	dir      string
	records  *recordFile // nil while pending has the records
	pending  *pendingRuns
	count    int
	payloads *payloadReader
	runs     int
}

// replaceRecords replaces the store's records with a complete file.
func (d *disk) replaceRecords(f *recordFile) error {
	if err := f.flush(); err != nil {
		return errors.Join(err, f.close())
	}
	var err error
	if d.records != nil {
		err = d.records.close()
	}
	if d.pending != nil {
		err = errors.Join(err, d.pending.close())
		d.pending = nil
	}
	d.records, d.count = f, f.count
	return err
}

func (d *disk) len() int { return d.count }

func (d *disk) close() error {
	err := d.payloads.file.Close()
	if d.records != nil {
		err = errors.Join(err, d.records.close())
	}
	if d.pending != nil {
		err = errors.Join(err, d.pending.close())
	}
	return err
}

func (d *disk) payload(at uint64) ([]byte, error) { return d.payloads.payload(at) }

func (d *disk) reader() payloads { return newPayloadReader(d.payloads.file, d.runs) }

func (d *disk) groups(rewrite bool, fn func(g *group) error) (err error) {
	if !rewrite && d.pending == nil {
		return d.section(0, d.count, fn)
	}
	w, err := newRecordFile(d.dir)
	if err != nil {
		return err
	}
	err = d.all(func(g *group) error {
		if err := fn(g); err != nil {
			return err
		}
		for i := range g.len() {
			if err := w.add(g.at(i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return errors.Join(err, w.close())
	}
	return d.replaceRecords(w)
}

// all calls fn for the records of each timestamp, in order.
func (d *disk) all(fn func(g *group) error) error {
	if d.pending != nil {
		return d.pending.groups(fn)
	}
	return d.section(0, d.count, fn)
}

func (d *disk) section(first, count int, fn func(g *group) error) error {
	next := d.records.reader(first, count, maxRecordBuffer)
	c := grouper{fn: fn}
	var r record
	for {
		ok, err := next(&r)
		if err != nil {
			return err
		}
		if !ok {
			return c.flush()
		}
		if err := c.add(&r); err != nil {
			return err
		}
	}
}

// grouper groups records by timestamp.
type grouper struct {
	g  group
	fn func(g *group) error
}

// add adds the next record; if the current group is complete, it passes that group on first.
func (c *grouper) add(r *record) error {
	if n := len(c.g.buf); n > 0 && (c.g.buf[0].ts != r.ts || n == maxGroup) {
		if err := c.flush(); err != nil {
			return err
		}
	}
	c.g.buf = append(c.g.buf, *r)
	return nil
}

// flush passes the current group to fn.
func (c *grouper) flush() error {
	if len(c.g.buf) == 0 {
		return nil
	}
	c.g.order = c.g.order[:0]
	for i := range c.g.buf {
		c.g.order = append(c.g.order, uint32(i))
	}
	err := c.fn(&c.g)
	c.g.buf = c.g.buf[:0]
	return err
}

// payloadReader reads payloads from their file. Every run wrote its payloads in time order, and the passes read them in time
// order, so one sliding window per run serves nearly all reads.
type payloadReader struct {
	file    *extsort.File
	windows []window
	next    int // the window to reuse next
	big     []byte
}

type window struct {
	start int64
	data  []byte
}

const windowSize = 64 << 10

func newPayloadReader(f *extsort.File, runs int) *payloadReader {
	return &payloadReader{file: f, windows: make([]window, min(runs+1, 256))}
}

func (p *payloadReader) payload(position uint64) ([]byte, error) {
	at := int64(position - 1)
	w, err := p.windowAt(at)
	if err != nil {
		return nil, err
	}
	b := w.data[at-w.start:]
	n, width := binary.Uvarint(b)
	if width > 0 && uint64(len(b)-width) >= n {
		return b[width : width+int(n)], nil
	}
	// The payload, and perhaps its length, extends beyond the window.
	var head [binary.MaxVarintLen64]byte
	m, err := p.file.ReadAt(head[:], at)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading a temporary file: %w", err)
	}
	n, width = binary.Uvarint(head[:m])
	if width <= 0 {
		return nil, errors.New("reading a temporary file: bad length")
	}
	if uint64(cap(p.big)) < n {
		p.big = make([]byte, n)
	}
	p.big = p.big[:n]
	if _, err := p.file.ReadAt(p.big, at+int64(width)); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading a temporary file: %w", err)
	}
	return p.big, nil
}

// windowAt returns a window that contains the byte at the given offset.
func (p *payloadReader) windowAt(at int64) (*window, error) {
	for i := range p.windows {
		w := &p.windows[i]
		if at >= w.start && at < w.start+int64(len(w.data)) {
			return w, nil
		}
	}
	// Reuse the window with the nearest end before the offset, which belongs to the same run; otherwise, reuse the windows in
	// turn.
	best := -1
	for i := range p.windows {
		w := &p.windows[i]
		end := w.start + int64(len(w.data))
		if len(w.data) == 0 {
			best = i
			break
		}
		if end <= at && at-end < windowSize && (best < 0 || end > p.windows[best].start+int64(len(p.windows[best].data))) {
			best = i
		}
	}
	if best < 0 {
		best = p.next
		p.next = (p.next + 1) % len(p.windows)
	}
	w := &p.windows[best]
	if w.data == nil {
		w.data = make([]byte, windowSize)
	}
	n, err := p.file.ReadAt(w.data[:windowSize], at)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("reading a temporary file: %w", err)
	}
	w.start, w.data = at, w.data[:n]
	if n == 0 {
		return nil, errors.New("reading a temporary file: unexpected end")
	}
	return w, nil
}
