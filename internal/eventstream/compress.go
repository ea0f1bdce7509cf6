package eventstream

import (
	"io"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// The names of codecs of whole streams.
const (
	NoCompression = "none"
	Zstd          = "zstd"
	Gzip          = "gzip"
)

var codecs = []string{Zstd, Gzip, NoCompression}

// Codecs returns the names of all codecs.
func Codecs() []string { return slices.Clone(codecs) }

// Suffix returns what a codec adds to the name of a file; false if there is no such codec.
func Suffix(codec string) (suffix string, ok bool) {
	switch codec {
	case Zstd:
		return ".zst", true
	case Gzip:
		return ".gz", true
	}
	return "", codec == NoCompression
}

// zstdWindow is the distance over which zstd finds repetitions. A larger one takes more memory and gains little.
const zstdWindow = 4 << 20

// Compress returns a writer that compresses what is written to w. Close ends the stream and leaves w open.
func Compress(w io.Writer, codec string) (io.WriteCloser, error) {
	switch codec {
	case Zstd:
		return zstd.NewWriter(w, zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(zstdWindow), zstd.WithLowerEncoderMem(true))
	case Gzip:
		return gzip.NewWriter(w), nil
	}
	return plain{w}, nil
}

// plain does not compress.
type plain struct{ io.Writer }

// Close does nothing.
func (plain) Close() error { return nil }
