package attribution

import (
	"cmp"
	"encoding/binary"
	"errors"

	"github.com/weft-trace/weft/internal/blocks"
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/timeline"
)

// cellKey is what costs are added up by: the finest division that any report needs. The set says which contexts are
// charged, and since what the tree above them was like: it has been the same from that time on.
type cellKey struct {
	since    timeline.Nanos
	thread   timeline.TrackID
	set      SetID
	category Category
}

// cell is the cost of the work with one cellKey.
type cell struct {
	cellKey
	wall       timeline.Nanos
	cpu        timeline.Nanos
	withoutCPU timeline.Nanos // wall time of slices whose CPU time is not known
	slices     int64
	instants   int64
	forced     [2]timeline.Nanos // style, layout; wall time of whole slices
	forcedN    [2]int64
	freed      int64 // bytes, by garbage collections
}

// numbers are the costs of a cell, in the order in which they are written.
func (c *cell) numbers() [10]*int64 {
	return [...]*int64{
		(*int64)(&c.wall), (*int64)(&c.cpu), (*int64)(&c.withoutCPU), &c.slices, &c.instants,
		(*int64)(&c.forced[0]), (*int64)(&c.forced[1]), &c.forcedN[0], &c.forcedN[1], &c.freed,
	}
}

// join adds the cost of another cell with the same key.
func (c *cell) join(o *cell) {
	to, from := c.numbers(), o.numbers()
	for i := range to {
		*to[i] += *from[i]
	}
}

var cellCodec = extsort.Codec[cell]{
	Size: 97,
	Key:  func(c *cell) uint64 { return uint64(c.thread)<<32 | uint64(c.set) },
	Put: func(b []byte, c *cell) {
		le := binary.LittleEndian
		_ = b[96]
		le.PutUint64(b, uint64(c.since))
		le.PutUint32(b[8:], uint32(c.thread))
		le.PutUint32(b[12:], uint32(c.set))
		b[16] = byte(c.category)
		for i, n := range c.numbers() {
			le.PutUint64(b[17+8*i:], uint64(*n))
		}
	},
	Get: func(b []byte, c *cell) {
		le := binary.LittleEndian
		_ = b[96]
		c.cellKey = cellKey{
			since: timeline.Nanos(le.Uint64(b)), thread: timeline.TrackID(le.Uint32(b[8:])),
			set: SetID(le.Uint32(b[12:])), category: Category(b[16]),
		}
		for i, n := range c.numbers() {
			*n = int64(le.Uint64(b[17+8*i:]))
		}
	},
}

func compareCells(a, b *cell) int {
	return cmp.Or(cmp.Compare(a.thread, b.thread), cmp.Compare(a.set, b.set), cmp.Compare(a.since, b.since), cmp.Compare(a.category, b.category))
}

// cells adds up costs by key. Those that do not fit its memory are sorted on disk, where a key can come several times,
// and added up when they are read.
type cells struct {
	held       blocks.List[cell]
	places     map[cellKey]int32 // in held
	limit      int               // of held
	generation uint32            // changes when the places do
	spilled    *extsort.Sorter[cell]
	sorted     *extsort.Sorted[cell] // all of spilled, when nothing is added any more
	memory     int64
	dir        string
	err        error // of the disk
}

// heldCellSize is what a held cell takes, with its place.
const heldCellSize = 152

func newCells(memory int64, dir string) *cells {
	memory /= 2 // one half for what is held, one for sorting
	return &cells{places: map[cellKey]int32{}, limit: int(max(memory/heldCellSize, 64)), memory: memory, dir: dir}
}

// place returns the place in held of the cell with a key, which is valid as long as the generation is the same.
func (c *cells) place(key cellKey) int32 {
	i, ok := c.places[key]
	if !ok {
		if c.held.Len() >= c.limit {
			c.spill()
		}
		i = int32(c.held.Len())
		c.held.Append(cell{cellKey: key})
		c.places[key] = i
	}
	return i
}

// at returns the held cell of a place. It is valid as long as the generation is the same.
func (c *cells) at(place int32) *cell { return c.held.At(int(place)) }

// spill moves what is held to the sorter.
func (c *cells) spill() {
	if c.spilled == nil {
		c.spilled = extsort.New(cellCodec, compareCells, c.memory, c.dir)
	}
	for _, held := range c.held.All() {
		if c.err == nil {
			c.err = c.spilled.Add(*held)
		}
	}
	c.held.Truncate(0)
	clear(c.places)
	c.generation++
}

// empty reports whether there are none.
func (c *cells) empty() bool { return c.held.Len() == 0 && c.spilled == nil }

// each calls fn for every cell, with each key once, in the same order whether they fit the memory or not. Nothing can be
// added afterwards.
func (c *cells) each(fn func(*cell)) error {
	if c.empty() {
		return nil
	}
	if c.sorted == nil {
		c.spill()
		c.held, c.places = blocks.List[cell]{}, nil
		if c.err == nil {
			c.sorted, c.err = c.spilled.Sort()
		}
	}
	if c.err != nil {
		return c.err
	}
	from := c.sorted.From(0)
	var sum, next cell
	for have := false; ; {
		ok, err := from.Next(&next)
		if err != nil {
			return err
		}
		switch {
		case ok && have && next.cellKey == sum.cellKey:
			sum.join(&next)
			continue
		case have:
			fn(&sum)
		}
		if !ok {
			return nil
		}
		sum, have = next, true
	}
}

// close frees what is held and removes the temporary file.
func (c *cells) close() error {
	c.held, c.places = blocks.List[cell]{}, nil
	if c.spilled == nil {
		return nil
	}
	err := c.spilled.Close()
	if c.sorted != nil {
		err = errors.Join(err, c.sorted.Close())
	}
	return err
}
