package v8profile

import (
	"encoding/binary"
	"sort"

	"github.com/weft-trace/weft/internal/timeline"
)

// SampleBlock is the number of samples that Samples reads at once.
const SampleBlock = 1 << blockBits

const (
	blockBits = 7
	blockMask = SampleBlock - 1
)

// sampleList stores the samples of a Profile in a spool, in compact blocks that can be read separately.
type sampleList struct {
	spool          *spool
	n              int
	blocks         []sampleBlock
	lines, columns bool // whether they are known
	gaps           bool // samples between the stored ones were dropped
}

// sampleBlock locates SampleBlock samples, or fewer in the last block of a profile.
type sampleBlock struct {
	extent
	ts    timeline.Nanos // of the first sample
	index uint32         // of the first sample, minus the number of samples dropped just before it
}

// Flags in the lowest bits of a sample's node number.
const (
	sampleRepaired = 1 << iota // the profiler recorded (program)
	sampleSkips                // samples before it were dropped
	sampleBits     = iota
)

// sampleWriter fills a sampleList in time order.
type sampleWriter struct {
	list  *sampleList
	ts    timeline.Nanos // of the last sample
	index uint32         // of the next sample
	buf   []byte
}

// add adds a sample, after the given number of dropped ones.
func (w *sampleWriter) add(s *rawSample, n NodeIndex, skipped uint32, repaired bool) error {
	l := w.list
	if l.n&blockMask == 0 {
		if err := w.endBlock(); err != nil {
			return err
		}
		l.blocks = append(l.blocks, sampleBlock{ts: s.ts, index: w.index})
		w.ts = s.ts
	}
	head := uint64(n) << sampleBits
	if repaired {
		head |= sampleRepaired
	}
	if skipped > 0 {
		head |= sampleSkips
		l.gaps = true
	}
	w.buf = binary.AppendUvarint(w.buf, head)
	w.buf = binary.AppendUvarint(w.buf, uint64(s.ts-w.ts))
	if skipped > 0 {
		w.buf = binary.AppendUvarint(w.buf, uint64(skipped))
	}
	if l.lines {
		w.buf = binary.AppendUvarint(w.buf, uint64(s.line))
	}
	if l.columns {
		w.buf = binary.AppendUvarint(w.buf, uint64(s.column))
	}
	w.ts, w.index = s.ts, w.index+skipped+1
	l.n++
	return nil
}

// endBlock moves the last block to the spool.
func (w *sampleWriter) endBlock() error {
	if len(w.buf) == 0 {
		return nil
	}
	p, err := w.list.spool.add(w.buf)
	w.list.blocks[len(w.list.blocks)-1].extent = p
	w.buf = w.buf[:0]
	return err
}

// Len returns the number of samples with known nodes. Samples are numbered from 0 in time order.
func (p *Profile) Len() int { return p.samples.n }

// HasPositions reports whether any sample may have a Samples.Position.
func (p *Profile) HasPositions() bool { return p.samples.lines || p.samples.columns }

// Before returns the number of samples in blocks that start before a time. All later samples were taken at that time or
// later.
func (p *Profile) Before(ts timeline.Nanos) int {
	b := p.samples.blocks
	return min(sort.Search(len(b), func(i int) bool { return b[i].ts >= ts })<<blockBits, p.samples.n)
}

// Samples reads samples, possibly from disk. It caches two blocks, so reading nearby samples is fast. After an error,
// which Err returns, all samples have the root as node and time 0.
type Samples struct {
	p     *Profile
	slots [2]*decodedBlock
	buf   []byte
	err   error
}

// decodedBlock is a block of samples.
type decodedBlock struct {
	number         int
	times          [SampleBlock]timeline.Nanos
	at             [SampleBlock]NodeIndex
	index          [SampleBlock]uint32
	lines, columns [SampleBlock]int32
	repaired       [SampleBlock]bool
}

// Samples returns a reader for the samples. Several readers may be used at once.
func (p *Profile) Samples() *Samples { return &Samples{p: p} }

// Err returns the first error from reading temporary files.
func (s *Samples) Err() error { return s.err }

// block returns the block of a sample.
func (s *Samples) block(i int) *decodedBlock {
	if d := s.slots[i>>blockBits&1]; d != nil && d.number == i>>blockBits {
		return d
	}
	return s.load(i >> blockBits)
}

// load reads a block.
func (s *Samples) load(number int) *decodedBlock {
	d := s.slots[number&1]
	if d == nil {
		d = new(decodedBlock)
		s.slots[number&1] = d
	}
	d.number = number
	l := &s.p.samples
	b := &l.blocks[number]
	if s.buf == nil && b.at < 0 {
		s.buf = make([]byte, maxExtent)
	}
	text, err := l.spool.read(b.extent, s.buf)
	if err != nil {
		if s.err == nil {
			s.err = err
		}
		*d = decodedBlock{number: number}
		return d
	}
	d.decode(l, b, text, min(SampleBlock, l.n-number<<blockBits))
	return d
}

// decode reads n samples.
func (d *decodedBlock) decode(l *sampleList, b *sampleBlock, text []byte, n int) {
	number := func() uint64 {
		if len(text) > 0 && text[0] < 0x80 {
			v := text[0]
			text = text[1:]
			return uint64(v)
		}
		v, w := binary.Uvarint(text)
		text = text[max(w, 0):]
		return v
	}
	ts, index := b.ts, b.index
	for i := range n {
		head := number()
		ts += timeline.Nanos(number())
		if head&sampleSkips != 0 {
			index += uint32(number())
		}
		d.at[i], d.repaired[i] = NodeIndex(head>>sampleBits), head&sampleRepaired != 0
		d.times[i], d.index[i] = ts, index
		index++
		if l.lines {
			d.lines[i] = int32(number())
		}
		if l.columns {
			d.columns[i] = int32(number())
		}
	}
}

// Time returns when a sample was taken.
func (s *Samples) Time(i int) timeline.Nanos { return s.block(i).times[i&blockMask] }

// At returns the node at the top of a sample's stack.
func (s *Samples) At(i int) NodeIndex { return s.block(i).at[i&blockMask] }

// Recorded returns the node that the profiler recorded: At, or (program) where a repair replaced it (profile-calls.md 3).
func (s *Samples) Recorded(i int) NodeIndex {
	d := s.block(i)
	if d.repaired[i&blockMask] {
		return s.p.Program
	}
	return d.at[i&blockMask]
}

// Weight returns the time from a sample to the next one or, for the last sample, to Closing.
func (s *Samples) Weight(i int) timeline.Nanos {
	if i+1 < s.p.samples.n {
		return s.Time(i+1) - s.Time(i)
	}
	return s.p.Closing - s.Time(i)
}

// Index returns the number of a sample among all samples of the input, including samples with unknown nodes, in time
// order.
func (s *Samples) Index(i int) int {
	if !s.p.samples.gaps {
		return i
	}
	return int(s.block(i).index[i&blockMask])
}

// Position returns the line and column of a sample, counted from 1; 0 is unknown.
func (s *Samples) Position(i int) (line, column int32) {
	d := s.block(i)
	return d.lines[i&blockMask], d.columns[i&blockMask]
}
