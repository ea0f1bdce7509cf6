package timeline

import (
	"bufio"
	"cmp"
	"errors"
	"unsafe"

	"github.com/weft-trace/weft/internal/collections"
	"github.com/weft-trace/weft/internal/extsort"
)

// sampleRow is a sample without further data, as in V8 profiles. There can be millions of samples, and most passes can ignore
// them: nothing nests in a sample, no flow binds to it, and it has no context. They are therefore stored separately from the
// records, in a third of the memory, and Walk merges both. If they were records, converting chrome-devtools-long would take 1.49
// times as long (CPU time).
type sampleRow struct {
	ts     Nanos
	weight uint32 // with idleBit
	event  uint32
	track  TrackID
	stack  CallstackID
}

// idleBit in the weight of a sampleRow represents Event.Idle.
const idleBit = 1 << 31

// newSampleRow converts an event for which fitsTable is true.
func newSampleRow(ev *Event) sampleRow {
	s := sampleRow{ts: ev.TS, weight: uint32(ev.Value.bits), event: ev.Event, track: ev.Track, stack: ev.Callstack}
	if ev.Idle {
		s.weight |= idleBit
	}
	return s
}

// sampleForm is the encoding of rows on disk.
var sampleForm = extsort.FormOf[sampleRow]()

const sampleSize = int64(unsafe.Sizeof(sampleRow{}))

// fitsTable reports whether an event is a sample that fits into a sampleRow: its weight is a small integer, and it has no
// position in the input. Other samples become records.
func (ev *Event) fitsTable() bool {
	return ev.Kind == Sample && ev.Offset == noOffset && ev.Value.IsInt() && ev.Value.bits < idleBit &&
		len(ev.Name) == 0 && len(ev.Category) == 0 && len(ev.Args) == 0 && ev.CPU == CPU{} && ev.Sampling == Sampling{}
}

// noOffset is the Event.Offset of every sampleRow: none has a position in the input.
const noOffset = -1

// sampleTable stores the sampleRows of a timeline in time order, in memory or in a file. Simultaneous rows stay in the order of
// addition.
type sampleTable struct {
	rows  collections.List[sampleRow]
	time  timeOrder // of rows
	order []uint32  // indexes into rows in time order; nil: rows are already in order

	file   *extsort.File // nil: all samples are in memory
	starts []int64       // where the runs in the file start
	last   Nanos         // latest time in the file
	jumps  bool          // the runs overlap or are out of time order
	count  int           // number of all samples
}

func (t *sampleTable) len() int { return t.count }

// size returns the memory that the samples use, in bytes.
func (t *sampleTable) size() int64 {
	if !t.time.jumps {
		return int64(t.rows.Len()) * sampleSize
	}
	return int64(t.rows.Len()) * (sampleSize + t.time.size())
}

func (t *sampleTable) add(s sampleRow) {
	t.time.add(t.rows.Len(), s.ts)
	t.rows.Append(s)
	t.count++
}

func (t *sampleTable) at(i uint32) *sampleRow { return t.rows.At(int(i)) }

// sortedAt returns the i-th sample in memory, in time order. It requires sort.
func (t *sampleTable) sortedAt(i int) *sampleRow {
	if t.order != nil {
		i = int(t.order[i])
	}
	return t.at(uint32(i))
}

// sort computes the order of the samples in memory.
func (t *sampleTable) sort() {
	t.order = nil
	if t.time.jumps {
		t.order = t.time.appendTo(nil, t.rows.Len(), func(i uint32) Nanos { return t.at(i).ts })
	}
}

// spill writes the samples in memory to disk as one sorted run.
func (t *sampleTable) spill(dir string) error {
	t.sort()
	return t.write(dir)
}

