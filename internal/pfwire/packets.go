package pfwire

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/weft-trace/weft/internal/pfwire/message"
	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// Limits of a PacketReader. Packets in real traces have a few hundred bytes, and at most a few megabytes.
const (
	// MaxPacketSize is the size of the largest packet that is read, in bytes. Larger ones are skipped.
	MaxPacketSize = 256 << 20
	// MaxBundleSize is the largest unpacked size of a bundle, in bytes. Perfetto's own writers stay far below 1 MiB; the limit
	// protects against bundles made to exhaust memory.
	MaxBundleSize = 64 << 20
)

// Codec is the compression of a bundle of packets.
type Codec uint8

const (
	// NoCodec marks a packet outside bundles.
	NoCodec Codec = iota
	// Zlib is a compressed_packets bundle that is a zlib stream.
	Zlib
	// Gzip is a compressed_packets bundle that is a gzip stream.
	Gzip
	// Zstd is a zstd_compressed_packets bundle, which Perfetto v58 and later read.
	Zstd
)

// String returns "none", "zlib", "gzip" or "zstd".
func (c Codec) String() string {
	switch c {
	case NoCodec:
		return "none"
	case Zlib:
		return "zlib"
	case Gzip:
		return "gzip"
	case Zstd:
		return "zstd"
	}
	return fmt.Sprintf("Codec(%d)", uint8(c))
}

// Bundle describes the compressed bundle that contains a packet. The zero Bundle means no bundle.
type Bundle struct {
	Number   int64 // counts the bundles of the file from 1
	Codec    Codec
	Packed   int // bytes of the compressed stream
	Unpacked int // bytes of the packets, framing included
}

// Packet is one packet of a trace.
type Packet struct {
	// Index counts the packets of the trace from 0, including those in bundles, but not the bundles themselves.
	Index int64
	// Offset is the byte offset of the tag of the packet's field in the file. Packets in a bundle have the bundle's offset.
	Offset int64
	Bundle Bundle
	// Bytes is the encoded TracePacket. It is valid until the next call to PacketReader.Next.
	Bytes []byte
	// Fields are the decoded contents of Bytes, valid until Bytes changes. Err is the error that ended decoding early.
	Fields *message.TracePacket
	Err    error
}

// Errors inside a PacketError.
var (
	// ErrFraming: the bytes are not a field of a trace; the following packets cannot be found.
	ErrFraming = errors.New("no field of a Perfetto trace")
	// ErrPacketSize: a packet is larger than MaxPacketSize.
	ErrPacketSize = errors.New("packet is too large")
	// ErrBundle: a bundle is not a valid stream of its codec, or has incomplete packets.
	ErrBundle = errors.New("broken bundle of compressed packets")
	// ErrBundleSize: the unpacked size of a bundle exceeds MaxBundleSize.
	ErrBundleSize = errors.New("bundle of compressed packets is too large")
	// ErrNestedBundle: a bundle contains a bundle, which Perfetto does not read.
	ErrNestedBundle = errors.New("bundle inside a bundle")
)

// PacketError reports a position in a trace at which no packet can be read.
type PacketError struct {
	Index  int64 // index of the packet, or of the first lost one
	Offset int64 // as in Packet
	Err    error // wraps one of the errors above
}

// Error returns the position and cause: "packet 12 (byte 3456): …".
func (e *PacketError) Error() string {
	return fmt.Sprintf("packet %d (byte %d): %v", e.Index, e.Offset, e.Err)
}

// Unwrap returns the cause.
func (e *PacketError) Unwrap() error { return e.Err }

