package inputs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/klauspost/compress/flate"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zip"
	"github.com/klauspost/compress/zstd"
)

const (
	// maxContainers limits nesting: a zip archive of a .json.gz is common, but deeper nesting is not.
	maxContainers = 3

	// maxZipSize limits the temporary copy of a zip archive; the copy is necessary because the directory of an archive is at its
	// end.
	maxZipSize = 16 << 30

	// maxZstdWindow equals the default limit of the zstd program.
	maxZstdWindow = 128 << 20

	maxNamesShown = 8 // number of zip archive members listed in a message
)

// A Source returns the bytes of a trace: unpacked, read ahead and counted.
type Source struct {
	io.Reader
	Containers []string // "gzip", "zstd", "zip"; outermost first

	ctx       context.Context
	cancel    context.CancelFunc
	taken     func() int64 // number of bytes read from the caller's reader
	layers    []*readAhead // one per container
	unpackers []*containerReader
	closes    []func()
}

// Unpack recognizes containers by their magic bytes and unpacks them (chrome-json.md 2).
func Unpack(ctx context.Context, src io.Reader, tempDir string) (*Source, error) {
	ctx, cancel := context.WithCancel(ctx)
	s := &Source{ctx: ctx, cancel: cancel}
	if memory, ok := src.(*bytes.Reader); ok {
		// Memory needs no reading ahead.
		size := int64(memory.Len())
		s.Reader, s.taken = memoryReader{ctx, memory}, func() int64 { return size }
	} else {
		in := newReadAhead(ctx, src)
		s.Reader, s.taken = in, in.taken.Load
	}
	for range maxContainers {
		br := bufio.NewReaderSize(s.Reader, 4<<10)
		s.Reader = br
		magic, err := br.Peek(4)
		if err != nil && err != io.EOF {
			s.Close()
			return nil, err
		}
		name, unpacked, err := s.unpack(magic, br, tempDir)
		if err != nil {
			s.Close()
			return nil, err
		}
		if unpacked == nil {
			break
		}
		c := &containerReader{name: name, r: unpacked}
		s.unpackers = append(s.unpackers, c)
		layer := newReadAhead(ctx, c)
		s.Containers = append(s.Containers, name)
		s.layers = append(s.layers, layer)
		s.Reader = layer
	}
	return s, nil
}

// A memoryReader reads from memory until its context is done.
type memoryReader struct {
	ctx context.Context
	r   *bytes.Reader
}

func (m memoryReader) Read(p []byte) (int, error) {
	if m.ctx.Err() != nil {
		return 0, context.Cause(m.ctx)
	}
	return m.r.Read(p)
}

// UnpackStrict returns the content of src, unpacked if it is packed with gzip, zstd or zip. Containers are recognized by content
// and may be nested. A zip archive must contain exactly one file; the archive is copied to a temporary file in tempDir ("":
// os.TempDir), which Close removes. Reads fail when ctx is done, and after the readable part of a truncated or damaged container.
func UnpackStrict(ctx context.Context, src io.Reader, tempDir string) (io.ReadCloser, error) {
	s, err := Unpack(ctx, src, tempDir)
	if err != nil {
		return nil, err
	}
	return strictSource{s}, nil
}

// strictSource is a Source that reports damage as an error.
type strictSource struct{ *Source }

func (s strictSource) Read(p []byte) (int, error) {
	n, err := s.Source.Read(p)
	if err == io.EOF {
		if damage := s.Damage(); damage != nil {
			return n, damage
		}
	}
	return n, err
}

// PackedBytes returns the number of bytes read from the caller's reader.
func (s *Source) PackedBytes() int64 { return s.taken() }

// Close stops the goroutines and removes temporary files. It waits for everything except a blocked Read of the caller's reader.
func (s *Source) Close() error {
	s.cancel()
	for _, layer := range s.layers {
		<-layer.done
	}
	for _, f := range s.closes {
		f()
	}
	s.closes = nil
	return nil
}

// IsGzip reports whether data starts like a gzip member.
func IsGzip(head []byte) bool { return bytes.HasPrefix(head, []byte{0x1F, 0x8B}) }

// IsZstd reports whether data starts like a zstd frame.
func IsZstd(head []byte) bool { return bytes.HasPrefix(head, []byte{0x28, 0xB5, 0x2F, 0xFD}) }

// unpack returns the content of the container in br, or nil if br is not packed.
func (s *Source) unpack(magic []byte, br *bufio.Reader, tempDir string) (string, io.Reader, error) {
	switch {
	case IsGzip(magic):
		r, err := gzip.NewReader(br) // reads several members as one stream
		if err != nil {
			return "", nil, fmt.Errorf("gzip: %w", noEOF(err))
		}
		return "gzip", r, nil
	case IsZstd(magic):
		r, err := NewZstd(br)
		if err != nil {
			return "", nil, fmt.Errorf("zstd: %w", noEOF(err))
		}
		s.closes = append(s.closes, r.Close)
		return "zstd", r, nil
	case bytes.HasPrefix(magic, []byte("PK\x03\x04")), bytes.HasPrefix(magic, []byte("PK\x05\x06")):
		r, err := s.openZip(br, tempDir)
		if err != nil {
			return "", nil, fmt.Errorf("zip: %w", noEOF(err))
		}
		return "zip", r, nil
	}
	return "", nil, nil
}

