package firefox

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/weft-trace/weft/internal/jsonscan"
)

// slabs holds the parts of a JSLB container (section 3). One slab is the JSON of the profile. In JSON, {"$s":N} refers
// to slab N, which is JSON itself or a list of numbers.
type slabs struct {
	size      int64 // file size
	list      []slab
	root      int
	truncated bool  // some slabs are missing or incomplete
	used      int64 // total bytes of the slabs referenced so far
}

// slab is one part of the file.
type slab struct {
	kind   slabKind
	data   []byte
	offset int64 // offset in the file
}

// slabKind is the type of a slab, numbered as in the file.
type slabKind uint32

const (
	slabInt8 slabKind = iota
	slabUint8
	slabInt16
	slabUint16
	slabInt32
	slabUint32
	slabFloat32
	slabFloat64
	slabInt64
	slabUint64
	slabJSON
)

// slabSizes holds the size of a number, by slab type.
var slabSizes = [slabJSON]int{1, 1, 2, 2, 4, 4, 4, 8, 8, 8}

const (
	jslbMagic     = "\xDC\xDF\x4AS\x4CB\x01\x00"
	jslbHeader    = len(jslbMagic) + 12
	jslbEntry     = 12
	jslbVersion   = 1
	maxJSLB       = min(4<<30, math.MaxInt/4) // offsets have 32 bits, and the whole file is in memory
	slabReference = `{"$s":`

	// maxSlabUse limits the bytes read from slabs to a multiple of the file size: a profile refers to each list once,
	// so more means circular references or a hostile input.
	maxSlabUse = 8
)

// readSlabs reads a whole container into memory, because its JSON refers to slabs in any order. If the file
// ends early, the data of some slabs is cut or empty.
func readSlabs(r io.Reader) (*slabs, error) {
	file, err := io.ReadAll(io.LimitReader(r, maxJSLB+1))
	switch {
	case err != nil:
		return nil, err
	case len(file) > maxJSLB:
		return nil, fmt.Errorf("a JSLB container of more than %d MiB", int64(maxJSLB)>>20)
	case len(file) < jslbHeader:
		return nil, fmt.Errorf("byte %d: the header of the JSLB container is truncated", len(file))
	}
	le := binary.LittleEndian
	header := file[len(jslbMagic):]
	version, count, root := le.Uint32(header), int64(le.Uint32(header[4:])), le.Uint32(header[8:])
	if version != jslbVersion {
		return nil, fmt.Errorf("version %d of the JSLB container is unknown", version)
	}
	if int64(len(file)-jslbHeader) < count*jslbEntry || int64(root) >= count {
		return nil, fmt.Errorf("byte %d: the table of %d slabs of the JSLB container is truncated", len(file), count)
	}
	s := &slabs{size: int64(len(file)), list: make([]slab, count), root: int(root)}
	for i := range s.list {
		entry := file[jslbHeader+i*jslbEntry:]
		kind, offset, length := slabKind(le.Uint32(entry)), uint64(le.Uint32(entry[4:])), uint64(le.Uint32(entry[8:]))
		if kind > slabJSON {
			return nil, fmt.Errorf("byte %d: slab %d of the JSLB container has an unknown type", jslbHeader+i*jslbEntry, i)
		}
		start, end := min(offset, uint64(len(file))), min(offset+length, uint64(len(file)))
		s.truncated = s.truncated || end < offset+length
		s.list[i] = slab{kind, file[start:end], int64(offset)}
	}
	if s.list[s.root].kind != slabJSON {
		return nil, errors.New("the root slab of the JSLB container is not JSON")
	}
	return s, nil
}

// scanner returns a scanner over the JSON of a slab, or over its numbers as JSON.
func (s *slabs) scanner(i int) *jsonscan.Scanner {
	slab := s.list[i]
	if slab.kind != slabJSON {
		return jsonscan.New(&numberReader{slab: slab})
	}
	scanner := new(jsonscan.Scanner)
	scanner.ResetAt(slab.data, slab.offset)
	return scanner
}

