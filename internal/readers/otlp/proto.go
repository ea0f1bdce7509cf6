package otlp

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/weft-trace/weft/internal/problem"
	"github.com/weft-trace/weft/internal/wire"
)

// maxMessage is the maximum size of a span, resource or scope, which are read into memory as a whole.
const maxMessage = 256 << 20

// protoReader reads TracesData of any size as a stream, with only one span, resource or scope in memory at a time.
type protoReader struct {
	in        *bufio.Reader
	at        int64 // offset of the next byte
	container int64 // offset of the enclosing compressed message; -1: none
	c         *collector
	buf       []byte
}

// errTruncated reports that the input, or the enclosing message, ends inside a field.
var errTruncated = errors.New("the input ends in the middle of a message")

func newProtoReader(in *bufio.Reader, c *collector) *protoReader {
	return &protoReader{in: in, c: c, container: -1}
}

// readProto reads a protobuf file.
func readProto(in *bufio.Reader, form form, c *collector) error {
	r := newProtoReader(in, c)
	err := error(nil)
	if form != formPlain {
		err = readFrames(in, form, c)
	} else if err = r.traces(math.MaxInt64); err != nil {
		err = r.failed(err)
	}
	if err == nil && c.hasOthers && !c.hasSpans {
		return ErrNoSpans
	}
	return err
}

// offset returns the offset of the next byte, or of the enclosing message.
func (r *protoReader) offset() int64 {
	if r.container >= 0 {
		return r.container
	}
	return r.at
}

// failed counts damage that ends reading, but returns errors from the input itself.
func (r *protoReader) failed(err error) error {
	if err != errTruncated && !errors.Is(err, errField) {
		return fmt.Errorf("byte %d: %w", r.at, err)
	}
	r.c.log.Add(problem.OTLPMessageMalformed, at(r.offset()), err.Error())
	return nil
}

// frame reads the length before a message; it returns io.EOF at the end of the input.
func (r *protoReader) frame(form form) (int64, error) {
	if form == formVarint {
		size, err := r.varint()
		if err == nil && size > math.MaxInt64 {
			err = errField
		}
		return int64(size), err
	}
	var head [4]byte
	n, err := io.ReadFull(r.in, head[:])
	r.at += int64(n)
	if err == io.ErrUnexpectedEOF {
		err = errTruncated
	}
	return int64(binary.BigEndian.Uint32(head[:])), err
}

// errField reports an invalid field; the rest of the message is unreadable.
var errField = errors.New("not a message of protobuf")

// varint reads a varint; it returns io.EOF if the input ends before it.
func (r *protoReader) varint() (v uint64, err error) {
	for i := range binary.MaxVarintLen64 {
		c, err := r.in.ReadByte()
		if err == io.EOF && i > 0 {
			return 0, errTruncated
		} else if err != nil {
			return 0, err
		}
		r.at++
		if i == binary.MaxVarintLen64-1 && c > 1 {
			return 0, errField
		}
		v |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return v, nil
		}
	}
	return 0, errField
}

// fields reads the fields of a message that ends at the given offset or, if earlier, at the end of the input. The
// callback take reads known length-delimited fields, and reports whether it read the given field. Damage ends the
// message.
func (r *protoReader) fields(message string, end int64, take func(number int, size int64) (bool, error)) error {
	for r.at < end {
		tag, err := r.varint()
		if err == io.EOF && end == math.MaxInt64 {
			return nil
		}
		if err == nil {
			err = r.field(message, tag, end, take)
		}
		switch {
		case err == io.EOF:
			return errTruncated
		case errors.Is(err, errField):
			r.c.log.Add(problem.OTLPMessageMalformed, at(r.offset()), "in "+message)
			if end == math.MaxInt64 {
				return nil
			}
			return r.skip(end - r.at)
		case err != nil:
			return err
		}
	}
	return nil
}

// Messages that contain spans.
const (
	tracesMessage        = "TracesData"
	resourceSpansMessage = "ResourceSpans"
	scopeSpansMessage    = "ScopeSpans"
)

// field reads a field after its tag.
func (r *protoReader) field(message string, tag uint64, end int64, take func(number int, size int64) (bool, error)) error {
	if tag>>3 == 0 || tag>>3 > wire.MaxField {
		return errField
	}
	var size uint64
	var err error
	switch tag & 7 {
	case wire.Varint:
		_, err = r.varint()
	case wire.Fixed64:
		size = 8
	case wire.Fixed32:
		size = 4
	case wire.Len:
		size, err = r.varint()
	default:
		return errField
	}
	switch {
	case err == io.EOF:
		return errTruncated
	case err != nil:
		return err
	case r.at > end || size > uint64(end-r.at):
		return errField
	}
	if tag&7 == wire.Len {
		if known, err := take(int(tag>>3), int64(size)); known || err != nil {
			return err
		}
	}
	r.c.countUnknown(message, int(tag>>3), r.offset())
	return r.skip(int64(size))
}