// PacketReader reads the packets of a trace one by one, including those in compressed bundles (perfetto.md 15). It does not
// interpret them. MaxPacketSize and MaxBundleSize limit its memory, which is small for traces with small packets: whatever
// lengths the input claims, the reader allocates memory only for bytes that are there.
type PacketReader struct {
	src       io.Reader
	srcErr    error
	buf       []byte
	pos       int   // position of the next byte in buf
	base      int64 // offset of buf[0] in the file
	index     int64
	ended     bool
	truncated bool

	bundle   Bundle // the bundle that inside and unpacked belong to
	bundleAt int64
	bundles  int64
	inside   wire.Reader
	fields   message.TracePacket
	in       bool // inside has packets left
	unpacked []byte
	packed   bytes.Reader
	zlib     io.ReadCloser
	gzip     *gzip.Reader
	zstd     *zstd.Decoder

	maxPacket, maxBundle int

	// Hooks for the verifier; may be nil.
	OnField  func(field int, offset int64)           // a field that is not a packet was skipped
	OnBundle func(b Bundle, offset int64, extra int) // a bundle was unpacked; extra bytes follow the stream
}

// NewPacketReader returns a PacketReader for the trace in src, which must not be compressed as a whole.
func NewPacketReader(src io.Reader) *PacketReader {
	return &PacketReader{src: src, buf: make([]byte, 0, 256<<10), maxPacket: MaxPacketSize, maxBundle: MaxBundleSize}
}

// Next returns the next packet, or io.EOF after the last packet. A packet truncated by the end of the file ends the trace (see
// Truncated). An error of type *PacketError concerns one position: the next call continues after this position, or returns io.EOF
// if it cannot continue. Any other error comes from the source and is permanent.
func (r *PacketReader) Next() (Packet, error) {
	for {
		if r.in {
			if p, ok, err := r.nextInside(); ok || err != nil {
				return p, err
			}
			continue
		}
		if r.ended {
			return Packet{}, io.EOF
		}
		at := r.Offset()
		body, ok, err := r.nextField(at)
		if err != nil {
			return Packet{}, err
		}
		if !ok {
			continue
		}
		err = r.fields.Parse(body)
		if r.fields.Bundle == nil {
			p := Packet{Index: r.index, Offset: at, Bytes: body, Fields: &r.fields, Err: err}
			r.index++
			return p, nil
		}
		if err := r.openBundle(bundleCodec(&r.fields), r.fields.Bundle, at); err != nil {
			return Packet{}, err
		}
	}
}

// Truncated reports whether the file ends in the middle of a packet, and where that packet starts. It is valid once Next has
// returned io.EOF.
func (r *PacketReader) Truncated() (offset int64, truncated bool) { return r.Offset(), r.truncated }

// Offset returns the number of bytes of the file that have been read as packets so far.
func (r *PacketReader) Offset() int64 { return r.base + int64(r.pos) }

// Unread returns the number of bytes read from the source but not yet as packets.
func (r *PacketReader) Unread() int { return len(r.buf) - r.pos }

func (r *PacketReader) errorAt(at int64, err error) error {
	return &PacketError{Index: r.index, Offset: at, Err: err}
}

// nextField reads one field of Trace. ok is false if the field is not a packet, or at the end of the file.
func (r *PacketReader) nextField(at int64) (body []byte, ok bool, err error) {
	tag, size, n := r.peekHeader()
	switch {
	case n == 0 && r.srcErr != io.EOF:
		return nil, false, r.srcErr
	case n == 0: // end of the file, between fields or within a header
		r.ended = true
		r.truncated = r.Unread() > 0
		return nil, false, nil
	case n < 0:
		r.ended = true
		return nil, false, r.errorAt(at, fmt.Errorf("%w (it starts with %#x)", ErrFraming, r.buf[r.pos:min(r.pos+4, len(r.buf))]))
	}
	if tag != wire.Tag(schema.Trace_Packet, wire.Len) {
		if done, err := r.skip(n, size); !done {
			return nil, false, err
		}
		if r.OnField != nil {
			r.OnField(int(tag>>3), at)
		}
		return nil, false, nil
	}
	if size > uint64(r.maxPacket) {
		if done, err := r.skip(n, size); !done {
			return nil, false, err
		}
		err := r.errorAt(at, fmt.Errorf("%w: %d bytes, the limit is %d", ErrPacketSize, size, r.maxPacket))
		r.index++
		return nil, false, err
	}
	total := n + int(size)
	if have, err := r.fill(total); have < total {
		r.ended, r.truncated = true, err == nil
		return nil, false, err
	}
	body = r.buf[r.pos+n : r.pos+total : r.pos+total]
	r.pos += total
	return body, true, nil
}

