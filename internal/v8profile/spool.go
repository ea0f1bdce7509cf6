package v8profile

import (
	"errors"
	"fmt"
	"io"

	"github.com/weft-trace/weft/internal/extsort"
)

// spool keeps bytes: in memory up to a limit, what comes later in a temporary file. Profiles of any length are held
// in it. Several goroutines may read at once.
type spool struct {
	dir   string
	limit int64 // bytes in memory; 0: any
	held  int64
	pages [][]byte
	file  *extsort.File // nil: all is in memory
}

// extent is where bytes are in a spool.
type extent struct {
	at   int64 // of a page from 0, page and offset; of the file its complement
	size int32
}

const (
	pageBits = 16
	pageSize = 1 << pageBits
	// firstPage is what a small profile needs. Pages double until they have the full size.
	firstPage = 1 << 10
	// maxExtent bounds an extent, so that pages are nearly full.
	maxExtent = 4 << 10
)

// add keeps a copy of up to maxExtent bytes. The error is one of the temporary file.
func (s *spool) add(b []byte) (extent, error) {
	if s.file == nil && (s.limit == 0 || s.held+int64(len(b)) <= s.limit) {
		return s.hold(b), nil
	}
	if s.file == nil {
		f, err := extsort.NewFile(s.dir)
		if err != nil {
			return extent{}, err
		}
		s.file = f
	}
	p := extent{^s.file.Size(), int32(len(b))}
	_, err := s.file.Write(b)
	return p, err
}

// hold keeps a copy of bytes in memory.
func (s *spool) hold(b []byte) extent {
	last := len(s.pages) - 1
	if last < 0 || cap(s.pages[last])-len(s.pages[last]) < len(b) {
		last++
		s.pages = append(s.pages, make([]byte, 0, max(len(b), min(pageSize, firstPage<<min(last, pageBits)))))
		s.held += int64(cap(s.pages[last]))
	}
	p := extent{int64(last)<<pageBits | int64(len(s.pages[last])), int32(len(b))}
	s.pages[last] = append(s.pages[last], b...)
	return p
}

// flush makes everything that was added readable.
func (s *spool) flush() error {
	if s.file == nil {
		return nil
	}
	return s.file.Flush()
}

// read returns the bytes of an extent. It may be in buf, which has maxExtent bytes. Flush comes first.
func (s *spool) read(p extent, buf []byte) ([]byte, error) {
	if p.at >= 0 {
		from := p.at & (pageSize - 1)
		return s.pages[p.at>>pageBits][from : from+int64(p.size)], nil
	}
	n, err := s.file.ReadAt(buf[:p.size], ^p.at)
	if err != nil && !(errors.Is(err, io.EOF) && n == int(p.size)) {
		return nil, fmt.Errorf("reading a temporary file: %w", err)
	}
	return buf[:p.size], nil
}

// close frees the memory and removes the temporary file.
func (s *spool) close() error {
	f := s.file
	s.pages, s.file, s.held = nil, nil, 0
	if f == nil {
		return nil
	}
	return f.Close()
}