func (r *protoReader) skip(n int64) error {
	for n > 0 {
		skipped, err := r.in.Discard(int(min(n, 1<<20)))
		r.at += int64(skipped)
		n -= int64(skipped)
		if err == io.EOF {
			return errTruncated
		} else if err != nil {
			return err
		}
	}
	return nil
}

// bytes returns the content of a field, valid until the next call, or nil if the content is too large.
func (r *protoReader) bytes(size int64) ([]byte, error) {
	if size > maxMessage {
		r.c.log.Add(problem.OTLPMessageMalformed, at(r.offset()), fmt.Sprintf("a message of %d bytes", size))
		return nil, r.skip(size)
	}
	r.buf = r.buf[:0]
	for remaining := int(size); remaining > 0; { // in steps: the length may be wrong
		step := min(remaining, max(len(r.buf), 64<<10))
		from := len(r.buf)
		r.buf = append(r.buf, make([]byte, step)...)
		n, err := io.ReadFull(r.in, r.buf[from:])
		r.at += int64(n)
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil, errTruncated
		} else if err != nil {
			return nil, err
		}
		remaining -= step
	}
	return r.buf, nil
}

// traces reads TracesData of the given size.
func (r *protoReader) traces(size int64) error {
	end := int64(math.MaxInt64)
	if size < end-r.at {
		end = r.at + size
	}
	return r.fields(tracesMessage, end, func(number int, size int64) (bool, error) {
		if number != tracesResourceSpans {
			return false, nil
		}
		return true, r.resourceSpans(size)
	})
}

// resourceSpans reads the spans of a resource.
func (r *protoReader) resourceSpans(size int64) error {
	res := pending{table: &r.c.resources}
	defer res.end()
	return r.fields(resourceSpansMessage, r.at+size, func(number int, size int64) (bool, error) {
		switch number {
		case resourceSpansResource:
			offset := r.offset()
			return true, r.message(size, func(encoded []byte) error {
				r.c.checkFields("Resource", resourceMessage, encoded, offset)
				return res.set(encoded)
			})
		case resourceSpansScopeSpans, resourceSpansLibraries:
			return true, r.scopeSpans(size, &res)
		case resourceSpansSchemaURL:
			return true, r.message(size, res.setSchema)
		}
		return false, nil
	})
}

// scopeSpans reads the spans of a scope.
func (r *protoReader) scopeSpans(size int64, res *pending) error {
	scope := pending{table: &r.c.scopes}
	defer scope.end()
	return r.fields(scopeSpansMessage, r.at+size, func(number int, size int64) (bool, error) {
		switch number {
		case scopeSpansScope:
			offset := r.offset()
			return true, r.message(size, func(encoded []byte) error {
				r.c.checkFields("InstrumentationScope", scopeMessage, encoded, offset)
				return scope.set(encoded)
			})
		case scopeSpansSpans:
			offset := r.offset()
			return true, r.message(size, func(encoded []byte) error {
				if !mayBeSpan(encoded) {
					r.c.hasOthers = true
					r.c.log.Add(problem.OTLPSignalSkipped, at(offset), "not a span")
					return nil
				}
				r.c.hasSpans = true
				return r.c.span(offset, res.use(), scope.use(), encoded)
			})
		case scopeSpansSchemaURL:
			return true, r.message(size, scope.setSchema)
		}
		return false, nil
	})
}

// message reads the content of a field as one unit.
func (r *protoReader) message(size int64, take func(encoded []byte) error) error {
	encoded, err := r.bytes(size)
	if err != nil || size > maxMessage {
		return err
	}
	return take(encoded)
}

// mayBeSpan reports whether a message can be a span. Metrics and log records are in messages of the same shape, but
// have fields of other types in place of a span's ids and times.
func mayBeSpan(encoded []byte) bool {
	ids := 0
	r := wire.NewReader(encoded)
	for r.Next() {
		switch r.Tag() {
		case wire.Tag(spanStart, wire.Fixed64), wire.Tag(spanEnd, wire.Fixed64):
			return true
		case wire.Tag(spanTraceID, wire.Len), wire.Tag(spanSpanID, wire.Len):
			ids += len(r.Bytes())
		}
		if ids == traceIDSize+spanIDSize {
			return true
		}
	}
	return len(encoded) == 0 || r.Err() != nil
}