// peekHeader reads the tag of a field of Trace and the length of its contents. n is the size of this header, 0 if the source
// ends within it, or -1 if it is invalid.
func (r *PacketReader) peekHeader() (tag uint32, size uint64, n int) {
	const longest = 10 + 10
	have, _ := r.fill(longest) // an error matters only if the header is incomplete
	head := r.buf[r.pos : r.pos+min(have, longest)]
	tag64, n := decodeVarint(head)
	if n <= 0 {
		return 0, 0, n
	}
	if tag64>>3 == 0 || tag64>>3 > wire.MaxField {
		return 0, 0, -1
	}
	tag = uint32(tag64)
	switch tag & 7 {
	case wire.Varint:
		_, m := decodeVarint(head[n:])
		if m <= 0 {
			return 0, 0, m
		}
		return tag, 0, n + m
	case wire.Fixed64:
		return tag, 8, n
	case wire.Fixed32:
		return tag, 4, n
	case wire.Len:
		size, m := decodeVarint(head[n:])
		if m <= 0 {
			return 0, 0, m
		}
		return tag, size, n + m
	}
	return 0, 0, -1
}

// decodeVarint returns the varint at the start of b and its size. The size is 0 if b ends within the varint, and -1 if the
// varint is too long.
func decodeVarint(b []byte) (v uint64, size int) {
	for i, c := range b {
		if i == 9 && c > 1 {
			return 0, -1
		}
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, i + 1
		}
	}
	return 0, 0
}

// skip skips a header of n bytes and the size bytes after it. done is false if the file ends before them.
func (r *PacketReader) skip(n int, size uint64) (done bool, err error) {
	rest := size
	step := n
	for {
		r.pos += step
		if rest == 0 {
			return true, nil
		}
		have, err := r.fill(1)
		if err != nil {
			return false, err
		}
		if have == 0 {
			r.ended, r.truncated = true, true
			return false, nil
		}
		step = int(min(rest, uint64(have)))
		rest -= uint64(step)
	}
}

// fill reads until at least n bytes are unread, or to the end of the file, and returns how many are unread. Errors come from the
// source and are never io.EOF.
func (r *PacketReader) fill(n int) (have int, err error) {
	for empty := 0; r.Unread() < n; {
		if r.srcErr == io.EOF {
			return r.Unread(), nil
		}
		if r.srcErr != nil {
			return r.Unread(), r.srcErr
		}
		r.compact()
		m, err := r.src.Read(r.buf[len(r.buf):cap(r.buf)])
		r.buf = r.buf[:len(r.buf)+m]
		if empty++; m > 0 {
			empty = 0
		}
		switch {
		case err == io.EOF:
			r.srcErr = io.EOF
		case err != nil:
			r.srcErr = fmt.Errorf("reading the trace at byte %d: %w", r.base+int64(len(r.buf)), err)
		case empty >= 100:
			r.srcErr = io.ErrNoProgress
		}
	}
	return r.Unread(), nil
}

// compact frees space in a full buffer by discarding the bytes already read, and doubles the buffer if more than half of it is
// unread. Only bytes that were read can make the buffer grow, not a length that the input claims.
func (r *PacketReader) compact() {
	if len(r.buf) < cap(r.buf) {
		return
	}
	buf := r.buf[:0]
	if r.Unread() > cap(r.buf)/2 {
		buf = make([]byte, 0, 2*cap(r.buf))
	}
	r.base += int64(r.pos)
	r.buf = append(buf, r.buf[r.pos:]...)
	r.pos = 0
}

// bundleCodec returns the compression of a packet's bundle.
func bundleCodec(f *message.TracePacket) Codec {
	switch {
	case f.BundleZstd:
		return Zstd
	case bytes.HasPrefix(f.Bundle, []byte{0x1f, 0x8b}):
		return Gzip
	}
	return Zlib
}