// NewZstd returns a decoder for the zstd frames in r, with weft's memory limit.
func NewZstd(r io.Reader) (*zstd.Decoder, error) {
	// One worker: the read-ahead already runs concurrently.
	return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
}

// openZip copies an archive to a temporary file, because its directory comes last, and opens its only member.
func (s *Source) openZip(r io.Reader, tempDir string) (io.Reader, error) {
	f, err := os.CreateTemp(tempDir, "weft-zip-*")
	if err != nil {
		return nil, fmt.Errorf("temporary file: %w", err)
	}
	os.Remove(f.Name()) // if the system allows it, so that no file is left even after a crash
	s.closes = append(s.closes, func() {
		f.Close()
		os.Remove(f.Name())
	})
	size, err := io.Copy(f, io.LimitReader(r, maxZipSize+1))
	if err != nil {
		return nil, err
	}
	if size > maxZipSize {
		return nil, fmt.Errorf("the archive is larger than %d GiB; unpack it first", maxZipSize>>30)
	}
	archive, err := OpenZip(f, size)
	if err != nil {
		return nil, err
	}
	member, err := onlyMember(archive.File)
	if err != nil {
		return nil, err
	}
	content, err := member.Open()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", member.Name, err)
	}
	s.closes = append(s.closes, func() { content.Close() })
	return content, nil
}

// IsClutter reports whether an archive member is a folder or a file that archivers add automatically.
func IsClutter(name string) bool {
	return strings.HasSuffix(name, "/") || strings.HasPrefix(name, "__MACOSX/") || path.Base(name) == ".DS_Store"
}

// OpenZip reads the directory of a zip archive. The reader also supports members compressed with zstd.
func OpenZip(f io.ReaderAt, size int64) (*zip.Reader, error) {
	archive, err := zip.NewReader(f, size)
	if err == nil {
		archive.RegisterDecompressor(zstd.ZipMethodWinZip, zstd.ZipDecompressor())
	}
	return archive, err
}

// onlyMember returns the only file in an archive.
func onlyMember(files []*zip.File) (*zip.File, error) {
	var members []*zip.File
	for _, f := range files {
		if !IsClutter(f.Name) {
			members = append(members, f)
		}
	}
	const encrypted = 1
	switch {
	case len(members) == 0:
		return nil, errors.New("the archive contains no files")
	case len(members) > 1:
		var names []string
		for _, f := range members[:min(len(members), maxNamesShown)] {
			names = append(names, fmt.Sprintf("%q", f.Name))
		}
		if len(members) > maxNamesShown {
			names = append(names, "…")
		}
		return nil, fmt.Errorf("the archive contains %d files (%s); unpack the one to convert", len(members),
			strings.Join(names, ", "))
	case members[0].Flags&encrypted != 0:
		return nil, fmt.Errorf("%q is encrypted; unpack it first", members[0].Name)
	}
	return members[0], nil
}

// A containerReader adds the name of the container and the number of unpacked bytes to errors.
type containerReader struct {
	name   string
	r      io.Reader
	n      int64
	damage error // reason for an early end; set before the reading goroutine passes io.EOF on
}

func (c *containerReader) Read(p []byte) (int, error) {
	if c.damage != nil {
		return 0, io.EOF
	}
	n, err := c.r.Read(p)
	c.n += int64(n)
	if err == nil || err == io.EOF {
		return n, err
	}
	err = fmt.Errorf("%s: %w after %d unpacked bytes", c.name, err, c.n)
	if c.n > 0 && isDamage(err) {
		// Use the part that was unpacked, as for a truncated file.
		c.damage = err
		return n, io.EOF
	}
	return n, err
}

// isDamage reports whether an error means that the stream is truncated or broken, as opposed to an unreadable source.
func isDamage(err error) bool {
	var corrupt flate.CorruptInputError
	return errors.As(err, &corrupt) || slices.ContainsFunc([]error{
		io.ErrUnexpectedEOF, gzip.ErrHeader, gzip.ErrChecksum, zip.ErrChecksum, zip.ErrFormat,
		zstd.ErrMagicMismatch, zstd.ErrCRCMismatch, zstd.ErrReservedBlockType, zstd.ErrCompressedSizeTooBig,
		zstd.ErrBlockTooSmall, zstd.ErrUnexpectedBlockSize,
	}, func(damage error) bool { return errors.Is(err, damage) })
}

// Damage returns the reason why a container ended early, or nil. It is final once the source has returned io.EOF.
func (s *Source) Damage() error {
	for _, c := range s.unpackers {
		if c.damage != nil {
			return c.damage
		}
	}
	return nil
}

// noEOF replaces io.EOF, which means an early end here, with io.ErrUnexpectedEOF.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
