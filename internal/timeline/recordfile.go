package timeline

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sort"

	"github.com/weft-trace/weft/internal/extsort"
)

// recordFile holds records in a temporary file that is written once from front to back.
//
// Writing memory to a file that nobody may ever need costs more than a conversion does otherwise, so records are small here: each
// has only what is different from the record before it, about 20 bytes instead of 72. Every recordBlock records start anew,
// so that they can be read from there.
type recordFile struct {
	file   *extsort.File
	count  int
	blocks []recordBlock
	last   lastRecord
	length int // records in the last block
	buf    [maxEncodedRecord]byte
}

// lastRecord is what the next record differs from.
type lastRecord struct {
	record
	place  uint64 // payload of the last record that has one
	number int64  // and a
}

// recordBlock is where a block starts.
type recordBlock struct {
	first  int // number of its first record
	offset int64
}

const (
	recordBlockLen = 1024
	// maxEncodedRecord is a bound of what a record takes: thirteen numbers of up to 64 bits.
	maxEncodedRecord = 13 * binary.MaxVarintLen64
	// maxRecordBuffer and minRecordBuffer bound what a recordReader holds of its file.
	maxRecordBuffer = 128 << 10
	minRecordBuffer = 4 << 10
)

// The fields that a record has in the file, as bits of its first number: the rare ones have the higher bits. Times,
// offsets, events and names always differ.
const (
	hasDur = 1 << iota
	hasA
	hasTrack
	hasPayload
	hasFlags
	hasCategory
	hasB
	hasLane
)

func newRecordFile(dir string) (*recordFile, error) {
	f, err := extsort.NewFile(dir)
	if err != nil {
		return nil, err
	}
	return &recordFile{file: f}, nil
}

// startBlock makes the next record one that can be read without those before it.
func (f *recordFile) startBlock() {
	f.blocks = append(f.blocks, recordBlock{f.count, f.file.Size()})
	f.last, f.length = lastRecord{}, 0
}

// add appends a record.
func (f *recordFile) add(r *record) error {
	if f.length == recordBlockLen || len(f.blocks) == 0 {
		f.startBlock()
	}
	b := f.last.append(f.buf[:0], r)
	f.length++
	f.count++
	_, err := f.file.Write(b)
	return err
}

// append appends what differs between a record and the last one, which it is then.
func (last *lastRecord) append(b []byte, r *record) []byte {
	var has uint64
	set := func(bit uint64, differs bool) {
		if differs {
			has |= bit
		}
	}
	set(hasDur, r.dur != NoTime)
	set(hasA, r.a != 0)
	set(hasTrack, r.track != last.track)
	set(hasPayload, r.payload != 0)
	set(hasFlags, r.flags != last.flags)
	set(hasCategory, r.category != last.category)
	set(hasB, r.b != 0)
	set(hasLane, r.lane != 0)
	b = binary.AppendUvarint(b, has)
	b = binary.AppendVarint(b, int64(r.ts-last.ts))
	b = binary.AppendVarint(b, r.offset-last.offset)
	b = binary.AppendVarint(b, int64(r.event)-int64(last.event))
	b = binary.AppendUvarint(b, uint64(r.name))
	if has&hasDur != 0 {
		b = binary.AppendVarint(b, int64(r.dur))
	}
	if has&hasA != 0 {
		b = binary.AppendVarint(b, r.a-last.number)
	}
	if has&hasTrack != 0 {
		b = binary.AppendUvarint(b, uint64(r.track))
	}
	if has&hasPayload != 0 {
		b = binary.AppendVarint(b, int64(r.payload-last.place))
	}
	if has&hasFlags != 0 {
		b = binary.AppendUvarint(b, uint64(r.flags))
	}
	if has&hasCategory != 0 {
		b = binary.AppendUvarint(b, uint64(r.category))
	}
	if has&hasB != 0 {
		b = binary.AppendVarint(b, r.b)
	}
	if has&hasLane != 0 {
		b = binary.AppendUvarint(b, uint64(r.lane))
	}
	last.record = *r
	if r.payload != 0 {
		last.place = r.payload
	}
	if r.a != 0 {
		last.number = r.a
	}
	return b
}

// errBadRecord says that a file does not hold what was written.
var errBadRecord = errors.New("reading a temporary file: bad record")

