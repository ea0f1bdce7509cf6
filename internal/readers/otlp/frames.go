package otlp

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/zstd"

	"github.com/weft-trace/weft/internal/inputs"
	"github.com/weft-trace/weft/internal/problem"
)

// frameReader reads length-prefixed messages: protobuf or JSON, optionally compressed with zstd (section 1).
type frameReader struct {
	*protoReader // reads the file
	zstd         *zstd.Decoder
	inner        *bufio.Reader // content of a message
	json         *jsonReader
}

func readFrames(in *bufio.Reader, form form, c *collector) error {
	f := &frameReader{protoReader: newProtoReader(in, c)}
	defer func() {
		if f.zstd != nil {
			f.zstd.Close()
		}
	}()
	for {
		offset := f.at
		size, err := f.frame(form)
		switch {
		case err == io.EOF:
			return nil
		case err == nil && f.isPacked(size):
			err = f.packed(offset, size)
		case err == nil:
			err = f.traces(size)
		}
		if err != nil {
			return f.failed(err)
		}
	}
}

// isPacked reports whether the next message, of the given size, is anything but uncompressed protobuf.
func (f *frameReader) isPacked(size int64) bool {
	head, _ := f.in.Peek(int(min(size, headSize)))
	return inputs.IsZstd(head) || isJSON(head)
}

// headSize is the number of bytes that identify a message: JSON may have leading white space.
const headSize = 16

// isJSON reports whether a message starts like a JSON object. The brace alone is not enough: "\n{" also starts a
// protobuf message whose first field has 123 bytes.
func isJSON(head []byte) bool {
	if firstByte(head) != '{' {
		return false
	}
	_, inside, _ := bytes.Cut(head, []byte("{"))
	inside = bytes.TrimLeft(inside, whiteSpace)
	return len(inside) == 0 || inside[0] == '}' || inside[0] == '"' && (len(inside) == 1 || inside[1] > ' ')
}

// packed reads a compressed or JSON message. Damage makes the rest of the message unreadable; the damage is counted at the start
// of the message.
func (f *frameReader) packed(offset, size int64) error {
	m := &packedMessage{from: f.protoReader, remaining: size}
	err := f.content(m, offset)
	switch {
	case m.failed != nil:
		return m.failed
	case f.c.failed != nil:
		return f.c.failed
	case m.truncated:
		return errTruncated
	case err != nil:
		f.c.log.Add(problem.OTLPMessageMalformed, at(offset), err.Error())
	}
	return f.skip(m.remaining)
}

// content reads the content of a message.
func (f *frameReader) content(m *packedMessage, offset int64) error {
	var in io.Reader = m
	if head, _ := f.in.Peek(int(min(m.remaining, 4))); inputs.IsZstd(head) {
		if err := f.decompress(m); err != nil {
			return err
		}
		in = f.zstd
	}
	if f.inner == nil {
		f.inner = bufio.NewReaderSize(nil, detectWithin)
	}
	f.inner.Reset(in)
	head, err := f.inner.Peek(headSize)
	if len(head) == 0 && err != io.EOF {
		return err
	}
	if !isJSON(head) {
		inner := newProtoReader(f.inner, f.c)
		inner.container = offset
		return inner.traces(math.MaxInt64)
	}
	if f.json == nil {
		f.json = newJSONReader(f.inner, f.c)
	}
	f.json.S.Attach(f.inner, 0)
	f.json.StartPiece(at(offset))
	return f.json.document()
}

// decompress makes the zstd decoder read m.
func (f *frameReader) decompress(m *packedMessage) (err error) {
	if f.zstd == nil {
		f.zstd, err = inputs.NewZstd(m)
	} else {
		err = f.zstd.Reset(m)
	}
	if err != nil {
		return fmt.Errorf("zstd: %w", err)
	}
	return nil
}

// packedMessage reads the rest of a message in the file.
type packedMessage struct {
	from      *protoReader
	remaining int64
	truncated bool  // the file ends inside the message
	failed    error // error from the file
}

// Read reads from the message.
func (m *packedMessage) Read(p []byte) (int, error) {
	if m.remaining == 0 {
		return 0, io.EOF
	}
	n, err := m.from.in.Read(p[:min(int64(len(p)), m.remaining)])
	m.from.at += int64(n)
	m.remaining -= int64(n)
	switch {
	case errors.Is(err, io.EOF):
		m.truncated = true
	case err != nil:
		m.failed = err
	}
	return n, err
}