// write is spill without sorting.
func (t *sampleTable) write(dir string) error {
	if t.rows.Len() == 0 {
		return nil
	}
	if t.file == nil {
		f, err := extsort.NewFile(dir)
		if err != nil {
			return err
		}
		t.file = f
	}
	t.jumps = t.jumps || len(t.starts) > 0 && t.sortedAt(0).ts < t.last
	t.starts = append(t.starts, t.file.Size())
	for i := range t.rows.Len() {
		s := t.sortedAt(i)
		if _, err := t.file.Write(sampleForm.Bytes(s)); err != nil {
			return err
		}
		t.last = max(t.last, s.ts)
	}
	t.rows.Truncate(0)
	t.order = nil
	t.time.reset()
	return nil
}

// finish completes the table: in memory if nothing was spilled, and otherwise in a file in time order.
func (t *sampleTable) finish(opts Options) error {
	if t.file == nil {
		t.sort()
		t.time = timeOrder{}
		return nil
	}
	if err := errors.Join(t.spill(opts.TempDir), t.file.Flush()); err != nil {
		return err
	}
	t.rows, t.time = collections.List[sampleRow]{}, timeOrder{}
	if !t.jumps {
		return nil
	}
	earlier := func(x, y *sampleRow) int { return cmp.Compare(x.ts, y.ts) }
	merger, err := extsort.NewMerger(t.sequences(opts), earlier)
	if err != nil {
		return err
	}
	runs := t.file
	if t.file, err = extsort.NewFile(opts.TempDir); err != nil {
		t.file = runs
		return err
	}
	defer runs.Close()
	var s sampleRow
	for {
		ok, err := merger.Next(&s)
		if err != nil {
			return err
		}
		if !ok {
			return t.file.Flush()
		}
		if _, err := t.file.Write(sampleForm.Bytes(&s)); err != nil {
			return err
		}
	}
}

// sequences returns the samples of each run.
func (t *sampleTable) sequences(opts Options) []extsort.Sequence[sampleRow] {
	each := min(max(opts.Memory/4/int64(len(t.starts)), 8<<10), 256<<10)
	var all []extsort.Sequence[sampleRow]
	for i, start := range t.starts {
		end := t.file.Size()
		if i+1 < len(t.starts) {
			end = t.starts[i+1]
		}
		all = append(all, extsort.Values[sampleRow](bufio.NewReaderSize(t.file.Section(start, end-start), int(each))))
	}
	return all
}

// toDisk moves the samples of a finished table from memory to a file.
func (t *sampleTable) toDisk(opts Options) error {
	if t.file != nil || t.rows.Len() == 0 {
		return nil
	}
	if err := t.write(opts.TempDir); err != nil {
		return err
	}
	t.rows = collections.List[sampleRow]{}
	return t.file.Flush()
}

func (t *sampleTable) close() error {
	f := t.file
	*t = sampleTable{}
	if f == nil {
		return nil
	}
	return f.Close()
}

// sampleCursor iterates over samples in time order.
type sampleCursor struct {
	sampleRow // the next sample, if more returns true
	t         *sampleTable
	at, end   int
	in        *bufio.Reader // for samples in the file; nil: the samples are in memory
}

// cursor returns a cursor over count samples, starting at index first. Several cursors can be used at once.
func (t *sampleTable) cursor(first, count int) (*sampleCursor, error) {
	c := &sampleCursor{t: t, at: first, end: first + count}
	if t.file != nil {
		c.in = bufio.NewReaderSize(t.file.Section(int64(first)*sampleSize, int64(count)*sampleSize), 64<<10)
	}
	return c, c.load()
}

// more reports whether there is a next sample.
func (c *sampleCursor) more() bool { return c.at < c.end }

// before reports whether there is a next sample that is earlier than ts.
func (c *sampleCursor) before(ts Nanos) bool { return c.at < c.end && c.ts < ts }

// advance moves to the sample after the next one.
func (c *sampleCursor) advance() error {
	c.at++
	return c.load()
}

func (c *sampleCursor) load() error {
	switch {
	case c.at >= c.end:
		return nil
	case c.in == nil:
		c.sampleRow = *c.t.sortedAt(c.at)
		return nil
	}
	return sampleForm.Read(c.in, &c.sampleRow)
}