// decode makes last the record that b begins with, and returns its length.
func (last *lastRecord) decode(b []byte) (n int, err error) {
	bad := false
	unsigned := func() uint64 {
		if n < len(b) && b[n] < 0x80 { // most are small
			n++
			return uint64(b[n-1])
		}
		v, w := binary.Uvarint(b[n:])
		bad = bad || w <= 0
		n += max(w, 0)
		return v
	}
	signed := func() int64 {
		v := unsigned()
		return int64(v>>1) ^ -int64(v&1)
	}
	has := unsigned()
	r := &last.record
	r.ts += Nanos(signed())
	r.offset += signed()
	r.event += uint32(signed())
	r.name = NameID(unsigned())
	r.dur, r.payload, r.lane = NoTime, 0, 0
	if has&hasDur != 0 {
		r.dur = Nanos(signed())
	}
	r.a = 0
	if has&hasA != 0 {
		last.number += signed()
		r.a = last.number
	}
	if has&hasTrack != 0 {
		r.track = TrackID(unsigned())
	}
	if has&hasPayload != 0 {
		last.place += uint64(signed())
		r.payload = last.place
	}
	if has&hasFlags != 0 {
		r.flags = recordFlags(unsigned())
	}
	if has&hasCategory != 0 {
		r.category = CategoryID(unsigned())
	}
	r.b = 0
	if has&hasB != 0 {
		r.b = signed()
	}
	if has&hasLane != 0 {
		r.lane = uint32(unsigned())
	}
	if bad {
		return 0, errBadRecord
	}
	return n, nil
}

// reader returns a reader of count records from first on, which holds up to memory bytes of the file. Flush comes first. Several
// may be used at once.
func (f *recordFile) reader(first, count int, memory int64) *recordReader {
	rd := &recordReader{left: count, buf: make([]byte, 0, min(max(memory, minRecordBuffer), maxRecordBuffer))}
	if count == 0 {
		return rd
	}
	at := sort.Search(len(f.blocks), func(i int) bool { return f.blocks[i].first > first }) - 1
	rd.blocks = f.blocks[at:]
	rd.number, rd.skip = rd.blocks[0].first, first-rd.blocks[0].first
	offset := rd.blocks[0].offset
	rd.src = f.file.Section(offset, f.file.Size()-offset)
	return rd
}

func (f *recordFile) flush() error { return f.file.Flush() }
func (f *recordFile) close() error { return f.file.Close() }

// recordReader reads records of a recordFile.
type recordReader struct {
	src    io.Reader
	buf    []byte        // that was read
	pos    int           // in buf, behind the last record
	ended  bool          // there is nothing behind buf
	blocks []recordBlock // that start at the next record or later
	number int           // of the next record
	skip   int           // records before the first one that is asked for
	left   int           // records after those
	last   lastRecord
}

// next stores the next record in r and reports whether there was one.
func (rd *recordReader) next(r *record) (bool, error) {
	for ; rd.skip > 0; rd.skip-- {
		if err := rd.read(); err != nil {
			return false, err
		}
	}
	if rd.left == 0 {
		return false, nil
	}
	if err := rd.read(); err != nil {
		return false, err
	}
	rd.left--
	*r = rd.last.record
	return true, nil
}

// read makes the next record the last one.
func (rd *recordReader) read() error {
	if len(rd.buf)-rd.pos < maxEncodedRecord && !rd.ended {
		if err := rd.fill(); err != nil {
			return err
		}
	}
	if len(rd.blocks) > 0 && rd.blocks[0].first == rd.number {
		rd.blocks = rd.blocks[1:]
		rd.last = lastRecord{}
	}
	n, err := rd.last.decode(rd.buf[rd.pos:])
	rd.pos += n
	rd.number++
	return err
}

// fill reads as much as there is room for.
func (rd *recordReader) fill() error {
	n := copy(rd.buf[:cap(rd.buf)], rd.buf[rd.pos:])
	m, err := io.ReadFull(rd.src, rd.buf[n:cap(rd.buf)])
	rd.buf, rd.pos = rd.buf[:n+m], 0
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		rd.ended, err = true, nil
	}
	if err != nil {
		return fmt.Errorf("reading a temporary file: %w", err)
	}
	return nil
}
