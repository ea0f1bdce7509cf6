package migrate

import (
	"bytes"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zip"
	"github.com/klauspost/compress/zstd"

	"github.com/weft-trace/weft/internal/inputs"
)

// The kinds of archives; records name them as formats.
const (
	tarArchive = "tar"
	zipArchive = "zip"
)

const (
	headSize   = 512      // enough bytes to recognise most content
	packedHead = 64 << 10 // enough packed bytes to unpack those from, and enough to recognise probe lines
)

// A sniffer looks at the first bytes of inputs. It reuses its buffers and decompressors.
type sniffer struct {
	buf, out []byte
	gzip     *gzip.Reader
	zstd     *zstd.Decoder
}

// sniff finds out whether a file is an archive, and records the start of its content. It does not move the read position.
func (s *sniffer) sniff(f io.ReaderAt, c *content) (archive string, err error) {
	n, err := s.fill(f)
	if err != nil {
		return "", err
	}
	if bytes.HasPrefix(s.buf[:n], []byte("PK\x03\x04")) {
		members, err := zipMembers(f, c.size)
		if err != nil {
			return "", nil // the conversion will report what is wrong
		}
		if len(members) > 1 {
			return zipArchive, nil
		}
		if len(members) == 1 {
			c.head = s.zipHead(members[0])
		}
		return "", nil
	}
	c.head = s.head(s.buf[:n])
	if isTar(c.head) {
		return tarArchive, nil
	}
	return "", nil
}

func (s *sniffer) fill(f io.ReaderAt) (int, error) {
	if s.buf == nil {
		s.buf, s.out = make([]byte, packedHead), make([]byte, packedHead)
	}
	n, err := f.ReadAt(s.buf[:headSize], 0)
	if err == nil && (inputs.IsGzip(s.buf) || inputs.IsZstd(s.buf) || isAmbiguous(s.buf)) {
		n, err = f.ReadAt(s.buf, 0)
	}
	if err == io.EOF {
		err = nil
	}
	return n, err
}

// isAmbiguous reports whether more than headSize bytes are needed: a newline can start a Perfetto trace, another protobuf
// file, or the text of a tracer whose probe lines come later.
func isAmbiguous(head []byte) bool { return bytes.HasPrefix(head, []byte("\n")) }

// head returns the first bytes of the unpacked content, or no bytes if it cannot be unpacked.
func (s *sniffer) head(packed []byte) []byte {
	if s.out == nil {
		s.buf, s.out = make([]byte, packedHead), make([]byte, packedHead)
	}
	var err error
	var r io.Reader
	switch src := bytes.NewReader(packed); {
	case inputs.IsGzip(packed):
		if s.gzip == nil {
			s.gzip = new(gzip.Reader)
		}
		r, err = s.gzip, s.gzip.Reset(src)
	case inputs.IsZstd(packed):
		if s.zstd == nil {
			s.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		}
		if err == nil {
			r, err = s.zstd, s.zstd.Reset(src)
		}
	case isAmbiguous(packed):
		return packed
	default:
		return packed[:min(len(packed), headSize)]
	}
	if err != nil {
		return []byte{}
	}
	n, _ := io.ReadFull(r, s.out[:headSize]) // the part of the input that is cut off is not needed
	if isAmbiguous(s.out[:n]) {
		more, _ := io.ReadFull(r, s.out[n:])
		n += more
	}
	return s.out[:n]
}

func (s *sniffer) zipHead(member *zip.File) []byte {
	r, err := member.Open()
	if err != nil {
		return nil
	}
	defer r.Close()
	n, _ := io.ReadFull(r, s.buf)
	return s.head(s.buf[:n])
}

// zipMembers returns the files of a zip archive.
func zipMembers(f io.ReaderAt, size int64) (members []*zip.File, err error) {
	archive, err := inputs.OpenZip(f, size)
	if err != nil {
		return nil, err
	}
	for _, member := range archive.File {
		if !inputs.IsClutter(member.Name) {
			members = append(members, member)
		}
	}
	return members, nil
}

// isTar reports whether a file starts with the header of a tar archive.
func isTar(head []byte) bool {
	const at, magic = 257, "ustar"
	return len(head) >= at+len(magic) && string(head[at:at+len(magic)]) == magic
}
