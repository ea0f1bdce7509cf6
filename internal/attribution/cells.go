package attribution

import (
	"cmp"
	"errors"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/extsort"
	"github.com/weft-trace/weft/internal/producers"
	"github.com/weft-trace/weft/internal/timeline"
)

// cellKey is the key by which costs are summed, the finest division that any report needs. Since is the start of a
// period in which the tree above the set's contexts does not change.
type cellKey struct {
	Since    timeline.Nanos
	Thread   timeline.TrackID
	Set      SetID
	Category producers.Category
}

// Cell holds the costs of all work with the same cellKey.
type Cell struct {
	cellKey
	Wall       timeline.Nanos
	Cpu        timeline.Nanos
	WithoutCPU timeline.Nanos // wall time of slices with unknown CPU time
	Slices     int64
	Instants   int64
	Forced     [2]timeline.Nanos // style, layout; wall time of whole slices
	ForcedN    [2]int64
	Freed      int64 // bytes freed by garbage collections
}

// numbers returns pointers to all costs of a cell.
func (c *Cell) numbers() [10]*int64 {
	return [...]*int64{
		(*int64)(&c.Wall), (*int64)(&c.Cpu), (*int64)(&c.WithoutCPU), &c.Slices, &c.Instants,
		(*int64)(&c.Forced[0]), (*int64)(&c.Forced[1]), &c.ForcedN[0], &c.ForcedN[1], &c.Freed,
	}
}

// join adds the cost of another cell with the same key.
func (c *Cell) join(o *Cell) {
	to, from := c.numbers(), o.numbers()
	for i := range to {
		*to[i] += *from[i]
	}
}

var cellOrder = extsort.Order[Cell]{
	Compare: compareCells,
	Key:     func(c *Cell) uint64 { return uint64(c.Thread)<<32 | uint64(c.Set) },
}

func compareCells(a, b *Cell) int {
	return cmp.Or(cmp.Compare(a.Thread, b.Thread), cmp.Compare(a.Set, b.Set), cmp.Compare(a.Since, b.Since), cmp.Compare(a.Category, b.Category))
}

// cells sums costs by key. Cells that do not fit in memory are sorted on disk, where a key can occur several times;
// Each sums the duplicates as it reads them.
type cells struct {
	held       collections.List[Cell]
	places     map[cellKey]int32 // indexes in held
	limit      int               // maximum length of held
	generation uint32            // changes when the indexes become invalid
	Spilled    *extsort.Sorter[Cell]
	sorted     *extsort.Sorted[Cell] // Spilled, once all cells have been added
	memory     int64
	dir        string
	err        error // disk error
}

// heldCellSize is the size of a cell in memory, including its map entry.
const heldCellSize = 152

func newCells(memory int64, dir string) *cells {
	memory /= 2 // one half for held cells, one for sorting
	return &cells{places: map[cellKey]int32{}, limit: int(max(memory/heldCellSize, 64)), memory: memory, dir: dir}
}

// place returns the index in held of the cell with a key, and creates the cell if necessary. The index is valid until the
// generation changes.
func (c *cells) place(key cellKey) int32 {
	i, ok := c.places[key]
	if !ok {
		if c.held.Len() >= c.limit {
			c.spill()
		}
		i = int32(c.held.Len())
		c.held.Append(Cell{cellKey: key})
		c.places[key] = i
	}
	return i
}

// at returns the held cell at an index. The pointer is valid until the generation changes.
func (c *cells) at(place int32) *Cell { return c.held.At(int(place)) }

// spill moves the held cells to the sorter.
func (c *cells) spill() {
	if c.Spilled == nil {
		c.Spilled = extsort.New(cellOrder, c.memory, c.dir)
	}
	for _, held := range c.held.All() {
		if c.err == nil {
			c.err = c.Spilled.Add(*held)
		}
	}
	c.held.Truncate(0)
	clear(c.places)
	c.generation++
}

// Empty reports whether there are no cells.
func (c *cells) Empty() bool { return c.held.Len() == 0 && c.Spilled == nil }

// Each calls fn once for every key. The order is the same whether or not the cells fit in memory. No cells can be added
// afterwards.
func (c *cells) Each(fn func(*Cell)) error {
	if c.Empty() {
		return nil
	}
	if c.sorted == nil {
		c.spill()
		c.held, c.places = collections.List[Cell]{}, nil
		if c.err == nil {
			c.sorted, c.err = c.Spilled.Sort()
		}
	}
	if c.err != nil {
		return c.err
	}
	from := c.sorted.From(0)
	var sum, next Cell
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

// close frees the memory and removes the temporary file.
func (c *cells) close() error {
	c.held, c.places = collections.List[Cell]{}, nil
	if c.Spilled == nil {
		return nil
	}
	err := c.Spilled.Close()
	if c.sorted != nil {
		err = errors.Join(err, c.sorted.Close())
	}
	return err
}
