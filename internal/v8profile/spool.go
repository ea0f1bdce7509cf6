package v8profile

import (
	"errors"
	"fmt"
	"io"

	"github.com/weft-trace/weft/internal/extsort"
)

// spool stores bytes in memory up to a limit, and the rest in a temporary file. Concurrent reads are safe.
type spool struct {
	dir      string
	limit    int64 // bytes in memory; 0: no limit
	inMemory int64
	pages    [][]byte
	file     *extsort.File // nil: everything is in memory
}

// extent locates bytes in a spool.
type extent struct {
	at   int64 // page and offset if in memory; the complement of the offset if in the file
	size int32
}

const (
	pageBits = 16
	pageSize = 1 << pageBits
	// firstPage is enough for a small profile. Pages double up to the full size.
	firstPage = 1 << 10
	// maxExtent limits an extent, so that pages are nearly full.
	maxExtent = 4 << 10
)

// add copies up to maxExtent bytes. Errors come from the temporary file.
func (s *spool) add(b []byte) (extent, error) {
	if s.file == nil && (s.limit == 0 || s.inMemory+int64(len(b)) <= s.limit) {
		return s.addToMemory(b), nil
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

// addToMemory copies bytes to memory.
func (s *spool) addToMemory(b []byte) extent {
	last := len(s.pages) - 1
	if last < 0 || cap(s.pages[last])-len(s.pages[last]) < len(b) {
		last++
		s.pages = append(s.pages, make([]byte, 0, max(len(b), min(pageSize, firstPage<<min(last, pageBits)))))
		s.inMemory += int64(cap(s.pages[last]))
	}
	p := extent{int64(last)<<pageBits | int64(len(s.pages[last])), int32(len(b))}
	s.pages[last] = append(s.pages[last], b...)
	return p
}

// flush makes all bytes readable.
func (s *spool) flush() error {
	if s.file == nil {
		return nil
	}
	return s.file.Flush()
}

// read returns the bytes of an extent, possibly in buf, which has maxExtent bytes. Call flush first.
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
	s.pages, s.file, s.inMemory = nil, nil, 0
	if f == nil {
		return nil
	}
	return f.Close()
}
