package testkit

import (
	"bytes"
	"io"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/weft-trace/weft/internal/schema"
	"github.com/weft-trace/weft/internal/wire"
)

// Zlib compresses data.
func Zlib(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := zlib.NewWriter(&out)
	mustWrite(t, w, data)
	return out.Bytes()
}

// Gzip compresses data.
func Gzip(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	mustWrite(t, w, data)
	return out.Bytes()
}

// Zstd compresses data.
func Zstd(t testing.TB, data []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out)
	if err != nil {
		t.Fatal(err)
	}
	mustWrite(t, w, data)
	return out.Bytes()
}

// mustWrite writes all of data to a compressor.
func mustWrite(t testing.TB, w io.WriteCloser, data []byte) {
	t.Helper()
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

// Packet returns a packet that is a bundle: a stream in the given field.
func Packet(field int, stream []byte) []byte {
	return wire.AppendBytes(nil, schema.Trace_Packet, wire.AppendBytes(nil, field, stream))
}

// Plain returns a packet with a timestamp and payload bytes of filler.
func Plain(ts uint64, payload int) []byte {
	body := wire.AppendUint(nil, 8, ts)
	body = wire.AppendBytes(body, 900, bytes.Repeat([]byte{'p'}, payload))
	return wire.AppendBytes(nil, schema.Trace_Packet, body)
}
