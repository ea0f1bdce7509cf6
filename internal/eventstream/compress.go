package eventstream

import (
	"io"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Names of codecs for whole streams.
const (
	NoCompression = "none"
	Zstd          = "zstd"
	Gzip          = "gzip"
)

var codecs = []string{Zstd, Gzip, NoCompression}

// Codecs returns the names of the codecs.
func Codecs() []string { return slices.Clone(codecs) }

// Suffix returns the file name suffix of a codec, or false if the codec is unknown.
func Suffix(codec string) (suffix string, ok bool) {
	switch codec {
	case Zstd:
		return ".zst", true
	case Gzip:
		return ".gz", true
	}
	return "", codec == NoCompression
}

// zstdWindow is the distance over which zstd finds repetitions. A larger window takes more memory and gains little.
const zstdWindow = 4 << 20

// Compress returns a writer that compresses to w. Close ends the stream without closing w.
func Compress(w io.Writer, codec string) (io.WriteCloser, error) {
	switch codec {
	case Zstd:
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(zstdWindow), zstd.WithLowerEncoderMem(true))
	case Gzip:
		return gzip.NewWriter(w), nil
	}
	return plain{w}, nil
}

// plain is the codec without compression.
type plain struct{ io.Writer }

// Close does nothing.
func (plain) Close() error { return nil }