// nextInside returns the next packet of the current bundle. ok is false, without an error, at the end of the bundle.
func (r *PacketReader) nextInside() (p Packet, ok bool, err error) {
	for r.inside.Next() {
		if r.inside.Tag() != schema.Trace_Packet<<3|wire.Len {
			if r.OnField != nil {
				r.OnField(r.inside.Field(), r.bundleAt)
			}
			continue
		}
		body := r.inside.Bytes()
		err := r.fields.Parse(body)
		if r.fields.Bundle != nil {
			return Packet{}, false, r.errorAt(r.bundleAt, ErrNestedBundle)
		}
		p := Packet{Index: r.index, Offset: r.bundleAt, Bundle: r.bundle, Bytes: body, Fields: &r.fields, Err: err}
		r.index++
		return p, true, nil
	}
	r.in = false
	if err := r.inside.Err(); err != nil {
		return Packet{}, false, r.errorAt(r.bundleAt, fmt.Errorf("%w: at byte %d of it: %w", ErrBundle, r.inside.Offset(), err))
	}
	return Packet{}, false, nil
}

// openBundle unpacks a bundle for nextInside.
func (r *PacketReader) openBundle(codec Codec, stream []byte, at int64) error {
	r.bundles++
	r.packed.Reset(stream)
	var err error
	switch codec {
	case Zlib:
		err = r.inflateZlib()
	case Gzip:
		err = r.inflateGzip()
	case Zstd:
		err = r.unpackZstd(stream)
	}
	if err != nil {
		if !errors.Is(err, ErrBundleSize) {
			err = fmt.Errorf("%w: %w", ErrBundle, err)
		}
		return r.errorAt(at, err)
	}
	r.bundle = Bundle{Number: r.bundles, Codec: codec, Packed: len(stream), Unpacked: len(r.unpacked)}
	r.bundleAt = at
	r.inside = wire.NewReader(r.unpacked)
	r.in = true
	if r.OnBundle != nil {
		r.OnBundle(r.bundle, at, r.packed.Len())
	}
	return nil
}

func (r *PacketReader) inflateZlib() (err error) {
	if r.zlib == nil {
		r.zlib, err = zlib.NewReader(&r.packed)
	} else {
		err = r.zlib.(zlib.Resetter).Reset(&r.packed, nil)
	}
	if err != nil {
		return err
	}
	return r.readUnpacked(r.zlib)
}

func (r *PacketReader) inflateGzip() (err error) {
	if r.gzip == nil {
		r.gzip = new(gzip.Reader)
	}
	if err := r.gzip.Reset(&r.packed); err != nil {
		return err
	}
	return r.readUnpacked(r.gzip)
}

func (r *PacketReader) unpackZstd(stream []byte) (err error) {
	if r.zstd == nil {
		// One goroutine and no history suffice: bundles are small and unpacked one by one.
		r.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(uint64(r.maxBundle)))
		if err != nil {
			return err
		}
	}
	r.packed.Reset(nil) // DecodeAll reads the whole stream, or fails
	r.unpacked, err = r.zstd.DecodeAll(stream, r.unpacked[:0])
	if errors.Is(err, zstd.ErrDecoderSizeExceeded) || errors.Is(err, zstd.ErrWindowSizeExceeded) || len(r.unpacked) > r.maxBundle {
		return fmt.Errorf("%w: more than %d bytes", ErrBundleSize, r.maxBundle)
	}
	return err
}

// readUnpacked reads all of src into r.unpacked.
func (r *PacketReader) readUnpacked(src io.Reader) error {
	out := r.unpacked[:0]
	for {
		if len(out) == cap(out) {
			out = append(out, make([]byte, max(64<<10, len(out)))...)[:len(out)]
		}
		n, err := src.Read(out[len(out):cap(out)])
		out = out[:len(out)+n]
		r.unpacked = out
		if len(out) > r.maxBundle {
			return fmt.Errorf("%w: more than %d bytes", ErrBundleSize, r.maxBundle)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