// slab reads a reference to a slab and returns a scanner over the slab, or nil if the next value is not a reference.
func (d *decoder) slab() (*jsonscan.Scanner, error) {
	if d.slabs == nil {
		return nil, nil
	}
	var index int64 = -1
	err := d.Unit(func() {
		index = -1
		if !bytes.HasPrefix(d.S.Window(), []byte(slabReference)) {
			return
		}
		d.S.Advance(len(slabReference))
		if kind, text := d.S.Value(); kind == jsonscan.Integer {
			index, _ = jsonscan.Int64(text)
		}
		if _, more := d.S.Key(); more {
			index = math.MaxInt64 // not a reference, though it starts like one
		}
	})
	switch {
	case err != nil:
		return nil, err
	case index < 0:
		return nil, nil
	case index >= int64(len(d.slabs.list)):
		return nil, d.Failed(fmt.Errorf("there is no slab %d", index))
	}
	d.slabs.used += int64(len(d.slabs.list[index].data))
	if d.slabs.used > maxSlabUse*d.slabs.size {
		return nil, d.Failed(errors.New("the slabs of the JSLB container are used too often"))
	}
	return d.slabs.scanner(int(index)), nil
}

// numberReader returns the numbers of a slab as a JSON list.
type numberReader struct {
	slab slab
	next int
	text []byte // unread text
}

// numbersAtOnce is how many numbers are converted at a time.
const numbersAtOnce = 1 << 12

// Read implements io.Reader.
func (r *numberReader) Read(p []byte) (int, error) {
	if len(r.text) == 0 {
		r.write()
	}
	if len(r.text) == 0 {
		return 0, io.EOF
	}
	n := copy(p, r.text)
	r.text = r.text[n:]
	return n, nil
}

// write fills text with the next numbers; it does nothing after the end of the list.
func (r *numberReader) write() {
	count := len(r.slab.data) / slabSizes[r.slab.kind]
	if r.next > count {
		return
	}
	r.text = r.text[:0]
	if r.next == 0 {
		r.text = append(r.text, '[')
	}
	for range numbersAtOnce {
		if r.next == count {
			r.text = append(r.text, ']')
			r.next++
			return
		}
		r.text = append(r.slab.appendNumber(r.text, r.next), ',')
		r.next++
		if r.next == count {
			r.text = r.text[:len(r.text)-1]
		}
	}
}

// appendNumber appends number i of a slab as JSON. Values that JSON cannot represent become null.
func (s *slab) appendNumber(b []byte, i int) []byte {
	le := binary.LittleEndian
	at := s.data[i*slabSizes[s.kind]:]
	switch s.kind {
	case slabInt8:
		return strconv.AppendInt(b, int64(int8(at[0])), 10)
	case slabUint8:
		return strconv.AppendUint(b, uint64(at[0]), 10)
	case slabInt16:
		return strconv.AppendInt(b, int64(int16(le.Uint16(at))), 10)
	case slabUint16:
		return strconv.AppendUint(b, uint64(le.Uint16(at)), 10)
	case slabInt32:
		return strconv.AppendInt(b, int64(int32(le.Uint32(at))), 10)
	case slabUint32:
		return strconv.AppendUint(b, uint64(le.Uint32(at)), 10)
	case slabInt64:
		return strconv.AppendInt(b, int64(le.Uint64(at)), 10)
	case slabUint64:
		return strconv.AppendUint(b, le.Uint64(at), 10)
	case slabFloat32:
		return appendFloat(b, float64(math.Float32frombits(le.Uint32(at))), 32)
	}
	return appendFloat(b, math.Float64frombits(le.Uint64(at)), 64)
}

func appendFloat(b []byte, f float64, bits int) []byte {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return append(b, "null"...)
	}
	return strconv.AppendFloat(b, f, 'g', -1, bits)
}
